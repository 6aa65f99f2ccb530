//! Changes, scaling and deletion of the policy, and the rollout after them.

use super::*;

const PICK_ONE: &str = "placementType: PickN, numberOfClusters: 1";
const PICK_TWO: &str = "placementType: PickN, numberOfClusters: 2";

fn snapshot(server: &Server, name: &str) -> Value {
    server
        .kubectl(&format!("get clusterschedulingpolicysnapshot {name} -o json"))
        .json()
}

fn is_latest(server: &Server, name: &str) -> bool {
    snapshot(server, name)["metadata"]["labels"][LATEST] == "true"
}

#[test]
fn scaling_keeps_the_snapshot_and_a_new_policy_makes_one() {
    let server = server();
    for name in ["m1", "m2", "m3"] {
        member(&server, name, &format!("site: {name}"));
    }
    place(&server, "p", PICK_ONE);
    becomes(&server, "p", &["m3 Scheduled"]);
    let first = snapshot(&server, "p-0");
    assert_eq!(first["metadata"]["annotations"][NUMBER], "1");
    assert_eq!(
        first["metadata"]["labels"]["kubernetes-fleet.io/policy-index"],
        "0"
    );
    let kept = binding(&server, "p", "m3");
    assert_eq!(kept["spec"]["schedulingPolicySnapshotName"], "p-0");
    assert_eq!(kept["spec"]["resourceSnapshotName"], "");
    // Scaling out: existing bindings do not change.
    place(&server, "p", PICK_TWO);
    becomes(&server, "p", &["m2 Scheduled", "m3 Scheduled"]);
    let scaled = snapshot(&server, "p-0");
    assert_eq!(scaled["metadata"]["annotations"][NUMBER], "2");
    assert_eq!(scaled["spec"], first["spec"], "the snapshot itself stays");
    assert_eq!(binding(&server, "p", "m3"), kept);
    // Scaling in: a Scheduled binding is removed before a Bound one of any rank.
    roll_out(&server, "p");
    becomes(&server, "p", &["m2 Bound", "m3 Bound"]);
    place(&server, "p", "placementType: PickN, numberOfClusters: 3");
    becomes(&server, "p", &["m1 Scheduled", "m2 Bound", "m3 Bound"]);
    place(&server, "p", PICK_ONE);
    becomes(&server, "p", &["m1 Unscheduled", "m2 Unscheduled", "m3 Bound"]);
    let previous =
        |cluster: &str| binding(&server, "p", cluster)["metadata"]["annotations"][PREVIOUS].clone();
    assert_eq!(
        (previous("m1"), previous("m2")),
        (json!("Scheduled"), json!("Bound"))
    );
    assert_eq!(owned(&server, "clusterschedulingpolicysnapshots", "p").len(), 1);
    // Another policy.
    let policy = format!("{PICK_ONE}, {}", requiring("site: m2"));
    place(&server, "p", &policy);
    becomes(&server, "p", &["m1 Unscheduled", "m2 Bound", "m3 Unscheduled"]);
    assert!(is_latest(&server, "p-1") && !is_latest(&server, "p-0"));
    let restored = binding(&server, "p", "m2");
    assert_eq!(restored["spec"]["schedulingPolicySnapshotName"], "p-1");
    assert!(restored["metadata"]["annotations"][PREVIOUS].is_null());
    // And back: the newest snapshot applies, and an earlier binding returns to its state.
    place(&server, "p", PICK_ONE);
    eventually("a third snapshot", || {
        let list = owned(&server, "clusterschedulingpolicysnapshots", "p");
        (list.len() == 3).then_some(())
    });
    becomes(&server, "p", &["m1 Unscheduled", "m2 Bound", "m3 Unscheduled"]);
    assert!(is_latest(&server, "p-2") && !is_latest(&server, "p-1"));
}

