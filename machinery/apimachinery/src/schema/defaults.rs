//! Structural defaulting: a missing field of a present object gets its default, including the nested
//! defaults.

use serde_json::Value;

use super::Node;

/// Fills in the defaults below `value`, whose schema is `node`.
pub(super) fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in &node.properties {
                match fields.get_mut(name) {
                    Some(Value::Null) if field.null_is_absent() => {
                        fields.remove(name);
                    }
                    Some(present) => apply(field, present),
                    None => {}
                }
                if let (false, Some(default)) = (fields.contains_key(name), &field.default) {
                    let mut default = default.clone();
                    apply(field, &mut default);
                    fields.insert(name.clone(), default);
                }
            }
            let Some(additional) = &node.additional else {
                return;
            };
            if additional.default.is_none() && additional.null_is_absent() {
                fields.retain(|name, entry| !entry.is_null() || node.properties.contains_key(name));
            }
            for (name, entry) in fields.iter_mut() {
                if node.properties.contains_key(name) {
                    continue;
                }
                match (&entry, &additional.default) {
                    (Value::Null, Some(default)) if additional.null_is_absent() => *entry = default.clone(),
                    _ => {}
                }
                apply(additional, entry);
            }
        }
        Value::Array(elements) => {
            let Some(items) = &node.items else { return };
            for element in elements {
                match (&element, &items.default) {
                    (Value::Null, Some(default)) if items.null_is_absent() => *element = default.clone(),
                    _ => {}
                }
                apply(items, element);
            }
        }
        _ => {}
    }
}
