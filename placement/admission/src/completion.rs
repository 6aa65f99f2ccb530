//! Completion of new objects with fields from other objects, as in the system's own admission: a Shoot, for
//! example, gets the seed selector of its ExposureClass ([`berth_dialect_contract::Guards::complete`]). On a
//! hub, the system itself completes objects.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::ResponsibleDialects;

/// The admission plugin that completes new objects.
pub(super) struct Completion {
    knowledge: Knowledge,
    dialects: ResponsibleDialects,
}

impl Completion {
    /// Creates the plugin for the resources that the dialects of the engine complete.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = ResponsibleDialects::of(&knowledge, |guarded| guarded.completes);
        Self { knowledge, dialects }
    }
}

impl Plugin for Completion {
    fn name(&self) -> &'static str {
        "Completion"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && request.subresource.is_empty()
            && self.dialects.concerns(request)
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    fn mutate(&self, request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
        let Some(dialect) = self.dialects.dialect(request.resource) else {
            return Ok(());
        };
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let guarding = snapshot.inventory.guarding();
        let errors = guarding.complete(request.resource, object);
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Denial::Invalid(self.knowledge.audience().fields(errors))),
        }
    }
}
