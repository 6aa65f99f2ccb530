//! Targets as ClusterProfiles.

use std::sync::Arc;

use berth_apimachinery::{Kind, Object, Revision};
use berth_dialect_contract::Access;

use super::*;
use crate::kinds;

fn view(ready: &'static str) -> TargetView {
    let object = json!({
        "apiVersion": "x/v1", "kind": "X",
        "metadata": {"name": "c1", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
    });
    TargetView {
        object: Arc::new(Object::new(&object, Revision(1)).unwrap()),
        cluster_name: "ns/c1".into(),
        ready,
        ready_reason: "Available",
        ready_message: String::new(),
        cordoned: false,
        taints: Vec::new(),
        capacity: Vec::new(),
        region: "eu-1".to_owned(),
        zone: "eu-1a".to_owned(),
        provider: String::new(),
        labels: [("env", "prod"), (MANAGER_LABEL, "somebody"), (SET_LABEL, "a-set")]
            .into_iter()
            .collect(),
        warnings: Vec::new(),
        due_at: None,
    }
}

fn settings() -> Settings {
    Settings {
        namespace: "argocd".to_owned(),
        manager: "berth".to_owned(),
        ..Settings::default()
    }
}

fn made(view: &TargetView, facts: &Facts, old: Option<&Value>) -> Value {
    let target = Target {
        system: "openmcp",
        name: "ns.c1",
        view,
        facts,
    };
    render(&settings(), target, old, "2026-02-02T00:00:00Z".parse().unwrap())
}

#[test]
fn the_manager_is_labelled_and_labels_of_the_cluster_never_replace_that() {
    let profile = made(&view("True"), &Facts::default(), None);
    let labels = &profile["metadata"]["labels"];
    assert_eq!(labels[MANAGER_LABEL], "berth");
    assert_eq!(labels["env"], "prod");
    assert_eq!(labels[SYSTEM_LABEL], "openmcp");
    assert!(labels.get(SET_LABEL).is_none(), "{labels}");
    assert_eq!(profile["spec"]["clusterManager"]["name"], "berth");
}

#[test]
fn the_transition_time_moves_only_with_the_status() {
    let first = made(&view("True"), &Facts::default(), None);
    let since = |profile: &Value| profile["status"]["conditions"][0]["lastTransitionTime"].clone();
    assert_eq!(since(&first), "2026-01-01T00:00:00Z");
    assert_eq!(
        since(&made(&view("True"), &Facts::default(), Some(&first))),
        "2026-01-01T00:00:00Z"
    );
    assert_eq!(
        since(&made(&view("False"), &Facts::default(), Some(&first))),
        "2026-02-02T00:00:00Z"
    );
}

#[test]
fn properties_that_the_schema_refuses_are_left_out_and_the_rest_is_valid() {
    let facts = Facts {
        version: "v1.34.2".to_owned(),
        properties: [("id", "x"), ("empty", ""), ("long", &"y".repeat(1025))]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        access: Some(Access {
            provider: "open-cluster-management",
            server: "https://c1:6443".to_owned(),
            ca: "Q0E=".to_owned(),
        }),
    };
    let profile = made(&view("Unknown"), &facts, None);
    let names: Vec<&str> = profile["status"]["properties"]
        .as_array()
        .unwrap()
        .iter()
        .map(|property| property["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "cluster-name.scheduling.berth.dev",
            "id",
            "region.scheduling.berth.dev",
            "zone.scheduling.berth.dev"
        ]
    );
    let cluster = &profile["status"]["accessProviders"][0]["cluster"];
    assert_eq!(
        *cluster,
        json!({"server": "https://c1:6443", "certificate-authority-data": "Q0E="})
    );
    let errors = kinds::cluster_profile().schema("v1alpha1").validate(&profile);
    assert!(errors.is_empty(), "{errors:?}");
}
