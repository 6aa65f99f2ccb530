//! The rule that guards decisions: only the scheduler writes `spec.box`.

pub(crate) mod hub_rules;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::FieldError;
use serde_json::Value;

use crate::names::{ACTOR, TOYS};

/// Refuses changes of a toy's box by users other than the scheduler. Members of the break-glass group are
/// exempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxGuard;

impl Plugin for BoxGuard {
    fn name(&self) -> &'static str {
        "ToyBoxes"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let written = matches!(request.operation, Operation::Create | Operation::Update);
        written && request.resource == TOYS && request.user.name != ACTOR
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let nothing = Value::Null;
        let (old, new) = (request.old.unwrap_or(&nothing), object.unwrap_or(&nothing));
        if old["spec"]["box"] == new["spec"]["box"] {
            return Ok(());
        }
        let detail = format!("only {ACTOR} writes the box of a toy: create a binding to choose a box");
        Err(Denial::Invalid(vec![FieldError::forbidden("spec.box", detail)]))
    }
}
