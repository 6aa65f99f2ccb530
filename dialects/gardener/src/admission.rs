//! The admission rules in addition to the validation of the kinds: `spec.seedName` of a Shoot only changes
//! through `shoots/binding`, a Shoot cannot be deleted while its control plane moves, and a change of the
//! tolerations that a Project allows requires a separate permission.
//!
//! The kind also refuses a change of `spec.seedName` (422). [`SeedNameGuard`] runs before the kind, so that
//! clients get a 403 as from Gardener. On a hub, the plugin is Berth's only check of the field. Shoots on a
//! hub may be a CRD without the subresource, so that the user name of the scheduler may update the field
//! directly (docs/systems/gardener.md, "Binding").

pub(crate) mod hub_rules;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::Status;
use serde_json::{Value, json};

use crate::kind::common::LastOperation;
use crate::kind::shoot::binding::ONLY_BY_BINDING;
use crate::names::{ACTOR, GARDEN_NAMESPACE, GROUP, PROJECTS, PROTECTED_TAINT, SHOOTS, WHITELIST_VERB};

/// The guarded field.
const FIELD: &str = "spec.seedName";

/// Refuses updates of a Shoot's `spec.seedName` by users other than the scheduler, except through the
/// subresource `binding`.
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
    ) -> Result<(), Denial> {
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
                Err(Denial::Status(Box::new(status)))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses the deletion of a Shoot while its control plane moves to another seed: the state of the control
/// plane, which is in transit, would be lost.
#[derive(Clone, Copy, Debug)]
pub struct MoveGuard;

impl Plugin for MoveGuard {
    fn name(&self) -> &'static str {
        "ShootMove"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Delete && request.resource == SHOOTS && request.subresource.is_empty()
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        let operation = request.old.and_then(|old| old.pointer("/status/lastOperation"));
        // Other fields of the operation do not matter, even if they cannot be parsed.
        let text = |field: &str| operation.and_then(|operation| operation.get(field)?.as_str());
        let operation = LastOperation {
            r#type: text("type").unwrap_or_default().to_owned(),
            state: text("state").unwrap_or_default().to_owned(),
            ..LastOperation::default()
        };
        if !operation.is_move() {
            return Ok(());
        }
        let LastOperation { r#type, state, .. } = operation;
        Err(Denial::Forbidden(format!(
            "cannot be deleted during the operation {type} that is in state {state}: wait until the control plane has moved \
             to the other seed"
        )))
    }
}

/// Requires a separate permission for changes of the tolerations that a Project allows.
#[derive(Clone, Copy, Debug)]
pub struct WhitelistGuard;

impl Plugin for WhitelistGuard {
    fn name(&self) -> &'static str {
        "ProjectTolerations"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update)
            && request.resource == PROJECTS
            && request.subresource.is_empty()
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        let list = |project: &Value| {
            let list = project.pointer("/spec/tolerations/whitelist");
            list.and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let before = request.old.map(list).unwrap_or_default();
        let Some(after) = object.map(list).filter(|after| *after != before) else {
            return Vec::new();
        };
        let namespace = object.and_then(|project| project.pointer("/spec/namespace")?.as_str());
        let own = [json!({"key": PROTECTED_TAINT})];
        if namespace == Some(GARDEN_NAMESPACE) && before.is_empty() && after == own {
            // Gardener sets this toleration by default in the Project of the garden, so that every user who
            // may write the Project may set it, too.
            return Vec::new();
        }
        let right = Right {
            verb: WHITELIST_VERB.to_owned(),
            group: GROUP.to_owned(),
            resource: PROJECTS.resource.to_owned(),
            name: request.name.to_owned(),
            ..Right::default()
        };
        let refusal = format!(
            "changing spec.tolerations.whitelist requires the verb {WHITELIST_VERB} on projects: ask a user with this permission"
        );
        vec![RequiredRight::or_forbidden(right, refusal)]
    }
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;

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

    fn request<'a>(
        operation: Operation,
        resource: berth_apimachinery::GroupResource,
        user: &'a UserInfo,
        old: Option<&'a Value>,
    ) -> Request<'a> {
        Request {
            operation,
            resource,
            kind: "",
            subresource: "",
            namespace: "",
            name: "foo",
            user,
            old,
            dry_run: false,
        }
    }

    #[test]
    fn a_shoot_is_not_deleted_while_its_control_plane_moves() {
        let user = UserInfo::default();
        for (kind, state, moves) in [
            ("Migrate", "Processing", true),
            ("Migrate", "Succeeded", true),
            ("Restore", "Error", true),
            ("Restore", "Succeeded", false),
            ("Reconcile", "Processing", false),
        ] {
            let old = json!({"status": {"lastOperation": {"type": kind, "state": state}}});
            let request = request(Operation::Delete, SHOOTS, &user, Some(&old));
            assert!(MoveGuard.handles(&request));
            let verdict = MoveGuard.validate(&request, None, &mut Vec::new());
            assert_eq!(verdict.is_err(), moves, "{kind} {state}");
        }
        let odd = json!({"status": {"lastOperation": {"type": "Migrate", "state": "Processing", "progress": "half"}}});
        let request_of_odd = request(Operation::Delete, SHOOTS, &user, Some(&odd));
        assert!(
            MoveGuard
                .validate(&request_of_odd, None, &mut Vec::new())
                .is_err(),
            "the progress does not matter"
        );
        let fresh = json!({"spec": {}});
        let request = request(Operation::Delete, SHOOTS, &user, Some(&fresh));
        assert!(MoveGuard.validate(&request, None, &mut Vec::new()).is_ok());
    }

    #[test]
    fn a_change_of_allowed_tolerations_requires_a_separate_right() {
        let user = UserInfo::default();
        let project = |list: Value| json!({"spec": {"tolerations": {"whitelist": list}}});
        let none = json!({"spec": {}});
        let one = project(json!([{"key": "gpu"}]));
        let needs = |old: Option<&Value>, new: &Value| {
            let operation = if old.is_some() {
                Operation::Update
            } else {
                Operation::Create
            };
            let request = request(operation, PROJECTS, &user, old);
            assert!(WhitelistGuard.handles(&request));
            WhitelistGuard.needs(&request, Some(new)).len()
        };
        for (old, new, count) in [
            (None, &none, 0),
            (None, &project(json!([])), 0),
            (None, &one, 1),
            (Some(&one), &one, 0),
            (Some(&one), &none, 1),
            (Some(&none), &one, 1),
        ] {
            assert_eq!(needs(old, new), count, "{old:?} {new}");
        }
        let mut garden = project(json!([{"key": PROTECTED_TAINT}]));
        garden["spec"]["namespace"] = json!("garden");
        assert_eq!(needs(None, &garden), 0, "as it is by default");
    }
}