#[test]
fn resources_are_the_rollouts_business() {
    let server = server();
    for name in ["m1", "m2"] {
        member(&server, name, "");
    }
    place(&server, "p", PICK_ONE);
    becomes(&server, "p", &["m2 Scheduled"]);
    place(&server, "first", PICK_ONE);
    becomes(&server, "first", &["m2 Scheduled"]);
    counted(&server, "fleet", 2);
    let snapshot_before = snapshot(&server, "p-0");
    let before = binding(&server, "p", "m2");
    let selectors =
        r#"{"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"another"}]}}"#;
    let history = r#"{"metadata":{"labels":{"team":"blue"}},"spec":{"revisionHistoryLimit":5}}"#;
    for (generation, change) in [(2_u64, selectors), (3, history)] {
        patch(&server, "clusterresourceplacement p", change);
        // One decision records the new generation, and moves nothing.
        eventually("the generation to be recorded", || {
            (snapshot(&server, "p-0")["status"]["observedCRPGeneration"] == generation).then_some(())
        });
        counted(&server, "fleet", generation + 1);
    }
    // A change of the selected resources.
    server.kubectl("create namespace another").succeeds();
    place(&server, "barrier", PICK_ONE);
    becomes(&server, "barrier", &["m2 Scheduled"]);
    counted(&server, "fleet", 5);
    assert_eq!(binding(&server, "p", "m2"), before);
    assert_eq!(snapshot(&server, "p-0")["spec"], snapshot_before["spec"]);
    // The rollout's changes of a binding do not cause a decision either.
    roll_out(&server, "p");
    place(&server, "barrier-2", PICK_ONE);
    becomes(&server, "barrier-2", &["m2 Scheduled"]);
    counted(&server, "fleet", 6);
}

#[test]
fn an_unscheduled_binding_is_the_rollouts_to_delete_and_a_live_one_leaves_a_gap() {
    let server = server();
    for name in ["m1", "m2"] {
        member(&server, name, &format!("site: {name}"));
    }
    place(&server, "p", &format!("{PICK_ONE}, {}", requiring("site: m1")));
    becomes(&server, "p", &["m1 Scheduled"]);
    roll_out(&server, "p");
    place(&server, "p", &format!("{PICK_ONE}, {}", requiring("site: m2")));
    becomes(&server, "p", &["m1 Unscheduled", "m2 Scheduled"]);
    let old = binding(&server, "p", "m1")["metadata"]["name"].clone();
    let roller = server.kubeconfig_for("roller", &["system:masters"]);
    server
        .kubectl_as(
            &roller,
            &["delete", "clusterresourcebinding", old.as_str().unwrap()],
        )
        .succeeds();
    becomes(&server, "p", &["m2 Scheduled"]);
    // Back again: the old binding is deleted, so there is a new one.
    place(&server, "p", &format!("{PICK_ONE}, {}", requiring("site: m1")));
    becomes(&server, "p", &["m1 Scheduled", "m2 Unscheduled"]);
}

#[test]
fn a_deleted_placement_takes_its_bindings_and_snapshots_along() {
    let server = server();
    for name in ["m1", "m2"] {
        member(&server, name, "");
    }
    place(&server, "p", "placementType: PickAll");
    place(&server, "other", "placementType: PickAll");
    becomes(&server, "p", &["m1 Scheduled", "m2 Scheduled"]);
    becomes(&server, "other", &["m1 Scheduled", "m2 Scheduled"]);
    roll_out(&server, "p");
    server.kubectl("delete clusterresourceplacement p").succeeds();
    eventually("everything of it to be gone", || {
        let bindings = owned(&server, "clusterresourcebindings", "p");
        let snapshots = owned(&server, "clusterschedulingpolicysnapshots", "p");
        (bindings.is_empty() && snapshots.is_empty()).then_some(())
    });
    assert_eq!(bindings(&server, "other"), ["m1 Scheduled", "m2 Scheduled"]);
    // While a finalizer keeps the placement, its bindings are already deleted.
    patch(
        &server,
        "clusterresourceplacement other",
        r#"{"metadata":{"finalizers":["kubernetes-fleet.io/crp-cleanup"]}}"#,
    );
    server
        .kubectl("delete clusterresourceplacement other --wait=false")
        .succeeds();
    becomes(&server, "other", &[]);
    let placement = server
        .kubectl("get clusterresourceplacement other -o json")
        .json();
    assert!(!placement["metadata"]["deletionTimestamp"].is_null());
}
