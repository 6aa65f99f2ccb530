//! Guard of the scheduler's finalizer on placements (docs/systems/fleet.md, "What is guarded"). The finalizer
//! keeps a placement until all bindings of the placement are deleted, so that no other user may remove the
//! finalizer.

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::FieldError;
use berth_dialect_contract::SystemUsers;
use serde_json::Value;

use crate::form::Form;
use crate::names::{ACTOR, PLACEMENT_FINALIZER};

/// Refuses the removal of the scheduler's finalizer by other users. Members of the break-glass group are
/// exempt. KubeFleet's own scheduler, which sets the same finalizer, is exempt once the placement is being
/// deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct FinalizerGuard {
    /// KubeFleet's own controllers, and further users that roll out bindings.
    users: SystemUsers,
}

impl FinalizerGuard {
    pub(crate) fn new(users: SystemUsers) -> Self {
        Self { users }
    }
}

impl Plugin for FinalizerGuard {
    fn name(&self) -> &'static str {
        "FleetPlacementHold"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let is_placement = request.resource == Form::of(request.resource).placements;
        is_placement && request.operation == Operation::Update && request.user.name != ACTOR
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        if !request.old.is_some_and(has_finalizer) || object.is_some_and(has_finalizer) {
            return Ok(());
        }
        let is_deleting = request
            .old
            .is_some_and(|old| old["metadata"].get("deletionTimestamp").is_some());
        if is_deleting && self.users.includes(&request.user.name) {
            return Ok(());
        }
        let field = format!("metadata.finalizers[{PLACEMENT_FINALIZER}]");
        let detail = format!(
            "it keeps the placement until its bindings are deleted, and only {ACTOR} removes it: leave it in the list, \
             or delete the placement"
        );
        Err(Denial::owned_fields(
            request,
            &[FieldError::forbidden(field, detail)],
        ))
    }
}

fn has_finalizer(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|list| list.iter().any(|name| name == PLACEMENT_FINALIZER))
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use serde_json::json;

    use super::*;

    use crate::names::PLACEMENTS;

    const AGENT: &str = "hub-agent";

    fn guard() -> FinalizerGuard {
        FinalizerGuard::new(SystemUsers::new([AGENT]))
    }

    /// The verdict on an update by `user`.
    fn judge(user: &str, old: &Value, new: &Value) -> Result<(), String> {
        let user = UserInfo {
            name: user.to_owned(),
            ..UserInfo::default()
        };
        let request = Request {
            operation: Operation::Update,
            resource: PLACEMENTS,
            kind: "ClusterResourcePlacement",
            subresource: "",
            namespace: "",
            name: "web",
            user: &user,
            old: Some(old),
            dry_run: false,
        };
        if !guard().handles(&request) {
            return Ok(());
        }
        let verdict = guard().validate(&request, Some(new), &mut Vec::new());
        verdict.map_err(|denied| denied.into_status(&request).message)
    }

    fn change(user: &str, old: Value, new: Value) -> Result<(), String> {
        let object = |finalizers: Value| json!({"metadata": {"name": "web", "finalizers": finalizers}});
        judge(user, &object(old), &object(new))
    }

    #[test]
    fn only_the_scheduler_removes_the_schedulers_finalizer() {
        let with_finalizer = || json!(["kubernetes-fleet.io/crp-cleanup", PLACEMENT_FINALIZER]);
        for remaining in [json!(null), json!([]), json!(["kubernetes-fleet.io/crp-cleanup"])] {
            assert_eq!(
                change("admin", with_finalizer(), remaining.clone()).unwrap_err(),
                "clusterresourceplacements.placement.kubernetes-fleet.io \"web\" is forbidden: \
                 metadata.finalizers[kubernetes-fleet.io/scheduler-cleanup]: Forbidden: it keeps the placement until its \
                 bindings are deleted, and only berth:scheduler removes it: leave it in the list, or delete the placement"
            );
            assert_eq!(change(ACTOR, with_finalizer(), remaining), Ok(()));
        }
    }

    #[test]
    fn the_hub_agent_removes_the_finalizer_from_a_placement_that_is_being_deleted() {
        let may_remove = |metadata: Value| {
            let mut old = json!({"metadata": metadata});
            old["metadata"]["finalizers"] = json!([PLACEMENT_FINALIZER]);
            judge(AGENT, &old, &json!({"metadata": {"name": "web"}})).is_ok()
        };
        assert!(may_remove(json!({"deletionTimestamp": "2021-10-28T09:00:00Z"})));
        assert!(!may_remove(json!({})), "the placement is not being deleted");
    }

    #[test]
    fn other_finalizers_are_not_guarded() {
        let both = || json!(["kubernetes-fleet.io/crp-cleanup", PLACEMENT_FINALIZER]);
        assert_eq!(change("hub-agent", both(), json!([PLACEMENT_FINALIZER])), Ok(()));
        assert_eq!(change("hub-agent", json!(["x.example/y"]), json!([])), Ok(()));
        assert_eq!(change("hub-agent", json!([]), both()), Ok(()));
    }
}
