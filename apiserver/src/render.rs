//! Rendering of one object: its stored bytes if they have the requested form, otherwise a composition with as
//! little copying as possible.

use std::sync::Arc;

use berth_apimachinery::Object;
use bytes::Bytes;
use serde_json::Value;

use crate::decode::Codec;
use crate::negotiation::{MetaVersion, Shape};
use crate::protobuf;
use crate::served::ServedVersion;

/// One object in one form. The stored object is not copied until it is written.
#[derive(Clone, Debug)]
pub(crate) enum RenderedObject<'a> {
    /// The stored object.
    Stored(&'a Object),
    /// The stored object without `apiVersion` and `kind`.
    Untyped(&'a Object),
    /// The stored object with another `apiVersion`.
    InVersion(&'a str, &'a Object),
    /// The object's metadata, after this beginning of a PartialObjectMetadata.
    Metadata(&'static [u8], &'a Object),
    /// The converted object, serialized again: the served fields differ from the stored fields.
    Serialized(Bytes),
}

impl RenderedObject<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stored(object) => object.len(),
            Self::Untyped(object) => object.untyped_len(),
            Self::InVersion(version, object) => object.len() - object.api_version().len() + version.len(),
            Self::Metadata(head, object) => head.len() + object.metadata_len() + b"}".len(),
            Self::Serialized(bytes) => bytes.len(),
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Stored(object) => object.write(out),
            Self::Untyped(object) => object.write_untyped(out),
            Self::InVersion(version, object) => object.write_in_version(version, out),
            Self::Metadata(head, object) => {
                out.extend_from_slice(head);
                object.write_metadata(out);
                out.push(b'}');
            }
            Self::Serialized(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Returns the whole body, copied only if it consists of several pieces.
    pub(crate) fn join(self) -> Bytes {
        match self {
            Self::Stored(object) => object.bytes(),
            Self::Serialized(bytes) => bytes,
            Self::Untyped(..) | Self::InVersion(..) | Self::Metadata(..) => {
                let mut out = Vec::with_capacity(self.len());
                self.write(&mut out);
                out.into()
            }
        }
    }
}

/// Form of objects in an answer: the whole object, or only the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectForm {
    Full,
    Partial(MetaVersion),
}

impl ObjectForm {
    /// Returns the form for `shape`; the rows of a table are made from whole objects.
    pub(crate) fn of(shape: Shape) -> Self {
        match shape {
            Shape::Full | Shape::Table(_) => Self::Full,
            Shape::Partial(version) => Self::Partial(version),
        }
    }

    /// Renders `object` in the version of `served`.
    pub(crate) fn render<'a>(self, served: &'a ServedVersion, object: &'a Object) -> RenderedObject<'a> {
        match self {
            Self::Full => full(served, object),
            Self::Partial(version) => partial(version, object),
        }
    }

    /// Renders `object` as an item of a list: for Kubernetes' own kinds only the list has `apiVersion` and
    /// `kind`.
    pub(crate) fn item<'a>(self, served: &'a ServedVersion, object: &'a Object) -> RenderedObject<'a> {
        if self != Self::Full || !served.has_own_type() {
            return self.render(served, object);
        }
        match self.render(served, object) {
            RenderedObject::Serialized(_) => {
                let mut value = value(served, object);
                if let Some(fields) = value.as_object_mut() {
                    fields.remove("apiVersion");
                    fields.remove("kind");
                }
                RenderedObject::Serialized(value.to_string().into())
            }
            _ => RenderedObject::Untyped(object),
        }
    }

    /// Whether [`ObjectForm::render`] returns the stored bytes, so that all watchers can share one frame.
    pub(crate) fn is_stored(self, served: &ServedVersion, object: &Object) -> bool {
        self == Self::Full && object.api_version() == &*served.api_version
    }
}

fn full<'a>(served: &'a ServedVersion, object: &'a Object) -> RenderedObject<'a> {
    if object.api_version() == &*served.api_version {
        return RenderedObject::Stored(object);
    }
    match served.kind().to_served(served.version, object) {
        Some(value) => RenderedObject::Serialized(value.to_string().into()),
        None => RenderedObject::InVersion(&served.api_version, object),
    }
}

