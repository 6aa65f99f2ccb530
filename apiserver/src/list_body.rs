//! Bodies of many objects, in chunks instead of one large buffer.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use berth_apimachinery::Object;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::protobuf;
use crate::render::{MessageEncoder, ObjectForm};
use crate::served::ServedVersion;

/// Size at which a chunk is complete, in bytes. Objects are not split, so the last one may make it larger.
pub(crate) const CHUNK: usize = 128 * 1024;

/// A complete body, in chunks.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    chunks: VecDeque<Bytes>,
    buffer: Vec<u8>,
}

impl Chunks {
    pub(crate) fn new(head: Vec<u8>) -> Self {
        Self {
            chunks: VecDeque::new(),
            buffer: head,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Buffer for the next bytes.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Ends the current chunk if it has [`CHUNK`] bytes.
    pub(crate) fn cut(&mut self) {
        if self.buffer.len() >= CHUNK {
            self.chunks.push_back(std::mem::take(&mut self.buffer).into());
        }
    }

    /// Adds `head` before and `tail` after the body.
    pub(crate) fn within(mut self, head: Bytes, tail: &[u8]) -> Self {
        self.chunks.push_front(head);
        self.buffer.extend_from_slice(tail);
        self
    }

    pub(crate) fn into_list(mut self) -> VecDeque<Bytes> {
        if !self.buffer.is_empty() {
            self.chunks.push_back(self.buffer.into());
        }
        self.chunks
    }
}

/// A list of objects, which are joined to chunks while the body is read.
pub(crate) struct ListBody {
    form: Form,
    head: Bytes,
    items: std::vec::IntoIter<Arc<Object>>,
    /// Next part of the body.
    stage: Stage,
    /// Number of bytes that are not read yet.
    remaining: u64,
}

/// Form of the items.
enum Form {
    Json {
        served: Arc<ServedVersion>,
        form: ObjectForm,
    },
    Messages(MessageEncoder),
}

impl Form {
    /// Returns the bytes between items, and the bytes after the last item.
    fn delimiters(&self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Json { .. } => (b",", TAIL),
            Self::Messages(_) => (b"", protobuf::TAIL),
        }
    }

    fn len(&self, object: &Object) -> usize {
        match self {
            Self::Json { served, form } => form.item(served, object).len(),
            Self::Messages(messages) => protobuf::field_len(messages.of(object).len()),
        }
    }

    fn write(&self, object: &Object, out: &mut Vec<u8>) {
        match self {
            Self::Json { served, form } => form.item(served, object).write(out),
            Self::Messages(messages) => protobuf::item(&messages.of(object), out),
        }
    }
}

/// Next part of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    FirstItem,
    Items,
    Done,
}

/// End of a JSON list, after the items.
pub(crate) const TAIL: &[u8] = b"]}";

impl ListBody {
    /// Creates a JSON list that begins with `head` (up to and including `"items":[`).
    pub(crate) fn json(
        served: Arc<ServedVersion>,
        form: ObjectForm,
        head: Bytes,
        items: Vec<Arc<Object>>,
    ) -> Self {
        Self::new(Form::Json { served, form }, |_| head, items)
    }

    /// Creates a protobuf list with the message `metadata`.
    pub(crate) fn messages(messages: MessageEncoder, metadata: &[u8], items: Vec<Arc<Object>>) -> Self {
        let (api_version, kind) = messages.api_version_and_kind();
        let (api_version, kind) = (api_version.to_owned(), format!("{kind}List"));
        let head = |items| protobuf::list_head(&api_version, &kind, metadata, items).into();
        Self::new(Form::Messages(messages), head, items)
    }

    /// Creates a list. `head` returns the bytes before the items; the argument is the total length of the
    /// items.
    fn new(form: Form, head: impl FnOnce(usize) -> Bytes, items: Vec<Arc<Object>>) -> Self {
        let bytes: usize = items.iter().map(|object| form.len(object)).sum();
        let head = head(bytes);
        let (between, tail) = form.delimiters();
        let between = between.len() * items.len().saturating_sub(1);
        let remaining = (head.len() + bytes + between + tail.len()) as u64;
        Self {
            form,
            head,
            items: items.into_iter(),
            stage: Stage::Head,
            remaining,
        }
    }

    /// Remaining length of the body, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.remaining
    }

    /// Returns the remaining body in one piece, for encodings that need all of it.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let mut all = Vec::with_capacity(usize::try_from(self.len()).unwrap_or_default());
        while let Some(chunk) = self.next_chunk() {
            all.extend_from_slice(&chunk);
        }
        all
    }

    /// Returns the next chunk; `None` at the end.
    pub(crate) fn next_chunk(&mut self) -> Option<Bytes> {
        if self.stage == Stage::Done {
            return None;
        }
        let room = usize::try_from(self.remaining)
            .unwrap_or(CHUNK)
            .min(CHUNK + CHUNK / 2);
        let mut out = Vec::with_capacity(room);
        if self.stage == Stage::Head {
            out.extend_from_slice(&self.head);
            self.stage = Stage::FirstItem;
        }
        let (between, tail) = self.form.delimiters();
        while out.len() < CHUNK {
            let Some(object) = self.items.next() else {
                out.extend_from_slice(tail);
                self.stage = Stage::Done;
                break;
            };
            if self.stage == Stage::Items {
                out.extend_from_slice(between);
            }
            self.stage = Stage::Items;
            self.form.write(&object, &mut out);
        }
        self.remaining = self.remaining.saturating_sub(out.len() as u64);
        Some(out.into())
    }
}

impl http_body::Body for ListBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.get_mut().next_chunk().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.stage == Stage::Done
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

/// A body of chunks that already exist.
pub(crate) struct ChunkBody {
    chunks: VecDeque<Bytes>,
    remaining: u64,
}

impl ChunkBody {
    pub(crate) fn new(chunks: VecDeque<Bytes>) -> Self {
        let remaining = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { chunks, remaining }
    }

    pub(crate) fn len(&self) -> u64 {
        self.remaining
    }

    /// Returns the next chunk; `None` at the end.
    pub(crate) fn next_chunk(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.pop_front()?;
        self.remaining -= chunk.len() as u64;
        Some(chunk)
    }
}

impl http_body::Body for ChunkBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.get_mut().next_chunk().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}
