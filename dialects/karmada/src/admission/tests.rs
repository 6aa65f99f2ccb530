//! Writers of decided fields.

use std::sync::Arc;

use berth_admission::{Chain, UserInfo};
use berth_apimachinery::GroupResource;
use serde_json::json;

use super::*;
use crate::testing::binding_value;

const CONTROLLERS: &str = "system:karmada:controller-manager";

/// Whether `user` may update `old` to `new`.
fn may(user: &str, old: &Value, new: &Value) -> bool {
    let guard: Arc<dyn Plugin> = Arc::new(DecisionGuard::new(SystemUsers::new([CONTROLLERS])));
    let chain = Chain::new(vec![guard]);
    let user = UserInfo {
        name: user.to_owned(),
        ..UserInfo::default()
    };
    let request = Request {
        operation: Operation::Update,
        resource: BINDINGS,
        kind: "ResourceBinding",
        subresource: "",
        namespace: "team",
        name: "web-deployment",
        user: &user,
        old: Some(old),
        dry_run: false,
    };
    chain
        .plugins_for(&request)
        .validate(Some(new), &mut Vec::new())
        .is_ok()
}

#[test]
fn what_was_decided_is_written_by_the_scheduler_and_by_karmada_alone() {
    let old = binding_value(&json!({}), 3, "a3");
    for (pointer, field, value) in [
        ("/spec", "clusters", json!([{"name": "b", "replicas": 3}])),
        ("/metadata", "annotations", json!({APPLIED_PLACEMENT: "{}"})),
        ("/status", "lastScheduledTime", json!("2026-01-01T00:00:00Z")),
        (
            "/status",
            "conditions",
            json!([{"type": "Scheduled", "status": "True"}]),
        ),
    ] {
        let mut new = old.clone();
        if new["status"].is_null() {
            new["status"] = json!({});
        }
        new.pointer_mut(pointer).expect("it is there")[field] = value;
        assert!(!may("alice", &old, &new), "{pointer}/{field}");
        assert!(
            may(ACTOR, &old, &new) && may(CONTROLLERS, &old, &new),
            "{pointer}/{field}"
        );
    }
}

#[test]
fn what_is_labelled_so_is_not_deleted() {
    let deleted = |resource: GroupResource, kind: &'static str, label: &str| {
        let chain = Chain::new(vec![Arc::new(DeletionProtection) as Arc<dyn Plugin>]);
        let user = UserInfo::default();
        let old = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/deletion-protected": label}}});
        let request = Request {
            operation: Operation::Delete,
            resource,
            kind,
            subresource: "",
            namespace: "team",
            name: "web",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        chain
            .plugins_for(&request)
            .validate(None, &mut Vec::new())
            .is_ok()
    };
    let deployments = GroupResource::new("apps", "deployments");
    for (resource, kind) in [(deployments, "Deployment"), (BINDINGS, "ResourceBinding")] {
        assert!(!deleted(resource, kind, "Always"), "{kind}");
        assert!(deleted(resource, kind, "Sometimes"), "{kind}");
    }
    assert!(
        deleted(GroupResource::new("", "pods"), "Pod", "Always"),
        "no template"
    );
}

#[test]
fn everything_else_of_a_binding_is_the_detectors() {
    let old = binding_value(&json!({}), 3, "a3");
    let mut new = old.clone();
    new["spec"]["replicas"] = 5.into();
    new["spec"]["suspension"] = json!({"scheduling": true});
    new["status"] = json!({"conditions": [{"type": "FullyApplied", "status": "True"}]});
    assert!(may("alice", &old, &new));
}
