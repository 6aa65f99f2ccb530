//! Conversion of schemars' output for a Rust type to a structural OpenAPI v3 schema: no references, no
//! unions, no `null` types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const LIST_TYPE: &str = "x-kubernetes-list-type";

/// Converts the schema of `T`, with descriptions from its doc comments.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    convert(settings.into_generator().into_root_schema_for::<T>().to_value())
}

/// Keywords with the same meaning in both dialects.
const COMMON: [&str; 12] = [
    "description",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "multipleOf",
    "nullable",
];

/// Converts a schema of schemars with everything below it.
fn convert(schema: Value) -> Value {
    let Value::Object(mut source) = schema else {
        return anything();
    };
    let option = allows_null(&source);
    let mut target = unions(&mut source);
    for name in COMMON {
        if let Some(value) = source.remove(name) {
            target.insert(name.to_owned(), value);
        }
    }
    types(&mut source, &mut target);
    choices(&mut source, &mut target);
    format(&mut source, &mut target);
    exclusive_bounds(&mut source, &mut target);
    children(&mut source, &mut target);
    default(&mut source, &mut target, option);
    match source.remove("uniqueItems") {
        Some(Value::Bool(true)) => drop(target.insert(LIST_TYPE.to_owned(), "set".into())),
        // `false` marks a list whose list type only describes merging.
        Some(Value::Bool(false)) => drop(target.insert("uniqueItems".to_owned(), false.into())),
        _ => {}
    }
    target.extend(
        source
            .into_iter()
            .filter(|(name, _)| name.starts_with("x-kubernetes-")),
    );
    if target.get("type").is_some_and(|name| name == "array") {
        // Every list has a list type, for clients that merge lists themselves.
        target.entry(LIST_TYPE).or_insert_with(|| "atomic".into());
    }
    if target.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
        target.remove("type");
        target.remove("format");
    } else if !target.contains_key("type") {
        target.insert(PRESERVE.to_owned(), true.into());
    }
    Value::Object(target)
}

/// The schema of a field that may have any value.
fn anything() -> Value {
    json!({PRESERVE: true})
}

/// Removes `anyOf`, `oneOf` and `allOf` from `source`. Returns one schema that accepts every alternative of
/// `anyOf` and `oneOf`, and has the fields and keywords of all schemas in `allOf`.
fn unions(source: &mut Map<String, Value>) -> Map<String, Value> {
    let mut target = Map::new();
    for name in ["anyOf", "oneOf"] {
        let Some(Value::Array(list)) = source.remove(name) else {
            continue;
        };
        let list = list
            .into_iter()
            .filter(|schema| schema.get("type") != Some(&json!("null")));
        merge_all(&mut target, alternatives(list.map(convert).collect()));
    }
    if let Some(Value::Array(list)) = source.remove("allOf") {
        for schema in list {
            if let Value::Object(part) = convert(schema) {
                merge_all(&mut target, part);
            }
        }
    }
    target
}

/// Adds `part` to `target`; `properties` and `required` are joined.
fn merge_all(target: &mut Map<String, Value>, part: Map<String, Value>) {
    for (name, value) in part {
        match (name.as_str(), target.get_mut(&name), value) {
            ("properties", Some(Value::Object(have)), Value::Object(more)) => have.extend(more),
            ("required", Some(Value::Array(have)), Value::Array(more)) => have.extend(more),
            (_, _, value) => {
                target.insert(name, value);
            }
        }
    }
}

/// Returns one schema that accepts the values of every schema in `list`. The kind's own rules check that a
/// value fits one alternative.
fn alternatives(list: Vec<Value>) -> Map<String, Value> {
    if list.len() == 1 {
        return list
            .into_iter()
            .next()
            .and_then(|only| only.as_object().cloned())
            .unwrap_or_default();
    }
    let all = |kind: &str| list.iter().all(|schema| schema["type"] == kind);
    let any = |kind: &str| list.iter().any(|schema| schema["type"] == kind);
    let merged = if all("string") {
        any_text(&list)
    } else if all("object") {
        any_object(list)
    } else if any("integer") && any("string") && list.len() == 2 {
        json!({INT_OR_STRING: true})
    } else {
        anything()
    };
    merged.as_object().cloned().unwrap_or_default()
}

/// Returns the union of enumerations, with the documentation of each value in the description. If a schema of
/// `list` is not an enumeration, every text is allowed.
fn any_text(list: &[Value]) -> Value {
    let mut schema = json!({"type": "string"});
    if list.iter().all(|schema| schema["enum"].is_array()) {
        let values = list
            .iter()
            .flat_map(|schema| schema["enum"].as_array().into_iter().flatten().cloned());
        schema["enum"] = values.collect();
    }
    let documented: Vec<String> = list
        .iter()
        .filter_map(|schema| {
            Some(format!(
                "{}: {}",
                schema["enum"][0].as_str()?,
                schema["description"].as_str()?
            ))
        })
        .collect();
    if !documented.is_empty() {
        schema["description"] = documented.join("\n").into();
    }
    schema
}

