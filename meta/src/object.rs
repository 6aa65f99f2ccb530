//! A stored object: the bytes as served, its revision, and the parts of its metadata that everyone asks for.
//!
//! Objects are written once as canonical JSON (sorted keys, no spaces) and served by copying slices: a get is the
//! bytes, a list is a join of bytes, PartialObjectMetadata is the remembered metadata span. The request task makes a
//! [`Draft`]; the committer only [splices](Draft::at) the revision in.

mod annotations;
mod metadata;
mod mold;
mod outline;
mod sets;
mod spans;
mod text;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::annotations::Annotations;
pub use self::metadata::{Meta, OwnerReference};
pub use self::mold::Mold;
use self::spans::{Span, Spans};
use self::text::Text;
use crate::cell::{Cell, Cells};
use crate::revision::Revision;
use crate::selectable::Selectable;
use crate::selector::LabelPrint;

/// Why a JSON value cannot be an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Malformed {
    /// The offending field.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

const REVISION: &str = "resourceVersion";
const MANAGED: &str = "managedFields";

fn malformed(path: &str, problem: impl Into<String>) -> Malformed {
    Malformed {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// An object serialized but not yet given its revision.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The bytes, with no digits in `resourceVersion`.
    bytes: Vec<u8>,
    spans: Spans,
    meta: Arc<Meta>,
}

impl Draft {
    /// Serializes `value` canonically. Any `metadata.resourceVersion` in it is ignored.
    ///
    /// # Errors
    /// When `value` is no JSON object, has no `apiVersion`, `kind` or `metadata.name`, or has metadata of wrong types.
    pub fn new(value: &Value) -> Result<Self, Malformed> {
        Self::write(value, None)
    }

    /// The same with `managed`, compact JSON, as `metadata.managedFields`, whatever `value` has there. No bytes: none.
    ///
    /// # Errors
    /// As [`Draft::new`].
    pub fn managed(value: &Value, managed: &[u8]) -> Result<Self, Malformed> {
        Self::write(value, Some(managed))
    }

    fn write(value: &Value, managed: Option<&[u8]>) -> Result<Self, Malformed> {
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
        Ok(Self {
            bytes: writer.bytes,
            spans,
            meta: Arc::new(meta),
        })
    }

    /// The metadata as it will be stored.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The canonical JSON with an empty `resourceVersion`: what a store that numbers by itself keeps.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The size of the serialized object, revision left out, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a draft has at least its metadata.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether storing this draft over `object` would change nothing but the revision.
    #[must_use]
    pub fn same_as(&self, object: &Object) -> bool {
        let split = self.spans.revision.start();
        let (digits, end) = (object.spans.revision.range(), object.whole().end);
        object.text.reads(0..digits.start, &self.bytes[..split])
            && object.text.reads(digits.end..end, &self.bytes[split..])
    }

    /// Whether they are the same but for the revision and for what both have as managed fields.
    #[must_use]
    pub fn same_but_managed(&self, object: &Object) -> bool {
        // Managed fields stand before the revision.
        fn parts<'a>(bytes: &'a [u8], spans: &Spans) -> [&'a [u8]; 3] {
            let (managed, revision) = (spans.managed.range(), spans.revision.range());
            [
                &bytes[..managed.start],
                &bytes[managed.end..revision.start],
                &bytes[revision.end..],
            ]
        }
        self.spans.managed.is_empty() == object.spans.managed.is_empty()
            && parts(&self.bytes, &self.spans) == parts(object.text.own(), &object.spans)
    }

    /// The object as a dry run answers it: at no revision, and without `metadata.resourceVersion`, which a client could
    /// take for that of a stored object.
    #[must_use]
    pub fn unstored(&self) -> Object {
        const FIELD: &str = ",\"resourceVersion\":\"";
        let digits = self.spans.revision.start();
        // The name stands before it, so there is a comma.
        let field = digits - FIELD.len()..digits + 1;
        let mut object = self.at(Revision(0));
        let mut bytes = self.bytes.clone();
        bytes.drain(field.clone());
        let nowhere = field.start..field.start;
        let spans = self.spans.spliced(field, 0, nowhere);
        (object.text, object.spans) = placed(bytes, &spans);
        object
    }

    /// The object at `revision`: one copy of the bytes with the digits spliced in.
    #[must_use]
    pub fn at(&self, revision: Revision) -> Object {
        let digits = revision.to_string();
        let start = self.spans.revision.start();
        let mut bytes = Vec::with_capacity(self.bytes.len() + digits.len());
        bytes.extend_from_slice(&self.bytes[..start]);
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(&self.bytes[start..]);
        let end = start + digits.len();
        let spans = self.spans.spliced(start..start, digits.len(), start..end);
        let (text, spans) = placed(bytes, &spans);
        Object {
            text,
            revision,
            spans,
            print: LabelPrint::of(self.meta.labels()),
            meta: Arc::clone(&self.meta),
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        }
    }
}

