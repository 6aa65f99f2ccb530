//! Fields of a Workload that Kueue's field manager owns: an apply as this manager has to contain them again.

use serde_json::{Map, Value};

/// The field manager with which Kueue admits Workloads.
pub(super) const MANAGER: &str = "kueue-admission";

/// The managed-fields entry of `workload` for applies of [`MANAGER`] to the status.
pub(super) fn entry(workload: &Value) -> Option<&Value> {
    let entries = workload["metadata"]["managedFields"].as_array();
    entries.into_iter().flatten().find(|entry| {
        entry["manager"] == MANAGER && entry["operation"] == "Apply" && entry["subresource"] == "status"
    })
}

/// The fields of the status that [`MANAGER`] applied, with their present values.
///
/// # Errors
/// When the managed fields cannot be parsed. Nothing may be applied then, since fields would be lost.
pub(super) fn status(workload: &Value) -> Result<Map<String, Value>, String> {
    let Some(entry) = entry(workload) else {
        return Ok(Map::new());
    };
    let fields = entry["fieldsV1"]["f:status"].as_object();
    let fields = fields.ok_or_else(|| format!("{MANAGER} owns no status"))?;
    match part(fields, &workload["status"])? {
        Some(Value::Object(status)) => Ok(status),
        None => Ok(Map::new()),
        Some(_) => Err("the status is not an object".to_owned()),
    }
}

/// The part of `value` with the owned `fields`. A field without fields below it is copied with its whole
/// value. `None` if `value` has none of the fields; but an object or list that is owned itself (`.`) is
/// copied empty.
fn part(fields: &Map<String, Value>, value: &Value) -> Result<Option<Value>, String> {
    let is_owned = fields.contains_key(".");
    if fields.keys().all(|key| key == ".") {
        return Ok(Some(value.clone()));
    }
    let found = match value {
        Value::Object(map) => owned_members(fields, map)?,
        Value::Array(items) => owned_items(fields, items)?,
        // Another client has changed the type of the value.
        other => Some(other.clone()),
    };
    let is_empty = found.is_none();
    Ok(match value {
        _ if !is_empty => found,
        Value::Object(_) if is_owned => Some(Value::Object(Map::new())),
        Value::Array(_) if is_owned => Some(Value::Array(Vec::new())),
        _ => None,
    })
}

/// The owned members of an object.
fn owned_members(fields: &Map<String, Value>, map: &Map<String, Value>) -> Result<Option<Value>, String> {
    let mut found = Map::new();
    for (key, below) in fields.iter().filter(|(key, _)| *key != ".") {
        let name = key.strip_prefix("f:").ok_or_else(|| unreadable(key))?;
        if let Some(value) = map.get(name)
            && let Some(value) = part(below.as_object().ok_or_else(|| unreadable(key))?, value)?
        {
            found.insert(name.to_owned(), value);
        }
    }
    Ok((!found.is_empty()).then_some(Value::Object(found)))
}

/// The owned items of a list, in the order of `items`, since another order would change the list.
fn owned_items(fields: &Map<String, Value>, items: &[Value]) -> Result<Option<Value>, String> {
    let mut members = Vec::new();
    for (key, below) in fields.iter().filter(|(key, _)| *key != ".") {
        let below = below.as_object().ok_or_else(|| unreadable(key))?;
        members.push((ItemKey::parse(key)?, below));
    }
    let mut found = Vec::new();
    for item in items {
        let Some((member, below)) = members.iter().find(|(member, _)| member.matches(item)) else {
            continue;
        };
        let Some(mut owned) = part(below, item)? else {
            continue;
        };
        if let (ItemKey::Fields(keys), Some(owned)) = (member, owned.as_object_mut()) {
            owned.extend(keys.clone());
        }
        found.push(owned);
    }
    Ok((!found.is_empty()).then_some(Value::Array(found)))
}

/// Key of an item of a list.
enum ItemKey {
    /// The key fields of an object.
    Fields(Map<String, Value>),
    /// The value of an item in a set.
    Value(Value),
}

impl ItemKey {
    fn parse(key: &str) -> Result<Self, String> {
        let json = |text: &str| serde_json::from_str(text).map_err(|_| unreadable(key));
        match key.split_once(':') {
            Some(("k", keys)) => match json(keys)? {
                Value::Object(keys) => Ok(Self::Fields(keys)),
                _ => Err(unreadable(key)),
            },
            Some(("v", value)) => json(value).map(Self::Value),
            _ => Err(unreadable(key)),
        }
    }

    fn matches(&self, item: &Value) -> bool {
        match self {
            Self::Fields(keys) => keys.iter().all(|(name, value)| item.get(name) == Some(value)),
            Self::Value(value) => item == value,
        }
    }
}

fn unreadable(key: &str) -> String {
    format!("the managed fields have {key:?}, which cannot be parsed")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(fields: Value, status: Value) -> Result<Value, String> {
        let workload = json!({
            "metadata": {"managedFields": [
                {"manager": "kueue", "operation": "Update", "subresource": "status", "fieldsV1": {}},
                {"manager": MANAGER, "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": fields}},
            ]},
            "status": status,
        });
        super::status(&workload).map(Value::Object)
    }

    #[test]
    fn owned_fields_are_copied_with_their_values_and_no_others() {
        let status = json!({
            "admission": {"clusterQueue": "q", "other": 1},
            "conditions": [
                {"type": "A", "status": "True", "theirs": "x"},
                {"type": "B", "status": "False"},
            ],
            "names": ["a", "b", "c"],
            "whole": {"of": {"it": 1}},
            "emptied": {},
        });
        let fields = json!({
            "f:admission": {".": {}, "f:clusterQueue": {}},
            "f:conditions": {"k:{\"type\":\"A\"}": {".": {}, "f:status": {}}},
            "f:names": {"v:\"c\"": {}, "v:\"a\"": {}},
            "f:whole": {},
            "f:gone": {"f:below": {}},
            "f:emptied": {".": {}, "f:below": {}},
        });
        let wanted = json!({
            "admission": {"clusterQueue": "q"},
            "conditions": [{"type": "A", "status": "True"}],
            "names": ["a", "c"],
            "whole": {"of": {"it": 1}},
            "emptied": {},
        });
        assert_eq!(of(fields, status), Ok(wanted));
    }

    #[test]
    fn fields_that_cannot_be_parsed_are_an_error() {
        let status = json!({"list": [{"type": "A"}], "map": {"a": 1}});
        for fields in [
            json!({"f:list": {"k:type": {}}}),
            json!({"f:list": {"i:0": {}}}),
            json!({"f:map": {"x:a": {}}}),
            json!({"f:map": {"f:a": 1}}),
            json!([]),
        ] {
            assert!(of(fields.clone(), status.clone()).is_err(), "{fields}");
        }
        assert_eq!(
            super::status(&json!({"status": {}})),
            Ok(Map::new()),
            "it applied nothing"
        );
    }
}
