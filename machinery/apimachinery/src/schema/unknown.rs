//! Search for fields that the schema does not have, for `fieldValidation`.

use serde_json::Value;

use super::Node;
use super::node::Type;
use super::path::Path;

/// Unknown fields of a value, up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// Paths of the first unknown fields, in document order.
    pub paths: Vec<String>,
    /// Number of the other unknown fields.
    pub more: usize,
}

/// Limit of the total size of the paths, in bytes.
const TEXT_LIMIT: usize = 64 * 1024;

/// Search for unknown fields.
pub(super) struct Search {
    /// Highest number of reported fields.
    pub(super) most: usize,
    pub(super) found: UnknownFields,
    /// Total size of the found paths, in bytes.
    pub(super) text_size: usize,
}

impl Search {
    /// Creates a search that reports at most `most` fields.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            found: UnknownFields::default(),
            text_size: 0,
        }
    }

    fn add(&mut self, path: &Path<'_>) {
        if self.found.paths.len() >= self.most || self.text_size >= TEXT_LIMIT {
            self.found.more += 1;
            return;
        }
        let path = path.to_string();
        self.text_size += path.len();
        self.found.paths.push(path);
    }

    /// Finds every unknown field below `value` at `path`, whose schema is `node`, except fields that `old`
    /// has at the same path.
    pub(super) fn find(&mut self, node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>) {
        match value {
            Value::Object(fields) => {
                let allows_unknown = node.preserve || node.kind == Type::Any;
                for (name, field) in fields {
                    let path = Path::Field(path, name);
                    let old = old.and_then(|old| old.get(name));
                    match node.field(name) {
                        Some(child) => self.find(child, field, old, &path),
                        None if allows_unknown || old.is_some() => {}
                        None => self.add(&path),
                    }
                }
            }
            Value::Array(elements) => {
                let Some(items) = &node.items else { return };
                for (index, element) in elements.iter().enumerate() {
                    let old = old.and_then(|old| old.get(index));
                    self.find(items, element, old, &Path::Index(path, index));
                }
            }
            _ => {}
        }
    }
}
