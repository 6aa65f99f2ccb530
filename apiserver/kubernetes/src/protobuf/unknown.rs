//! Fields that a kind's message does not have, and which a strict decoder of the Go type rejects.

use berth_apimachinery::Path;
use berth_apimachinery::Unknown;
use serde_json::Value;

use super::table::{Count, Field, Form, Message, TABLE};

/// Total length of the reported paths, in bytes, at which further fields are only counted: field names can be
/// long, and occur in many paths.
const MOST_TEXT: usize = 64 * 1024;

/// The first `most` fields of `object` that its message does not have, and that `before` does not have at the
/// same path; further ones are only counted.
pub(super) fn fields(message: &Message, object: &Value, before: &Value, most: usize) -> Unknown {
    let mut search = Search {
        most,
        unknown: Unknown::default(),
        text: 0,
    };
    let is_type_meta = |name: &str| matches!(name, "apiVersion" | "kind");
    if let Some(fields) = object.as_object() {
        for (name, value) in fields.iter().filter(|(name, _)| !is_type_meta(name)) {
            search.field(
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

struct Search {
    most: usize,
    unknown: Unknown,
    text: usize,
}

impl Search {
    fn field(
        &mut self,
        message: &Message,
        name: &str,
        value: &Value,
        before: Option<&Value>,
        path: &Path<'_>,
    ) {
        match message.named(name) {
            Some(field) => self.values(field, value, before, path),
            None if before.is_some() => {}
            None if self.unknown.paths.len() >= self.most || self.text >= MOST_TEXT => self.unknown.more += 1,
            None => {
                let path = path.to_string();
                self.text += path.len();
                self.unknown.paths.push(path);
            }
        }
    }

    fn values(&mut self, field: &Field, value: &Value, before: Option<&Value>, path: &Path<'_>) {
        let Form::Message(place) = field.form else {
            return;
        };
        let message = TABLE.message(place);
        match (field.count, value) {
            (Count::List, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let before = before.and_then(|before| before.get(index));
                    self.object(message, item, before, &Path::Index(path, index));
                }
            }
            (Count::Map, Value::Object(entries)) => {
                for (key, item) in entries {
                    let before = before.and_then(|before| before.get(key));
                    self.object(message, item, before, &Path::Field(path, key));
                }
            }
            (Count::One | Count::Pointer, value) => self.object(message, value, before, path),
            _ => {}
        }
    }

    fn object(&mut self, message: &Message, value: &Value, before: Option<&Value>, path: &Path<'_>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let before = before.and_then(|before| before.get(name));
            self.field(message, name, value, before, &Path::Field(path, name));
        }
    }
}
