//! Completion of a new object from others, as by the system's own admission, for example by the seed
//! selector of a Shoot's ExposureClass ([`berth_dialect_contract::Guards::complete`]). Objects on a hub
//! are completed by the system itself.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::Responsible;

/// The plugin.
pub(super) struct Completion {
    knowledge: Knowledge,
    dialects: Responsible,
}

impl Completion {
    /// The plugin for the resources that the engine's dialects complete.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = Responsible::of(&knowledge, |guarded| guarded.completes);
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
