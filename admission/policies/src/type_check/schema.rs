//! CEL types of objects, from the schemas of their kinds.

use berth_apimachinery::object_meta;
use berth_cel::{Type, escaped};
use serde_json::Value;

/// CEL type of the objects that `schema` describes. `name` is the name of the type, and the prefix of the
/// names of nested types.
pub(super) fn object_type(schema: &Value, name: &str) -> Type {
    type_of(schema, name).unwrap_or(Type::Dyn)
}

/// CEL type of the values that `schema` describes; `None` where expressions cannot read such values.
fn type_of(schema: &Value, name: &str) -> Option<Type> {
    if schema["$ref"] == object_meta::REFERENCE {
        return type_of(object_meta::definition(), name);
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(Type::Dyn);
    }
    Some(match schema["type"].as_str()? {
        "array" => Type::list(type_of(schema.get("items")?, &format!("{name}.@idx"))?),
        "object" => map_or_object_type(schema, name)?,
        "string" => match schema["format"].as_str() {
            Some("byte") => Type::Bytes,
            Some("duration") => Type::Duration,
            Some("date" | "date-time") => Type::Timestamp,
            _ => Type::String,
        },
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        _ => return None,
    })
}

fn map_or_object_type(schema: &Value, name: &str) -> Option<Type> {
    if schema["additionalProperties"].is_object() {
        let element = type_of(&schema["additionalProperties"], &format!("{name}.@elem"))?;
        return Some(Type::map(Type::String, element));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.filter_map(|(field, schema)| {
        let field = escaped(field)?;
        let field_type = type_of(schema, &format!("{name}.{field}"))?;
        Some((field.into(), field_type))
    });
    Some(Type::object(name.to_owned(), fields.collect()))
}
