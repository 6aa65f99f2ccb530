//! The entries of a JSON object of strings, in document order and including duplicate keys.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The keys and values of a JSON object of strings, in document order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pairs(pub(super) Vec<(String, String)>);

impl Pairs {
    /// Parses `text`; returns `None` if it is JSON's `null`.
    ///
    /// # Errors
    /// The reason why `text` is not a JSON object of strings.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            format!("is not JSON ({error}); it must be an object of location strings and states, such as {EXAMPLE}")
        })?;
        match value {
            Value::Null => return Ok(None),
            Value::Object(_) => {}
            Value::Array(_) => return Err(not_an_object("an array")),
            Value::String(_) => return Err(not_an_object("a string")),
            Value::Number(_) => return Err(not_an_object("a number")),
            Value::Bool(_) => return Err(not_an_object("a boolean")),
        }
        // The text is parsed again, since a `Value` only has the last entry of duplicate keys.
        let raw: Raw = serde_json::from_str(text).map_err(|error| format!("is not JSON ({error})"))?;
        let mut pairs = Vec::with_capacity(raw.0.len());
        for (key, value) in raw.0 {
            let Value::String(word) = value else {
                return Err(format!(
                    "entry \"{key}\" is {value}; every state must be a string"
                ));
            };
            pairs.push((key, word));
        }
        Ok(Some(Self(pairs)))
    }

    /// The keys that occur more than once, each returned once.
    pub(super) fn duplicates(&self) -> impl Iterator<Item = &str> {
        let mut seen = BTreeSet::new();
        let repeated = self.0.iter().filter(move |(key, _)| !seen.insert(key));
        let repeated: BTreeSet<&str> = repeated.map(|(key, _)| key.as_str()).collect();
        repeated.into_iter()
    }
}

const EXAMPLE: &str = r#"{"root:compute+us-east1+a7fc":"Bound"}"#;

/// The problem of JSON that is not an object, but `actual`. The text is the end of a sentence.
pub(super) fn not_an_object(actual: &str) -> String {
    format!("is {actual}; it must be a JSON object of location strings and states, such as {EXAMPLE}")
}

/// The entries of a JSON object, in document order and including duplicate keys.
struct Raw(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Raw(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