/// The text of `bytes`, in which things stand at `spans`, and where they stand in the text's own bytes.
fn placed<'a>(bytes: impl Into<Cow<'a, [u8]>>, spans: &Spans) -> (Text, Spans) {
    let text = Text::sharing(bytes.into(), spans.managed.range());
    let spans = spans.resized(spans.managed.range().len() - text.elsewhere());
    (text, spans)
}

fn text<'a>(root: &'a Map<String, Value>, name: &str) -> Result<&'a str, Malformed> {
    match root.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        _ => Err(malformed(name, format!("{name} is required"))),
    }
}

/// Where things stand that are written with metadata.
#[derive(Default)]
struct Places {
    annotations: Range<usize>,
    managed: Range<usize>,
    /// Where the digits of `resourceVersion` go.
    revision: usize,
}

/// Writes the two top levels by hand, to learn the spans; serde_json writes the rest.
struct Writer<'a> {
    bytes: Vec<u8>,
    /// What to write as `metadata.managedFields`, where that is not taken from the tree.
    managed: Option<&'a [u8]>,
    spans: Option<Spans>,
}

impl Writer<'_> {
    fn object(&mut self, root: &Map<String, Value>, api_version: &str, metadata: &Map<String, Value>) {
        let mut api_span = 0..0;
        let mut meta_span = 0..0;
        let mut places = Places::default();
        self.bytes.push(b'{');
        for (index, (name, value)) in root.iter().enumerate() {
            self.name(index, name);
            let start = self.bytes.len();
            if name == "metadata" {
                places = self.metadata(metadata);
                meta_span = start..self.bytes.len();
            } else {
                self.value(value);
                if name == "apiVersion" {
                    // An apiVersion that JSON must escape is refused by every kind; the span is then unused.
                    api_span = start + 1..start + 1 + api_version.len();
                }
            }
        }
        self.bytes.push(b'}');
        self.spans = Some(Spans {
            api_version: Span::from(api_span),
            metadata: meta_span.into(),
            annotations: places.annotations.into(),
            managed: places.managed.into(),
            revision: (places.revision..places.revision).into(),
        });
    }

    /// Writes metadata with an empty `resourceVersion` and the managed fields at their sorted places.
    fn metadata(&mut self, metadata: &Map<String, Value>) -> Places {
        let mut places = Places::default();
        let mut revision = None;
        let mut managed = self.managed.filter(|bytes| !bytes.is_empty());
        let mut count = 0;
        self.bytes.push(b'{');
        let given = self.managed.is_some();
        let kept = |name: &str| name != REVISION && !(given && name == MANAGED);
        for (name, value) in metadata.iter().filter(|(name, _)| kept(name)) {
            if name.as_str() > MANAGED
                && let Some(bytes) = managed.take()
            {
                places.managed = self.managed(count, bytes);
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
                "annotations" => places.annotations = start..self.bytes.len(),
                MANAGED => places.managed = start..self.bytes.len(),
                _ => {}
            }
            count += 1;
        }
        // There is a name in every metadata, which stands after the managed fields.
        places.revision = revision.unwrap_or_else(|| self.revision(count));
        self.bytes.push(b'}');
        places
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
        text_of(name, &mut self.bytes);
        self.bytes.push(b':');
    }

    fn value(&mut self, value: &Value) {
        serde_json::to_writer(&mut self.bytes, value).expect("writing a JSON value to memory cannot fail");
    }
}

