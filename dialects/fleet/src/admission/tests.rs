//! Permissions to write bindings and policy snapshots.

use std::sync::Arc;

use berth_admission::{Chain, UserInfo};
use berth_apimachinery::GroupResource;
use serde_json::json;

use super::*;
use crate::names::{BINDINGS, RESOURCE_BINDINGS, RESOURCE_SNAPSHOTS, SNAPSHOTS};

const ROLLOUT: &str = "system:serviceaccount:fleet-system:hub-agent";
const COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

fn binding(state: &str) -> Value {
    json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
        "metadata": {"name": "web-east-1", "labels": {"kubernetes-fleet.io/parent-CRP": "web"}},
        "spec": {
            "state": state, "resourceSnapshotName": "", "schedulingPolicySnapshotName": "web-0",
            "targetCluster": "east", "clusterDecision": {"clusterName": "east", "selected": true, "reason": "picked"},
        },
    })
}

/// Returns `binding` with `value` at `pointer`.
fn with(mut binding: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    binding.pointer_mut(parent).unwrap()[field] = value;
    binding
}

/// The verdict of the admission chain on a write, including the break-glass group.
fn review(
    user: &str,
    operation: Operation,
    resource: GroupResource,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<(), String> {
    let guard: Arc<dyn Plugin> = Arc::new(DecisionGuard::new(SystemUsers::new([ROLLOUT])));
    let chain = Chain::new(vec![guard]).with_break_glass(vec!["oncall".to_owned()]);
    let user = UserInfo {
        name: user.to_owned(),
        groups: vec!["system:masters".to_owned(), user.to_owned()],
        ..UserInfo::default()
    };
    let request = Request {
        operation,
        resource,
        kind: "ClusterResourceBinding",
        subresource: "",
        namespace: "",
        name: "web-east-1",
        user: &user,
        old,
        dry_run: false,
    };
    chain
        .plugins_for(&request)
        .validate(new, &mut Vec::new())
        .map_err(|status| {
            assert_eq!(status.code, 403, "{}", status.message);
            status.message
        })
}

fn update(user: &str, old: &Value, new: &Value) -> Result<(), String> {
    review(user, Operation::Update, BINDINGS, Some(old), Some(new))
}

fn delete(user: &str, old: &Value) -> Result<(), String> {
    review(user, Operation::Delete, BINDINGS, Some(old), None)
}

#[track_caller]
fn refused(answer: Result<(), String>, part: &str) {
    let message = answer.expect_err("the write must be refused");
    assert!(message.contains(part), "{part:?} is not in {message:?}");
}

/// Hand-written transitions: from, to, and whether the rollout may make the change. The scheduler may make
/// every change, and other users none.
const STATES: [(&str, &str, bool); 6] = [
    ("Scheduled", "Bound", true),
    ("Scheduled", "Unscheduled", false),
    ("Bound", "Scheduled", false),
    ("Bound", "Unscheduled", false),
    ("Unscheduled", "Scheduled", false),
    ("Unscheduled", "Bound", false),
];

#[test]
fn the_rollout_moves_scheduled_to_bound_and_no_state_else() {
    for (from, to, may) in STATES {
        let (old, new) = (binding(from), binding(to));
        assert_eq!(update(ROLLOUT, &old, &new).is_ok(), may, "{from} to {to}");
        assert!(update(ACTOR, &old, &new).is_ok());
        refused(
            update("alice", &old, &new),
            "it holds the decision of ClusterResourcePlacement \"web\", which only berth:scheduler writes",
        );
        if !may {
            refused(
                update(ROLLOUT, &old, &new),
                &format!(
                    "spec.state: Forbidden: from {from} to {to}: the rollout may only change Scheduled to Bound"
                ),
            );
        }
    }
}

#[test]
fn the_rollout_fills_in_its_fields_and_leaves_the_decision_alone() {
    let old = binding("Bound");
    for (pointer, value) in [
        ("/spec/resourceSnapshotName", json!("web-3-snapshot")),
        (
            "/spec/resourceOverrideSnapshots",
            json!([{"name": "o", "namespace": "n"}]),
        ),
        ("/spec/clusterResourceOverrideSnapshots", json!(["o"])),
        ("/spec/applyStrategy", json!({"type": "ServerSideApply"})),
        ("/spec/deleteStrategy", json!({"propagationPolicy": "Abandon"})),
        ("/status", json!({"conditions": []})),
        (
            "/metadata/finalizers",
            json!(["kubernetes-fleet.io/work-cleanup"]),
        ),
    ] {
        let new = with(old.clone(), pointer, value);
        assert_eq!(update(ROLLOUT, &old, &new), Ok(()), "{pointer}");
        refused(update("alice", &old, &new), ROLLOUT);
    }
    for (pointer, value, part) in [
        (
            "/spec/targetCluster",
            json!("west"),
            "spec.targetCluster: Forbidden",
        ),
        (
            "/spec/schedulingPolicySnapshotName",
            json!("web-1"),
            "only berth:scheduler writes it",
        ),
        (
            "/spec/clusterDecision",
            json!(null),
            "spec.clusterDecision: Forbidden",
        ),
        ("/metadata/labels", json!({}), "metadata.labels: Forbidden"),
        (
            "/metadata/annotations",
            json!({"kubernetes-fleet.io/previous-binding-state": "Bound"}),
            "metadata.annotations",
        ),
        (
            "/metadata/finalizers",
            json!(["kubernetes-fleet.io/scheduler-crb-cleanup"]),
            "metadata.finalizers[kubernetes-fleet.io/scheduler-crb-cleanup]: Forbidden",
        ),
        ("/data", json!(1), "data: Forbidden"),
    ] {
        refused(update(ROLLOUT, &old, &with(old.clone(), pointer, value)), part);
    }
}

#[test]
fn bindings_go_with_their_placement_or_by_the_hub_agent_which_evicts() {
    for state in ["Scheduled", "Bound", "Unscheduled"] {
        let old = binding(state);
        for user in [
            ROLLOUT,
            ACTOR,
            COLLECTOR,
            "system:serviceaccount:kube-system:namespace-controller",
            "oncall",
        ] {
            assert!(delete(user, &old).is_ok(), "{user} of {state}");
        }
        refused(delete("alice", &old), "berth:scheduler");
    }
    let held = with(
        binding("Bound"),
        "/metadata/finalizers",
        json!(["kubernetes-fleet.io/scheduler-crb-cleanup"]),
    );
    let (going, free) = (
        with(
            held.clone(),
            "/metadata/deletionTimestamp",
            json!("2021-10-28T09:00:00Z"),
        ),
        with(held.clone(), "/metadata/finalizers", json!([])),
    );
    assert!(update(ROLLOUT, &held, &free).is_err());
    let freed = with(going.clone(), "/metadata/finalizers", json!([]));
    assert_eq!(update(ROLLOUT, &going, &freed), Ok(()));
    for user in [ROLLOUT, "alice"] {
        assert!(
            review(
                user,
                Operation::Create,
                BINDINGS,
                None,
                Some(&binding("Scheduled"))
            )
            .is_err()
        );
    }
}

#[test]
fn of_a_snapshot_the_hub_agent_writes_everything_but_the_decision() {
    let old = binding("");
    let new = with(old.clone(), "/status", json!({"observedCRPGeneration": 1}));
    for user in [ROLLOUT, "alice"] {
        let update = |new: &Value| review(user, Operation::Update, SNAPSHOTS, Some(&old), Some(new));
        refused(update(&new), "which only berth:scheduler writes");
        assert_eq!(update(&old), Ok(()), "no change");
        let relabelled = with(
            old.clone(),
            "/metadata/labels",
            json!({"kubernetes-fleet.io/is-latest-snapshot": "false"}),
        );
        let is_agent = user == ROLLOUT;
        assert_eq!(update(&relabelled).is_ok(), is_agent);
        let created = review(user, Operation::Create, SNAPSHOTS, None, Some(&new));
        assert_eq!(created.is_ok(), is_agent, "{created:?}");
        assert_eq!(
            review(user, Operation::Delete, SNAPSHOTS, Some(&old), None).is_ok(),
            is_agent
        );
    }
    for user in [ACTOR, "oncall"] {
        assert!(review(user, Operation::Update, SNAPSHOTS, Some(&old), Some(&new)).is_ok());
    }
    let orphan = with(old.clone(), "/metadata/ownerReferences", json!([]));
    assert!(review(COLLECTOR, Operation::Update, SNAPSHOTS, Some(&old), Some(&orphan)).is_ok());
    assert!(review(COLLECTOR, Operation::Update, SNAPSHOTS, Some(&old), Some(&new)).is_err());
}

#[test]
fn the_audit_log_tells_the_state() {
    let (old, new) = (binding("Scheduled"), binding("Bound"));
    let user = UserInfo::default();
    let request = Request {
        operation: Operation::Update,
        resource: BINDINGS,
        kind: "ClusterResourceBinding",
        subresource: "",
        namespace: "",
        name: "web-east-1",
        user: &user,
        old: Some(&old),
        dry_run: false,
    };
    let said = |object| DecisionGuard::default().annotate(&request, Some(object));
    assert_eq!(
        said(&new),
        [("binding-transition", "from Scheduled to Bound".to_owned())]
    );
    assert!(said(&old).is_empty());
}

#[test]
fn what_is_decided_in_a_namespace_is_guarded_alike() {
    let mut old = binding("Scheduled");
    old["kind"] = "ResourceBinding".into();
    old["metadata"]["namespace"] = "team".into();
    let new = with(old.clone(), "/spec/state", "Bound".into());
    let write = |user, resource, new| review(user, Operation::Update, resource, Some(&old), Some(new));
    assert_eq!(write(ROLLOUT, RESOURCE_BINDINGS, &new), Ok(()));
    refused(
        write("alice", RESOURCE_BINDINGS, &new),
        "the decision of ResourcePlacement \"web\"",
    );
    assert_eq!(
        review(ROLLOUT, Operation::Delete, RESOURCE_BINDINGS, Some(&old), None),
        Ok(())
    );
    let decided = with(old.clone(), "/status", json!({"targetClusters": []}));
    refused(
        write(ROLLOUT, RESOURCE_SNAPSHOTS, &decided),
        "its status holds the decision",
    );
}
