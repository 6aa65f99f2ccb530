//! Reads a JSON object field by field, noting every mistake with its path.

use std::collections::BTreeMap;

use meta::FieldError;
use serde_json::{Map, Value};

/// A JSON object being read.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
    seen: Vec<&'static str>,
}

/// `value` as an object, or `None` and an error at `path`.
pub(super) fn object<'a>(
    value: &'a Value,
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Option<&'a Map<String, Value>> {
    if !value.is_object() {
        errors.push(mistyped(path, value, "must be an object"));
    }
    value.as_object()
}

fn mistyped(path: &str, value: &Value, wanted: &str) -> FieldError {
    FieldError::type_invalid(path, value.clone(), wanted)
}

impl<'a> Fields<'a> {
    /// The object `value` at `path`; `None` (and an error) when it is none.
    pub(super) fn of(value: &'a Value, path: &str, errors: &mut Vec<FieldError>) -> Option<Self> {
        Some(Self {
            object: object(value, path, errors)?,
            path: path.to_owned(),
            seen: Vec::new(),
        })
    }

    /// The path of the field `name`.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The value at `name`; null counts as absent.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.seen.push(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// The text at `name`; an empty one counts as absent.
    pub(super) fn text(&mut self, name: &'static str, errors: &mut Vec<FieldError>) -> Option<&'a str> {
        let value = self.get(name)?;
        if !value.is_string() {
            errors.push(mistyped(&self.at(name), value, "must be a string"));
        }
        value.as_str().filter(|text| !text.is_empty())
    }

    /// The index of the text at `name` in `supported`. An empty text counts as absent.
    pub(super) fn one_of(
        &mut self,
        name: &'static str,
        supported: &[&str],
        errors: &mut Vec<FieldError>,
    ) -> Option<usize> {
        let text = self.text(name, errors)?;
        let index = supported.iter().position(|word| *word == text);
        if index.is_none() {
            errors.push(FieldError::not_supported(self.at(name), text, supported));
        }
        index
    }

    /// The integer at `name`.
    pub(super) fn integer(&mut self, name: &'static str, errors: &mut Vec<FieldError>) -> Option<i64> {
        let value = self.get(name)?;
        if value.as_i64().is_none() {
            errors.push(mistyped(&self.at(name), value, "must be an integer"));
        }
        value.as_i64()
    }

    /// The map of texts at `name`; `None` when it is malformed.
    pub(super) fn texts(
        &mut self,
        name: &'static str,
        errors: &mut Vec<FieldError>,
    ) -> Option<BTreeMap<String, String>> {
        let Some(value) = self.get(name) else {
            return Some(BTreeMap::new());
        };
        let path = self.at(name);
        let before = errors.len();
        let mut texts = BTreeMap::new();
        for (key, value) in object(value, &path, errors)? {
            match value.as_str() {
                Some(text) => {
                    texts.insert(key.clone(), text.to_owned());
                }
                None => errors.push(mistyped(&format!("{path}[{key}]"), value, "must be a string")),
            }
        }
        (errors.len() == before).then_some(texts)
    }

    /// Counts `names` as known without reading them.
    pub(super) fn skip(&mut self, names: &'static [&'static str]) {
        self.seen.extend(names);
    }

    /// Notes every field that nobody asked for.
    pub(super) fn end(&self, errors: &mut Vec<FieldError>) {
        for (name, value) in self.object {
            if !self.seen.contains(&name.as_str()) {
                errors.push(FieldError::invalid(self.at(name), value.clone(), "unknown field"));
            }
        }
    }
}
