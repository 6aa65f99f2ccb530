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
        let error = FieldError::forbidden("spec.box", detail);
        Err(Denial::owned_fields(request, &[error]))
    }
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use serde_json::json;

    use super::*;
    use crate::object;

    #[test]
    fn a_box_that_a_user_changes_is_refused_with_403() {
        let user = UserInfo {
            name: "alice".to_owned(),
            ..UserInfo::default()
        };
        let toy = |spec: Value| object("Toy", "ns", "kite", spec);
        let (old, new) = (toy(json!({"box": "attic"})), toy(json!({"box": "shelf"})));
        let request = Request {
            operation: Operation::Update,
            resource: TOYS,
            kind: "Toy",
            subresource: "",
            namespace: "ns",
            name: "kite",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        assert!(BoxGuard.handles(&request));
        let validate = |object: &Value| BoxGuard.validate(&request, Some(object), &mut Vec::new());
        assert_eq!(validate(&old), Ok(()));
        let refused = validate(&new).unwrap_err().into_status(&request);
        assert_eq!(refused.code, 403);
        assert!(refused.message.contains("spec.box"), "{}", refused.message);
    }
}
