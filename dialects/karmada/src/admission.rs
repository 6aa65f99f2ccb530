//! Guards (docs/systems/karmada.md, "What is guarded"). `spec.clusters`, the applied placement and the
//! scheduler's status are written only by the scheduler, and by the programs of Karmada that remove clusters.
//! Objects that [`DeletionProtection`] protects cannot be deleted.

pub(crate) mod hub_rules;
mod protection;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::FieldError;
use berth_dialect_contract::SystemUsers;
use serde_json::Value;

use crate::names::{ACTOR, APPLIED_PLACEMENT, BINDINGS, CLUSTER_BINDINGS, DETECTOR, SCHEDULED};
use crate::record;

/// Fields of the status that only the scheduler writes.
pub(crate) const SCHEDULER_FIELDS: [&str; 3] = [
    "schedulerObservedGeneration",
    "schedulerObservingAffinityName",
    "lastScheduledTime",
];

/// The refusal of a write that gives a binding to another scheduler, or takes one from it.
const HANDED_OVER: &str = "it follows the schedulerName of the policy that claims the binding: a change by \
                           hand would hand the decision to another scheduler";

/// Refuses changes of decisions by users other than the scheduler and Karmada's own programs. Members of the
/// break-glass group are exempt, and so are bindings that another scheduler decides.
#[derive(Clone, Debug)]
pub(crate) struct DecisionGuard {
    /// The users of Karmada's own programs, which evict, fail over and deschedule.
    users: SystemUsers,
    /// The schedulerName of the bindings that Berth decides.
    scheduler: String,
}

impl DecisionGuard {
    pub(crate) fn new(users: SystemUsers, scheduler: String) -> Self {
        Self { users, scheduler }
    }

    /// Whether Berth decides the binding in this `state`, and not another scheduler.
    fn decides(&self, state: &Value) -> bool {
        let name = state["spec"]["schedulerName"].as_str();
        record::scheduler(name.unwrap_or_default()) == self.scheduler
    }

    /// Whether `request` hands a binding over to Berth or to another scheduler. If users could do so, they
    /// could change the decision while the binding is another scheduler's, and then hand it back. The detector
    /// only copies the name from the policy.
    fn hands_over(&self, request: &Request<'_>, old: &Value, new: &Value) -> bool {
        request.operation == Operation::Update
            && self.decides(old) != self.decides(new)
            && request.user.name != DETECTOR
    }
}

impl Plugin for DecisionGuard {
    fn name(&self) -> &'static str {
        "KarmadaDecisions"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        [BINDINGS, CLUSTER_BINDINGS].contains(&request.resource)
            && matches!(request.operation, Operation::Create | Operation::Update)
            && request.user.name != ACTOR
            && !self.users.includes(&request.user.name)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let mut states = request.old.into_iter().chain(object);
        if !states.any(|state| self.decides(state)) {
            return Ok(());
        }
        let null = Value::Null;
        let (old, new) = (request.old.unwrap_or(&null), object.unwrap_or(&null));
        let mut changed_fields = Vec::new();
        if old["spec"]["clusters"] != new["spec"]["clusters"] {
            changed_fields.push("spec.clusters".to_owned());
        }
        let applied = |object: &Value| object["metadata"]["annotations"][APPLIED_PLACEMENT].clone();
        if applied(old) != applied(new) {
            changed_fields.push(format!("metadata.annotations[{APPLIED_PLACEMENT}]"));
        }
        // A creation drops the status, so the status is checked only in updates.
        if request.operation == Operation::Update {
            let fields = SCHEDULER_FIELDS
                .iter()
                .filter(|field| old["status"][**field] != new["status"][**field]);
            changed_fields.extend(fields.map(|field| format!("status.{field}")));
            if scheduled_condition(old) != scheduled_condition(new) {
                changed_fields.push("status.conditions".to_owned());
            }
        }
        let detail = format!(
            "it holds the scheduler's decision, which only {ACTOR} writes; change the policy or the template instead, or \
             choose clusters through the subresource binding of the Decision or ClusterDecision"
        );
        let fields = changed_fields.into_iter();
        let mut errors: Vec<FieldError> = fields
            .map(|field| FieldError::forbidden(field, detail.clone()))
            .collect();
        if self.hands_over(request, old, new) {
            errors.push(FieldError::forbidden("spec.schedulerName", HANDED_OVER));
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(Denial::owned_fields(request, &errors))
    }
}

fn scheduled_condition(object: &Value) -> Option<&Value> {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == SCHEDULED)
}

pub(crate) use protection::DeletionProtection;

#[cfg(test)]
mod tests;