/// Writes `text` as JSON.
fn text_of(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}

/// An object at a revision, as served.
#[derive(Debug)]
pub struct Object {
    text: Text,
    revision: Revision,
    /// In the text's own bytes. All that is kept elsewhere is of the managed fields.
    spans: Spans,
    print: LabelPrint,
    meta: Arc<Meta>,
    parsed: OnceLock<Box<Parsed>>,
    pub(crate) cells: OnceLock<Cells>,
}

/// What was parsed of an object's bytes: nothing of most.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) value: OnceLock<Arc<Value>>,
    pub(crate) selectable: OnceLock<Selectable>,
}

/// Two objects are equal when they are served alike: the same bytes, the revision among them.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Object {}

impl Object {
    /// The object in `value` at `revision`: for objects that come from elsewhere than our own drafts.
    ///
    /// # Errors
    /// As [`Draft::new`].
    pub fn new(value: &Value, revision: Revision) -> Result<Self, Malformed> {
        Draft::new(value).map(|draft| draft.at(revision))
    }

    /// The object in `bytes` that were written here: [`Object::bytes`] of this very revision, or [`Draft::bytes`]. Much
    /// faster than [`Object::new`], since no tree is made. `None` where the bytes are anything else.
    #[must_use]
    pub fn written(bytes: &[u8], revision: Revision) -> Option<Self> {
        let (meta, spans) = outline::read(bytes)?;
        let meta = Arc::new(meta);
        let digits = &bytes[spans.revision.range()];
        if digits.is_empty() {
            let draft = Draft {
                bytes: bytes.to_vec(),
                spans,
                meta,
            };
            return Some(draft.at(revision));
        }
        if digits != revision.to_string().as_bytes() {
            return None;
        }
        let (text, spans) = placed(bytes, &spans);
        Some(Self {
            text,
            revision,
            spans,
            print: LabelPrint::of(meta.labels()),
            meta,
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        })
    }

