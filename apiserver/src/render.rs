//! How one object is written: its stored bytes where they fit, joined with as little as possible where they do not.

use bytes::Bytes;
use meta::Object;
use serde_json::Value;

use crate::negotiation::{MetaVersion, Shape};
use crate::served::Served;

/// The bytes of one object in one form: up to three slices, of which none is copied.
#[derive(Clone, Debug)]
pub(crate) struct Rendered([Bytes; 3]);

impl Rendered {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for part in &self.0 {
            out.extend_from_slice(part);
        }
    }

    /// The whole, copied only when it is in pieces.
    pub(crate) fn join(self) -> Bytes {
        if self.0[1].is_empty() && self.0[2].is_empty() {
            let [whole, _, _] = self.0;
            return whole;
        }
        let mut out = Vec::with_capacity(self.len());
        self.write(&mut out);
        out.into()
    }
}

/// Whether objects are shown whole, or their metadata only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Full,
    Partial(MetaVersion),
}

impl View {
    /// The view of a shape that is no table.
    pub(crate) fn of(shape: Shape) -> Self {
        match shape {
            Shape::Full | Shape::Table(_) => Self::Full,
            Shape::Partial(version) => Self::Partial(version),
        }
    }

    /// `object` as `served` shows it.
    pub(crate) fn render(self, served: &Served, object: &Object) -> Rendered {
        match self {
            Self::Full => full(served, object),
            Self::Partial(version) => partial(version, object),
        }
    }

    /// Whether [`View::render`] gives the stored bytes themselves, so that every watcher can share a frame of them.
    pub(crate) fn is_stored(self, served: &Served, object: &Object) -> bool {
        self == Self::Full && object.api_version() == &*served.api_version
    }
}

fn full(served: &Served, object: &Object) -> Rendered {
    if object.api_version() == &*served.api_version {
        return Rendered([object.bytes().clone(), Bytes::new(), Bytes::new()]);
    }
    if let Some(value) = served.kind().to_served(served.version, object) {
        return Rendered([value.to_string().into(), Bytes::new(), Bytes::new()]);
    }
    let (before, after) = object.around_api_version();
    Rendered([
        before,
        Bytes::copy_from_slice(served.api_version.as_bytes()),
        after,
    ])
}

fn partial(version: MetaVersion, object: &Object) -> Rendered {
    let head: &'static [u8] = match version {
        MetaVersion::V1 => br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        MetaVersion::V1Beta1 => {
            br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":"#
        }
    };
    Rendered([
        Bytes::from_static(head),
        object.metadata_bytes(),
        Bytes::from_static(b"}"),
    ])
}

/// The object as `served` shows it, parsed, for patches and handlers.
pub(crate) fn value(served: &Served, object: &Object) -> Value {
    shown(served, object, Object::parse)
}

/// Whether [`unmanaged`] shows the object as it is stored.
pub(crate) fn is_as_stored(served: &Served, object: &Object) -> bool {
    object.api_version() == &*served.api_version && served.name == served.stored
}

/// The same without its managed fields.
pub(crate) fn unmanaged(served: &Served, object: &Object) -> Value {
    converted(served, object).unwrap_or_else(|| shown(served, object, Object::parse_unmanaged))
}

fn shown(served: &Served, object: &Object, parse: fn(&Object) -> Value) -> Value {
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

/// The object without its managed fields where `served` shows it with other fields than are stored.
pub(crate) fn converted(served: &Served, object: &Object) -> Option<Value> {
    if object.api_version() == &*served.api_version {
        return None;
    }
    let mut value = served.kind().to_served(served.version, object)?;
    if let Some(fields) = value["metadata"].as_object_mut() {
        fields.remove("managedFields");
    }
    Some(value)
}
