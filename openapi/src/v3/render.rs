//! Operations and schemas in the form of OpenAPI v3.

use serde_json::{Map, Value, json};

use crate::definitions::{DELETE_OPTIONS, PATCH, gvk_value, reference};
use crate::operation::{Body, Operation, Parameter};

/// Renders a path item with the parameters of its path.
pub(super) fn path_item(path: &str) -> Value {
    let parameters = Operation::path_parameters(path);
    if parameters.is_empty() {
        return json!({});
    }
    json!({"parameters": parameters.iter().map(path_parameter).collect::<Value>()})
}

fn path_parameter(parameter: &Parameter) -> Value {
    let mut value = query_parameter(parameter);
    value["in"] = "path".into();
    value["required"] = true.into();
    value
}

fn query_parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": {"type": parameter.r#type, "uniqueItems": true},
    })
}

/// Renders one operation.
pub(super) fn operation(operation: &Operation) -> Value {
    let mut responses: Map<String, Value> = operation
        .codes()
        .iter()
        .map(|(code, description)| {
            let content = content(
                &["application/json", "application/yaml"],
                &reference(&operation.response),
            );
            (
                (*code).to_owned(),
                json!({"description": description, "content": content}),
            )
        })
        .collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    let mut value = json!({
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "parameters": operation.query.iter().map(query_parameter).collect::<Value>(),
        "responses": responses,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": gvk_value(&operation.gvk),
    });
    let objects = ["application/json", "application/yaml"];
    let body = match &operation.body {
        Body::None => None,
        Body::Object(name) => Some(json!({"required": true, "content": content(&objects, &reference(name))})),
        Body::DeleteOptions => Some(json!({"content": content(&objects, &reference(DELETE_OPTIONS))})),
        Body::Patch(types) => Some(json!({"required": true, "content": content(types, &reference(PATCH))})),
    };
    if let Some(body) = body {
        value["requestBody"] = body;
    }
    value
}

fn content(types: &[&str], schema: &Value) -> Map<String, Value> {
    types
        .iter()
        .map(|name| ((*name).to_owned(), json!({"schema": schema})))
        .collect()
}

/// Wraps references that have fields next to them, such as a description: OpenAPI 3.0 ignores these fields,
/// so the reference becomes an `allOf` with one element.
pub(super) fn wrap_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property may have the name of a reference, but it is a schema.
            if fields.len() > 1
                && fields.get("$ref").is_some_and(Value::is_string)
                && let Some(reference) = fields.remove("$ref")
            {
                fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
            }
            fields.values_mut().for_each(wrap_references);
        }
        Value::Array(list) => list.iter_mut().for_each(wrap_references),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_with_the_name_of_a_reference_is_no_reference() {
        let mut schema = json!({"properties": {
            "$ref": {"type": "string"},
            "spec": {"$ref": "#/components/schemas/Spec", "description": "Wishes."},
        }});
        wrap_references(&mut schema);
        let spec = json!({"allOf": [{"$ref": "#/components/schemas/Spec"}], "description": "Wishes."});
        assert_eq!(
            schema,
            json!({"properties": {"$ref": {"type": "string"}, "spec": spec}})
        );
    }
}
