//! Encoding of watch events: `{"type":…,"object":…}` and a line feed, or a frame of protobuf.

use std::sync::Arc;

use berth_apimachinery::{Clock, Object, Revision, Status};
use berth_storage::Event;
use bytes::Bytes;
use serde_json::{Value, json};

use super::super::Cx;
use crate::negotiation::{Encoding, MediaType, MetaVersion, Shape};
use crate::protobuf;
use crate::render::{MessageEncoder, ObjectForm};
use crate::served::ServedVersion;
use crate::table::{IncludeObjectPolicy, TableForm};

/// Type of an event, as a watcher receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventType {
    Added,
    Modified,
    Deleted,
}

impl EventType {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }

    fn head(self) -> &'static [u8] {
        match self {
            Self::Added => br#"{"type":"ADDED","object":"#,
            Self::Modified => br#"{"type":"MODIFIED","object":"#,
            Self::Deleted => br#"{"type":"DELETED","object":"#,
        }
    }
}

const TAIL: &[u8] = b"}\n";

/// Annotation by which an informer knows that it has received all initial objects (docs/reference.md, "Lists
/// and watches").
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Form of the objects in events.
enum Form {
    Objects(ObjectForm),
    Messages(MessageEncoder),
    Table {
        version: MetaVersion,
        include: IncludeObjectPolicy,
        /// Whether a table with the columns was sent.
        headed: bool,
    },
}

/// Encoder of the events of one watch.
pub(super) struct Framer {
    served: Arc<ServedVersion>,
    clock: Arc<dyn Clock>,
    form: Form,
}

impl Framer {
    pub(super) fn new(cx: &Cx<'_>, accepted: MediaType) -> Result<Self, Status> {
        let form = match accepted.shape {
            Shape::Table(version) => Form::Table {
                version,
                include: IncludeObjectPolicy::parse(&cx.request.info.query)?,
                headed: false,
            },
            shape => {
                let form = ObjectForm::of(shape);
                let messages = cx.messages(form);
                match messages.filter(|_| accepted.encoding == Encoding::Protobuf) {
                    Some(messages) => Form::Messages(messages),
                    None => Form::Objects(form),
                }
            }
        };
        Ok(Self {
            served: Arc::clone(cx.served),
            clock: Arc::clone(cx.state.registry.clock()),
            form,
        })
    }

    pub(super) fn served(&self) -> &ServedVersion {
        &self.served
    }

    /// Returns the frame of `event`, which is encoded once for all watchers that receive the object as
    /// stored. `kind` must be the type of the event for a watcher without a selector. `None` if this watch
    /// receives another form.
    pub(super) fn shared(&self, event: &Event, kind: EventType, object: &Object) -> Option<Bytes> {
        match self.form {
            Form::Objects(form) if form.is_stored(&self.served, object) => {
                let encode = || {
                    let mut out = Vec::with_capacity(object.len() + 64);
                    out.extend_from_slice(kind.head());
                    object.write(&mut out);
                    out.extend_from_slice(TAIL);
                    out.into()
                };
                Some(event.frame.get_or_init(encode).clone())
            }
            _ => None,
        }
    }

    /// Writes one event about `object`.
    pub(super) fn event(&mut self, kind: EventType, object: &Object, out: &mut Vec<u8>) {
        if let Form::Messages(messages) = &self.form {
            return protobuf::frame(kind.name(), &messages.envelope(object), out);
        }
        out.extend_from_slice(kind.head());
        match self.form {
            Form::Objects(form) => form.render(&self.served, object).write(out),
            Form::Messages(_) | Form::Table { .. } => {
                let form = self.open_table(object.revision(), out);
                form.row(&self.served, object, out);
                out.extend_from_slice(b"]}");
            }
        }
        out.extend_from_slice(TAIL);
    }

    /// Writes a bookmark, by which the client knows that all changes up to `revision` have been sent.
    pub(super) fn bookmark(&mut self, revision: Revision, initial_events_end: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if initial_events_end {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let (kind, api_version) = match &self.form {
            Form::Messages(messages) => {
                let (api_version, kind) = messages.api_version_and_kind();
                (kind, api_version)
            }
            Form::Objects(ObjectForm::Full) => (self.served.info().kind, &*self.served.api_version),
            Form::Objects(ObjectForm::Partial(version)) | Form::Table { version, .. } => {
                ("PartialObjectMetadata", version.api_version())
            }
        };
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if let Form::Messages(messages) = &self.form {
            return messages.frame("BOOKMARK", &object, out);
        }
        let object = object.to_string();
        out.extend_from_slice(br#"{"type":"BOOKMARK","object":"#);
        if let Form::Table { .. } = self.form {
            let form = self.open_table(revision, out);
            let blank: Vec<_> = self
                .served
                .kind()
                .columns()
                .iter()
                .map(|_| berth_apimachinery::Cell::Value(Value::Null))
                .collect();
            form.cells(&blank, out);
            out.extend_from_slice(object.as_bytes());
            out.extend_from_slice(b"}]}");
        } else {
            out.extend_from_slice(object.as_bytes());
        }
        out.extend_from_slice(TAIL);
    }

    /// Returns the ERROR event with `status`, which is the last event of the watch.
    pub(super) fn error(&self, status: &Status) -> Bytes {
        let mut out = Vec::new();
        if let (Form::Messages(messages), Ok(status)) = (&self.form, serde_json::to_value(status)) {
            messages.frame("ERROR", &status, &mut out);
            return out.into();
        }
        let mut text = json!({"type": "ERROR", "object": status}).to_string();
        text.push('\n');
        text.into()
    }

    /// Writes a table up to the row. Only the first table of a watch has the columns.
    fn open_table(&mut self, revision: Revision, out: &mut Vec<u8>) -> TableForm {
        let now = self.clock.now();
        let Form::Table {
            version,
            include,
            headed,
        } = &mut self.form
        else {
            return TableForm {
                version: MetaVersion::V1,
                include: IncludeObjectPolicy::Metadata,
                now,
            };
        };
        let form = TableForm {
            version: *version,
            include: *include,
            now,
        };
        let columns: &[u8] = if *headed { b"null" } else { &self.served.columns };
        *headed = true;
        let metadata = json!({"resourceVersion": revision.to_string()}).to_string();
        out.extend_from_slice(&form.head(columns, &metadata));
        form
    }
}
