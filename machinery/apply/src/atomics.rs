//! Atomic values that an applied configuration would replace as a whole.

use serde_json::Value;

use crate::types::{ItemIdentity, Node, Types};

impl Types {
    /// Returns the paths of atomic lists, maps and objects in `config`, such as `.spec.args`. A manager that
    /// applies only some parts of such a value would remove the other parts by accident. As in
    /// kube-apiserver, values below keys that the schema does not declare, such as the keys of a map, are not
    /// searched.
    #[must_use]
    pub fn atomics(&self, config: &Value) -> Vec<String> {
        let mut found = Vec::new();
        visit(&self.root, config, &mut String::new(), &mut found);
        found
    }
}

fn visit(node: &Node, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match value {
        Value::Object(fields) => {
            let Some(shape) = &node.object else { return };
            if shape.atomic {
                found.push(path.clone());
            }
            for (name, value) in fields {
                if let Some(field) = shape.fields.get(name) {
                    path.push('.');
                    path.push_str(name);
                    visit(field, value, path, found);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) => {
            let Some(list) = &node.list else { return };
            if matches!(list.identity, ItemIdentity::Atomic) {
                found.push(path.clone());
            }
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                visit(&list.items, item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
