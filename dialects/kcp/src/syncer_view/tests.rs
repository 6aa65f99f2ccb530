//! Objects that a syncer sees, and its writes.

use super::*;

const SYNCER: Syncer<'static> = Syncer {
    identifier: "x",
    advanced: false,
};
const ADVANCED: Syncer<'static> = Syncer {
    identifier: "x",
    advanced: true,
};

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "app", "uid": "u", "resourceVersion": "7",
            "labels": {
                "app": "web", "state.internal.workloads.kcp.dev/x": "Sync", "state.internal.workloads.kcp.dev/y": "Sync",
            },
            "annotations": {
                "note": "kept", "finalizers.workloads.kcp.dev/x": "ingress", "finalizers.workloads.kcp.dev/y": "other",
                "deletion.internal.workloads.kcp.dev/y": "2021-10-28T08:00:00Z",
                "experimental.spec-diff.workloads.kcp.dev/x": "[{\"op\":\"replace\",\"path\":\"/replicas\",\"value\":1}]",
                "experimental.status.workloads.kcp.dev/x": "{\"replicas\":1}",
            },
            "finalizers": ["foregroundDeletion", "workloads.kcp.dev/syncer-x", "workloads.kcp.dev/syncer-y"],
        },
        "spec": {"replicas": 3}, "status": {"replicas": 3},
    })
}

fn deleting(at: &str) -> Value {
    let mut object = deployment();
    object["metadata"]["annotations"]["deletion.internal.workloads.kcp.dev/x"] = at.into();
    object
}

fn without_finalizers(mut object: Value) -> Value {
    object["metadata"]["finalizers"] = json!([]);
    object
}

#[test]
fn a_syncer_sees_what_is_synced_to_its_cluster_only() {
    let mut object = deployment();
    assert!(SYNCER.sees(&object));
    object["metadata"]["labels"]["state.internal.workloads.kcp.dev/x"] = "".into();
    assert!(SYNCER.view(&object).is_none());
    let other = Syncer {
        identifier: "z",
        advanced: false,
    };
    assert!(other.view(&object).is_none());
}

#[test]
fn the_view_is_free_of_other_clusters() {
    let seen = SYNCER.view(&deployment()).unwrap();
    assert!(seen.problems.is_empty());
    let metadata = &seen.object["metadata"];
    assert_eq!(
        metadata["labels"],
        json!({"app": "web", "state.internal.workloads.kcp.dev/x": "Sync"})
    );
    let keys: Vec<&String> = metadata["annotations"].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "experimental.spec-diff.workloads.kcp.dev/x",
            "experimental.status.workloads.kcp.dev/x",
            "finalizers.workloads.kcp.dev/x",
            "note",
        ]
    );
    assert_eq!(metadata["finalizers"], json!(["workloads.kcp.dev/syncer-x"]));
    assert!(
        metadata.get("deletionTimestamp").is_none(),
        "another cluster's removal has no effect"
    );
    assert_eq!(seen.object["spec"], json!({"replicas": 3}));
    let namespace = json!({"metadata": {"name": "app", "labels": {"state.internal.workloads.kcp.dev/x": "Sync"},
        "annotations": {PLACEMENT: "{}", "internal.scheduling.kcp.dev/negotiation-workspace": "root"}}});
    let seen = SYNCER.view(&namespace).unwrap().object;
    assert_eq!(seen["metadata"]["annotations"], json!({}));
    assert!(seen["metadata"].get("finalizers").is_none());
}

