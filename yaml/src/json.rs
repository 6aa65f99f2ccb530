//! Builds a JSON value from any serde format, finding fields that stand twice, with their paths, on the way.

use std::cell::{Cell, RefCell};
use std::fmt;

use meta::nesting::DEPTH_LIMIT;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// More duplicates than this are not told, nor looked at: writing their paths takes time.
const TOLD: usize = 100;

/// Treatment of a double without a fraction: `1.0`, `1e2` and `-0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubles {
    /// An integer, as it is to JSON Schema, and so to kube-apiserver in custom resources: they come from clients that keep
    /// every number as a double, and go into integer fields.
    Whole,
    /// A double, as it is written: readers of a kind's own type take none for an integer.
    Kept,
}

/// The paths of fields that stand twice.
#[derive(Default)]
pub(crate) struct Duplicates {
    paths: RefCell<Vec<String>>,
    found: Cell<usize>,
}

impl Duplicates {
    pub(crate) fn into_paths(self) -> Vec<String> {
        self.paths.into_inner()
    }

    fn add(&self, path: &Path<'_>) {
        self.found.set(self.found.get() + 1);
        if self.found.get() <= TOLD {
            let mut text = String::new();
            path.write(&mut text);
            let mut paths = self.paths.borrow_mut();
            if !paths.contains(&text) {
                paths.push(text);
            }
        }
    }
}

/// Reads one value.
pub(crate) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    duplicates: &mut Duplicates,
    doubles: Doubles,
) -> Result<Value, D::Error> {
    Node {
        path: Path {
            parent: None,
            depth: 0,
            step: Step::Root,
        },
        duplicates,
        doubles,
    }
    .deserialize(deserializer)
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

/// Where we are: links on the call stack, made text only when something is to be told.
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

    fn write(&self, text: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(text);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
}

#[derive(Clone, Copy)]
struct Node<'a> {
    path: Path<'a>,
    duplicates: &'a Duplicates,
    doubles: Doubles,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.path.depth > DEPTH_LIMIT {
            return Err(D::Error::custom(super::too_deep()));
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
        /// From here on doubles skip integers.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if self.doubles == Doubles::Whole && value.fract() == 0.0 && value.abs() < EXACT {
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

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
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
