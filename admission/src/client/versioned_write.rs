//! A write as policies and webhooks see it.

use berth_apimachinery::{Kind, Object, Revision};
use serde_json::Value;

use crate::request::Request;
use crate::wire::{GroupVersionKind, GroupVersionResource};

/// Write as policies and webhooks see it: the request, and the versions in which they can receive its
/// objects.
#[derive(Clone, Copy)]
pub struct VersionedWrite<'a> {
    /// The request as plugins see it.
    pub request: &'a Request<'a>,
    /// Version of the resource in the client's request.
    pub version: &'a str,
    /// All served versions of the resource: with `matchPolicy: Equivalent`, a webhook for one version is
    /// called for requests in every version.
    pub versions: &'a [&'a str],
    /// Kind and version of the object.
    pub object_kind: ObjectKind<'a>,
}

/// Kind and version of the object of a write.
#[derive(Clone, Copy)]
pub enum ObjectKind<'a> {
    /// An object of the resource's own kind, which can be converted between its versions.
    Own {
        /// Kind of the object.
        kind: &'a dyn Kind,
        /// Version of the object, mostly the storage version.
        object_version: &'a str,
    },
    /// A body of another kind, which is never converted.
    Unconverted {
        /// API group of the body.
        group: &'a str,
        /// API version of the body.
        version: &'a str,
        /// Kind of the body.
        kind: &'a str,
    },
}

impl VersionedWrite<'_> {
    /// Returns the resource in `version`.
    #[must_use]
    pub fn resource(&self, version: &str) -> GroupVersionResource {
        GroupVersionResource {
            group: self.request.resource.group.to_owned(),
            version: version.to_owned(),
            resource: self.request.resource.resource.to_owned(),
        }
    }

    /// Returns the kind of the object in `version` of the resource.
    #[must_use]
    pub fn kind(&self, version: &str) -> GroupVersionKind {
        let (group, version, kind) = match self.object_kind {
            ObjectKind::Own { kind, .. } => (kind.info().group, version, kind.info().kind),
            ObjectKind::Unconverted { group, version, kind } => (group, version, kind),
        };
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Converts `value` from the version of the object to `version`.
    #[must_use]
    pub fn in_version(&self, version: &str, value: &Value) -> Value {
        let ObjectKind::Own { kind, object_version } = self.object_kind else {
            return value.clone();
        };
        if version == object_version {
            return value.clone();
        }
        // An object with malformed metadata is not converted: it is refused later, with a better message
        // than a webhook's.
        let converted = Object::new(value, Revision(0))
            .ok()
            .and_then(|object| kind.to_served(version, &object));
        let mut converted = converted.unwrap_or_else(|| value.clone());
        converted["apiVersion"] = kind.info().api_version(version).into();
        // The conversion sets the resourceVersion of a stored object, so the one of `value` is restored.
        if let Some(metadata) = converted.get_mut("metadata").and_then(Value::as_object_mut) {
            match value["metadata"].get("resourceVersion") {
                Some(resource_version) => {
                    metadata.insert("resourceVersion".to_owned(), resource_version.clone())
                }
                None => metadata.remove("resourceVersion"),
            };
        }
        converted
    }

    /// Converts `value` from `version`, in which a webhook changed it, to the version of the object.
    #[must_use]
    pub fn in_object_version(&self, version: &str, mut value: Value) -> Value {
        if let ObjectKind::Own { kind, object_version } = self.object_kind
            && version != object_version
        {
            kind.to_stored(version, &mut value);
            value["apiVersion"] = kind.info().api_version(object_version).into();
        }
        value
    }

    /// Fills in the defaults of the schema in `value`, so that webhooks see the object as clients do.
    pub fn fill_defaults(&self, value: &mut Value) {
        if let ObjectKind::Own { kind, object_version } = self.object_kind {
            kind.schema(object_version).default(value);
        }
    }
}
