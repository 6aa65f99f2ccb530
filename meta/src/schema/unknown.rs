//! Finds fields the schema does not know, for `fieldValidation`.

use serde_json::Value;

use super::Node;
use super::node::Type;
use super::path::Path;

/// Adds the path of every unknown field below `value`, which is at `node`.
pub(super) fn find(node: &Node, value: &Value, path: &Path<'_>, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let open = node.preserve || node.kind == Type::Any;
            for (name, field) in fields {
                let path = Path::Field(path, name);
                match node.field(name) {
                    Some(child) => find(child, field, &path, paths),
                    None if open => {}
                    None => paths.push(path.to_string()),
                }
            }
        }
        Value::Array(elements) => {
            let Some(items) = &node.items else { return };
            for (index, element) in elements.iter().enumerate() {
                find(items, element, &Path::Index(path, index), paths);
            }
        }
        _ => {}
    }
}
