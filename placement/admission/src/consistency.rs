//! Check that a written object is consistent with other objects, for example that a Shoot has the provider
//! type of its cloud profile. The dialect judges by its inventory
//! ([`berth_dialect_contract::Guards::judge`]).
//!
//! The other objects may change after the write anyway, so the write has no guard that keeps them unchanged
//! until it is stored.

use berth_admission::{Denial, Operation, Plugin, Ready, Request};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::responsible::ResponsibleDialects;

/// The admission plugin that refuses objects that are inconsistent with other objects.
pub(super) struct ConsistencyCheck {
    knowledge: Knowledge,
    dialects: ResponsibleDialects,
}

impl ConsistencyCheck {
    /// Creates the plugin for the resources that the dialects of the engine judge.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let dialects = ResponsibleDialects::of(&knowledge, |guarded| guarded.judges);
        Self { knowledge, dialects }
    }
}

impl Plugin for ConsistencyCheck {
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
        // A write that leaves the spec unchanged is admitted even if the object is no longer consistent with
        // the other objects: users can still change its labels, or remove its finalizers.
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
