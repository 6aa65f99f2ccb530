//! Kubernetes' protobuf encoding of the served kinds: whole objects, in request and response bodies.
//!
//! A body is the four bytes `k8s\0` and an envelope (runtime.Unknown) with apiVersion, kind and the message.
//! The messages are defined in `messages.txt`, which `tests/conformance/kubernetes/messages` generates from
//! the tags of the Go types. So every field of a kind is encoded and decoded; a field that is not in these
//! types is dropped, as in kube-apiserver.
//!
//! Go writes every field that is not a pointer, even if it is zero, so such zeros are decoded as absent. A
//! zero behind a pointer is a set value, and stays.

mod count;
mod read;
mod scalar;
mod table;
mod unknown;
mod wire;
mod write;

use berth_apimachinery::UnknownFields;
use berth_apiserver::Codec;
use serde_json::{Map, Value};

use table::TABLE;
use wire::Reader;

/// Magic bytes at the start of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Decoder and encoder of Kubernetes' messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Protobuf;

impl Codec for Protobuf {
    fn decode(&self, bytes: &[u8]) -> Option<Result<Value, String>> {
        let Some(envelope) = bytes.strip_prefix(MAGIC) else {
            return Some(Err(
                "provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00"
                    .to_owned(),
            ));
        };
        let Envelope {
            api_version,
            kind,
            raw,
        } = match Envelope::read(envelope) {
            Ok(envelope) => envelope,
            Err(problem) => return Some(Err(format!("reading the protobuf envelope: {problem}"))),
        };
        let message = TABLE.root(api_version, kind)?;
        let mut fields = Map::new();
        if let Err(problem) = read::read_object(message, raw, &mut fields) {
            return Some(Err(format!("reading protobuf {api_version} {kind}: {problem}")));
        }
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), kind.into());
        Some(Ok(Value::Object(fields)))
    }

    fn tree_size(&self, bytes: &[u8]) -> usize {
        let envelope = bytes.strip_prefix(MAGIC);
        let envelope = envelope.and_then(|envelope| Envelope::read(envelope).ok());
        let values = envelope.and_then(|envelope| {
            let message = TABLE.root(envelope.api_version, envelope.kind)?;
            Some(count::count_object(message, envelope.raw))
        });
        // Of a body without a known message, no tree is made.
        values.unwrap_or_default().size_in(bytes.len())
    }

    fn has_message(&self, api_version: &str, kind: &str) -> bool {
        TABLE.root(api_version, kind).is_some()
    }

    fn unknown_fields(
        &self,
        api_version: &str,
        kind: &str,
        object: &Value,
        before: &Value,
        limit: usize,
    ) -> Option<UnknownFields> {
        let message = TABLE.root(api_version, kind)?;
        Some(unknown::find(message, object, before, limit))
    }

    fn message(&self, api_version: &str, kind: &str, object: &Value) -> Option<Vec<u8>> {
        let message = TABLE.root(api_version, kind)?;
        let mut out = Vec::new();
        if let Some(fields) = object.as_object() {
            write::write_message(message, fields, &mut out);
        }
        Some(out)
    }
}

/// The decoded fields of `runtime.Unknown`: apiVersion and kind of the object, and the encoded message.
#[derive(Default)]
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => {
                    let mut type_meta = Reader::new(value.bytes()?);
                    while let Some((number, value)) = type_meta.next()? {
                        match number {
                            1 => envelope.api_version = value.text()?,
                            2 => envelope.kind = value.text()?,
                            _ => {}
                        }
                    }
                }
                2 => envelope.raw = value.bytes()?,
                _ => {}
            }
        }
        Ok(envelope)
    }
}

#[cfg(test)]
mod tests;