#[test]
fn a_removal_shows_as_a_deletion_and_a_real_deletion_does_not() {
    let mut object = deleting("2021-10-28T10:00:00+02:00");
    assert_eq!(
        SYNCER.view(&object).unwrap().object["metadata"]["deletionTimestamp"],
        "2021-10-28T08:00:00Z"
    );
    object["metadata"]["annotations"]["deletion.internal.workloads.kcp.dev/x"] = "soon".into();
    object["metadata"]["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
    object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
    let seen = SYNCER.view(&object).unwrap();
    assert!(seen.object["metadata"].get("deletionTimestamp").is_none());
    assert!(
        seen.object["metadata"]
            .get("deletionGracePeriodSeconds")
            .is_none()
    );
    assert_eq!(seen.problems.len(), 1, "{:?}", seen.problems);
}

#[test]
fn a_patch_of_the_spec_that_would_grow_without_bound_is_left_out_and_said_so() {
    let mut bomb = deployment();
    bomb["spec"] = json!({"a": ["x"]});
    let copies = vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 40];
    bomb["metadata"]["annotations"]["experimental.spec-diff.workloads.kcp.dev/x"] =
        json!(copies).to_string().into();
    let seen = ADVANCED.view(&bomb).unwrap();
    assert_eq!(seen.object["spec"], bomb["spec"], "the common spec is shown");
    let told = seen.object["metadata"]["annotations"][PROBLEM].as_str().unwrap();
    assert_eq!(told, seen.problems[0], "and that it is not to be synced");
    assert!(
        seen.problems[0].contains("limit of 262144 bytes"),
        "{:?}",
        seen.problems
    );
}

#[test]
fn a_patch_of_the_spec_that_replaces_what_is_not_there_is_not_applied() {
    let mut mistyped = deployment();
    mistyped["metadata"]["annotations"]["experimental.spec-diff.workloads.kcp.dev/x"] =
        r#"[{"op": "replace", "path": "/replicaz", "value": 0}]"#.into();
    let seen = ADVANCED.view(&mistyped).unwrap();
    assert_eq!(seen.object["spec"], mistyped["spec"]);
    let told = seen.object["metadata"]["annotations"][PROBLEM].as_str().unwrap();
    assert!(told.contains("operation 0 at \"/replicaz\""), "{told}");
}

#[test]
fn spec_and_status_may_be_the_clusters_own() {
    let seen = ADVANCED.view(&deployment()).unwrap();
    assert_eq!(seen.object["spec"], json!({"replicas": 1}));
    assert_eq!(seen.object["status"], json!({"replicas": 1}));
    let mut odd = deployment();
    odd["metadata"]["annotations"]["experimental.spec-diff.workloads.kcp.dev/x"] =
        "[{\"op\":\"remove\",\"path\":\"/a\"}]".into();
    odd["metadata"]["annotations"]["experimental.status.workloads.kcp.dev/x"] = "{".into();
    let seen = ADVANCED.view(&odd).unwrap();
    assert_eq!(seen.problems.len(), 2);
    assert_eq!(seen.object["spec"], json!({"replicas": 3}));
    let told = seen.object["metadata"]["annotations"][PROBLEM].as_str().unwrap();
    assert!(
        told.contains("spec-diff") && told.contains("cannot be applied"),
        "{told}"
    );
    assert!(seen.object.get("status").is_none());
    let written = json!({"status": {"replicas": 2}});
    let new = ADVANCED.update_status(&deployment(), &written).unwrap();
    assert_eq!(
        new["metadata"]["annotations"]["experimental.status.workloads.kcp.dev/x"],
        "{\"replicas\":2}"
    );
    assert_eq!(new["status"], deployment()["status"]);
    assert_eq!(
        SYNCER.update_status(&deployment(), &written).unwrap()["status"],
        json!({"replicas": 2})
    );
}

