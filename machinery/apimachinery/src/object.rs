//! A stored object: its served bytes, its revision, and the metadata that most readers need.
//!
//! Objects are written once as canonical JSON (sorted keys, no spaces) and served by copying slices: a get is
//! the bytes, a list is a join of bytes, PartialObjectMetadata is the span of the metadata. Parts that
//! thousands of objects share are stored once and inserted when bytes are written. The request task creates a
//! [`Draft`]; the committer only [splices](Draft::at) the revision in.

mod annotations;
mod draft;
mod metadata;
mod outline;
mod sets;
mod spans;
mod template;
mod text;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::annotations::Annotations;
pub use self::draft::{Draft, DraftError};
pub use self::metadata::{Meta, OwnerReference};
use self::spans::Spans;
pub use self::template::ObjectTemplate;
use self::text::Text;
use crate::cell::{Cell, Cells};
use crate::revision::Revision;
use crate::selectable::SelectableTexts;
use crate::selector::LabelFingerprint;

const MANAGED: &str = "managedFields";

/// Writes `text` as JSON.
fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}

/// An object at a revision, in its served form.
#[derive(Debug)]
pub struct Object {
    text: Text,
    revision: Revision,
    /// Spans in the text's own bytes.
    spans: Spans,
    label_fingerprint: LabelFingerprint,
    meta: Arc<Meta>,
    parsed: OnceLock<Box<ParsedParts>>,
    pub(crate) cells: OnceLock<Cells>,
}

/// Parsed parts of an object; most objects have none.
#[derive(Debug, Default)]
pub(crate) struct ParsedParts {
    pub(crate) value: OnceLock<Arc<Value>>,
    pub(crate) selectable: OnceLock<SelectableTexts>,
    message: OnceLock<Bytes>,
}

/// Compares the served form: two objects are equal if their bytes, including the revision, are equal.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Object {}

impl Object {
    /// Creates the object `value` at `revision`: for objects that do not come from a [`Draft`].
    ///
    /// # Errors
    /// As [`Draft::new`].
    pub fn new(value: &Value, revision: Revision) -> Result<Self, DraftError> {
        Draft::new(value).map(|draft| draft.at(revision))
    }

    /// Restores the object at `revision` from `bytes` that this module has written: [`Object::bytes`] of an
    /// object at `revision`, or [`Draft::bytes`]. This is much faster than [`Object::new`], since no tree is
    /// built. `None` for bytes of another revision, or whose two top levels have another form; the form of
    /// deeper levels is not checked.
    #[must_use]
    pub fn restore(bytes: &[u8], revision: Revision) -> Option<Self> {
        let (meta, spans) = outline::read(bytes)?;
        let meta = Arc::new(meta);
        let digits = &bytes[spans.revision.range()];
        if digits.is_empty() {
            return Some(Draft::of(bytes, &spans, meta).at(revision));
        }
        if digits != revision.to_string().as_bytes() {
            return None;
        }
        let (text, spans) = Text::new(bytes, &spans);
        Some(Self {
            text,
            revision,
            spans,
            label_fingerprint: LabelFingerprint::of(meta.labels()),
            meta,
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        })
    }

