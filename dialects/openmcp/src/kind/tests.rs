//! The rules of the kinds: defaults, validation, immutable fields.

use berth_apimachinery::{Kind, Object, Revision, Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::access_request::AccessRequestKind;
use super::cluster::ClusterKind;
use super::cluster_profile::ClusterProfileKind;
use super::cluster_request::ClusterRequestKind;
use crate::names::VERSION;

fn schema_errors(kind: &dyn Kind, mut value: Value) -> Vec<String> {
    let schema = kind.schema(VERSION);
    schema.default(&mut value);
    schema.validate(&value).iter().map(ToString::to_string).collect()
}

fn change(kind: &dyn Kind, operation: WriteOperation, old: &Value, new: &Value) -> Vec<String> {
    let write = Write {
        operation,
        old: Some(old),
        now: Timestamp::UNIX_EPOCH,
    };
    kind.validate(&write, new)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn cells(kind: &dyn Kind, value: &Value) -> Vec<String> {
    let object = Object::new(value, Revision(1)).unwrap();
    assert_eq!(kind.row(&object).len(), kind.columns().len());
    let row = kind.row(&object);
    row.iter()
        .map(|cell| match cell {
            berth_apimachinery::Cell::Value(Value::String(text)) => text.clone(),
            other => format!("{other:?}"),
        })
        .collect()
}

fn cluster() -> Value {
    json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster",
        "metadata": {
            "name": "c", "namespace": "ns",
            "labels": {"clusters.openmcp.cloud/k8sversion": "1.32.4", "clusters.openmcp.cloud/provider": "gardener"},
            "annotations": {"clusters.openmcp.cloud/providerinfo": "garden/shoot-c"},
        },
        "spec": {
            "profile": "gcp-large", "tenancy": "Shared", "purposes": ["platform", "workload"],
            "clusterConfigs": [{"name": "network"}], "kubernetes": {"version": "1.32"}, "later": {"field": 1},
        },
        "status": {"observedGeneration": 1, "phase": "Ready", "providerStatus": {"any": ["thing"]}},
    })
}

fn request() -> Value {
    json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest",
        "metadata": {"name": "r", "namespace": "ns"},
        "spec": {"purpose": "mcp", "waitForClusterDeletion": true},
        "status": {"observedGeneration": 1, "phase": "Granted", "cluster": {"name": "c", "namespace": "x"}},
    })
}

#[test]
fn full_manifests_are_valid_and_unknown_fields_are_no_error() {
    assert_eq!(schema_errors(&ClusterKind, cluster()), Vec::<String>::new());
    assert_eq!(
        schema_errors(&ClusterRequestKind, request()),
        Vec::<String>::new()
    );
    let profile = json!({"spec": {
        "providerRef": {"name": "gardener"}, "providerConfigRef": {"name": "gcp"},
        "supportedVersions": [{"version": "1.32.4"}, {"version": "1.31.8", "deprecated": true}],
    }});
    assert_eq!(schema_errors(&ClusterProfileKind, profile), Vec::<String>::new());
}

#[test]
fn what_is_missing_or_malformed_is_told_with_its_path() {
    let cases: [(&dyn Kind, Value, &[&str]); 6] = [
        (&ClusterKind, json!({}), &["spec: Required value"]),
        (
            &ClusterKind,
            json!({"spec": {"purposes": [], "tenancy": "Single"}}),
            &[
                "spec.profile: Required value",
                "spec.purposes: Invalid value: []",
                "spec.tenancy: Unsupported value",
            ],
        ),
        (
            &ClusterKind,
            json!({"spec": {"profile": "p", "tenancy": "Shared"}, "status": {"endpoints": [{"name": "a"}]}}),
            &[
                "status.observedGeneration",
                "status.phase",
                "status.endpoints[0].url",
            ],
        ),
        (
            &ClusterRequestKind,
            json!({"spec": {}}),
            &["spec.purpose: Required value"],
        ),
        (
            &ClusterRequestKind,
            json!({"spec": {"purpose": ""}, "status": {"phase": "Granted", "observedGeneration": 1, "cluster": {"name": "c"}}}),
            &[
                "spec.purpose: Invalid value: \"\"",
                "status.cluster.namespace: Required value",
            ],
        ),
        (
            &ClusterProfileKind,
            json!({"spec": {"providerRef": {"name": "g"}, "supportedVersions": [{"version": "1.32"}]}}),
            &[
                "spec.providerConfigRef: Required value",
                "spec.supportedVersions[0].version: Invalid value: \"1.32\"",
            ],
        ),
    ];
    for (kind, value, expected) in cases {
        let errors = schema_errors(kind, value);
        for text in expected {
            assert!(
                errors.iter().any(|error| error.starts_with(text)),
                "{text} is not in {errors:?}"
            );
        }
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
    }
}

#[test]
fn the_profile_of_a_cluster_is_immutable_and_its_tenancy_is_not() {
    let old = cluster();
    let mut new = cluster();
    new["spec"]["tenancy"] = json!("Exclusive");
    assert!(change(&ClusterKind, WriteOperation::Update, &old, &new).is_empty());
    new["spec"]["profile"] = json!("gcp-small");
    assert_eq!(
        change(&ClusterKind, WriteOperation::Update, &old, &new),
        ["spec.profile: Invalid value: \"gcp-small\": profile is immutable"]
    );
}