    /// The canonical JSON, `resourceVersion` included: what a get answers. Copied where parts of it are kept for several
    /// objects.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.text.slice(self.whole())
    }

    /// Writes [`Object::bytes`] behind what is in `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.text.write(self.whole(), out);
    }

    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Never: an object has at least its metadata.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.own().is_empty()
    }

    fn whole(&self) -> Range<usize> {
        0..self.text.own().len()
    }

    /// The revision this object was written at.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The parts of the metadata that are kept parsed.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The print of the labels: [`Meta::labels`] need not be looked at where it does not cover what is needed.
    #[must_use]
    pub fn print(&self) -> LabelPrint {
        self.print
    }

    /// `metadata.annotations`.
    #[must_use]
    pub fn annotations(&self) -> Annotations<'_> {
        Annotations::new(&self.text.own()[self.spans.annotations.range()])
    }

    /// The JSON of `metadata.managedFields`, brackets included; no bytes where there is none.
    #[must_use]
    pub fn managed_fields(&self) -> Bytes {
        self.text.slice(self.spans.managed.range())
    }

    /// The same with nothing in some of the sets of fields, for those who ask for managers and times alone.
    #[must_use]
    pub fn managers(&self) -> &[u8] {
        &self.text.own()[self.spans.managed.range()]
    }

    /// The JSON of `metadata`, braces included: the body of a PartialObjectMetadata.
    #[must_use]
    pub fn metadata_bytes(&self) -> Bytes {
        self.text.slice(self.spans.metadata.range())
    }

    /// Writes [`Object::metadata_bytes`] behind what is in `out`.
    pub fn write_metadata(&self, out: &mut Vec<u8>) {
        self.text.write(self.spans.metadata.range(), out);
    }

    /// How many they are.
    #[must_use]
    pub fn metadata_len(&self) -> usize {
        self.spans.metadata.range().len() + self.text.elsewhere()
    }

    /// The stored `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        std::str::from_utf8(&self.text.own()[self.spans.api_version.range()]).unwrap_or_default()
    }

    /// Writes [`Object::bytes`] with another `apiVersion`: how another served version with the same fields is written.
    pub fn write_in_version(&self, api_version: &str, out: &mut Vec<u8>) {
        let span = self.spans.api_version.range();
        self.text.write(0..span.start, out);
        out.extend_from_slice(api_version.as_bytes());
        self.text.write(span.end..self.whole().end, out);
    }

    /// The parsed object without its managed fields, shared: parsed at the first call and kept as long as the object.
    #[must_use]
    pub fn value(&self) -> &Arc<Value> {
        self.parsed()
            .value
            .get_or_init(|| Arc::new(self.parse_unmanaged()))
    }

    pub(crate) fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(Box::default)
    }

    /// The parsed object where it was parsed before.
    pub(crate) fn parsed_value(&self) -> Option<&Arc<Value>> {
        self.parsed.get()?.value.get()
    }

    /// The same object, on which nothing was parsed.
    pub(crate) fn unparsed(&self) -> Self {
        Self {
            text: self.text.clone(),
            revision: self.revision,
            spans: self.spans,
            print: self.print,
            meta: Arc::clone(&self.meta),
            parsed: OnceLock::new(),
            cells: OnceLock::new(),
        }
    }

    /// The object with these table cells, for whoever makes objects and knows what their rows say.
    #[must_use]
    pub fn with_cells(mut self, cells: Vec<Cell>) -> Self {
        self.cells = OnceLock::from(Cells::of(&cells));
        self
    }

    /// The parsed object, fresh: for callers that will change it.
    #[must_use]
    pub fn parse(&self) -> Value {
        serde_json::from_slice(&self.bytes()).expect("stored bytes are JSON that we wrote")
    }

    /// The same without its managed fields, which can be as large as the rest and are read by writes alone.
    #[must_use]
    pub fn parse_unmanaged(&self) -> Value {
        if self.spans.managed.is_empty() {
            return self.parse();
        }
        let managed = self.spans.managed.range();
        // With its name, and the comma before the name of the object, which stands somewhere after it.
        let field = managed.start - MANAGED.len() - 3..managed.end + 1;
        let own = self.text.own();
        let mut bytes = Vec::with_capacity(own.len() - field.len());
        bytes.extend_from_slice(&own[..field.start]);
        bytes.extend_from_slice(&own[field.end..]);
        serde_json::from_slice(&bytes).expect("stored bytes are JSON that we wrote")
    }

    /// A typed, read-only view. Unknown fields are skipped, and the sets of fields in managed fields may be empty.
    ///
    /// # Errors
    /// When a field has another type than `T` says.
    pub fn view<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.text.own())
    }

    /// The draft this object was made of, for giving the same content another revision (a `DELETED` event).
    #[must_use]
    pub fn draft(&self) -> Draft {
        let digits = self.spans.revision.range();
        let mut bytes = Vec::with_capacity(self.len());
        self.text.write(0..digits.start, &mut bytes);
        self.text.write(digits.end..self.whole().end, &mut bytes);
        let spans = self.spans.spliced(digits.clone(), 0, digits.start..digits.start);
        let spans = spans.resized(spans.managed.range().len() + self.text.elsewhere());
        Draft {
            bytes,
            spans,
            meta: Arc::clone(&self.meta),
        }
    }
}

#[cfg(test)]
mod tests;
