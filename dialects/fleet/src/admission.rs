//! The admission rule beside the kinds' own validation (docs/systems/fleet.md, "What is guarded"): policy snapshots and
//! bindings hold what the scheduler decided, so that it alone writes them. With a binding it shares one co-owner: the
//! rollout takes it over, fills in what is rolled out, reports on it, and takes it away once it is Unscheduled
//! (docs/systems/fleet.md, "What is guarded").
//!
//! The rule compares the object before and after, whatever the subresource.

mod hold;
pub(crate) mod hub_rules;
mod rollout;

use std::collections::BTreeSet;

use admission::{Denied, Operation, Plugin, Request};
use serde_json::Value;

use crate::names::{ACTOR, BINDINGS, PARENT_LABEL, SNAPSHOTS};
pub(crate) use hold::PlacementHold;

/// What the rule goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The users that roll out what bindings say.
    pub rollout_users: BTreeSet<String>,
}

/// Keeps snapshots and bindings to the scheduler, and what is the rollout's to the rollout. Members of the break-glass
/// group pass it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionGuard {
    settings: Settings,
}

impl DecisionGuard {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    fn judge(&self, request: &Request<'_>, object: Option<&Value>) -> Result<(), Denied> {
        if request.collects(object) || request.changes_nothing(object) {
            return Ok(());
        }
        let rolls_out = self.settings.rollout_users.contains(&request.user.name);
        if request.resource == BINDINGS && rolls_out {
            return rollout::judge(request, object);
        }
        let whose = request.old.into_iter().chain(object).find_map(parent);
        let whose = whose.map_or_else(
            || "a ClusterResourcePlacement".to_owned(),
            |name| format!("ClusterResourcePlacement \"{name}\""),
        );
        let who = match request.resource == BINDINGS && !self.settings.rollout_users.is_empty() {
            true => format!("{ACTOR} writes, and of which {} rolls out", self.rollout()),
            false => format!("{ACTOR} writes"),
        };
        Err(Denied::Forbidden(format!(
            "it holds the decision of {whose}, which only {who}; change the placement instead, or bind it through its \
             binding subresource"
        )))
    }

    /// The users of the rollout, as words.
    fn rollout(&self) -> String {
        let users: Vec<&str> = self.settings.rollout_users.iter().map(String::as_str).collect();
        users.join(" or ")
    }
}

fn parent(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][PARENT_LABEL].as_str()
}

impl Plugin for DecisionGuard {
    fn name(&self) -> &'static str {
        "FleetDecisions"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        (request.resource == SNAPSHOTS || request.resource == BINDINGS)
            && request.operation != Operation::Connect
            && request.user.name != ACTOR
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        self.judge(request, object)
    }

    /// That a write of the rollout was one.
    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        let moved = (request.resource == BINDINGS)
            .then(|| rollout::transition(request, object))
            .flatten();
        moved
            .map(|text| ("binding-transition", text))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests;
