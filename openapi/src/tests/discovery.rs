//! Both forms of discovery are consistent.

use serde_json::{Value, json};

use super::{documents, sample, value};
use crate::AGGREGATED_DISCOVERY;

fn plain(path: &str) -> Value {
    value(&documents().discovery(path).unwrap().plain)
}

fn aggregated(path: &str) -> Value {
    value(documents().discovery(path).unwrap().aggregated.as_ref().unwrap())
}

#[test]
fn every_group_and_version_has_a_document() {
    let documents = documents();
    let paths: Vec<&str> = documents.discovery_paths().collect();
    assert_eq!(
        paths,
        [
            "/api",
            "/api/v1",
            "/apis",
            "/apis/cluster.open-cluster-management.io",
            "/apis/cluster.open-cluster-management.io/v1alpha1",
            "/apis/cluster.open-cluster-management.io/v1beta1",
            "/apis/scheduling.berth.dev",
            "/apis/scheduling.berth.dev/v1alpha1",
        ]
    );
}

#[test]
fn the_core_group_is_listed_apart() {
    let core = plain("/api");
    assert_eq!(
        (&core["kind"], &core["versions"]),
        (&json!("APIVersions"), &json!(["v1"]))
    );
    let names: Vec<Value> = plain("/apis")["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["name"].clone())
        .collect();
    assert_eq!(names, [sample::GROUP, "scheduling.berth.dev"]);
}

#[test]
fn a_group_prefers_its_most_stable_version() {
    let group = plain("/apis/cluster.open-cluster-management.io");
    assert_eq!(group["kind"], "APIGroup");
    assert_eq!(group["preferredVersion"]["version"], "v1beta1");
    assert_eq!(
        group["versions"][1]["groupVersion"],
        "cluster.open-cluster-management.io/v1alpha1"
    );
}

#[test]
fn a_version_lists_resources_and_subresources() {
    let list = plain("/apis/cluster.open-cluster-management.io/v1beta1");
    assert_eq!(list["groupVersion"], "cluster.open-cluster-management.io/v1beta1");
    let resource = &list["resources"][0];
    let hash = resource["storageVersionHash"].as_str().unwrap();
    assert_eq!(hash.len(), 12);
    assert_eq!(
        *resource,
        json!({
            "name": "placements", "singularName": "placement", "namespaced": true, "kind": "Placement",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["pl"], "categories": ["all"], "storageVersionHash": hash,
        })
    );
    assert_eq!(
        list["resources"][1],
        json!({
            "name": "placements/binding", "singularName": "", "namespaced": true, "kind": "Binding",
            "group": "scheduling.berth.dev", "version": "v1alpha1", "verbs": ["create", "get"],
        })
    );
    assert_eq!(
        list["resources"][2],
        json!({
            "name": "placements/status", "singularName": "", "namespaced": true, "kind": "Placement",
            "verbs": ["get", "patch", "update"],
        })
    );
}

#[test]
fn the_aggregated_form_holds_everything_at_once() {
    let list = aggregated("/apis");
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
    );
    let group = &list["items"][0];
    assert_eq!(group["metadata"]["name"], sample::GROUP);
    let version = &group["versions"][0];
    assert_eq!(
        (&version["version"], &version["freshness"]),
        (&json!("v1beta1"), &json!("Current"))
    );
    assert_eq!(
        version["resources"][0],
        json!({
            "resource": "placements",
            "responseKind": {"group": sample::GROUP, "version": "v1beta1", "kind": "Placement"},
            "scope": "Namespaced", "singularResource": "placement",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["pl"], "categories": ["all"],
            "subresources": [
                {
                    "subresource": "binding", "verbs": ["create", "get"],
                    "responseKind": {"group": "scheduling.berth.dev", "version": "v1alpha1", "kind": "Binding"},
                },
                {
                    "subresource": "status", "verbs": ["get", "patch", "update"],
                    "responseKind": {"group": sample::GROUP, "version": "v1beta1", "kind": "Placement"},
                },
            ],
        })
    );
    assert_eq!(
        list["items"][1]["versions"][0]["resources"][1]["scope"],
        "Cluster"
    );
    assert_eq!(aggregated("/api")["items"][0]["metadata"], json!({}));
}

#[test]
fn the_aggregated_form_says_what_it_is_and_has_its_own_tag() {
    let documents = documents();
    let apis = documents.discovery("/apis").unwrap();
    let aggregated = apis.aggregated.as_ref().unwrap();
    assert_eq!(aggregated.content_type, AGGREGATED_DISCOVERY);
    assert_eq!(apis.plain.content_type, "application/json");
    assert_ne!(aggregated.etag, apis.plain.etag);
    assert!(aggregated.etag.starts_with('"') && aggregated.etag.ends_with('"'));
    assert!(
        documents
            .discovery("/apis/scheduling.berth.dev")
            .unwrap()
            .aggregated
            .is_none()
    );
}

#[test]
fn a_server_without_core_kinds_has_an_empty_core() {
    let documents = crate::Documents::new("Sample", "v1", &sample::resources()[1..]);
    assert_eq!(
        value(&documents.discovery("/api").unwrap().plain)["versions"],
        json!([])
    );
    assert!(documents.discovery("/api/v1").is_none());
}
