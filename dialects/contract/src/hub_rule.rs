//! Rules for a hub: the writes for which the hub must call Berth's webhooks.
//!
//! Behind a kube-apiserver a dialect's admission rules are webhooks, and a webhook only receives the writes
//! that its configuration selects. A [`HubRule`] selects these writes. The conditions (CEL,
//! `matchConditions`) keep other writes from being sent over the network. They are true for every write that
//! an admission rule may refuse or change, and for as few other writes as possible (docs/admission.md,
//! "Admission").

pub mod cel;

use berth_admission::{Operation, Phase};
use berth_apimachinery::GroupResource;

/// A condition of a [`HubRule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name of the condition, which the hub's errors show: letters, digits and dashes.
    pub name: &'static str,
    /// The CEL expression over `object`, `oldObject` and `request`.
    pub expression: String,
}

/// The writes for which a hub calls Berth, as one webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRule {
    /// The first part of the webhook's name, unique within the dialect and phase: letters, digits and
    /// dashes.
    pub name: &'static str,
    /// The resources that are written.
    pub resources: Vec<GroupResource>,
    /// The subresources that are written; `""` is the object itself.
    pub subresources: &'static [&'static str],
    /// The operations that call the webhook.
    pub operations: &'static [Operation],
    /// The phase of admission: mutation or validation.
    pub phase: Phase,
    /// Conditions of the webhook: the hub calls the webhook only if all conditions are true.
    pub conditions: Vec<Condition>,
}

impl Condition {
    /// Creates a condition.
    #[must_use]
    pub fn new(name: &'static str, expression: impl Into<String>) -> Self {
        Self {
            name,
            expression: expression.into(),
        }
    }

    /// A condition that is true for every user except `user`.
    #[must_use]
    pub fn not_by(user: &str) -> Self {
        Self::new(
            "somebody-else",
            format!("request.userInfo.username != {}", cel::text(user)),
        )
    }

    /// A condition that is true except for deletions by Kubernetes' own collectors
    /// ([`berth_admission::GARBAGE_COLLECTORS`]).
    #[must_use]
    pub fn not_collected() -> Self {
        let names: Vec<String> = berth_admission::GARBAGE_COLLECTORS
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
