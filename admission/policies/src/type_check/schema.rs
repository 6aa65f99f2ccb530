//! Types of objects by the schemas of their kinds.

use berth_apimachinery::object_meta;
use berth_cel::{Type, escaped};
use serde_json::Value;

/// The type of the objects that `schema` describes; names of its parts begin with `name`.
pub(super) fn declared(schema: &Value, name: &str) -> Type {
    of(schema, name).unwrap_or(Type::Dyn)
}

/// Type of the objects that `schema` describes; `None` where expressions cannot see them.
fn of(schema: &Value, name: &str) -> Option<Type> {
    if schema["$ref"] == object_meta::REFERENCE {
        return of(object_meta::definition(), name);
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(Type::Dyn);
    }
    Some(match schema["type"].as_str()? {
        "array" => Type::list(of(schema.get("items")?, &format!("{name}.@idx"))?),
        "object" => object(schema, name)?,
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

fn object(schema: &Value, name: &str) -> Option<Type> {
    if schema["additionalProperties"].is_object() {
        let element = of(&schema["additionalProperties"], &format!("{name}.@elem"))?;
        return Some(Type::map(Type::String, element));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.filter_map(|(field, schema)| {
        let field = escaped(field)?;
        let of = of(schema, &format!("{name}.{field}"))?;
        Some((field.into(), of))
    });
    Some(Type::object(name.to_owned(), fields.collect()))
}
