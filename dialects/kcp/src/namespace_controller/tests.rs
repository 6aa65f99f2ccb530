//! The namespace controller's computation.

use serde_json::json;

use super::*;

const LABEL: &str = "state.internal.workloads.kcp.dev/x";
const DELETION: &str = "deletion.internal.workloads.kcp.dev/x";

fn now() -> Timestamp {
    berth_apimachinery::time::parse("2021-10-28T09:00:00.7Z").unwrap()
}

fn namespace(state: &str) -> Value {
    let placement = format!(r#"{{"root:compute+east+x":"{state}"}}"#);
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "app", "annotations": {PLACEMENT: placement, "note": "kept"}},
    })
}

fn with(mut namespace: Value, part: &str, key: &str, value: &str) -> Value {
    namespace["metadata"][part][key] = value.into();
    namespace
}

fn state_of(namespace: &Value) -> &str {
    namespace["metadata"]["annotations"][PLACEMENT].as_str().unwrap()
}

#[test]
fn a_pending_namespace_is_adopted_in_one_write() {
    let new = reconcile(&namespace("Pending"), |_| true, now()).unwrap();
    assert_eq!(state_of(&new), r#"{"root:compute+east+x":"Bound"}"#);
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    assert_eq!(new["metadata"]["annotations"]["note"], "kept");
    assert_eq!(
        reconcile(&new, |_| true, now()),
        None,
        "doing it twice changes nothing"
    );
}

#[test]
fn a_bound_namespace_gets_its_label_back() {
    let new = reconcile(
        &with(namespace("Bound"), "annotations", DELETION, "x"),
        |_| true,
        now(),
    )
    .unwrap();
    assert_eq!(new["metadata"]["labels"][LABEL], "Sync");
    assert!(new["metadata"]["annotations"].get(DELETION).is_none());
}

#[test]
fn a_removal_is_stamped_once_and_never_refreshed() {
    let labelled = with(namespace("Removing"), "labels", LABEL, "Sync");
    let stamped = reconcile(&labelled, |_| true, now()).unwrap();
    assert_eq!(
        stamped["metadata"]["annotations"][DELETION],
        "2021-10-28T09:00:00Z"
    );
    assert_eq!(state_of(&stamped), state_of(&labelled));
    let later = now() + jiff::SignedDuration::from_hours(1);
    assert_eq!(reconcile(&stamped, |_| true, later), None);
    let broken = with(labelled, "annotations", DELETION, "soon");
    let mended = reconcile(&broken, |_| true, now()).unwrap();
    assert_eq!(
        mended["metadata"]["annotations"][DELETION],
        "2021-10-28T09:00:00Z"
    );
}

#[test]
fn what_the_cluster_let_go_of_is_unbound() {
    let let_go = with(
        namespace("Removing"),
        "annotations",
        DELETION,
        "2021-10-28T08:00:00Z",
    );
    let new = reconcile(&let_go, |_| true, now()).unwrap();
    assert_eq!(state_of(&new), r#"{"root:compute+east+x":"Unbound"}"#);
    assert!(new["metadata"]["annotations"].get(DELETION).is_none());
    assert_eq!(reconcile(&new, |_| true, now()), None);
}

#[test]
fn a_cluster_that_is_gone_lets_go() {
    let labelled = with(namespace("Removing"), "labels", LABEL, "Sync");
    let new = reconcile(&labelled, |_| false, now()).unwrap();
    assert_eq!(state_of(&new), r#"{"root:compute+east+x":"Unbound"}"#);
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
}

#[test]
fn leftovers_of_an_unbound_entry_go() {
    let left = with(namespace("Unbound"), "labels", LABEL, "Sync");
    let new = reconcile(&left, |_| true, now()).unwrap();
    assert!(new["metadata"]["labels"].get(LABEL).is_none());
    assert_eq!(state_of(&new), state_of(&left));
}

#[test]
fn what_is_not_understood_is_left_to_the_placement_controller() {
    for text in [
        "{",
        "{}",
        "null",
        r#"{"root:compute+east+x":"Pending","odd":"Bound"}"#,
    ] {
        let namespace = with(namespace("Pending"), "annotations", PLACEMENT, text);
        assert_eq!(reconcile(&namespace, |_| true, now()), None, "{text}");
    }
    let mut system = namespace("Pending");
    system["metadata"]["name"] = "kube-system".into();
    assert_eq!(reconcile(&system, |_| true, now()), None);
    let going = with(namespace("Pending"), "labels", "a", "b");
    let mut deleted = going.clone();
    deleted["metadata"]["deletionTimestamp"] = "2021-10-28T09:00:00Z".into();
    assert_eq!(reconcile(&deleted, |_| true, now()), None);
}
