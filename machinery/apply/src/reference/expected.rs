//! Comparison of the results of the steps in `rows.json` with the expectations.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Managers;

/// The compared parts of an object: the object without managed fields and without empty metadata, and the
/// owned paths by owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedParts {
    /// The object.
    pub object: Value,
    owns: BTreeMap<String, Vec<String>>,
}

/// Converts numbers without a fraction to integers.
fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0) {
                *value = json!(format!("{float}").parse::<i64>().expect("it is whole"));
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the compared parts of `object`.
///
/// # Panics
/// When the managed fields of `object` cannot be decoded.
#[must_use]
pub fn compared_parts(object: &Value) -> ComparedParts {
    let mut object = object.clone();
    normalize_numbers(&mut object);
    let mut entries = Value::Null;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        entries = metadata.remove("managedFields").unwrap_or_default();
        metadata.retain(|_, value| !is_empty(value));
    }
    let managers = Managers::decode_value(&entries).expect("the managed fields can be decoded");
    let owns = managers.iter().map(|(owner, entry)| {
        let mut name = owner.manager.clone();
        if !owner.subresource.is_empty() {
            name.extend(["/", &owner.subresource]);
        }
        if !owner.api_version.is_empty() {
            name.push_str(" update");
        }
        if owner.api_version.ends_with("v1beta1") {
            name.push_str(" v1beta1");
        }
        let paths = entry.set.paths().into_iter();
        let short = paths.map(|path| path.strip_prefix(".spec.").unwrap_or(&path).to_owned());
        let mut paths: Vec<String> = short.collect();
        paths.sort();
        (name, paths)
    });
    let owns = owns.collect();
    ComparedParts { object, owns }
}

/// Compares the expectations of `step` with its result: the object `before` and after the step, and the
/// message `error` if the step failed with a conflict. Panic messages begin with `at`.
///
/// # Panics
/// When the result differs from the expectations, or cannot be decoded.
pub fn check(at: &str, step: &Value, before: &Value, object: &Value, error: Option<&str>) {
    let conflict = step["409"].as_str().map(|text| {
        let text = text.replace('\'', "\"");
        format!("Apply failed with 1 conflict: conflict with {text}")
    });
    assert_eq!(error, conflict.as_deref(), "{at}: conflicts");
    let (was, now) = (compared_parts(before), compared_parts(object));
    if let Some(noop) = step["noop"].as_bool() {
        assert_eq!(
            was == now,
            noop,
            "{at}: whether object and owners stay unchanged: {now:?}"
        );
    }
    if let Some(Value::Object(spec)) = step.get("is") {
        let mut spec = spec.clone();
        spec.entry("replicas").or_insert(json!(1));
        assert_eq!(now.object["spec"], Value::Object(spec), "{at}: spec");
    }
    if let Some(status) = step.get("st") {
        assert_eq!(
            now.object.get("status").unwrap_or(&Value::Null),
            status,
            "{at}: status"
        );
    }
    for (name, value) in step["meta"].as_object().unwrap_or(&Map::new()) {
        assert_eq!(now.object["metadata"][name], *value, "{at}: {name}");
    }
    if let Some(owns) = step["owns"].as_object() {
        let expected: BTreeMap<String, Vec<String>> = owns
            .iter()
            .map(|(owner, paths)| (owner.clone(), sorted_paths(paths)))
            .collect();
        assert_eq!(now.owns, expected, "{at}: owners");
    }
    if step["annotated"] == true {
        let text = &now.object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        let last: Value = serde_json::from_str(text.as_str().unwrap_or_default()).expect("it is JSON");
        assert_eq!(last["spec"], step["spec"], "{at}: the last applied configuration");
    }
    check_entries(at, step, object);
}

/// Compares the expected order and times of the entries in `managedFields` with the entries of `object`.
fn check_entries(at: &str, step: &Value, object: &Value) {
    let list = object["metadata"]["managedFields"].as_array();
    let entries = || list.into_iter().flatten();
    if let Some(order) = step["order"].as_array() {
        let names: Vec<&Value> = entries().map(|entry| &entry["manager"]).collect();
        assert_eq!(names, order.iter().collect::<Vec<_>>(), "{at}: order of entries");
    }
    if let Some(untimed) = step["untimed"].as_str() {
        let first = entries().next().expect("there is an entry");
        assert_eq!(
            (&first["manager"], first.get("time")),
            (&json!(untimed), None),
            "{at}: the entry without a time"
        );
    }
    for (manager, second) in step["times"].as_object().unwrap_or(&Map::new()) {
        let entry = entries().find(|entry| entry["manager"] == *manager);
        let time = format!("1970-01-01T00:00:0{second}Z");
        assert_eq!(
            entry.expect("it has an entry")["time"],
            time,
            "{at}: the time of {manager}"
        );
    }
}

fn sorted_paths(paths: &Value) -> Vec<String> {
    let text = paths.as_str().expect("paths are text").replace('\'', "\"");
    let mut paths: Vec<String> = text.split(' ').map(str::to_owned).collect();
    paths.sort();
    paths
}
