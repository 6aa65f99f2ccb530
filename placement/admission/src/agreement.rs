//! Checks of an object against others, for example that a Shoot has the provider type of its cloud
//! profile. The dialect judges by its inventory ([`berth_dialect_contract::Guards::judge`]).
//!
//! The other objects may change after the write anyway, so no guard keeps them until the write is stored.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::Responsible;

/// The plugin.
pub(super) struct Agreement {
    knowledge: Knowledge,
    dialects: Responsible,
}

impl Agreement {
    /// Creates the plugin for the resources that the engine's dialects judge.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = Responsible::of(&knowledge, |guarded| guarded.judges);
        Self { knowledge, dialects }
    }
}

impl Plugin for Agreement {
    fn name(&self) -> &'static str {
        "Agreement"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update)
            && request.subresource.is_empty()
            && self.dialects.concerns(request)
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
        let (Some(dialect), Some(object)) = (self.dialects.dialect(request.resource), object) else {
            return Ok(());
        };
        // Labels and finalizers may be changed even where the object no longer agrees with the others.
        if request
            .old
            .is_some_and(|old| old.get("spec") == object.get("spec"))
        {
            return Ok(());
        }
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let errors = snapshot
            .inventory
            .guarding()
            .judge(request.resource, request.old, object);
        if errors.is_empty() {
            return Ok(());
        }
        Err(Denial::Invalid(self.knowledge.audience().fields(errors)))
    }
}
