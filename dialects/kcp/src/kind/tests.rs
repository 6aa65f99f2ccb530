//! The rules of the kinds: defaults, validation, columns.

use berth_apimachinery::{Cell, Object, Revision, Write, WriteOperation};
use serde_json::json;

use super::location::LocationKind;
use super::workload_cluster::WorkloadClusterKind;
use super::*;
use crate::names::VERSION;
use crate::testing::{cluster, location, now, with};

fn errors(kind: &dyn Kind, value: &Value) -> Vec<String> {
    let mut value = value.clone();
    let schema = kind.schema(VERSION);
    schema.default(&mut value);
    let write = Write {
        operation: WriteOperation::Create,
        old: None,
        now: now(),
    };
    let mut errors = schema.validate(&value);
    errors.extend(kind.validate(&write, &value));
    errors.iter().map(ToString::to_string).collect()
}

fn cells(kind: &dyn Kind, value: &Value) -> Vec<String> {
    let row = kind.row(&Object::new(value, Revision(1)).unwrap());
    assert_eq!(row.len(), kind.columns().len());
    row.into_iter()
        .map(|cell| match cell {
            Cell::Value(Value::String(text)) => text,
            Cell::Value(value) => value.to_string(),
            Cell::Age(_) => "age".to_owned(),
        })
        .collect()
}

#[test]
fn full_manifests_apply_and_keep_what_is_not_known_here() {
    let full = json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": "us-east1", "labels": {"cloud": "gcp"}, "annotations": {
            "featuregates.experimental.workloads.kcp.dev/advancedscheduling": "true",
        }},
        "spec": {"unschedulable": false, "evictAfter": null, "kubeconfig": "later"},
        "status": {
            "allocatable": {"cpu": "3500m", "memory": "12Gi", "pods": 110}, "capacity": {"cpu": 4},
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2022-06-01T10:00:00Z"},
                {"type": "SyncerReady", "status": "False", "severity": "Warning", "reason": "ErrorStartingSyncer",
                 "message": "no", "lastTransitionTime": "2022-06-01T10:00:00Z"},
            ],
            "syncedResources": ["deployments.apps"], "lastSyncerHeartbeatTime": "2022-06-01T10:00:00Z",
            "virtualWorkspaces": [{"url": "https://kcp.example.com/services/syncer/root:compute/us-east1"}],
            "later": {"field": 1},
        },
    });
    assert_eq!(errors(&WorkloadClusterKind, &full), [""; 0]);
    assert!(
        WorkloadClusterKind
            .schema(VERSION)
            .unknown_fields(&full)
            .is_empty()
    );
    assert_eq!(
        cells(&WorkloadClusterKind, &full),
        ["us-east1", "us-east1", "True", "[\"deployments.apps\"]"]
    );
    let bare = json!({"apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster", "metadata": {"name": "a"}});
    assert_eq!(errors(&WorkloadClusterKind, &bare), [""; 0]);
}

#[test]
fn clusters_are_judged_field_by_field() {
    for (pointer, value, start) in [
        (
            "/spec/evictAfter",
            json!("soon"),
            "spec.evictAfter: Invalid value: \"soon\"",
        ),
        (
            "/spec/unschedulable",
            json!("yes"),
            "spec.unschedulable: Invalid value",
        ),
        (
            "/status/lastSyncerHeartbeatTime",
            json!("x"),
            "status.lastSyncerHeartbeatTime: Invalid value: \"x\"",
        ),
        (
            "/status/capacity",
            json!({"cpu": "many"}),
            "status.capacity.cpu: Invalid value: \"many\"",
        ),
        (
            "/status/conditions",
            json!([{"type": "Ready", "status": "Maybe"}]),
            "status.conditions[0].status: Unsupported value: \"Maybe\": supported values: \"True\", \"False\", \"Unknown\"",
        ),
        (
            "/status/conditions",
            json!([{"type": "Ready", "status": "False", "severity": "Bad"}]),
            "status.conditions[0].severity: Unsupported value: \"Bad\"",
        ),
        (
            "/status/conditions",
            json!([{"status": "True"}]),
            "status.conditions[0].type: Required value",
        ),
    ] {
        let errors = errors(&WorkloadClusterKind, &with(cluster("a", "east"), pointer, value));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(start), "{errors:?}");
    }
}

#[test]
fn locations_have_a_resource_and_counts() {
    let counted = with(
        location("east"),
        "/status",
        json!({"instances": 3, "availableInstances": 2}),
    );
    let labelled = with(
        counted,
        "/metadata/labels",
        json!({"region": "eu", "cloud": "gcp"}),
    );
    assert_eq!(errors(&LocationKind, &labelled), [""; 0]);
    assert_eq!(
        cells(&LocationKind, &labelled),
        ["east", "workloadclusters", "2", "3", "cloud=gcp region=eu"]
    );
    assert_eq!(
        cells(&LocationKind, &location("east")),
        ["east", "workloadclusters", "null", "null", ""]
    );
    let bare = with(location("east"), "/spec", json!({}));
    assert_eq!(errors(&LocationKind, &bare), ["spec.resource: Required value"]);
    let negative = with(location("east"), "/status", json!({"instances": -1}));
    assert_eq!(errors(&LocationKind, &negative).len(), 1);
    let mut defaulted = with(location("east"), "/spec/instanceSelector", Value::Null);
    LocationKind.schema(VERSION).default(&mut defaulted);
    assert_eq!(defaulted["spec"]["instanceSelector"], json!({}), "everything");
}

#[test]
fn the_columns_are_kcps_own() {
    let names = |kind: &dyn Kind| -> Vec<(&str, i32)> {
        let columns = kind.columns().iter();
        columns.map(|column| (column.name, column.priority)).collect()
    };
    assert_eq!(
        names(&WorkloadClusterKind),
        [
            ("Name", 0),
            ("Location", 1),
            ("Ready", 2),
            ("Synced API resources", 3)
        ]
    );
    assert_eq!(
        names(&LocationKind),
        [
            ("Name", 0),
            ("Resource", 0),
            ("Available", 0),
            ("Instances", 0),
            ("Labels", 0)
        ]
    );
    for kind in all() {
        assert_eq!(kind.info().categories, ["kcp"]);
        assert!(kind.info().status_subresource);
    }
}
