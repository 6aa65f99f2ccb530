//! OpenAPI v2 in both encodings.

use prost::Message as _;
use serde_json::json;

use super::{documents, value};
use crate::OPENAPI_V2_PROTOBUF;

#[test]
fn definitions_are_swagger() {
    let swagger = value(&documents().openapi_v2().json);
    assert_eq!(swagger["swagger"], "2.0");
    assert_eq!(swagger["info"], json!({"title": "Sample", "version": "v1.2.3"}));
    let text = swagger.to_string();
    assert!(!text.contains("#/components/") && !text.contains("nullable"));
    let definitions = swagger["definitions"].as_object().unwrap();
    for version in ["v1alpha1", "v1beta1"] {
        assert!(definitions.contains_key(&format!("io.open-cluster-management.cluster.{version}.Placement")));
    }
    let spec = &definitions["io.open-cluster-management.cluster.v1beta1.Placement"]["properties"]["spec"];
    assert_eq!(
        spec["properties"]["extras"],
        json!({"type": "object", "description": "Free-form extras.", "x-kubernetes-preserve-unknown-fields": true})
    );
}

#[test]
fn every_reference_leads_somewhere() {
    let swagger = value(&documents().openapi_v2().json);
    let text = swagger.to_string();
    for part in text.split("\"#/definitions/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(swagger["definitions"].get(name).is_some(), "{name}");
    }
}

#[test]
fn protobuf_says_what_json_says() {
    let documents = documents();
    let (json, protobuf) = (&documents.openapi_v2().json, &documents.openapi_v2().protobuf);
    assert_eq!(protobuf.content_type, OPENAPI_V2_PROTOBUF[1]);
    let swagger = value(json);
    let decoded = crate::v2::message::Document::decode(protobuf.body.clone()).unwrap();
    assert_eq!(decoded.swagger, "2.0");
    let definitions = decoded.definitions.unwrap().additional_properties;
    assert_eq!(
        definitions.len(),
        swagger["definitions"].as_object().unwrap().len()
    );
    let paths = decoded.paths.unwrap().path;
    assert_eq!(paths.len(), swagger["paths"].as_object().unwrap().len());
    let placement = definitions
        .iter()
        .find(|schema| schema.name.ends_with("v1beta1.Placement"))
        .unwrap();
    let schema = placement.value.as_ref().unwrap();
    assert_eq!(schema.r#type.as_ref().unwrap().value, ["object"]);
    assert_eq!(schema.description, "Selects clusters.");
    let extension = &schema.vendor_extension[0];
    assert_eq!(extension.name, "x-kubernetes-group-version-kind");
    assert_eq!(
        extension.value.as_ref().unwrap().yaml,
        "[{\"group\":\"cluster.open-cluster-management.io\",\"kind\":\"Placement\",\"version\":\"v1beta1\"}]\n"
    );
}
