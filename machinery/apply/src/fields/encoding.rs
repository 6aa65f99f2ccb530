//! Encoding and decoding of a set of paths as `fieldsV1`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::Set;
use crate::MAX_DEPTH;
use crate::element::Element;

/// Reason why `fieldsV1`, or a list of managed fields, is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidFields(String);

impl InvalidFields {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl Set {
    /// Decodes `fieldsV1`. `null` is the empty set.
    ///
    /// # Errors
    /// When the value is not an object, a key is not a path element, or the nesting is too deep.
    pub fn decode(fields: &Value) -> Result<Self, InvalidFields> {
        serde::Deserialize::deserialize(fields).map_err(|error: serde_json::Error| invalid(&error))
    }

    /// Decodes `fieldsV1` from its bytes.
    ///
    /// # Errors
    /// As [`Set::decode`], and when the bytes are not JSON, or bytes follow the JSON.
    pub fn decode_bytes(fields: &[u8]) -> Result<Self, InvalidFields> {
        serde_json::from_slice(fields).map_err(|error| invalid(&error))
    }

    /// Encodes `fieldsV1` in canonical order, as compact JSON.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        text
    }

    pub(crate) fn write_to(&self, text: &mut String) {
        self.write(text, true);
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
            element.write_to(text);
            text.push(':');
            below.write(text, false);
        }
        text.push('}');
    }
}

fn invalid(error: &serde_json::Error) -> InvalidFields {
    InvalidFields(format!("invalid fieldsV1: {error}"))
}

impl<'de> serde::Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        let mut set = SetDecoder(0).deserialize(fields)?;
        // An empty map means a member, except at the root, where it means an empty set.
        set.member = false;
        Ok(set)
    }
}

/// Decoder of a set at a depth. It builds no JSON values, since sets are about as large as the objects that
/// they describe.
#[derive(Clone, Copy)]
struct SetDecoder(usize);

impl<'de> DeserializeSeed<'de> for SetDecoder {
    type Value = Set;

    fn deserialize<D: Deserializer<'de>>(self, fields: D) -> Result<Set, D::Error> {
        if self.0 > MAX_DEPTH {
            return Err(D::Error::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        fields.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SetDecoder {
    type Value = Set;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of path elements")
    }

    fn visit_unit<E: Error>(self) -> Result<Set, E> {
        Ok(Set {
            member: true,
            ..Set::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Set, A::Error> {
        let mut set = Set::default();
        while let Some(key) = fields.next_key_seed(KeyDecoder)? {
            match key {
                FieldKey::Itself => {
                    set.member = true;
                    fields.next_value::<IgnoredAny>()?;
                }
                FieldKey::Unknown => {
                    fields.next_value::<IgnoredAny>()?;
                }
                FieldKey::Element(element) => {
                    let below = fields.next_value_seed(Self(self.0 + 1))?;
                    set.below.insert(element, below);
                }
            }
        }
        set.member |= set.below.is_empty();
        Ok(set)
    }
}

/// Decoded key of `fieldsV1`.
enum FieldKey {
    /// The key `.`: the path of the set itself is a member.
    Itself,
    /// A path element, whose value is the set below it.
    Element(Element),
    /// A key with an unknown letter, which decoders skip.
    Unknown,
}

struct KeyDecoder;

impl<'de> DeserializeSeed<'de> for KeyDecoder {
    type Value = FieldKey;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<FieldKey, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyDecoder {
    type Value = FieldKey;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a path element")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<FieldKey, E> {
        if key == "." {
            return Ok(FieldKey::Itself);
        }
        let element = Element::decode(key).map_err(E::custom)?;
        Ok(element.map_or(FieldKey::Unknown, FieldKey::Element))
    }
}
