//! Parser for JSON that reports duplicate fields, which other parsers drop silently.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::de::Read;
use serde_json::{Deserializer, Map, Number, Value};

use crate::FieldPath;
use crate::nesting::DEPTH_LIMIT;

/// Highest number of duplicate fields whose paths are reported, since formatting a path takes time.
pub const MAX_DUPLICATES: usize = 100;

/// One parsed document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The value; of duplicate fields it has the last one. An empty YAML text is null.
    pub value: Value,
    /// The paths of duplicate fields, as in `spec.taints[0].key`.
    pub duplicates: Vec<String>,
}

/// Handling of a double without a fraction: `1.0`, `1e2` and `-0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubles {
    /// Converts the number to an integer, as JSON Schema allows and kube-apiserver does for custom resources:
    /// clients that store every number as a double send such numbers for integer fields.
    AsInteger,
    /// Keeps the double, as kube-apiserver does for the kinds of Kubernetes: their types do not accept a
    /// double for an integer field.
    AsDouble,
}

/// Parses a text with one value.
///
/// # Errors
/// The syntax error, with its line and column.
pub fn document(text: &[u8], doubles: Doubles) -> serde_json::Result<Document> {
    let mut reader = Deserializer::from_slice(text);
    let document = read(&mut reader, doubles)?;
    reader.end()?;
    Ok(document)
}

/// Parses a text with several values in sequence.
///
/// # Errors
/// The first syntax error, with its line and column.
pub fn documents(text: &str, doubles: Doubles) -> serde_json::Result<Vec<Document>> {
    let mut reader = Deserializer::from_str(text);
    let mut found = Vec::new();
    while reader.end().is_err() {
        found.push(read(&mut reader, doubles)?);
    }
    Ok(found)
}

fn read<'de, R: Read<'de>>(reader: &mut Deserializer<R>, doubles: Doubles) -> serde_json::Result<Document> {
    let duplicates = Duplicates::default();
    let root = Node {
        path: Path {
            parent: None,
            depth: 0,
            step: Step::Root,
        },
        duplicates: &duplicates,
        doubles,
    };
    let value = root.deserialize(reader)?;
    Ok(Document {
        value,
        duplicates: duplicates.paths.into_inner(),
    })
}

/// Collector of the paths of duplicate fields.
#[derive(Default)]
struct Duplicates {
    paths: RefCell<Vec<String>>,
    count: Cell<usize>,
}

impl Duplicates {
    fn add(&self, path: &Path<'_>) {
        self.count.set(self.count.get() + 1);
        if self.count.get() <= MAX_DUPLICATES {
            let mut field_path = FieldPath::default();
            path.write(&mut field_path);
            let text = field_path.into_text();
            let mut paths = self.paths.borrow_mut();
            if !paths.contains(&text) {
                paths.push(text);
            }
        }
    }
}

/// One part of a path.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

/// Path of the current value: links on the call stack, formatted only for a message.
#[derive(Clone, Copy)]
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    depth: usize,
    step: Step<'a>,
}

impl<'a> Path<'a> {
    fn child(&'a self, step: Step<'a>) -> Path<'a> {
        Path {
            parent: Some(self),
            depth: self.depth + 1,
            step,
        }
    }

    fn write(&self, field_path: &mut FieldPath) {
        if let Some(parent) = self.parent {
            parent.write(field_path);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) => field_path.field(name),
            Step::Index(index) => field_path.index(index),
        }
    }
}

/// Seed and visitor of the value at `path`.
#[derive(Clone, Copy)]
struct Node<'a> {
    path: Path<'a>,
    duplicates: &'a Duplicates,
    doubles: Doubles,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.path.depth > DEPTH_LIMIT {
            return Err(D::Error::custom(format!(
                "the object is nested deeper than {DEPTH_LIMIT} levels"
            )));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        /// Smallest number from which doubles cannot represent every integer.
        const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;
        if self.doubles == Doubles::AsInteger && value.fract() == 0.0 && value.abs() < EXACT_LIMIT {
            #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
            return Ok((value as i64).into());
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = self.path.child(Step::Index(list.len()));
            match items.next_element_seed(Node { path, ..self })? {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = self.path.child(Step::Field(&name));
            if fields.contains_key(&name) {
                self.duplicates.add(&path);
            }
            let value = entries.next_value_seed(Node { path, ..self })?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_parsed_with_the_paths_of_duplicate_fields() {
        let text = "{\"a\": 1.0, \"a\": 2.0}\n {\"b\": [{\"c\": 1, \"c\": 1}]} ";
        let found = documents(text, Doubles::AsInteger).unwrap();
        assert_eq!(found[0].value.to_string(), "{\"a\":2}");
        let twice: Vec<_> = found.iter().map(|document| &document.duplicates[..]).collect();
        assert_eq!(twice, [["a"], ["b[0].c"]]);
        assert!(documents("{} {", Doubles::AsDouble).is_err());
        assert!(document(b"{} {}", Doubles::AsDouble).is_err());
    }

    #[test]
    fn the_paths_of_duplicate_fields_are_limited() {
        let name = "n".repeat(1_000);
        let fields = vec!["\"a\": 1, \"a\": 1"; 1_000].join(", ");
        let items = vec![format!("{{{fields}}}"); 10].join(", ");
        let text = format!("{{\"{name}\": [{items}]}}");
        let read = document(text.as_bytes(), Doubles::AsInteger).unwrap();
        let length: usize = read.duplicates.iter().map(String::len).sum();
        assert!(length > 0 && length < MAX_DUPLICATES * 256, "{length}");
    }
}
