//! The admission rules beyond the kinds' own validation (docs/systems/fleet.md, "What is guarded").
//!
//! [`DecisionGuard`]: policy snapshots and bindings contain the scheduler's decisions, so that only the
//! scheduler writes them. The exception is the hub agent. The agent's rollout marks a Scheduled binding as
//! Bound, sets the fields of the rollout, reports on bindings, and deletes bindings that are Unscheduled or
//! evicted. The agent's placement controller creates, labels and deletes snapshots, but does not write the
//! decision, which is the status of a snapshot. The guard compares the object before and after the write, for
//! every subresource.
//!
//! [`FinalizerGuard`]: only the scheduler removes the finalizer that it has on placements.

mod finalizer;
pub(crate) mod hub_rules;
mod rollout;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_dialect_contract::SystemUsers;
use serde_json::Value;

use crate::form::Form;
use crate::names::{ACTOR, PARENT_LABEL};
pub(crate) use finalizer::FinalizerGuard;

/// The settings of the admission rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The users that roll out bindings, in addition to KubeFleet's own programs.
    pub rollout_users: SystemUsers,
}

/// Guard of the decisions in snapshots and bindings: refuses writes by users other than the scheduler. The
/// `users` may write the rollout's fields of bindings, and everything but the status of snapshots; members of
/// the break-glass group are exempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionGuard {
    /// KubeFleet's own controllers, and further users that roll out bindings.
    users: SystemUsers,
}

impl DecisionGuard {
    pub(crate) fn new(users: SystemUsers) -> Self {
        Self { users }
    }

    fn check(&self, request: &Request<'_>, object: Option<&Value>) -> Result<(), Denial> {
        if request.is_garbage_collection(object) || request.changes_nothing(object) {
            return Ok(());
        }
        if self.users.includes(&request.user.name) {
            return match is_binding(request) {
                true => rollout::check(request, object),
                false => check_status(request, object),
            };
        }
        let placement = request.old.into_iter().chain(object).find_map(parent);
        let kind = Form::of(request.resource).placement_kind;
        let placement = placement.map_or_else(|| format!("a {kind}"), |name| format!("{kind} \"{name}\""));
        let users: Vec<&str> = self.users.names().collect();
        let writers = match is_binding(request) && !users.is_empty() {
            true => format!(
                "{ACTOR} writes, except for the fields of the rollout, which {} writes",
                users.join(" or ")
            ),
            false => format!("{ACTOR} writes"),
        };
        Err(Denial::Forbidden(format!(
            "it holds the decision of {placement}, which only {writers}; change the placement instead, or bind it through its \
             binding subresource"
        )))
    }
}

/// Refuses an update that changes the status of a snapshot, which contains the decision.
fn check_status(request: &Request<'_>, object: Option<&Value>) -> Result<(), Denial> {
    let status = |object: Option<&Value>| object.map_or(Value::Null, |object| object["status"].clone());
    let (before, after) = (status(request.old), status(object));
    // A creation drops the status, and the status of a deleted object is no longer a decision.
    if request.operation != Operation::Update || before == after {
        return Ok(());
    }
    Err(Denial::Forbidden(format!(
        "its status holds the decision, which only {ACTOR} writes: set mode: Observe in the SchedulerConfiguration named fleet \
         to let KubeFleet's own scheduler decide"
    )))
}

fn is_binding(request: &Request<'_>) -> bool {
    request.resource == Form::of(request.resource).bindings
}

/// The name of the placement of a snapshot or binding.
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
        let form = Form::of(request.resource);
        (request.resource == form.snapshots || request.resource == form.bindings)
            && request.operation != Operation::Connect
            && request.user.name != ACTOR
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        self.check(request, object)
    }

    /// Annotates a write of the rollout with the change of the binding's state.
    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        let transition = is_binding(request)
            .then(|| rollout::transition(request, object))
            .flatten();
        transition
            .map(|text| ("binding-transition", text))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests;
