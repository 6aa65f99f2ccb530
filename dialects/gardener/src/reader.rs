//! Reads a JSON object field by field, noting every mistake with its path.

use meta::FieldError;
use serde_json::{Map, Value};

/// A JSON object being read.
pub(crate) struct Reader<'a> {
    object: &'a Map<String, Value>,
    path: String,
    seen: Vec<&'static str>,
    errors: &'a mut Vec<FieldError>,
}

impl<'a> Reader<'a> {
    /// The object `value` at `path`; `None` (and an error) when it is none.
    pub(crate) fn new(value: &'a Value, path: &str, errors: &'a mut Vec<FieldError>) -> Option<Self> {
        let Some(object) = value.as_object() else {
            errors.push(FieldError::type_invalid(path, value.clone(), "must be an object"));
            return None;
        };
        Some(Self {
            object,
            path: path.to_owned(),
            seen: Vec::new(),
            errors,
        })
    }

    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// The value at `name`; null counts as absent.
    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.seen.push(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn mistyped(&mut self, name: &str, value: &Value, wanted: &str) {
        self.errors
            .push(FieldError::type_invalid(self.at(name), value.clone(), wanted));
    }

    /// Notes that the value at `name` is wrong.
    pub(crate) fn wrong(&mut self, name: &str, problem: &str) {
        let value = self.object.get(name).cloned().unwrap_or_default();
        self.errors
            .push(FieldError::invalid(self.at(name), value, problem));
    }

    /// The text at `name`.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        let value = self.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.mistyped(name, value, "must be a string");
        }
        text
    }

    /// The index of the text at `name` in `supported`. An empty text counts as absent.
    pub(crate) fn one_of(&mut self, name: &'static str, supported: &[&str]) -> Option<usize> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        let index = supported.iter().position(|word| *word == text);
        if index.is_none() {
            self.errors
                .push(FieldError::not_supported(self.at(name), text, supported));
        }
        index
    }

    /// The non-negative integer at `name`.
    pub(crate) fn whole_number(&mut self, name: &'static str) -> Option<i64> {
        let value = self.get(name)?;
        let Some(number) = value.as_i64() else {
            self.mistyped(name, value, "must be an integer");
            return None;
        };
        if number < 0 {
            self.wrong(name, "must be greater than or equal to 0");
            return None;
        }
        Some(number)
    }

    /// Demands that `name`, if there, is an object, whatever is in it.
    pub(crate) fn any_object(&mut self, name: &'static str) {
        if let Some(value) = self.get(name)
            && !value.is_object()
        {
            self.mistyped(name, value, "must be an object");
        }
    }

    /// Reads the object at `name`, if there is one.
    pub(crate) fn child(&mut self, name: &'static str, read: impl FnOnce(&mut Reader<'_>)) {
        let Some(value) = self.get(name) else { return };
        let path = self.at(name);
        if let Some(mut child) = Reader::new(value, &path, self.errors) {
            read(&mut child);
        }
    }

    /// Notes every field that nobody asked for.
    pub(crate) fn end(&mut self) {
        for (name, value) in self.object {
            if !self.seen.contains(&name.as_str()) {
                self.errors
                    .push(FieldError::invalid(self.at(name), value.clone(), "unknown field"));
            }
        }
    }
}
