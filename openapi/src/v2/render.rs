//! Operations and schemas in the form of Swagger 2.0.

use serde_json::{Map, Value, json};

use crate::definitions::{DELETE_OPTIONS, PATCH, gvk_value};
use crate::operation::{Body, Operation, Parameter};

/// Renders a path item with the parameters of its path.
pub(super) fn path_item(path: &str) -> Value {
    let parameters = Operation::path_parameters(path);
    if parameters.is_empty() {
        return json!({});
    }
    json!({"parameters": parameters.iter().map(|parameter| non_body_parameter(parameter, "path")).collect::<Value>()})
}

fn non_body_parameter(parameter: &Parameter, location: &str) -> Value {
    let mut value = json!({
        "name": parameter.name,
        "in": location,
        "description": parameter.description,
        "type": parameter.r#type,
        "uniqueItems": true,
    });
    if location == "path" {
        value["required"] = true.into();
    }
    value
}

/// Renders one operation.
pub(super) fn operation(operation: &Operation) -> Value {
    let mut parameters: Vec<Value> = operation
        .query
        .iter()
        .map(|parameter| non_body_parameter(parameter, "query"))
        .collect();
    let mut consumes = vec!["application/json", "application/yaml"];
    match &operation.body {
        Body::None => consumes = vec!["*/*"],
        Body::Object(name) => parameters.push(body(name, true)),
        Body::DeleteOptions => parameters.push(body(DELETE_OPTIONS, false)),
        Body::Patch(types) => {
            consumes = types.to_vec();
            parameters.push(body(PATCH, true));
        }
    }
    let mut responses: Map<String, Value> = operation
        .codes()
        .iter()
        .map(|(code, description)| {
            let answer = json!({"description": description, "schema": reference(&operation.response)});
            ((*code).to_owned(), answer)
        })
        .collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    json!({
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "consumes": consumes,
        "produces": ["application/json", "application/yaml"],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": responses,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": gvk_value(&operation.gvk),
    })
}

fn body(definition: &str, required: bool) -> Value {
    let mut value = json!({"name": "body", "in": "body", "schema": reference(definition)});
    if required {
        value["required"] = true.into();
    }
    value
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Rewrites references, removes `nullable`, which Swagger 2.0 does not have, and removes the constraints on
/// fields and items from schemas that preserve unknown fields.
pub(super) fn to_swagger(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if let Some(Value::String(target)) = fields.get_mut("$ref") {
        *target = target.replacen("#/components/schemas/", "#/definitions/", 1);
    }
    fields.remove("nullable");
    if fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        // Clients that validate objects with this document would reject fields that it omits.
        for name in ["properties", "required", "items", "additionalProperties"] {
            fields.remove(name);
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(child) = fields.get_mut(name) {
            to_swagger(child);
        }
    }
    if let Some(Value::Object(children)) = fields.get_mut("properties") {
        children.values_mut().for_each(to_swagger);
    }
}
