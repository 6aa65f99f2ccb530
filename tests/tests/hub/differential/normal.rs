//! Compared parts of an answer: everything except each server's own values.

use berth_tests::raw::Answer;
use http::header::WARNING;
use serde_json::{Map, Value, json};

use crate::differential::side::is_json;

/// Members of metadata with each server's own values, of which only the presence is compared.
const OWN: [&str; 4] = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"];

/// Compared parts of `answer`.
pub(crate) fn normal(answer: &Answer) -> Value {
    let mut warnings: Vec<&str> = answer
        .headers
        .get_all(WARNING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    warnings.sort_unstable();
    let body = if is_json(answer) {
        body(answer)
    } else {
        json!("not JSON")
    };
    // Each server has its own order of the parameters of a Table's media type.
    let content = answer
        .header("content-type")
        .split(';')
        .next()
        .unwrap_or_default();
    json!({
        "code": answer.code,
        "content": content,
        "warnings": warnings,
        "retry": answer.header("retry-after"),
        "body": body,
    })
}

fn body(answer: &Answer) -> Value {
    let documents = serde_json::Deserializer::from_slice(&answer.body).into_iter::<Value>();
    let mut values = Vec::new();
    for document in documents {
        match document {
            Ok(value) => values.push(object(value)),
            Err(problem) => return json!(format!("no JSON: {problem}")),
        }
    }
    // Several values are the events of a watch.
    Value::Array(values)
}

fn object(mut value: Value) -> Value {
    if value["kind"] == "Status" {
        return status(&value);
    }
    visit(&mut value);
    value
}

/// A Status without its texts: the wrong fields and the reasons are compared, not the messages.
fn status(value: &Value) -> Value {
    let details = &value["details"];
    let mut causes: Vec<String> = details["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| {
            let text = |key: &str| cause[key].as_str().unwrap_or_default();
            format!("{} {}", text("reason"), text("field"))
        })
        .collect();
    causes.sort_unstable();
    // One field may have two causes, with different messages.
    causes.dedup();
    json!({
        "kind": "Status",
        "status": value["status"],
        "reason": value["reason"],
        "name": details["name"],
        "group": details["group"],
        "causes": causes,
    })
}

fn visit(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(visit),
        Value::Object(map) => {
            map.values_mut().for_each(visit);
            if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
                own(metadata);
            }
            if let Some(Value::Array(cells)) = map.get_mut("cells") {
                cells.iter_mut().for_each(age);
            }
            // Each server has its own descriptions of a Table's columns.
            if let Some(Value::Array(columns)) = map.get_mut("columnDefinitions") {
                for column in columns {
                    column.as_object_mut().map(|column| column.remove("description"));
                }
            }
        }
        _ => {}
    }
}

fn own(metadata: &mut Map<String, Value>) {
    for key in OWN {
        if let Some(value) = metadata.get_mut(key) {
            *value = json!(format!("<{key}>"));
        }
    }
    if metadata.remove("continue").is_some_and(|token| token != "") {
        metadata.insert("continue".to_owned(), json!("<continue>"));
    }
    owners(metadata);
    let generated = metadata
        .get("generateName")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if let Some(prefix) = generated
        && let Some(name) = metadata.get("name").and_then(Value::as_str)
        && name.starts_with(&prefix)
    {
        metadata.insert("name".to_owned(), json!(format!("{prefix}<random>")));
    }
}

/// Removes the times of managers' entries, which order them.
fn owners(metadata: &mut Map<String, Value>) {
    if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
        for entry in entries.iter_mut() {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
        entries.sort_by_cached_key(Value::to_string);
    }
}

/// Normalises a cell with an age, which may have increased in between.
fn age(cell: &mut Value) {
    let is_age = cell.as_str().is_some_and(|text| {
        text.strip_suffix('s')
            .is_some_and(|number| number.parse::<u16>().is_ok())
    });
    if is_age {
        *cell = json!("<age>");
    }
}
