//! Rules for a hub: the writes of its own objects that it has to ask Berth about.
//!
//! Behind a kube-apiserver a dialect's admission rules are webhooks, and a webhook only sees the writes
//! that the hub asks about. A [`HubRule`] selects the writes, with conditions (CEL, `matchConditions`)
//! that keep everything else away from the network: they are true whenever a rule may refuse or change
//! something, and as seldom as possible otherwise (docs/admission.md, "Admission").

pub mod cel;

use berth_admission::{Operation, Phase};
use berth_apimachinery::GroupResource;

/// A condition of a [`HubRule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name, as errors of the hub show it: letters, digits and dashes.
    pub name: &'static str,
    /// The CEL expression over `object`, `oldObject` and `request`.
    pub expression: String,
}

/// Question that a hub asks Berth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRule {
    /// The first part of the webhook's name, unique within the dialect and phase: letters, digits and dashes.
    pub name: &'static str,
    /// Resources.
    pub resources: Vec<GroupResource>,
    /// Subresources; `""` is the object itself.
    pub subresources: &'static [&'static str],
    /// Operations.
    pub operations: &'static [Operation],
    /// Before or after others may change the object.
    pub phase: Phase,
    /// Conditions for asking: all of them hold.
    pub conditions: Vec<Condition>,
}

impl Condition {
    /// A condition.
    #[must_use]
    pub fn new(name: &'static str, expression: impl Into<String>) -> Self {
        Self {
            name,
            expression: expression.into(),
        }
    }

    /// Holds for every user but `user`.
    #[must_use]
    pub fn not_by(user: &str) -> Self {
        Self::new(
            "somebody-else",
            format!("request.userInfo.username != {}", cel::text(user)),
        )
    }

    /// Holds unless the hub's own garbage collector or namespace controller deletes something.
    #[must_use]
    pub fn not_collected() -> Self {
        let names: Vec<String> = berth_admission::COLLECTORS
            .iter()
            .map(|name| cel::text(name))
            .collect();
        Self::new(
            "not-collected",
            format!(
                "request.operation != 'DELETE' || !(request.userInfo.username in [{}])",
                names.join(", ")
            ),
        )
    }
}
