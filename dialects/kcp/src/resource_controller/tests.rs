//! The resource controller's computation.

use serde_json::json;

use super::*;

const LABEL: &str = "state.internal.workloads.kcp.dev/x";
const DELETION: &str = "deletion.internal.workloads.kcp.dev/x";
const SOFT: &str = "finalizers.workloads.kcp.dev/x";
const FINALIZER: &str = "workloads.kcp.dev/syncer-x";
const THEN: &str = "2021-10-28T08:00:00Z";

fn object(labels: Value, annotations: Value, finalizers: Value) -> Value {
    json!({"metadata": {"name": "a", "labels": labels, "annotations": annotations, "finalizers": finalizers}})
}

fn namespace(label: Option<&str>, deletion: Option<&str>) -> Value {
    let mut namespace = object(json!({}), json!({}), json!([]));
    if let Some(label) = label {
        namespace["metadata"]["labels"][LABEL] = label.into();
    }
    if let Some(deletion) = deletion {
        namespace["metadata"]["annotations"][DELETION] = deletion.into();
    }
    namespace
}

fn bare() -> Value {
    object(json!({}), json!({}), json!([]))
}

fn held() -> Value {
    object(json!({LABEL: "Sync"}), json!({}), json!([FINALIZER, "other"]))
}

fn run(namespace: &Value, object: &Value) -> Option<Value> {
    run_as(namespace, object, true, false)
}

fn run_as(namespace: &Value, object: &Value, exists: bool, coordinated: bool) -> Option<Value> {
    let context = Context {
        exists: &|_| exists,
        coordinated,
        now: berth_apimachinery::time::parse("2021-10-28T09:00:00Z").unwrap(),
    };
    let new = reconcile(namespace, object, &context);
    if let Some(new) = &new {
        assert_eq!(
            reconcile(namespace, new, &context),
            None,
            "doing it twice changes nothing"
        );
    }
    new
}

#[test]
fn resources_get_the_label_of_their_namespace() {
    let new = run(&namespace(Some("Sync"), None), &bare()).unwrap();
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    let first = run_as(&namespace(Some("Sync"), None), &bare(), true, true).unwrap();
    assert_eq!(first["metadata"]["labels"][LABEL], "");
    assert_eq!(
        run(&namespace(Some(""), None), &bare()),
        None,
        "the namespace is not synced yet"
    );
    assert_eq!(run(&namespace(None, None), &bare()), None);
}

#[test]
fn a_removal_is_copied_with_its_instant() {
    let leaving = namespace(Some("Sync"), Some(THEN));
    let new = run(&leaving, &held()).unwrap();
    assert_eq!(new["metadata"]["annotations"][DELETION], THEN);
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    let mut earlier = held();
    earlier["metadata"]["annotations"][DELETION] = "2021-01-01T00:00:00Z".into();
    assert_eq!(run(&leaving, &earlier), None, "a valid instant is kept");
    let mut odd = held();
    odd["metadata"]["annotations"][DELETION] = "soon".into();
    assert_eq!(
        run(&leaving, &odd).unwrap()["metadata"]["annotations"][DELETION],
        THEN
    );
    assert_eq!(
        run(&namespace(Some("Sync"), Some("soon")), &held()),
        None,
        "an invalid one is not copied"
    );
}

#[test]
fn nothing_new_goes_to_a_cluster_that_is_being_left() {
    assert_eq!(run(&namespace(Some("Sync"), Some(THEN)), &bare()), None);
}

#[test]
fn what_no_syncer_has_seen_leaves_at_once_unless_it_is_held() {
    let leaving = namespace(Some("Sync"), Some(THEN));
    let assigned = object(json!({LABEL: ""}), json!({}), json!([]));
    let new = run_as(&leaving, &assigned, true, true).unwrap();
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
    assert!(new["metadata"]["annotations"].get(DELETION).is_none());
    let soft = object(json!({LABEL: ""}), json!({SOFT: "ingress"}), json!([]));
    let new = run_as(&leaving, &soft, true, true).unwrap();
    assert_eq!(new["metadata"]["labels"][LABEL], "");
    assert_eq!(new["metadata"]["annotations"][DELETION], THEN);
    let mut deleted = assigned;
    deleted["metadata"]["deletionTimestamp"] = THEN.into();
    let new = run_as(&namespace(Some("Sync"), None), &deleted, true, true).unwrap();
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
}

#[test]
fn what_is_held_is_drained_and_what_is_not_is_let_go() {
    let new = run(&namespace(None, None), &held()).unwrap();
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    assert_eq!(new["metadata"]["annotations"][DELETION], "2021-10-28T09:00:00Z");
    let soft = object(json!({LABEL: "Sync"}), json!({SOFT: "ingress"}), json!([]));
    assert_eq!(
        run(&namespace(None, None), &soft).unwrap()["metadata"]["labels"][LABEL],
        "Sync"
    );
    let free = object(
        json!({LABEL: "Sync"}),
        json!({DELETION: THEN, SOFT: " , "}),
        json!([]),
    );
    let new = run(&namespace(None, None), &free).unwrap();
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
    assert!(new["metadata"]["annotations"].get(DELETION).is_none());
}

#[test]
fn a_resource_that_is_deleted_leaves_every_cluster() {
    let mut deleted = held();
    deleted["metadata"]["deletionTimestamp"] = THEN.into();
    let new = run(&namespace(Some("Sync"), None), &deleted).unwrap();
    assert_eq!(new["metadata"]["annotations"][DELETION], THEN);
    let mut unsynced = bare();
    unsynced["metadata"]["deletionTimestamp"] = THEN.into();
    assert_eq!(run(&namespace(Some("Sync"), None), &unsynced), None);
}

#[test]
fn a_cluster_that_is_gone_is_forgotten() {
    let mut object = held();
    object["metadata"]["annotations"] =
        json!({DELETION: THEN, "experimental.status.workloads.kcp.dev/x": "{}"});
    let new = run_as(&namespace(Some("Sync"), None), &object, false, false).unwrap();
    assert_eq!(new["metadata"]["finalizers"], json!(["other"]));
    assert_eq!(new["metadata"]["labels"], json!({}));
    assert_eq!(new["metadata"]["annotations"], json!({}));
}

#[test]
fn an_invalid_label_is_mended() {
    let odd = object(json!({LABEL: "Odd"}), json!({}), json!([]));
    let new = run(&namespace(Some("Sync"), None), &odd).unwrap();
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    let new = run(&namespace(None, None), &odd).unwrap();
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
}
