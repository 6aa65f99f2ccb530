//! Type errors: values on which Go's decoder would fail, since they have another JSON type than the field,
//! are a number out of range, or a text that is not a time or base64. All other rules about values belong to
//! validation.

use serde_json::Value;

use super::Node;
use super::node::Type;
use super::path::Path;
use super::validate::{expected_type, has_format, has_type, is_int32, type_name};

/// A value that does not fit the type of its field, and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMismatch {
    /// Path of the field.
    pub path: String,
    /// Type of the value.
    pub have: &'static str,
    /// Type of the field.
    pub want: String,
}

/// Returns the first mismatch in `value` at `path`, whose schema is `node`. A `null` fits every type.
pub(super) fn first(node: &Node, value: &Value, path: &Path<'_>) -> Option<TypeMismatch> {
    let mistyped = |want: &str| {
        Some(TypeMismatch {
            path: path.to_string(),
            have: type_name(value),
            want: want.to_owned(),
        })
    };
    if value.is_null() {
        return None;
    }
    // A quantity may be any number, although its schema allows only integers and strings.
    let is_quantity = node.kind == Type::IntOrString && value.is_number();
    if !is_quantity && !has_type(node.kind, value) {
        return mistyped(expected_type(node.kind));
    }
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let field = node.field(name)?;
            first(field, value, &Path::Field(path, name))
        }),
        Value::Array(elements) => {
            let items = node.items.as_ref()?;
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(index, element)| first(items, element, &Path::Index(path, index)))
        }
        Value::String(text) => match node.format.as_deref() {
            Some(format @ ("byte" | "date-time")) if !has_format(format, text) => mistyped(format),
            _ => None,
        },
        Value::Number(number) if node.format.as_deref() == Some("int32") && !is_int32(number) => {
            mistyped("int32")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Schema;

    #[test]
    fn wrong_types_are_found_and_broken_rules_are_not() {
        let schema = Schema::from_value(json!({"type": "object", "required": ["needed"], "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
            "bytes": {"type": "string", "format": "byte"},
            "at": {"type": "string", "format": "date-time"},
            "small": {"type": "integer", "format": "int32", "minimum": 5},
            "list": {"type": "array", "items": {"type": "object", "properties": {"on": {"type": "boolean"}}}},
            "port": {"x-kubernetes-int-or-string": true},
        }}));
        let first = |value| {
            schema
                .mistyped(&value)
                .map(|found| format!("{} {} {}", found.path, found.have, found.want))
        };
        for fine in [
            json!({"data": {"k": "too long"}, "small": 1, "list": [{"on": null}, null], "other": 1, "port": "x"}),
            json!({"data": null, "bytes": "YQ==", "at": "2026-01-01T00:00:00Z"}),
            json!({"port": 1.5}),
        ] {
            assert_eq!(first(fine.clone()), None, "{fine}");
        }
        for (value, found) in [
            (json!({"data": []}), "data array object"),
            (json!({"data": {"k": 1}}), "data.k integer string"),
            (json!({"bytes": "!"}), "bytes string byte"),
            (json!({"at": "yesterday"}), "at string date-time"),
            (json!({"small": 1.0}), "small number integer"),
            (json!({"small": 4_000_000_000_u64}), "small integer int32"),
            (
                json!({"list": [{"on": true}, {"on": "x"}]}),
                "list[1].on string boolean",
            ),
            (json!({"port": true}), "port boolean integer,string"),
        ] {
            assert_eq!(first(value).as_deref(), Some(found));
        }
    }
}
