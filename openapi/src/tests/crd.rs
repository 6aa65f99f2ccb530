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

#[test]
fn a_list_whose_keys_may_be_missing_is_one_value_and_others_keep_their_keys() {
    let list = |item: serde_json::Value| json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
    let required = json!({"type": "object", "required": ["name"]});
    let defaulted = json!({"type": "object", "properties": {"name": {"type": "string", "default": "x"}}});
    let loose = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let mut schema = json!({"properties": {
        "required": list(required), "defaulted": list(defaulted.clone()), "loose": list(loose.clone())}});
    crd::drop_unusable_list_keys(&mut schema);
    let fields = &schema["properties"];
    assert_eq!(fields["required"]["x-kubernetes-list-type"], "map");
    assert_eq!(fields["defaulted"], list(defaulted));
    assert_eq!(
        fields["loose"],
        json!({"type": "array", "items": loose, "x-kubernetes-list-type": "atomic"})
    );
}
