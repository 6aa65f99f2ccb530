//! Guard of a scheduler's decision, which only that scheduler may write (docs/admission.md, "Guards"),
//! even where the user is an administrator.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::Responsible;

/// The plugin.
pub(super) struct ReservedFields {
    knowledge: Knowledge,
    dialects: Responsible,
}

impl ReservedFields {
    /// The plugin for the resources that the engine's dialects reserve.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = Responsible::of(&knowledge, |guarded| guarded.reserves);
        Self { knowledge, dialects }
    }
}

impl Plugin for ReservedFields {
    fn name(&self) -> &'static str {
        "SchedulerOwned"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation != Operation::Connect && self.dialects.concerns(request) && !request.collects(None)
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
        if request.collects(object) || request.changes_nothing(object) {
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
                "it holds the decision of {}, which only {} writes; change what is decided on instead, or bind \
                 through the binding subresource",
                reserved.whose,
                dialect.actor()
            ))),
        }
    }
}

/// Whether the object is being deleted: any user with the right may clean up objects that a deleted
/// demand left behind.
fn is_removal(request: &Request<'_>) -> bool {
    let is_deleted = |old: &Value| old["metadata"].get("deletionTimestamp").is_some();
    request.operation == Operation::Delete || request.old.is_some_and(is_deleted)
}