fn partial(version: MetaVersion, object: &Object) -> RenderedObject<'_> {
    let head: &'static [u8] = match version {
        MetaVersion::V1 => br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        MetaVersion::V1Beta1 => {
            br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":"#
        }
    };
    RenderedObject::Metadata(head, object)
}

/// Encoder of the objects of one resource in protobuf.
#[derive(Clone)]
pub(crate) struct MessageEncoder {
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) served: Arc<ServedVersion>,
    pub(crate) form: ObjectForm,
}

impl MessageEncoder {
    /// Returns the message of `object`, without an envelope. The message in the stored version is encoded
    /// only once for each stored object.
    pub(crate) fn of(&self, object: &Object) -> Bytes {
        let served = &self.served;
        let whole = match object.api_version() == &*served.api_version {
            true => object.message(|| self.encode(&object.parse())),
            false => self.encode(&value(served, object)).into(),
        };
        match self.form {
            ObjectForm::Full => whole,
            ObjectForm::Partial(_) => protobuf::metadata(&whole),
        }
    }

    fn encode(&self, object: &Value) -> Vec<u8> {
        let served = &self.served;
        let message = self
            .codec
            .message(&served.api_version, served.info().kind, object);
        message.expect("the codec knows the message of the kind")
    }

    /// The apiVersion and the kind of the objects in the answer.
    pub(crate) fn api_version_and_kind(&self) -> (&str, &str) {
        match self.form {
            ObjectForm::Full => (&self.served.api_version, self.served.info().kind),
            ObjectForm::Partial(version) => (version.api_version(), "PartialObjectMetadata"),
        }
    }

    /// Writes the frame of an event about `object`, which is not a stored object: a bookmark or a `Status`.
    pub(crate) fn frame(&self, r#type: &str, object: &Value, out: &mut Vec<u8>) {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let message = self.codec.message(api_version, kind, object).unwrap_or_default();
        let envelope = protobuf::envelope(api_version, kind, &message);
        protobuf::frame(r#type, &envelope, out);
    }

    /// Returns the message of `object`, in an envelope with the apiVersion and the kind.
    pub(crate) fn envelope(&self, object: &Object) -> Vec<u8> {
        let (api_version, kind) = self.api_version_and_kind();
        protobuf::envelope(api_version, kind, &self.of(object))
    }
}

/// Returns the object in the version of `served`, parsed, for patches and handlers.
pub(crate) fn value(served: &ServedVersion, object: &Object) -> Value {
    convert(served, object, Object::parse)
}

/// Whether [`unmanaged`] returns the stored object, unchanged except for the managed fields.
pub(crate) fn is_as_stored(served: &ServedVersion, object: &Object) -> bool {
    object.api_version() == &*served.api_version && served.name == served.stored
}

/// Returns the object in the version of `served`, without its managed fields.
pub(crate) fn unmanaged(served: &ServedVersion, object: &Object) -> Value {
    converted(served, object).unwrap_or_else(|| convert(served, object, Object::parse_unmanaged))
}

fn convert(served: &ServedVersion, object: &Object, parse: fn(&Object) -> Value) -> Value {
    if object.api_version() == &*served.api_version {
        return parse(object);
    }
    served
        .kind()
        .to_served(served.version, object)
        .unwrap_or_else(|| {
            let mut value = parse(object);
            value["apiVersion"] = (*served.api_version).into();
            value
        })
}

/// Returns the object without its managed fields, if the fields of `served` differ from the fields of the
/// stored object; otherwise `None`.
pub(crate) fn converted(served: &ServedVersion, object: &Object) -> Option<Value> {
    if object.api_version() == &*served.api_version {
        return None;
    }
    let mut value = served.kind().to_served(served.version, object)?;
    if let Some(fields) = value["metadata"].as_object_mut() {
        fields.remove("managedFields");
    }
    Some(value)
}