#[test]
fn a_syncer_takes_hold_with_its_finalizer() {
    let mut stored = deployment();
    stored["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    let mut written = SYNCER.view(&stored).unwrap().object;
    written["metadata"]["finalizers"] = json!(["workloads.kcp.dev/syncer-x"]);
    let new = SYNCER.update(&stored, &written, 0).unwrap();
    assert_eq!(
        new["metadata"]["finalizers"],
        json!(["foregroundDeletion", "workloads.kcp.dev/syncer-x"])
    );
    let mut expected = stored.clone();
    expected["metadata"]["finalizers"] = new["metadata"]["finalizers"].clone();
    assert_eq!(new, expected, "nothing else changes");
}

#[test]
fn a_release_leaves_nothing_of_the_cluster_behind() {
    let stored = deleting("2021-10-28T08:00:00Z");
    let written = without_finalizers(SYNCER.view(&stored).unwrap().object);
    let new = SYNCER.update(&stored, &written, 0).unwrap();
    assert!(!SYNCER.sees(&new));
    assert_eq!(
        new["metadata"]["finalizers"],
        json!(["foregroundDeletion", "workloads.kcp.dev/syncer-y"])
    );
    let annotations = new["metadata"]["annotations"].as_object().unwrap();
    let left: Vec<&String> = annotations.keys().filter(|key| key.ends_with("/x")).collect();
    assert_eq!(
        left,
        ["finalizers.workloads.kcp.dev/x"],
        "the coordination controllers' own"
    );
    assert!(
        new["metadata"]["labels"]
            .get("state.internal.workloads.kcp.dev/y")
            .is_some()
    );
    let denied = SYNCER.update(&stored, &written, 2).unwrap_err();
    assert!(
        format!("{denied:?}").contains("still has 2 resources"),
        "{denied:?}"
    );
}

#[test]
fn whatever_else_a_syncer_changes_is_refused() {
    let stored = deployment();
    let mut written = without_finalizers(SYNCER.view(&stored).unwrap().object);
    written["spec"]["replicas"] = 9.into();
    written["metadata"]["labels"]["state.internal.workloads.kcp.dev/z"] = "Sync".into();
    written["metadata"]["annotations"]["note"] = "changed".into();
    written["metadata"]["finalizers"] = json!(["mine"]);
    let Denial::Invalid(errors) = SYNCER.update(&stored, &written, 0).unwrap_err() else {
        panic!("fields are wrong");
    };
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec",
            "metadata.annotations",
            "metadata.labels",
            "metadata.finalizers[mine]",
            "metadata.finalizers"
        ]
    );
    let mut unseen = stored.clone();
    unseen["metadata"]["labels"] = json!({});
    assert!(matches!(
        SYNCER.update(&unseen, &written, 0),
        Err(Denial::Forbidden(_))
    ));
    assert!(matches!(
        SYNCER.update_status(&unseen, &written),
        Err(Denial::Forbidden(_))
    ));
}

#[test]
fn downstream_namespaces_have_the_name_kcp_gives_them() {
    assert_eq!(
        downstream_namespace("root:org:ws", "test"),
        "kcp0124d7647eb6a00b1fcb6f2252201601634989dd79deb7375c373973"
    );
    assert_eq!(
        namespace_locator("root:org:ws", "test"),
        r#"{"logical-cluster":"root:org:ws","namespace":"test"}"#
    );
}

#[test]
fn what_looks_as_it_is_stored_is_not_translated() {
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "app",
        "labels": {"state.internal.workloads.kcp.dev/x": "Sync"}, "annotations": {"finalizers.workloads.kcp.dev/x": "i"},
        "finalizers": ["workloads.kcp.dev/syncer-x"]}});
    let stored =
        |object: &Value| berth_apimachinery::Object::new(object, berth_apimachinery::Revision(1)).unwrap();
    assert!(SYNCER.looks_as_stored(&stored(&plain)));
    assert_eq!(SYNCER.show(&plain).object, plain);
    assert!(!ADVANCED.looks_as_stored(&stored(&plain)));
    for (pointer, value) in [
        (
            "/metadata/labels",
            json!({"state.internal.workloads.kcp.dev/y": "Sync"}),
        ),
        (
            "/metadata/annotations",
            json!({"deletion.internal.workloads.kcp.dev/x": "2021-10-28T08:00:00Z"}),
        ),
        (
            "/metadata/annotations",
            json!({"scheduling.kcp.dev/placement": "{}"}),
        ),
        ("/metadata/finalizers", json!(["other"])),
        ("/metadata/deletionTimestamp", json!("2021-10-28T08:00:00Z")),
    ] {
        let mut object = plain.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field] = value;
        assert!(!SYNCER.looks_as_stored(&stored(&object)), "{pointer}");
        assert_ne!(SYNCER.show(&object).object, object, "{pointer}");
    }
}
