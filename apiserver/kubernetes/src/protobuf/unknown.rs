//! Search for unknown fields: fields that a kind's message does not have, and that a strict decoder of the Go
//! type rejects.

use berth_apimachinery::Path;
use berth_apimachinery::UnknownFields;
use serde_json::Value;

use super::table::{Cardinality, Field, Form, Message, TABLE};

/// Total length of the reported paths, in bytes, after which further fields are only counted: a long field
/// name can occur in many paths.
const MAX_PATH_BYTES: usize = 64 * 1024;

/// Returns the paths of the first `limit` unknown fields of `object`, and the number of further ones. A field
/// that `before` has at the same path is not reported.
pub(super) fn find(message: &Message, object: &Value, before: &Value, limit: usize) -> UnknownFields {
    let mut search = Search {
        limit,
        unknown: UnknownFields::default(),
        path_bytes: 0,
    };
    let is_type_meta = |name: &str| matches!(name, "apiVersion" | "kind");
    if let Some(fields) = object.as_object() {
        for (name, value) in fields.iter().filter(|(name, _)| !is_type_meta(name)) {
            search.visit_field(
                message,
                name,
                value,
                before.get(name),
                &Path::Field(&Path::Root, name),
            );
        }
    }
    search.unknown
}

/// Search in one object, with the fields found so far.
struct Search {
    limit: usize,
    unknown: UnknownFields,
    /// Total length of the reported paths, in bytes.
    path_bytes: usize,
}

impl Search {
    fn visit_field(
        &mut self,
        message: &Message,
        name: &str,
        value: &Value,
        before: Option<&Value>,
        path: &Path<'_>,
    ) {
        match message.field_named(name) {
            Some(field) => self.visit_values(field, value, before, path),
            None if before.is_some() => {}
            None if self.unknown.paths.len() >= self.limit || self.path_bytes >= MAX_PATH_BYTES => {
                self.unknown.more += 1
            }
            None => {
                let path = path.to_string();
                self.path_bytes += path.len();
                self.unknown.paths.push(path);
            }
        }
    }

    fn visit_values(&mut self, field: &Field, value: &Value, before: Option<&Value>, path: &Path<'_>) {
        let Form::Message(index) = field.form else {
            return;
        };
        let message = TABLE.message(index);
        match (field.cardinality, value) {
            (Cardinality::List, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let before = before.and_then(|before| before.get(index));
                    self.visit_object(message, item, before, &Path::Index(path, index));
                }
            }
            (Cardinality::Map, Value::Object(entries)) => {
                for (key, item) in entries {
                    let before = before.and_then(|before| before.get(key));
                    self.visit_object(message, item, before, &Path::Field(path, key));
                }
            }
            (Cardinality::One | Cardinality::Pointer, value) => {
                self.visit_object(message, value, before, path)
            }
            _ => {}
        }
    }

    fn visit_object(&mut self, message: &Message, value: &Value, before: Option<&Value>, path: &Path<'_>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let before = before.and_then(|before| before.get(name));
            self.visit_field(message, name, value, before, &Path::Field(path, name));
        }
    }
}
