//! Annotations in an object's bytes. Annotations can be long (kubectl stores a copy of the whole object) and
//! are rarely needed, so each call parses them from the bytes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::outline::Members;

/// The annotations of one object, in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Annotations<'a> {
    /// The JSON object, including braces, in canonical form; empty where it is absent.
    bytes: &'a [u8],
}

impl<'a> Annotations<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns keys and values.
    pub fn iter(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        let bytes = self.bytes;
        let members = Members::of(bytes);
        members.map(move |(name, value)| (text(&bytes[name]), text(&bytes[value.start + 1..value.end - 1])))
    }

    /// Returns the keys.
    pub fn keys(self) -> impl Iterator<Item = Cow<'a, str>> {
        let bytes = self.bytes;
        Members::of(bytes).map(move |(name, _)| text(&bytes[name]))
    }

    /// Returns the value of `key`.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Cow<'a, str>> {
        self.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Whether there is an annotation `key`.
    #[must_use]
    pub fn contains_key(self, key: &str) -> bool {
        self.keys().any(|own| own == key)
    }

    /// Whether there are no annotations.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.len() <= "{}".len()
    }
}

impl PartialEq for Annotations<'_> {
    fn eq(&self, other: &Self) -> bool {
        // The canonical form is unique, so bytes can be compared.
        self.bytes == other.bytes || (self.is_empty() && other.is_empty())
    }
}

impl Eq for Annotations<'_> {}

/// Decodes the text between two quotes of canonical JSON.
fn text(between: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(between) {
        Ok(text) if !between.contains(&b'\\') => Cow::Borrowed(text),
        _ => {
            let quoted = [b"\"", between, b"\""].concat();
            Cow::Owned(serde_json::from_slice(&quoted).expect("stored bytes are JSON that we wrote"))
        }
    }
}

/// Annotations in parsed metadata, without their content: parsing only checks that the values are texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextsOnly;

impl<'de> Deserialize<'de> for TextsOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = TextsOnly;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextsOnly, A::Error> {
        while map.next_entry::<IgnoredAny, Text>()?.is_some() {}
        Ok(TextsOnly)
    }
}

/// A string, whose content is ignored.
struct Text;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Text, E> {
        Ok(Text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Object;
    use crate::Revision;

    fn with(annotations: &Value) -> Object {
        let value =
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "annotations": annotations}});
        Object::new(&value, Revision(7)).unwrap()
    }

    #[test]
    fn annotations_with_special_characters_are_found() {
        let odd = json!({"a": "plain", "b\"{": "say \"{}\", \\ and \n", "c/d": "", "ü": "\u{1F600}"});
        let object = with(&odd);
        let all: serde_json::Map<String, Value> = object
            .annotations()
            .iter()
            .map(|(key, value)| (key.into_owned(), value.into_owned().into()))
            .collect();
        assert_eq!(Value::Object(all), odd);
        for (key, value) in odd.as_object().unwrap() {
            assert_eq!(object.annotations().get(key).as_deref(), value.as_str());
            assert!(object.annotations().contains_key(key));
        }
        assert_eq!(object.annotations().get("resourceVersion"), None);
        let read = Object::restore(&object.bytes(), Revision(7)).unwrap();
        assert_eq!(read.annotations(), object.annotations());
        assert_eq!(
            object.draft().at(Revision(4711)).annotations(),
            object.annotations()
        );
    }

    #[test]
    fn absent_and_empty_annotations_are_equal() {
        let value = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
        let bare = Object::new(&value, Revision(7)).unwrap();
        let empty = with(&json!({}));
        assert!(bare.annotations().is_empty() && empty.annotations().is_empty());
        assert_eq!(bare.annotations(), empty.annotations());
        assert_eq!(
            (
                bare.annotations().iter().count(),
                empty.annotations().keys().count()
            ),
            (0, 0)
        );
        assert_ne!(with(&json!({"a": "b"})).annotations(), bare.annotations());
    }

    #[test]
    fn values_that_are_no_texts_are_refused() {
        for bad in [json!({"a": 1}), json!({"a": null}), json!([]), json!("a")] {
            let value =
                json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "annotations": bad}});
            let error = Object::new(&value, Revision(7)).unwrap_err();
            assert_eq!(error.path, "metadata", "{error}");
        }
    }
}
