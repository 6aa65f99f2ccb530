//! Compared parts of an answer: everything but what each server makes up itself.

use berth_tests::raw::Answer;
use http::header::WARNING;
use serde_json::{Map, Value, json};

use crate::differential::side::is_json;

/// Members of metadata that each server makes up, of which only the presence is compared.
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
    // The parameters of a Table's media type come in an order of each server's own.
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
    // Several are the events of a watch.
    Value::Array(values)
}

fn object(mut value: Value) -> Value {
    if value["kind"] == "Status" {
        return status(&value);
    }
    visit(&mut value);
    value
}

/// A Status without its texts: which fields are wrong, and why, is compared, not the words.
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
    // One field may be told twice, in different words.
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
            // The texts that describe a Table's columns are each server's own.
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

/// Entries of managers without their times, which order them.
fn owners(metadata: &mut Map<String, Value>) {
    if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
        for entry in entries.iter_mut() {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
        entries.sort_by_cached_key(Value::to_string);
    }
}

/// A cell with an age, which may have passed a second in between.
fn age(cell: &mut Value) {
    let is_age = cell.as_str().is_some_and(|text| {
        text.strip_suffix('s')
            .is_some_and(|number| number.parse::<u16>().is_ok())
    });
    if is_age {
        *cell = json!("<age>");
    }
}
