//! An object without a revision: canonical JSON, with the spans of its parts.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::spans::{Span, Spans};
use super::text::Text;
use super::{MANAGED, Meta, Object, write_text};
use crate::revision::Revision;
use crate::selector::LabelFingerprint;

/// Reason why a JSON value cannot be an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct DraftError {
    /// Path of the invalid field.
    pub path: String,
    /// Description of the error.
    pub problem: String,
}

const REVISION: &str = "resourceVersion";

fn malformed(path: &str, problem: impl Into<String>) -> DraftError {
    DraftError {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// A serialized object without a revision.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The JSON with an empty `resourceVersion`.
    pub(super) text: Text,
    /// Spans in the text's own bytes.
    pub(super) spans: Spans,
    pub(super) meta: Arc<Meta>,
}

impl Draft {
    /// Serializes `value` canonically. Any `metadata.resourceVersion` in it is ignored.
    ///
    /// # Errors
    /// When `value` is not a JSON object, has no `apiVersion`, `kind` or `metadata.name`, or has metadata of
    /// wrong types.
    pub fn new(value: &Value) -> Result<Self, DraftError> {
        Self::write(value, None)
    }

    /// Serializes `value` with `managed`, compact JSON, as `metadata.managedFields`, instead of the managed
    /// fields in `value`. Empty bytes mean none.
    ///
    /// # Errors
    /// As [`Draft::new`].
    pub fn managed(value: &Value, managed: &[u8]) -> Result<Self, DraftError> {
        Self::write(value, Some(managed))
    }

    fn write(value: &Value, managed: Option<&[u8]>) -> Result<Self, DraftError> {
        let root = value
            .as_object()
            .ok_or_else(|| malformed("", "must be an object"))?;
        let api_version = text(root, "apiVersion")?;
        text(root, "kind")?;
        let metadata = root
            .get("metadata")
            .and_then(Value::as_object)
            .ok_or_else(|| malformed("metadata", "must be an object"))?;
        let meta =
            Meta::deserialize(&root["metadata"]).map_err(|error| malformed("metadata", error.to_string()))?;
        if meta.name().is_empty() {
            return Err(malformed("metadata.name", "name is required"));
        }
        let mut writer = Writer {
            bytes: Vec::with_capacity(1024 + managed.map_or(0, <[u8]>::len)),
            managed,
            spans: None,
        };
        writer.object(root, api_version, metadata);
        let spans = writer
            .spans
            .ok_or_else(|| malformed("metadata", "must be an object"))?;
        Ok(Self::of(writer.bytes, &spans, Arc::new(meta)))
    }

    /// Creates a draft of the canonical JSON `bytes`, whose parts are at `spans`.
    pub(super) fn of<'a>(bytes: impl Into<Cow<'a, [u8]>>, spans: &Spans, meta: Arc<Meta>) -> Self {
        let (text, spans) = Text::new(bytes, spans);
        Self { text, spans, meta }
    }

    /// The metadata as they will be stored.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The canonical JSON with an empty `resourceVersion`: the form for a store that numbers revisions
    /// itself. The bytes are copied if the object shares parts with others.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.text.slice(self.text.all())
    }

    /// The length of [`Draft::bytes`], in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Always false: a draft has at least its metadata.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether draft and `object` differ at most in the revision.
    #[must_use]
    pub fn same_as(&self, object: &Object) -> bool {
        let split = self.spans.revision.start();
        let digits = object.spans.revision.range();
        let (own, other) = (self.text.own(), object.text.own());
        split == digits.start
            && own[..split] == other[..split]
            && own[split..] == other[digits.end..]
            && self.text.shares(&object.text)
    }

    /// Whether draft and `object` differ at most in the revision and in the content of the managed fields.
    #[must_use]
    pub fn same_but_managed(&self, object: &Object) -> bool {
        // Managed fields come before the revision.
        fn parts<'a>(bytes: &'a [u8], spans: &Spans) -> [&'a [u8]; 3] {
            let (managed, revision) = (spans.managed.range(), spans.revision.range());
            [
                &bytes[..managed.start],
                &bytes[managed.end..revision.start],
                &bytes[revision.end..],
            ]
        }
        self.spans.managed.is_empty() == object.spans.managed.is_empty()
            && parts(self.text.own(), &self.spans) == parts(object.text.own(), &object.spans)
    }

    /// Returns the object without a revision, such as for the response to a dry run: without
    /// `metadata.resourceVersion`, which a client could mistake for the version of a stored object.
    #[must_use]
    pub fn unstored(&self) -> Object {
        const FIELD: &str = ",\"resourceVersion\":\"";
        let digits = self.spans.revision.start();
        // The name comes before the field, so there is a comma.
        let field = digits - FIELD.len()..digits + 1;
        let no_digits = field.start..field.start;
        self.object(Revision(0), field, "", no_digits)
    }

    /// Returns the object at `revision`: one copy of the own bytes with the digits inserted.
    #[must_use]
    pub fn at(&self, revision: Revision) -> Object {
        let digits = revision.to_string();
        let start = self.spans.revision.start();
        self.object(revision, start..start, &digits, start..start + digits.len())
    }

    /// Creates the object at `revision`: the draft with `replacement` in place of the bytes at `cut`. The
    /// digits of the revision are then at `digits`.
    fn object(
        &self,
        revision: Revision,
        cut: Range<usize>,
        replacement: &str,
        digits: Range<usize>,
    ) -> Object {
        Object {
            text: self.text.spliced(cut.clone(), replacement.as_bytes()),
            revision,
            spans: self.spans.spliced(cut, replacement.len(), digits),
            label_fingerprint: LabelFingerprint::of(self.meta.labels()),
            meta: Arc::clone(&self.meta),
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        }
    }
}

