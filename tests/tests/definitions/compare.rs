//! Comparison of a kind with its definition, with a line for each difference.

use std::collections::BTreeSet;

use berth_apimachinery::{Kind, Scope};
use serde_json::{Value, json};

/// The attributes of schemas for one value, without texts such as descriptions.
const ATTRIBUTES: &[&str] = &[
    "type",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "default",
    "nullable",
    "required",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The differences of `kind` from a definition with the spec `theirs`.
pub(crate) fn kind(kind: &dyn Kind, theirs: &Value) -> Vec<String> {
    let info = kind.info();
    let mut lines = Vec::new();
    let mut same = |what: &str, ours: Value, theirs: &Value| {
        if ours != *theirs {
            lines.push(format!("{}: {what}: {ours} here, {theirs} there", info.kind));
        }
    };
    let names = &theirs["names"];
    same("group", json!(info.group), &theirs["group"]);
    same("plural", json!(info.plural), &names["plural"]);
    same("singular", json!(info.singular), &names["singular"]);
    same(
        "short names",
        json!(info.short_names),
        &list(&names["shortNames"]),
    );
    same("categories", json!(info.categories), &list(&names["categories"]));
    let scope = match info.scope {
        Scope::Cluster => "Cluster",
        Scope::Namespaced => "Namespaced",
    };
    same("scope", json!(scope), &theirs["scope"]);
    let versions = theirs["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let served = |version: &&Value| version["served"] == true;
    for version in versions.iter().filter(served) {
        let name = version["name"].as_str().expect("a version has a name");
        if !info.versions.contains(&name) {
            same(&format!("version {name}"), json!("absent"), &json!("served"));
            continue;
        }
        // An empty map may be written without members.
        let subresource = version["subresources"].get("status").is_some();
        same("status", json!(info.status_subresource), &json!(subresource));
        same("columns", columns(kind), &own_columns(version));
    }
    for version in versions.iter().filter(served) {
        let name = version["name"].as_str().unwrap_or_default();
        if info.versions.contains(&name) {
            let theirs = &version["schema"]["openAPIV3Schema"];
            walk(kind.schema(name).openapi(), theirs, info.kind, &mut lines);
        }
    }
    lines
}

fn list(value: &Value) -> Value {
    match value {
        Value::Null => json!([]),
        value => value.clone(),
    }
}

/// Names of kubectl's columns of `kind`, without those that kube-apiserver adds.
fn columns(kind: &dyn Kind) -> Value {
    let shown = kind.columns().iter().map(|column| column.name.to_uppercase());
    shown.filter(|name| name != "NAME" && name != "AGE").collect()
}

fn own_columns(version: &Value) -> Value {
    let columns = version["additionalPrinterColumns"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shown = columns.iter().filter_map(|column| column["name"].as_str());
    let shown = shown.map(str::to_uppercase);
    shown.filter(|name| name != "AGE").collect()
}

/// Adds the differences of two schemas at `path`.
pub(crate) fn walk(ours: &Value, theirs: &Value, path: &str, lines: &mut Vec<String>) {
    for attribute in ATTRIBUTES {
        let (ours, theirs) = (normal_value(ours, attribute), normal_value(theirs, attribute));
        if ours != theirs {
            lines.push(format!("{path}: {attribute}: {ours} here, {theirs} there"));
        }
    }
    let top = !path.contains('.');
    let names = |schema: &Value| -> BTreeSet<String> {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let own = |name: &&String| !top || !["apiVersion", "kind", "metadata"].contains(&name.as_str());
        fields.map(|(name, _)| name).filter(own).cloned().collect()
    };
    for name in &(&names(ours) | &names(theirs)) {
        let below = format!("{path}.{name}");
        match (&ours["properties"][name], &theirs["properties"][name]) {
            // Unknown fields of such an object are preserved, which is reported above.
            (Value::Null, _) if ours["x-kubernetes-preserve-unknown-fields"] == true => {}
            (Value::Null, _) => lines.push(format!("{below}: is not known here")),
            (_, Value::Null) => lines.push(format!("{below}: is not known there")),
            (ours, theirs) => walk(ours, theirs, &below, lines),
        }
    }
    for (inside, mark) in [("items", "[]"), ("additionalProperties", ".*")] {
        let below = format!("{path}{mark}");
        match (&ours[inside], &theirs[inside]) {
            (Value::Object(_), Value::Object(_)) => walk(&ours[inside], &theirs[inside], &below, lines),
            (Value::Object(_), _) => lines.push(format!("{below}: is not known there")),
            (_, Value::Object(_)) => lines.push(format!("{below}: is not known here")),
            _ => {}
        }
    }
}

/// The value of `attribute` in `schema`, normalised.
fn normal_value(schema: &Value, attribute: &str) -> Value {
    let value = &schema[attribute];
    match (attribute, value) {
        ("required" | "enum" | "x-kubernetes-list-map-keys", Value::Array(list)) => {
            let mut texts: Vec<String> = list.iter().map(ToString::to_string).collect();
            texts.sort();
            json!(texts.join(", "))
        }
        ("x-kubernetes-list-type", Value::Null) if schema["type"] == "array" => json!("atomic"),
        ("x-kubernetes-map-type", Value::Null) if schema["type"] == "object" => json!("granular"),
        ("nullable" | "exclusiveMinimum" | "exclusiveMaximum", Value::Bool(false)) => Value::Null,
        // Integers and equal floating-point numbers are the same.
        ("minimum" | "maximum", Value::Number(number)) => json!(number.as_f64()),
        // The types are in `anyOf`.
        ("type", _) if schema["x-kubernetes-int-or-string"] == true => Value::Null,
        _ => value.clone(),
    }
}

#[test]
fn what_is_laxer_or_stricter_is_told_and_what_is_alike_is_not() {
    let ours = json!({"type": "object", "properties": {
        "same": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        "lax": {"type": "string"},
        "strict": {"type": "integer", "minimum": 0},
        "extra": {"type": "string"},
    }});
    let theirs = json!({"type": "object", "required": ["lax"], "properties": {
        "same": {"type": "array", "items": {"type": "string"}},
        "lax": {"type": "string", "pattern": "^a$"},
        "strict": {"type": "integer"},
        "missing": {"type": "string"},
    }});
    let mut lines = Vec::new();
    walk(&ours, &theirs, "K.spec", &mut lines);
    assert_eq!(
        lines,
        [
            "K.spec: required: null here, \"\\\"lax\\\"\" there",
            "K.spec.extra: is not known there",
            "K.spec.lax: pattern: null here, \"^a$\" there",
            "K.spec.missing: is not known here",
            "K.spec.strict: minimum: 0.0 here, null there",
        ]
    );
}