    /// The canonical JSON, including `resourceVersion`: the response to a get. The bytes are copied if the
    /// object shares parts with other objects.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.text.slice(self.text.all())
    }

    /// Appends [`Object::bytes`] to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.text.write(self.text.all(), out);
    }

    /// The length of [`Object::bytes`], in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Always false: an object has at least its metadata.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.own().is_empty()
    }

    /// Revision at which this object was written.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Metadata in parsed form.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Fingerprint of the labels. If it does not cover the fingerprint of a selector, the selector does not
    /// match [`Meta::labels`].
    #[must_use]
    pub fn label_fingerprint(&self) -> LabelFingerprint {
        self.label_fingerprint
    }

    /// Annotations of the object.
    #[must_use]
    pub fn annotations(&self) -> Annotations<'_> {
        Annotations::new(&self.text.own()[self.spans.annotations.range()])
    }

    /// The JSON of `metadata.managedFields`, including brackets; empty where it is absent.
    #[must_use]
    pub fn managed_fields(&self) -> Bytes {
        self.text.slice(self.spans.managed.range())
    }

    /// The JSON of `metadata.managedFields` with empty sets in place of shared sets of fields: for readers
    /// that need only managers and times. The bytes are not copied.
    #[must_use]
    pub fn managers(&self) -> &[u8] {
        &self.text.own()[self.spans.managed.range()]
    }

    /// The JSON of `metadata`, including braces: the body of a PartialObjectMetadata.
    #[must_use]
    pub fn metadata_bytes(&self) -> Bytes {
        self.text.slice(self.spans.metadata.range())
    }

    /// Appends [`Object::metadata_bytes`] to `out`.
    pub fn write_metadata(&self, out: &mut Vec<u8>) {
        self.text.write(self.spans.metadata.range(), out);
    }

    /// The length of [`Object::metadata_bytes`], in bytes.
    #[must_use]
    pub fn metadata_len(&self) -> usize {
        self.spans.metadata.range().len() + self.text.excess()
    }

    /// The stored `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        std::str::from_utf8(&self.text.own()[self.spans.api_version.range()]).unwrap_or_default()
    }

    /// Appends [`Object::bytes`] with another `apiVersion` to `out`: the form of another served version with
    /// the same fields.
    pub fn write_in_version(&self, api_version: &str, out: &mut Vec<u8>) {
        let span = self.spans.api_version.range();
        self.text.write(0..span.start, out);
        out.extend_from_slice(api_version.as_bytes());
        self.text.write(span.end..self.text.all().end, out);
    }

    /// Returns the object in another encoding, which `encode` produces at the first call. The result is
    /// cached as long as the object exists, so all calls must use the same encoding.
    #[must_use]
    pub fn message(&self, encode: impl FnOnce() -> Vec<u8>) -> Bytes {
        self.parsed().message.get_or_init(|| encode().into()).clone()
    }

    /// Whether [`Object::message`] is already cached.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.parsed
            .get()
            .is_some_and(|parsed| parsed.message.get().is_some())
    }

    /// Appends [`Object::bytes`] without `apiVersion` and `kind` to `out`: the form of an item in a list,
    /// which has both itself.
    pub fn write_untyped(&self, out: &mut Vec<u8>) {
        let [version, kind] = self.types();
        // Shared parts are in the metadata, which come after both members.
        let own = self.text.own();
        out.extend_from_slice(&own[..version.start]);
        out.extend_from_slice(&own[version.end..kind.start]);
        self.text.write(kind.end..own.len(), out);
    }

    /// The length of the bytes from [`Object::write_untyped`].
    #[must_use]
    pub fn untyped_len(&self) -> usize {
        let [version, kind] = self.types();
        self.len() - version.len() - kind.len()
    }

    /// The spans of the members `apiVersion` and `kind`, including names and the commas after the values.
    /// Both have a comma, since the metadata come after them.
    fn types(&self) -> [std::ops::Range<usize>; 2] {
        let member = |value: spans::Span, name: &str| {
            let value = value.range();
            value.start - name.len() - 4..value.end + 2
        };
        [
            member(self.spans.api_version, "apiVersion"),
            member(self.spans.kind, "kind"),
        ]
    }

    /// Returns the parsed object without its managed fields, shared: it is parsed at the first call and
    /// cached as long as the object exists.
    #[must_use]
    pub fn value(&self) -> &Arc<Value> {
        self.parsed()
            .value
            .get_or_init(|| Arc::new(self.parse_unmanaged()))
    }

    pub(crate) fn parsed(&self) -> &ParsedParts {
        self.parsed.get_or_init(Box::default)
    }

    /// Returns the parsed object if it is already cached.
    pub(crate) fn parsed_value(&self) -> Option<&Arc<Value>> {
        self.parsed.get()?.value.get()
    }

    /// Returns the object without cached parsed parts.
    pub(crate) fn unparsed(&self) -> Self {
        Self {
            text: self.text.clone(),
            revision: self.revision,
            spans: self.spans,
            label_fingerprint: self.label_fingerprint,
            meta: Arc::clone(&self.meta),
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        }
    }

    /// Returns the object with these table cells, for code that creates objects and knows their rows.
    #[must_use]
    pub fn with_cells(mut self, cells: Vec<Cell>) -> Self {
        self.cells = OnceLock::from(Cells::of(&cells));
        self
    }

    /// Parses the object without caching the result: for callers that change the value.
    #[must_use]
    pub fn parse(&self) -> Value {
        serde_json::from_slice(&self.bytes()).expect("stored bytes are JSON that we wrote")
    }

    /// Parses the object without its managed fields, which can be as large as the rest and which only writes
    /// need.
    #[must_use]
    pub fn parse_unmanaged(&self) -> Value {
        if self.spans.managed.is_empty() {
            return self.parse();
        }
        let managed = self.spans.managed.range();
        // The removed bytes include the field's name, and the comma after its value: metadata are sorted, so
        // that `name` follows.
        let field = managed.start - MANAGED.len() - 3..managed.end + 1;
        let own = self.text.own();
        let mut bytes = Vec::with_capacity(own.len() - field.len());
        bytes.extend_from_slice(&own[..field.start]);
        bytes.extend_from_slice(&own[field.end..]);
        serde_json::from_slice(&bytes).expect("stored bytes are JSON that we wrote")
    }

    /// Returns a typed, read-only view. Unknown fields are skipped. Shared sets of managed fields are empty
    /// in the view, so do not write back a view with managed fields, such as a [`Value`]: use
    /// [`Object::parse`] instead.
    ///
    /// # Errors
    /// When a field has another type than in `T`.
    pub fn view<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.text.own())
    }

    /// Returns the owner reference to this object of `kind`, for a dependent in `namespace` (empty for a
    /// cluster-scoped one). The reference does not block deletion. `None` where no reference is possible: an
    /// owner is in the namespace of the dependent or cluster-scoped, and has a UID.
    #[must_use]
    pub fn as_owner(&self, kind: &str, namespace: &str) -> Option<Value> {
        let meta = self.meta();
        let reachable = meta.namespace().is_empty() || meta.namespace() == namespace;
        (reachable && !meta.uid().is_empty()).then(|| {
            json!({
                "apiVersion": self.api_version(),
                "kind": kind,
                "name": meta.name(),
                "uid": meta.uid(),
            })
        })
    }

    /// Returns a draft with the content of this object, to create it at another revision (for a `DELETED`
    /// event).
    #[must_use]
    pub fn draft(&self) -> Draft {
        let digits = self.spans.revision.range();
        Draft {
            text: self.text.spliced(digits.clone(), b""),
            spans: self.spans.spliced(digits.clone(), 0, digits.start..digits.start),
            meta: Arc::clone(&self.meta),
        }
    }
}

#[cfg(test)]
mod tests;
