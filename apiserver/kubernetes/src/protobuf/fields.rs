//! Putting a JSON object together of optional fields.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{Timestamp, time};
use k8s_pb::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use serde_json::{Map, Value};

/// A JSON object in the making. Empty texts, lists, maps and objects are left out.
#[derive(Default)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// A text.
    pub(crate) fn text(&mut self, name: &str, text: Option<String>) -> &mut Self {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.0.insert(name.to_owned(), text.into());
        }
        self
    }

    /// A boolean that is a pointer in Go: false is written.
    pub(crate) fn flag(&mut self, name: &str, flag: Option<bool>) -> &mut Self {
        if let Some(flag) = flag {
            self.0.insert(name.to_owned(), flag.into());
        }
        self
    }

    /// A number that is a pointer in Go: zero is written.
    pub(crate) fn number(&mut self, name: &str, number: Option<impl Into<i64>>) -> &mut Self {
        if let Some(number) = number {
            self.0.insert(name.to_owned(), number.into().into());
        }
        self
    }

    /// A number that is left out when it is zero.
    pub(crate) fn count(&mut self, name: &str, number: Option<impl Into<i64>>) -> &mut Self {
        self.number(name, number.map(Into::into).filter(|&number| number != 0))
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &str, list: Vec<String>) -> &mut Self {
        if !list.is_empty() {
            self.0.insert(name.to_owned(), list.into());
        }
        self
    }

    /// A map of texts.
    pub(crate) fn map(&mut self, name: &str, map: BTreeMap<String, String>) -> &mut Self {
        self.values(name, map.into_iter().map(|(key, text)| (key, text.into())))
    }

    /// A map of bytes, as base64.
    pub(crate) fn bytes(&mut self, name: &str, map: BTreeMap<String, Vec<u8>>) -> &mut Self {
        self.values(
            name,
            map.into_iter()
                .map(|(key, bytes)| (key, STANDARD.encode(bytes).into())),
        )
    }

    /// A map of values.
    pub(crate) fn values(&mut self, name: &str, entries: impl Iterator<Item = (String, Value)>) -> &mut Self {
        let map: Map<String, Value> = entries.collect();
        if !map.is_empty() {
            self.0.insert(name.to_owned(), map.into());
        }
        self
    }

    /// An object.
    pub(crate) fn object(&mut self, name: &str, object: Option<Self>) -> &mut Self {
        if let Some(Self(object)) = object.filter(|object| !object.0.is_empty()) {
            self.0.insert(name.to_owned(), object.into());
        }
        self
    }

    /// An object whose presence counts, even if it is empty.
    pub(crate) fn present(&mut self, name: &str, object: Option<Self>) -> &mut Self {
        if let Some(Self(object)) = object {
            self.0.insert(name.to_owned(), object.into());
        }
        self
    }

    /// A list of objects.
    pub(crate) fn objects(&mut self, name: &str, list: impl IntoIterator<Item = Self>) -> &mut Self {
        let list: Vec<Value> = list.into_iter().map(Self::into_value).collect();
        if !list.is_empty() {
            self.0.insert(name.to_owned(), list.into());
        }
        self
    }

    /// An instant in whole seconds; Go's zero time has no seconds.
    pub(crate) fn time(&mut self, name: &str, at: Option<Time>) -> &mut Self {
        let at = at.and_then(|at| instant(at.seconds?, at.nanos));
        self.text(name, at.map(time::rfc3339))
    }

    /// An instant in microseconds.
    pub(crate) fn micro_time(&mut self, name: &str, at: Option<MicroTime>) -> &mut Self {
        let at = at.and_then(|at| instant(at.seconds?, at.nanos));
        self.text(name, at.map(time::rfc3339_micro))
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn instant(seconds: i64, nanos: Option<i32>) -> Option<Timestamp> {
    Timestamp::new(seconds, nanos.unwrap_or_default()).ok()
}
