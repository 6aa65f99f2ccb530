//! Conversion of the rendered Swagger JSON to its protobuf form. Both encodings come from one source,
//! so they have the same content.

use prost::Message as _;
use serde_json::Value;

use super::message::{
    AdditionalProperties, AdditionalPropertiesKind, Any, BodyParameter, Document, Info, ItemsItem, NamedAny,
    NamedPathItem, NamedResponseValue, NamedSchema, NonBodyKind, NonBodyParameter, Operation, Parameter,
    ParameterKind, ParametersItem, ParametersItemKind, PathItem, PathParameter, Paths, Properties,
    QueryParameter, Response, ResponseKind, ResponseValue, Responses, Schema, SchemaItem, SchemaItemKind,
    TypeItem,
};

/// Encodes a rendered Swagger document as the protobuf message [`Document`].
pub(super) fn document(swagger: &Value) -> Vec<u8> {
    let info = &swagger["info"];
    let paths = fields(&swagger["paths"]).map(|(name, item)| NamedPathItem {
        name: name.clone(),
        value: Some(path_item(item)),
    });
    let document = Document {
        swagger: text(swagger, "swagger"),
        info: Some(Info {
            title: text(info, "title"),
            version: text(info, "version"),
        }),
        paths: Some(Paths {
            path: paths.collect(),
        }),
        definitions: Some(properties(&swagger["definitions"])),
    };
    document.encode_to_vec()
}

fn path_item(item: &Value) -> PathItem {
    let method = |name: &str| item.get(name).map(operation);
    PathItem {
        get: method("get"),
        put: method("put"),
        post: method("post"),
        delete: method("delete"),
        patch: method("patch"),
        parameters: parameters(item),
    }
}

fn operation(operation: &Value) -> Operation {
    let codes = fields(&operation["responses"]).map(|(name, value)| {
        let response = Response {
            description: text(value, "description"),
            schema: value.get("schema").map(item),
        };
        let value = ResponseValue {
            kind: Some(ResponseKind::Response(response)),
        };
        NamedResponseValue {
            name: name.clone(),
            value: Some(value),
        }
    });
    Operation {
        tags: texts(operation, "tags"),
        description: text(operation, "description"),
        operation_id: text(operation, "operationId"),
        produces: texts(operation, "produces"),
        consumes: texts(operation, "consumes"),
        parameters: parameters(operation),
        responses: Some(Responses {
            response_code: codes.collect(),
        }),
        schemes: texts(operation, "schemes"),
        vendor_extension: extensions(operation),
    }
}

fn item(value: &Value) -> SchemaItem {
    SchemaItem {
        kind: Some(SchemaItemKind::Schema(schema(value))),
    }
}

fn parameters(owner: &Value) -> Vec<ParametersItem> {
    let list = owner.get("parameters").and_then(Value::as_array);
    let items = list.into_iter().flatten().map(|parameter| {
        let parameter = Parameter {
            kind: Some(parameter_kind(parameter)),
        };
        ParametersItem {
            kind: Some(ParametersItemKind::Parameter(parameter)),
        }
    });
    items.collect()
}

fn parameter_kind(parameter: &Value) -> ParameterKind {
    let (name, location) = (text(parameter, "name"), text(parameter, "in"));
    let kind = match location.as_str() {
        "body" => {
            return ParameterKind::Body(Box::new(BodyParameter {
                name,
                r#in: location,
                required: flag(parameter, "required"),
                schema: parameter.get("schema").map(schema),
            }));
        }
        "path" => NonBodyKind::Path(PathParameter {
            required: flag(parameter, "required"),
            r#in: location,
            description: text(parameter, "description"),
            name,
            r#type: text(parameter, "type"),
            unique_items: flag(parameter, "uniqueItems"),
        }),
        _ => NonBodyKind::Query(QueryParameter {
            r#in: location,
            description: text(parameter, "description"),
            name,
            r#type: text(parameter, "type"),
            unique_items: flag(parameter, "uniqueItems"),
        }),
    };
    ParameterKind::NonBody(NonBodyParameter { kind: Some(kind) })
}

fn properties(value: &Value) -> Properties {
    let list = fields(value).map(|(name, value)| NamedSchema {
        name: name.clone(),
        value: Some(schema(value)),
    });
    Properties {
        additional_properties: list.collect(),
    }
}

fn schema(value: &Value) -> Schema {
    let choices = value.get("enum").and_then(Value::as_array);
    Schema {
        reference: text(value, "$ref"),
        format: text(value, "format"),
        description: text(value, "description"),
        default: value.get("default").map(any),
        multiple_of: number(value, "multipleOf"),
        maximum: number(value, "maximum"),
        exclusive_maximum: flag(value, "exclusiveMaximum"),
        minimum: number(value, "minimum"),
        exclusive_minimum: flag(value, "exclusiveMinimum"),
        max_length: integer(value, "maxLength"),
        min_length: integer(value, "minLength"),
        pattern: text(value, "pattern"),
        max_items: integer(value, "maxItems"),
        min_items: integer(value, "minItems"),
        max_properties: integer(value, "maxProperties"),
        min_properties: integer(value, "minProperties"),
        required: texts(value, "required"),
        choices: choices.into_iter().flatten().map(any).collect(),
        additional_properties: value
            .get("additionalProperties")
            .map(|value| Box::new(additional(value))),
        r#type: value.get("type").and_then(Value::as_str).map(|name| TypeItem {
            value: vec![name.to_owned()],
        }),
        items: value.get("items").map(|items| ItemsItem {
            schema: vec![schema(items)],
        }),
        properties: value.get("properties").map(properties),
        vendor_extension: extensions(value),
    }
}

fn additional(value: &Value) -> AdditionalProperties {
    let kind = match value {
        Value::Bool(flag) => AdditionalPropertiesKind::Boolean(*flag),
        other => AdditionalPropertiesKind::Schema(Box::new(schema(other))),
    };
    AdditionalProperties { kind: Some(kind) }
}

fn extensions(value: &Value) -> Vec<NamedAny> {
    let entries = fields(value).filter(|(name, _)| name.starts_with("x-"));
    entries
        .map(|(name, value)| NamedAny {
            name: name.clone(),
            value: Some(any(value)),
        })
        .collect()
}

fn any(value: &Value) -> Any {
    Any {
        yaml: format!("{value}\n"),
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_default()
}

fn integer(value: &Value, name: &str) -> i64 {
    value.get(name).and_then(Value::as_i64).unwrap_or_default()
}
