//! Templates for objects that are created in large numbers for one response: the common parts are serialized
//! once.

use std::sync::{Arc, OnceLock};

use super::spans::{Span, Spans};
use super::text::Text;
use super::{Meta, Object, write_text};
use crate::revision::Revision;
use crate::selector::LabelFingerprint;
use crate::time;

/// Template with the parts that its objects share: all except the name, the UID, and the fields after the
/// metadata.
#[derive(Debug)]
pub struct ObjectTemplate {
    revision: Revision,
    meta: Meta,
    label_fingerprint: LabelFingerprint,
    /// Bytes before the name.
    before: Vec<u8>,
    /// Bytes from the end of the name to the start of the UID.
    after: Vec<u8>,
    /// Spans of the parts of an object: `revision` counts from the beginning of `after`, the other spans from
    /// the beginning of the object. `metadata` has only its start.
    spans: Spans,
}

impl ObjectTemplate {
    /// Creates a template for objects of `kind` with the labels, the namespace and the creation time of
    /// `meta`, at `revision`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, meta: &Meta, revision: Revision) -> Self {
        let mut before = b"{\"apiVersion\":".to_vec();
        let version = before.len() + 1;
        write_text(api_version, &mut before);
        before.extend_from_slice(b",\"kind\":");
        let kind_start = before.len() + 1;
        write_text(kind, &mut before);
        let kind_end = before.len() - 1;
        before.extend_from_slice(b",\"metadata\":");
        let metadata = before.len();
        before.push(b'{');
        if let Some(created) = meta.creation_timestamp() {
            before.extend_from_slice(b"\"creationTimestamp\":");
            write_text(&time::rfc3339(created), &mut before);
            before.push(b',');
        }
        if !meta.labels().is_empty() {
            before.extend_from_slice(b"\"labels\":");
            serde_json::to_writer(&mut before, meta.labels()).expect("writing texts to memory cannot fail");
            before.push(b',');
        }
        before.extend_from_slice(b"\"name\":");
        let mut after = Vec::new();
        if !meta.namespace().is_empty() {
            after.extend_from_slice(b",\"namespace\":");
            write_text(meta.namespace(), &mut after);
        }
        after.extend_from_slice(b",\"resourceVersion\":\"");
        let digits = after.len();
        after.extend_from_slice(revision.to_string().as_bytes());
        let revision_span = digits..after.len();
        after.extend_from_slice(b"\",\"uid\":");
        Self {
            revision,
            label_fingerprint: LabelFingerprint::of(meta.labels()),
            meta: meta.shared(),
            spans: Spans {
                api_version: (version..version + api_version.len()).into(),
                kind: (kind_start..kind_end).into(),
                metadata: (metadata..metadata).into(),
                annotations: Span::default(),
                managed: Span::default(),
                revision: revision_span.into(),
            },
            before,
            after,
        }
    }

    /// Appends the object `name` with `uid` to `out`, up to the end of its metadata: for lists that are
    /// serialized without building objects. The caller appends the members after `metadata`, as for
    /// [`ObjectTemplate::object`], and the closing brace. Returns the position after the name.
    pub fn begin(&self, name: &str, uid: &str, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.before);
        write_text(name, out);
        let name_end = out.len();
        out.extend_from_slice(&self.after);
        write_text(uid, out);
        out.push(b'}');
        name_end
    }

    /// Creates the object `name` with `uid`. `rest` is compact JSON: the members after `metadata` in order,
    /// each with the comma before it.
    #[must_use]
    pub fn object(&self, name: &str, uid: &str, rest: &[u8]) -> Object {
        let capacity = self.before.len() + name.len() + self.after.len() + uid.len() + rest.len() + 16;
        let mut bytes = Vec::with_capacity(capacity);
        let name_end = self.begin(name, uid, &mut bytes);
        let end = bytes.len();
        bytes.extend_from_slice(rest);
        bytes.push(b'}');
        let digits = self.spans.revision.range();
        let spans = Spans {
            metadata: (self.spans.metadata.start()..end).into(),
            revision: (name_end + digits.start..name_end + digits.end).into(),
            ..self.spans
        };
        let meta = self.meta.clone().named(name, self.meta.namespace(), uid);
        Object {
            text: Text::unshared(bytes),
            revision: self.revision,
            spans,
            label_fingerprint: self.label_fingerprint,
            meta: Arc::new(meta),
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_object_of_a_template_equals_the_object_of_its_tree() {
        for labels in [json!({}), json!({"a": "b", "c\"": "d"})] {
            for namespace in ["", "ns"] {
                let mut metadata = json!({"creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels});
                metadata["namespace"] = namespace.into();
                let meta: Meta = serde_json::from_value(metadata).unwrap();
                let template = ObjectTemplate::new("g/v1", "Toy", &meta, Revision(7));
                let object = template.object("x\\y", "u", br#","spec":{"a":1}"#);
                let value: Value = object.parse();
                assert_eq!(value["metadata"]["name"], "x\\y");
                let whole = Object::new(&value, Revision(7)).unwrap();
                assert_eq!(object, whole);
                assert_eq!((object.meta(), &object.spans), (whole.meta(), &whole.spans));
                assert_eq!(
                    (object.label_fingerprint(), object.revision()),
                    (whole.label_fingerprint(), whole.revision())
                );
            }
        }
    }
}