#[test]
fn the_spec_of_a_request_is_immutable() {
    let mut new = request();
    new["spec"]["waitForClusterDeletion"] = json!(false);
    let errors = change(&ClusterRequestKind, WriteOperation::Update, &request(), &new);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("spec: Invalid value: ") && errors[0].ends_with(": spec is immutable"));
}

#[test]
fn a_granted_cluster_neither_changes_nor_goes() {
    let status = WriteOperation::Subresource("status");
    let mut moved = request();
    moved["status"]["cluster"]["name"] = json!("d");
    let errors = change(&ClusterRequestKind, status, &request(), &moved);
    assert!(errors[0].ends_with("cluster is immutable"), "{errors:?}");
    let mut removed = request();
    removed["status"]["cluster"] = Value::Null;
    let errors = change(&ClusterRequestKind, status, &request(), &removed);
    assert!(
        errors[0].ends_with("cluster may not be removed once set"),
        "{errors:?}"
    );
    let mut first = request();
    first["status"] = json!({"phase": "Pending", "observedGeneration": 1});
    assert!(change(&ClusterRequestKind, status, &first, &request()).is_empty());
    let mut later = request();
    later["status"]["phase"] = json!("Pending");
    assert!(change(&ClusterRequestKind, status, &request(), &later).is_empty());
}

#[test]
fn columns_are_those_of_the_systems_own_definitions() {
    let names = |kind: &dyn Kind| {
        kind.columns()
            .iter()
            .map(|column| column.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&ClusterKind),
        [
            "Name", "Purposes", "Phase", "Version", "Provider", "Profile", "Info", "Age"
        ]
    );
    assert_eq!(ClusterKind.columns()[5].priority, 10);
    assert_eq!(
        names(&ClusterRequestKind),
        ["Name", "Purpose", "Phase", "Cluster", "Cluster-NS"]
    );
    assert_eq!(names(&ClusterProfileKind), ["Name", "Provider", "Config"]);
    assert_eq!(
        cells(&ClusterKind, &cluster())[..7],
        [
            "c",
            r#"["platform","workload"]"#,
            "Ready",
            "1.32.4",
            "gardener",
            "gcp-large",
            "garden/shoot-c"
        ]
    );
    assert_eq!(
        cells(&ClusterRequestKind, &request()),
        ["r", "mcp", "Granted", "c", "x"]
    );
}

#[test]
fn selectable_fields_read_what_they_name() {
    let read = |kind: &dyn Kind, value: &Value| -> Vec<(&str, String)> {
        let fields = kind.selectable().iter();
        fields.map(|field| (field.path, field.read(value))).collect()
    };
    assert_eq!(
        read(&ClusterKind, &cluster()),
        [("spec.profile", "gcp-large".to_owned())]
    );
    assert_eq!(
        read(&ClusterRequestKind, &request()),
        [
            ("spec.purpose", "mcp".to_owned()),
            ("status.phase", "Granted".to_owned())
        ]
    );
    let paths: Vec<&str> = ClusterProfileKind
        .selectable()
        .iter()
        .map(|field| field.path)
        .collect();
    assert_eq!(paths, ["spec.providerRef.name", "spec.providerConfigRef.name"]);
}

#[test]
fn an_access_request_asks_in_one_way_and_for_one_cluster_for_good() {
    let of = |spec: Value| {
        json!({"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest",
            "metadata": {"name": "a", "namespace": "ns"}, "spec": spec})
    };
    let kind = AccessRequestKind;
    let token = json!({"roleRefs": [{"kind": "ClusterRole", "name": "cluster-admin"}]});
    let reference = json!({"name": "r", "namespace": "ns"});
    let good = of(json!({"requestRef": reference, "token": token}));
    assert!(schema_errors(&kind, good.clone()).is_empty());
    assert!(change(&kind, WriteOperation::Update, &good, &good).is_empty());
    let both = of(json!({"requestRef": reference, "token": token, "oidc": {"name": "system"}}));
    let problems = change(&kind, WriteOperation::Update, &good, &both);
    assert!(
        problems[0].contains("exactly one of spec.token or spec.oidc must be set"),
        "{problems:?}"
    );
    assert!(problems[1].contains("is reserved"), "{problems:?}");
    let other = of(json!({"requestRef": {"name": "x", "namespace": "ns"}, "token": token}));
    let problems = change(&kind, WriteOperation::Update, &good, &other);
    assert!(problems[0].contains("requestRef is immutable"), "{problems:?}");
    let problems = change(&kind, WriteOperation::Update, &good, &of(json!({"token": token})));
    assert!(
        problems[0].contains("requestRef may not be removed once set"),
        "{problems:?}"
    );
    let wrong = of(json!({"token": {"roleRefs": [{"kind": "Group", "name": ""}]}}));
    let problems = schema_errors(&kind, wrong);
    assert_eq!(problems.len(), 2, "{problems:?}");
}
