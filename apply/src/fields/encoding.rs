//! `fieldsV1`: the wire form of a set.

use serde_json::{Map, Value};

use super::Set;
use crate::MAX_DEPTH;
use crate::element::Element;

/// Why some `fieldsV1` is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fieldsV1: {0}")]
pub struct Invalid(String);

impl Set {
    /// Reads `fieldsV1`. `null` is the empty set.
    ///
    /// # Errors
    /// When it is no object, a key is no path element, or it is nested too deep.
    pub fn decode(fields: &Value) -> Result<Self, Invalid> {
        let mut set = read(fields, 0)?;
        set.member = false;
        // At the root a map without entries means nothing, not the root itself.
        Ok(set)
    }

    /// Reads `fieldsV1` from its bytes.
    ///
    /// # Errors
    /// As [`Set::decode`], and when the bytes are no JSON or something follows it.
    pub fn decode_bytes(fields: &[u8]) -> Result<Self, Invalid> {
        let fields: Value = serde_json::from_slice(fields).map_err(|error| Invalid(error.to_string()))?;
        Self::decode(&fields)
    }

    /// Writes `fieldsV1` in its canonical order, compact.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, true);
        text
    }

    fn write(&self, text: &mut String, root: bool) {
        text.push('{');
        let mut first = true;
        if self.member && !self.below.is_empty() && !root {
            text.push_str("\".\":{}");
            first = false;
        }
        for (element, below) in &self.below {
            if !std::mem::take(&mut first) {
                text.push(',');
            }
            text.push_str(&Value::from(element.encode()).to_string());
            text.push(':');
            below.write(text, false);
        }
        text.push('}');
    }
}

fn read(fields: &Value, depth: usize) -> Result<Set, Invalid> {
    if depth > MAX_DEPTH {
        return Err(Invalid(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let empty = Map::new();
    let fields = match fields {
        Value::Null => &empty,
        Value::Object(fields) => fields,
        _ => return Err(Invalid("a set of fields is an object".to_owned())),
    };
    let mut set = Set::default();
    for (name, below) in fields {
        if name == "." {
            set.member = true;
        } else if let Some(element) = Element::decode(name).map_err(Invalid)? {
            let below = read(below, depth + 1)?;
            set.below.insert(element, below);
        }
    }
    set.member |= set.below.is_empty();
    Ok(set)
}
