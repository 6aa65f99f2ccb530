//! Selectable fields of objects.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::symbol;

/// Lists that become known at run time, by their paths: each is stored once, like names ([`symbol`]).
static LISTS: Mutex<BTreeMap<&'static [&'static str], &'static [SelectableField]>> =
    Mutex::new(BTreeMap::new());

/// A field that `--field-selector` can name, in addition to `metadata.name` and `metadata.namespace`.
#[derive(Clone, Copy, Debug)]
pub struct SelectableField {
    /// Path of the field, as the user writes it: `spec.seedName`.
    pub path: &'static str,
    /// Function that returns the text of the field, where it is not the value at the path.
    pub computed: Option<fn(&Value) -> String>,
}

/// Cached texts of an object's selectable fields.
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

    /// Returns the shared list of the fields at `paths`, which become known at run time.
    #[must_use]
    pub fn list(paths: &[&str]) -> &'static [Self] {
        let paths = symbol::list(paths);
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        lists.entry(paths).or_insert_with(|| {
            let fields: Vec<Self> = paths.iter().map(|path| Self::at(path)).collect();
            Box::leak(fields.into_boxed_slice())
        })
    }

    /// The field `path` with the text that `read` returns.
    #[must_use]
    pub const fn computed(path: &'static str, read: fn(&Value) -> String) -> Self {
        Self {
            path,
            computed: Some(read),
        }
    }

    /// Returns the text of the field in `object`; a missing field is the empty string.
    #[must_use]
    pub fn read(&self, object: &Value) -> String {
        if let Some(read) = self.computed {
            return read(object);
        }
        let mut current = object;
        for name in self.path.split('.') {
            current = &current[name];
        }
        match current {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
