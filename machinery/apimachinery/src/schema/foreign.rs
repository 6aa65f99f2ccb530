//! Problems of a schema in a file: errors, and keywords and formats that this crate does not check.

use serde_json::Value;

use super::node::compile_pattern;
use crate::field_error::FieldError;
use crate::nesting::DEPTH_LIMIT;

/// Unsupported keywords of a schema: clients would see them, but validation ignores them.
const UNSUPPORTED: [&str; 8] = [
    "$ref",
    "allOf",
    "anyOf",
    "not",
    "oneOf",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-validations",
    "patternProperties",
];

/// Unsupported formats: kube-apiserver would check texts in these formats, but validation ignores them.
const UNSUPPORTED_FORMATS: [&str; 20] = [
    "bsonobjectid",
    "cidr",
    "creditcard",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// The types of a structural schema.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Returns every problem of the schema at `path`, each with the path and the value of its keyword.
#[must_use]
pub(crate) fn problems(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut found = Vec::new();
    if crate::nesting::is_shallow(schema) {
        visit(schema, &mut path.to_owned(), &mut found);
    } else {
        let problem = format!("must not be nested deeper than {DEPTH_LIMIT} levels");
        found.push(FieldError::forbidden(path, problem));
    }
    found
}

fn visit(schema: &Value, path: &mut String, found: &mut Vec<FieldError>) {
    let mut add = |field: &str, problem: String| {
        let value = schema[field].clone();
        found.push(FieldError::invalid(format!("{path}.{field}"), value, problem));
    };
    for field in UNSUPPORTED
        .into_iter()
        .filter(|field| schema.get(*field).is_some())
    {
        add(
            field,
            "this server does not check this keyword: remove it".to_owned(),
        );
    }
    let r#type = schema["type"].as_str();
    let untyped = [
        "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields",
    ];
    match r#type {
        Some(known) if TYPES.contains(&known) => {}
        None if untyped.into_iter().any(|field| schema[field] == true) => {}
        _ => add("type", format!("must be one of {}", TYPES.join(", "))),
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && let Err(problem) = compile_pattern(pattern)
    {
        add("pattern", problem.to_string());
    }
    let format = schema["format"].as_str().unwrap_or_default();
    if matches!(r#type, None | Some("string")) && UNSUPPORTED_FORMATS.contains(&format) {
        add(
            "format",
            "this server does not check this format: remove it".to_owned(),
        );
    }
    if r#type == Some("array") && !schema["items"].is_object() {
        add("items", "must be the schema of the elements".to_owned());
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        visit_child(field, &format!(".properties[{name}]"), path, found);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(child) = schema.get(name).filter(|child| child.is_object()) {
            visit_child(child, &format!(".{name}"), path, found);
        }
    }
}

fn visit_child(schema: &Value, step: &str, path: &mut String, found: &mut Vec<FieldError>) {
    let length = path.len();
    path.push_str(step);
    visit(schema, path, found);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unsupported_keywords_are_reported_with_their_paths() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "pattern": "["},
            "b": {"type": "array"},
            "c": {"x-kubernetes-validations": [{"rule": "self > 1"}], "type": "integer"},
            "d": {"x-kubernetes-int-or-string": true},
            "e": {"type": "object", "additionalProperties": {"type": "text"}},
            "f": {"type": "string", "format": "cidr"},
            "g": {"type": "string", "format": "date-time"},
            "h": {"type": "integer", "format": "duration"},
        }});
        let found = problems(&schema, "schema");
        let places: Vec<&str> = found.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            places,
            [
                "schema.properties[a].pattern",
                "schema.properties[b].items",
                "schema.properties[c].x-kubernetes-validations",
                "schema.properties[e].additionalProperties.type",
                "schema.properties[f].format",
            ]
        );
        assert_eq!(found[0].value, Some(json!("[")));
    }
}
