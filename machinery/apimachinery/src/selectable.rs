//! Fields that objects are selected by.

use serde_json::Value;

/// A field that `--field-selector` can name beside `metadata.name` and `metadata.namespace`.
#[derive(Clone, Copy, Debug)]
pub struct SelectableField {
    /// The path as the user writes it: `spec.seedName`.
    pub path: &'static str,
    /// Maker of its text, where it is not simply what stands at the path.
    pub computed: Option<fn(&Value) -> String>,
}

/// Values of the fields of an object that were selected by.
#[derive(Debug)]
pub(crate) struct Selectable {
    pub(crate) fields: &'static [SelectableField],
    pub(crate) texts: Box<[Box<str>]>,
}

impl SelectableField {
    /// The field at `path`.
    #[must_use]
    pub const fn at(path: &'static str) -> Self {
        Self { path, computed: None }
    }

    /// The field `path`, as `read` makes its text.
    #[must_use]
    pub const fn computed(path: &'static str, read: fn(&Value) -> String) -> Self {
        Self {
            path,
            computed: Some(read),
        }
    }

    /// The field of `object`, a missing one as the empty string.
    #[must_use]
    pub fn read(&self, object: &Value) -> String {
        if let Some(read) = self.computed {
            return read(object);
        }
        let mut at = object;
        for name in self.path.split('.') {
            at = &at[name];
        }
        match at {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
