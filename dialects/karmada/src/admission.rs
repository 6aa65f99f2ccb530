//! Guards (docs/systems/karmada.md, "What is guarded"). `spec.clusters`, the applied placement and the
//! scheduler's status are written only by the scheduler, and by the programs of Karmada that remove clusters.
//! Objects that [`DeletionProtection`] protects cannot be deleted.

pub(crate) mod hub_rules;
mod protection;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::FieldError;
use berth_dialect_contract::SystemUsers;
use serde_json::Value;

use crate::names::{ACTOR, APPLIED_PLACEMENT, BINDINGS, CLUSTER_BINDINGS, SCHEDULED};
use crate::record;

/// Fields of the status that only the scheduler writes.
pub(crate) const SCHEDULER_FIELDS: [&str; 3] = [
    "schedulerObservedGeneration",
    "schedulerObservingAffinityName",
    "lastScheduledTime",
];

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

    /// Whether another scheduler decides the binding in each of its `states`, which are those before and after
    /// a write. A write that hands a binding over could change the decision, too, and is judged.
    fn is_of_other_scheduler<'a>(&self, mut states: impl Iterator<Item = &'a Value>) -> bool {
        states.all(|state| {
            let name = state["spec"]["schedulerName"].as_str();
            record::scheduler(name.unwrap_or_default()) != self.scheduler
        })
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
        if self.is_of_other_scheduler(request.old.into_iter().chain(object)) {
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
        if changed_fields.is_empty() {
            return Ok(());
        }
        let fields = changed_fields.into_iter();
        let errors: Vec<FieldError> = fields
            .map(|field| FieldError::forbidden(field, detail.clone()))
            .collect();
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