fn text<'a>(root: &'a Map<String, Value>, name: &str) -> Result<&'a str, DraftError> {
    match root.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        _ => Err(malformed(name, format!("{name} is required"))),
    }
}

/// Positions in the serialized metadata.
#[derive(Default)]
struct Positions {
    annotations: Range<usize>,
    managed: Range<usize>,
    /// Position of the digits of `resourceVersion`.
    revision: usize,
}

/// Serializer that writes the two top levels itself, to record the spans; serde_json writes the rest.
struct Writer<'a> {
    bytes: Vec<u8>,
    /// Bytes to write as `metadata.managedFields` instead of the managed fields in the tree.
    managed: Option<&'a [u8]>,
    spans: Option<Spans>,
}

impl Writer<'_> {
    fn object(&mut self, root: &Map<String, Value>, api_version: &str, metadata: &Map<String, Value>) {
        let mut api_span = 0..0;
        let mut kind_span = 0..0;
        let mut meta_span = 0..0;
        let mut positions = Positions::default();
        self.bytes.push(b'{');
        for (index, (name, value)) in root.iter().enumerate() {
            self.name(index, name);
            let start = self.bytes.len();
            if name == "metadata" {
                positions = self.metadata(metadata);
                meta_span = start..self.bytes.len();
            } else {
                self.value(value);
                if name == "apiVersion" {
                    // Every kind rejects an apiVersion that needs escapes in JSON; the span is then unused.
                    api_span = start + 1..start + 1 + api_version.len();
                }
                if name == "kind" {
                    kind_span = start + 1..self.bytes.len() - 1;
                }
            }
        }
        self.bytes.push(b'}');
        self.spans = Some(Spans {
            api_version: Span::from(api_span),
            kind: kind_span.into(),
            metadata: meta_span.into(),
            annotations: positions.annotations.into(),
            managed: positions.managed.into(),
            revision: (positions.revision..positions.revision).into(),
        });
    }

    /// Writes the metadata with an empty `resourceVersion` and the managed fields at their sorted positions.
    fn metadata(&mut self, metadata: &Map<String, Value>) -> Positions {
        let mut positions = Positions::default();
        let mut revision = None;
        let mut managed = self.managed.filter(|bytes| !bytes.is_empty());
        let mut count = 0;
        self.bytes.push(b'{');
        let has_managed = self.managed.is_some();
        let is_kept = |name: &str| name != REVISION && !(has_managed && name == MANAGED);
        for (name, value) in metadata.iter().filter(|(name, _)| is_kept(name)) {
            if name.as_str() > MANAGED
                && let Some(bytes) = managed.take()
            {
                positions.managed = self.managed(count, bytes);
                count += 1;
            }
            if revision.is_none() && name.as_str() > REVISION {
                revision = Some(self.revision(count));
                count += 1;
            }
            self.name(count, name);
            let start = self.bytes.len();
            self.value(value);
            match name.as_str() {
                "annotations" => positions.annotations = start..self.bytes.len(),
                MANAGED => positions.managed = start..self.bytes.len(),
                _ => {}
            }
            count += 1;
        }
        // All metadata have a name, which comes after the managed fields.
        positions.revision = revision.unwrap_or_else(|| self.revision(count));
        self.bytes.push(b'}');
        positions
    }

    fn managed(&mut self, index: usize, bytes: &[u8]) -> Range<usize> {
        self.name(index, MANAGED);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn revision(&mut self, index: usize) -> usize {
        self.name(index, REVISION);
        self.bytes.extend_from_slice(b"\"\"");
        self.bytes.len() - 1
    }

    fn name(&mut self, index: usize, name: &str) {
        if index > 0 {
            self.bytes.push(b',');
        }
        write_text(name, &mut self.bytes);
        self.bytes.push(b':');
    }

    fn value(&mut self, value: &Value) {
        serde_json::to_writer(&mut self.bytes, value).expect("writing a JSON value to memory cannot fail");
    }
}
