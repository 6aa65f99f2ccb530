//! The admission rule beside the kinds' own validation: `spec.seedName` changes through `shoots/binding` only.
//!
//! The kind refuses it too (422). This plugin runs first, so that clients see the 403 that Gardener answers. Behind a
//! webhook it is the only rule, and there Shoots may be a CRD without that subresource, so the scheduler's own user
//! writes them plainly (docs/systems/gardener.md, "Binding").

pub(crate) mod hub_rules;

use admission::{Denied, Operation, Plugin, Request};
use meta::Status;
use serde_json::Value;

use crate::kind::shoot::binding::ONLY_BY_BINDING;
use crate::names::{ACTOR, SHOOTS};

/// The field.
const FIELD: &str = "spec.seedName";

/// Refuses plain updates of a Shoot's `spec.seedName`.
#[derive(Clone, Copy, Debug)]
pub struct SeedNameGuard;

impl Plugin for SeedNameGuard {
    fn name(&self) -> &'static str {
        "ShootBinding"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update
            && request.resource == SHOOTS
            && request.subresource.is_empty()
            && request.user.name != ACTOR
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        let name = |value: &Value| {
            value
                .pointer("/spec/seedName")
                .filter(|name| !name.is_null())
                .cloned()
        };
        match request.old {
            Some(old) if name(old) != name(object) => {
                let status = Status::forbidden(
                    request.resource,
                    request.name,
                    &format!("{FIELD} {ONLY_BY_BINDING}"),
                );
                let status = status.with_cause("FieldValueForbidden", ONLY_BY_BINDING, FIELD);
                Err(Denied::Status(Box::new(status)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use admission::UserInfo;
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_updates_may_not_touch_the_seed_name() {
        let user = UserInfo::default();
        let old = json!({"spec": {"seedName": "a"}});
        let request = Request {
            operation: Operation::Update,
            resource: SHOOTS,
            kind: "Shoot",
            subresource: "",
            namespace: "garden-dev",
            name: "foo",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        assert!(SeedNameGuard.handles(&request));
        let mutate = |mut new: Value| SeedNameGuard.mutate(&request, &mut new, &mut Vec::new());
        assert!(mutate(json!({"spec": {"seedName": "a", "region": "x"}})).is_ok());
        for new in [json!({"spec": {"seedName": "b"}}), json!({"spec": {}})] {
            let status = mutate(new).unwrap_err().into_status(&request);
            assert_eq!(status.code, 403);
            assert!(status.message.contains("shoots/binding"), "{}", status.message);
        }
        let by_binding = Request {
            subresource: "binding",
            ..request.clone()
        };
        assert!(!SeedNameGuard.handles(&by_binding));
        let scheduler = UserInfo {
            name: ACTOR.to_owned(),
            ..UserInfo::default()
        };
        let by_scheduler = Request {
            user: &scheduler,
            ..request.clone()
        };
        assert!(
            !SeedNameGuard.handles(&by_scheduler),
            "a CRD has no shoots/binding"
        );
    }
}
