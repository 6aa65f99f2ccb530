//! The schema of the chart's values: what there is to choose, and what does not go together.

use anyhow::Result;
use berth::hub::args::Place;
use serde_json::{Map, Value, json};

use super::choices::{systems, word};

/// `values.schema.json`.
///
/// # Errors
/// When it has no form in JSON.
pub(super) fn text() -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(&schema())?))
}

fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart berth",
        "type": "object",
        "additionalProperties": false,
        "properties": properties(),
        "allOf": [shared_store(), where_etcd_is(), something_on()],
    })
}

fn properties() -> Value {
    let string = json!({"type": "string"});
    let switch = object(&json!({"enabled": {"type": "boolean"}}));
    let map = json!({"type": "object"});
    let list = json!({"type": "array"});
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let places = [Place::Hub, Place::Owned, Place::Off].map(word);
    let source = json!({"enum": places});
    let sources: Map<String, Value> = systems()
        .into_iter()
        .map(|system| (system.to_owned(), source.clone()))
        .collect();
    json!({
        "sources": object(&Value::Object(sources)),
        "storage": {"enum": ["embedded", "etcd"]},
        "persistence": object(&json!({
            "size": {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?([KMGTPE]i?|[kmun])?$"},
            "storageClassName": string,
        })),
        "etcd": object(&json!({
            "servers": {"type": "array", "items": {"type": "string", "pattern": "^https?://"}},
            "secretName": string,
        })),
        "certManager": switch,
        "systemDefinitions": {"type": "boolean"},
        "image": object(&json!({
            "repository": {"type": "string", "minLength": 1},
            "tag": string,
            "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        })),
        "imagePullSecrets": list,
        "replicas": {"type": "integer", "minimum": 0},
        "resources": map,
        "nodeSelector": map,
        "tolerations": list,
        "affinity": map,
        "priorityClassName": string,
        "extraArgs": strings,
        "serviceMonitor": switch,
        "networkPolicy": switch,
        // Helm's own, for charts that have this one as a part.
        "global": map,
    })
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// Schemas of `sources` where one system at least is in one of `places`.
fn some(places: &[Place]) -> Value {
    let words: Vec<&str> = places.iter().copied().map(word).collect();
    let of = |system: &str| json!({"properties": {system: {"enum": words}}, "required": [system]});
    let all: Vec<Value> = systems().into_iter().map(of).collect();
    json!({"anyOf": all})
}

/// Several servers that store objects do it in one store.
fn shared_store() -> Value {
    json!({
        "if": {
            "properties": {"sources": some(&[Place::Owned]), "replicas": {"minimum": 2}},
            "required": ["sources", "replicas"],
        },
        "then": {"properties": {"storage": {"const": "etcd"}}},
    })
}

fn where_etcd_is() -> Value {
    json!({
        "if": {"properties": {"storage": {"const": "etcd"}}, "required": ["storage"]},
        "then": {"properties": {"etcd": {"properties": {"servers": {"minItems": 1}}}}},
    })
}

fn something_on() -> Value {
    json!({"properties": {"sources": some(&[Place::Hub, Place::Owned])}})
}