/// Returns a schema with the fields of all object schemas in `list`. A field is required only if every schema
/// requires it.
fn any_object(list: Vec<Value>) -> Value {
    let required: Vec<Value> = list[0]["required"].as_array().cloned().unwrap_or_default();
    let everywhere = |name: &Value| {
        list.iter().all(|schema| {
            schema["required"]
                .as_array()
                .is_some_and(|required| required.contains(name))
        })
    };
    let required: Vec<Value> = required.into_iter().filter(|name| everywhere(name)).collect();
    let allows_unknown = list.iter().any(|schema| schema[PRESERVE] == true);
    let mut properties = Map::new();
    for schema in list {
        let Some(fields) = schema["properties"].as_object() else {
            continue;
        };
        for (name, field) in fields {
            match properties.get_mut(name) {
                None => {
                    properties.insert(name.clone(), field.clone());
                }
                Some(have) if have == field => {}
                Some(have) => *have = alternatives(vec![have.take(), field.clone()]).into(),
            }
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if allows_unknown {
        schema[PRESERVE] = true.into();
    }
    schema
}

/// Converts `type`, which schemars may write as a list.
fn types(source: &mut Map<String, Value>, target: &mut Map<String, Value>) {
    let names: Vec<String> = match source.remove("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let names: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|&name| name != "null")
        .collect();
    match names.as_slice() {
        [] if source.contains_key("properties") => {
            target.insert("type".to_owned(), "object".into());
        }
        [only] => {
            target.insert("type".to_owned(), (*only).into());
        }
        ["integer", "string"] | ["string", "integer"] => {
            target.insert(INT_OR_STRING.to_owned(), true.into());
        }
        _ => {}
    }
}

/// Converts `const` and `enum`.
fn choices(source: &mut Map<String, Value>, target: &mut Map<String, Value>) {
    if let Some(value) = source.remove("const") {
        if value.is_string() {
            target.insert("type".to_owned(), "string".into());
        }
        target.insert("enum".to_owned(), vec![value].into());
    }
    if let Some(Value::Array(mut values)) = source.remove("enum") {
        values.retain(|value| !value.is_null());
        target.insert("enum".to_owned(), values.into());
    }
}

/// Converts the format. OpenAPI has only int32 and int64 for integers.
fn format(source: &mut Map<String, Value>, target: &mut Map<String, Value>) {
    let Some(Value::String(format)) = source.remove("format") else {
        return;
    };
    let format = match format.as_str() {
        "int8" | "int16" | "uint8" | "uint16" => "int32",
        "int" | "int128" | "uint" | "uint32" | "uint64" | "uint128" => "int64",
        other => other,
    };
    target.insert("format".to_owned(), format.into());
}

/// Converts exclusive bounds: JSON Schema's `exclusiveMinimum: 1` is OpenAPI 3.0's `minimum: 1,
/// exclusiveMinimum: true`.
fn exclusive_bounds(source: &mut Map<String, Value>, target: &mut Map<String, Value>) {
    for (exclusive, plain) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(limit) = source.remove(exclusive) {
            target.insert(plain.to_owned(), limit);
            target.insert(exclusive.to_owned(), true.into());
        }
    }
}

/// Converts the schemas of fields, elements and map values.
fn children(source: &mut Map<String, Value>, target: &mut Map<String, Value>) {
    if let Some(Value::Object(fields)) = source.remove("properties") {
        let fields: Map<String, Value> = fields
            .into_iter()
            .map(|(name, field)| (name, convert(field)))
            .collect();
        merge_all(
            target,
            Map::from_iter([("properties".to_owned(), Value::Object(fields))]),
        );
    }
    if let Some(required @ Value::Array(_)) = source.remove("required") {
        merge_all(target, Map::from_iter([("required".to_owned(), required)]));
    }
    if let Some(items) = source.remove("items") {
        target.insert("items".to_owned(), convert(items));
    }
    match source.remove("additionalProperties") {
        Some(Value::Bool(true)) => {
            target.insert(PRESERVE.to_owned(), true.into());
        }
        Some(values @ Value::Object(_)) => {
            target.insert("additionalProperties".to_owned(), convert(values));
        }
        // Unknown fields are reported by fieldValidation, and never rejected by the schema.
        _ => {}
    }
}

/// Whether the schema is the schema of an `Option`.
fn allows_null(source: &Map<String, Value>) -> bool {
    let null = Value::from("null");
    let in_type = source
        .get("type")
        .and_then(Value::as_array)
        .is_some_and(|names| names.contains(&null));
    let in_union = source.get("anyOf").and_then(Value::as_array);
    in_type || in_union.is_some_and(|list| list.iter().any(|schema| schema.get("type") == Some(&null)))
}

/// Copies the default that applies: `x-default`, or else a `default` that serde did not generate
/// ([`Schema::of`](super::Schema::of)). serde's default of an `Option` is `null`, so any other default
/// applies.
fn default(source: &mut Map<String, Value>, target: &mut Map<String, Value>, option: bool) {
    let explicit = source.remove("x-default");
    let other = source
        .remove("default")
        .filter(|value| !value.is_null() && (option || !is_serde_default(value)));
    if let Some(value) = explicit.or(other) {
        target.insert("default".to_owned(), value);
    }
}

/// Whether serde probably generated a `default`: it is empty, or a whole object.
fn is_serde_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Object(_) => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
    }
}
