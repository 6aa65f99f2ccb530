//! Writes that a syncer may make.

use super::*;
use crate::syncer_view::Syncer;

const SYNCER: Syncer<'static> = Syncer {
    identifier: "x",
    advanced: false,
};

fn synced() -> Value {
    let labels =
        json!({"state.internal.workloads.kcp.dev/x": "Sync", "state.internal.workloads.kcp.dev/y": "Sync"});
    let annotations = json!({"deletion.internal.workloads.kcp.dev/x": "2021-10-28T08:00:00Z"});
    object(labels, annotations, json!(["workloads.kcp.dev/syncer-x"]))
}

#[test]
fn what_the_view_makes_of_a_syncers_writes_passes_the_guard() {
    let stored = synced();
    let mut written = SYNCER.view(&stored).unwrap().object;
    written["metadata"]["finalizers"] = json!([]);
    let released = SYNCER.update(&stored, &written, 0).unwrap();
    assert_eq!(update_resource(SYNCER_X, &stored, &released), Ok(()));
    let reported = SYNCER
        .update_status(&stored, &json!({"status": {"ready": 1}}))
        .unwrap();
    assert_eq!(update_resource(SYNCER_X, &stored, &reported), Ok(()));
}

#[test]
fn a_syncer_touches_nothing_else() {
    let old = synced();
    for (pointer, value, part) in [
        ("/spec/replicas", json!(9), "spec: Forbidden"),
        (
            "/metadata/labels/app",
            json!("b"),
            "metadata.labels[app]: Forbidden",
        ),
        (
            "/metadata/labels/state.internal.workloads.kcp.dev~1y",
            json!(null),
            "metadata.labels[state.internal.workloads.kcp.dev/y]: Forbidden",
        ),
        (
            "/metadata/annotations/finalizers.workloads.kcp.dev~1x",
            json!("mine"),
            "metadata.annotations[finalizers.workloads.kcp.dev/x]: Forbidden",
        ),
        (
            "/metadata/annotations/experimental.status.workloads.kcp.dev~1y",
            json!("{}"),
            "metadata.annotations[experimental.status.workloads.kcp.dev/y]: Forbidden",
        ),
        (
            "/metadata/finalizers",
            json!(["workloads.kcp.dev/syncer-x", "mine"]),
            "metadata.finalizers: Forbidden",
        ),
    ] {
        let mut new = old.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let fields = new.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let key = key.replace("~1", "/");
        if value.is_null() {
            fields.remove(&key);
        } else {
            fields.insert(key, value);
        }
        refused(update_resource(SYNCER_X, &old, &new), 403, &[part]);
    }
    let mut own = old.clone();
    own["metadata"]["annotations"]["experimental.status.workloads.kcp.dev/x"] = "{}".into();
    assert_eq!(update_resource(SYNCER_X, &old, &own), Ok(()));
}

#[test]
fn a_syncer_changes_no_owners_and_need_not_repeat_what_the_server_sets() {
    let mut old = synced();
    old["metadata"]["uid"] = "1".into();
    old["metadata"]["creationTimestamp"] = "2021-10-28T08:00:00Z".into();
    let mut new = synced();
    new["metadata"]["resourceVersion"] = "9".into();
    assert_eq!(update_resource(SYNCER_X, &old, &new), Ok(()));
    new["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "2"}]);
    refused(
        update_resource(SYNCER_X, &old, &new),
        403,
        &["metadata.ownerReferences: Forbidden"],
    );
}

#[test]
fn a_syncer_makes_and_deletes_nothing() {
    let guard = PlacementGuard::default();
    let bare = object(json!({}), json!({}), json!([]));
    refused(
        review(&guard, SYNCER_X, DEPLOYMENTS, "", None, &bare),
        403,
        &["a syncer may not create objects"],
    );
    for (name, may) in [(SYNCER_X, false), (ALICE, true)] {
        let user = UserInfo {
            name: name.to_owned(),
            ..UserInfo::default()
        };
        let request = Request {
            operation: Operation::Delete,
            resource: DEPLOYMENTS,
            kind: "Deployment",
            subresource: "",
            namespace: "app",
            name: "web",
            user: &user,
            old: Some(&bare),
            dry_run: false,
        };
        assert_eq!(guard.validate(&request, None, &mut Vec::new()).is_ok(), may);
    }
}
