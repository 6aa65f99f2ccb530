//! Selectable fields of objects.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::symbol;

/// Lists of fields that become known at run time, by the paths of the fields. Each list is stored once, like
/// a name ([`symbol`]).
static LISTS: Mutex<BTreeMap<&'static [&'static str], &'static [SelectableField]>> =
    Mutex::new(BTreeMap::new());

/// A field that `--field-selector` can name, in addition to `metadata.name` and `metadata.namespace`.
#[derive(Clone, Copy, Debug)]
pub struct SelectableField {
    /// Path of the field, as the user writes it: `spec.seedName`.
    pub path: &'static str,
    /// Function that computes the text of the field; `None` if the text is the value at the path.
    pub computed: Option<fn(&Value) -> String>,
}

/// Cached texts of an object's selectable fields.
#[derive(Debug)]
pub(crate) struct SelectableTexts {
    /// The fields whose texts are cached.
    pub(crate) fields: &'static [SelectableField],
    /// Texts of the fields, in the order of `fields`.
    pub(crate) texts: Box<[Box<str>]>,
}

impl SelectableField {
    /// Creates the field at `path`.
    #[must_use]
    pub const fn at(path: &'static str) -> Self {
        Self { path, computed: None }
    }

    /// Returns the list of the fields at `paths`, which become known at run time. Equal paths give the same
    /// list.
    #[must_use]
    pub fn list(paths: &[&str]) -> &'static [Self] {
        let paths = symbol::intern_list(paths);
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        lists.entry(paths).or_insert_with(|| {
            let fields: Vec<Self> = paths.iter().map(|path| Self::at(path)).collect();
            Box::leak(fields.into_boxed_slice())
        })
    }

    /// Creates the field `path`, whose text `compute` returns.
    #[must_use]
    pub const fn computed(path: &'static str, compute: fn(&Value) -> String) -> Self {
        Self {
            path,
            computed: Some(compute),
        }
    }

    /// Returns the text of the field in `object`, empty for a missing field.
    #[must_use]
    pub fn read(&self, object: &Value) -> String {
        if let Some(compute) = self.computed {
            return compute(object);
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
