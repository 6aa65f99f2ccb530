//! A kind as a CustomResourceDefinition.

use serde_json::json;

use super::sample;
use crate::crd;

#[test]
fn a_kind_becomes_a_definition_with_all_its_versions() {
    let placement = &sample::resources()[1];
    let definition = crd::definition(&*placement.kind);
    assert_eq!(
        definition["metadata"]["name"],
        "placements.cluster.open-cluster-management.io"
    );
    let spec = &definition["spec"];
    assert_eq!(
        spec["names"],
        json!({
            "kind": "Placement", "listKind": "PlacementList", "plural": "placements", "singular": "placement",
            "shortNames": ["pl"], "categories": ["all"],
        })
    );
    assert_eq!(spec["scope"], "Namespaced");
    let stored: Vec<_> = spec["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| (&v["name"], &v["storage"]))
        .collect();
    assert_eq!(
        stored,
        [
            (&json!("v1beta1"), &json!(true)),
            (&json!("v1alpha1"), &json!(false))
        ]
    );
    let version = &spec["versions"][0];
    assert_eq!(version["subresources"], json!({"status": {}}));
    assert_eq!(
        version["schema"]["openAPIV3Schema"]["properties"]["metadata"],
        json!({"type": "object"})
    );
}
