//! Guard of objects that hold a scheduler's decision. Only that scheduler may write them; an administrator
//! needs the break-glass group (docs/admission.md, "Guards"). Garbage collection, updates that change
//! nothing, and the removal of an object whose demand is already deleted pass.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::ResponsibleDialects;

/// The admission plugin that refuses other users' writes to objects that hold a decision.
pub(super) struct ReservedObjects {
    knowledge: Knowledge,
    dialects: ResponsibleDialects,
}

impl ReservedObjects {
    /// Creates the plugin for the resources that the dialects of the engine reserve.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = ResponsibleDialects::of(&knowledge, |guarded| guarded.reserves);
        Self { knowledge, dialects }
    }
}

impl Plugin for ReservedObjects {
    fn name(&self) -> &'static str {
        "SchedulerOwned"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation != Operation::Connect
            && self.dialects.concerns(request)
            && !request.is_garbage_collection(None)
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let Some(dialect) = self.dialects.dialect(request.resource) else {
            return Ok(());
        };
        if request.is_garbage_collection(object) || request.changes_nothing(object) {
            return Ok(());
        }
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let decision = request
            .old
            .into_iter()
            .chain(object)
            .find_map(|state| snapshot.inventory.guarding().reserved(request.resource, state));
        match decision {
            None => Ok(()),
            Some(reserved) if !reserved.is_known && is_removal(request) => Ok(()),
            Some(reserved) => Err(Denial::Forbidden(format!(
                "it holds the decision of {}, which only {} writes; change the object that the decision is \
                 about instead, or bind through its binding subresource",
                reserved.demand,
                dialect.actor()
            ))),
        }
    }
}

/// Whether `request` deletes the object, or changes an object that is being deleted. Any user with the right
/// may remove an object whose demand is already deleted.
fn is_removal(request: &Request<'_>) -> bool {
    let is_deleted = |old: &Value| old["metadata"].get("deletionTimestamp").is_some();
    request.operation == Operation::Delete || request.old.is_some_and(is_deleted)
}
