//! Values that are lists and maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Key, Text, Value};

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// A JSON list.
    Json(&'a [Json]),
    /// List created by an expression.
    Values(Arc<[Value<'a>]>),
}

/// A map.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// A JSON object.
    Json(&'a serde_json::Map<String, Json>),
    /// Map created by an expression.
    Values(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

impl<'a> List<'a> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(list) => list.len(),
            Self::Values(list) => list.len(),
        }
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(list) => list.get(index).map(Value::from),
            Self::Values(list) => list.get(index).cloned(),
        }
    }

    /// Iterates over the elements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'a>> + use<'_, 'a> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> Map<'a> {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Values(map) => map.len(),
        }
    }

    /// Whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of the text key `name`, if there is one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(map) => map.get(name).map(Value::from),
            Self::Values(map) => map.get(&Key::String(Text::Borrowed(name))).cloned(),
        }
    }

    /// Returns the value of `key`, if there is one.
    pub(crate) fn get(&self, key: &Key<'_>) -> Option<Value<'a>> {
        match (self, key) {
            (Self::Json(_), Key::String(name)) => self.field(name),
            (Self::Json(_), _) => None,
            (Self::Values(map), key) => map.get(key).cloned(),
        }
    }

    /// Returns the entries, in the order of their keys.
    pub(crate) fn entries(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Json(map) => map
                .iter()
                .map(|(name, value)| (Value::String(Text::Borrowed(name)), Value::from(value)))
                .collect(),
            Self::Values(map) => map
                .iter()
                .map(|(key, value)| (Value::from(key.clone()), value.clone()))
                .collect(),
        }
    }
}
