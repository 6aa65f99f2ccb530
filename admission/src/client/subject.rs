//! Subjects of writes, as webhooks see them.

use berth_apimachinery::{Kind, Object, Revision};
use serde_json::Value;

use crate::request::Request;
use crate::wire::{GroupVersionKind, GroupVersionResource};

/// One write that webhooks may concern.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The write as plugins see it.
    pub request: &'a Request<'a>,
    /// The version of the resource that the client named.
    pub version: &'a str,
    /// Every served version of the resource: a webhook registered for one of them is called for all
    /// (`matchPolicy: Equivalent`).
    pub versions: &'a [&'a str],
    /// Form of the object.
    pub form: Form<'a>,
}

/// Forms of the object of a write.
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// An object of the resource's own kind, in its stored version `held`.
    Own {
        /// Kind of the object.
        kind: &'a dyn Kind,
        /// The stored version.
        held: &'a str,
    },
    /// A body of another kind, which is never converted.
    Other {
        /// API group of the body.
        group: &'a str,
        /// API version of the body.
        version: &'a str,
        /// Kind of the body.
        kind: &'a str,
    },
}

impl Subject<'_> {
    /// The resource in `version`.
    #[must_use]
    pub fn resource(&self, version: &str) -> GroupVersionResource {
        GroupVersionResource {
            group: self.request.resource.group.to_owned(),
            version: version.to_owned(),
            resource: self.request.resource.resource.to_owned(),
        }
    }

    /// Kind of the object in `version` of the resource.
    #[must_use]
    pub fn kind(&self, version: &str) -> GroupVersionKind {
        let (group, version, kind) = match self.form {
            Form::Own { kind, .. } => (kind.info().group, version, kind.info().kind),
            Form::Other { group, version, kind } => (group, version, kind),
        };
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Converts `value` from the stored form to `version`.
    #[must_use]
    pub fn in_version(&self, version: &str, value: &Value) -> Value {
        let Form::Own { kind, held } = self.form else {
            return value.clone();
        };
        if version == held {
            return value.clone();
        }
        // An object with malformed metadata is not converted: it is refused later, with a better message
        // than a webhook's.
        let converted = Object::new(value, Revision(0))
            .ok()
            .and_then(|object| kind.to_served(version, &object));
        let mut converted = converted.unwrap_or_else(|| value.clone());
        converted["apiVersion"] = kind.info().api_version(version).into();
        // The conversion is made for stored objects and sets a resourceVersion, so the resourceVersion of
        // `value` is restored.
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

    /// Converts `value`, which a webhook changed in `version`, to its stored form.
    #[must_use]
    pub fn as_held(&self, version: &str, mut value: Value) -> Value {
        if let Form::Own { kind, held } = self.form
            && version != held
        {
            kind.to_stored(version, &mut value);
            value["apiVersion"] = kind.info().api_version(held).into();
        }
        value
    }

    /// Fills in the defaults of the schema, so that webhooks see the object as any client would.
    pub fn default(&self, value: &mut Value) {
        if let Form::Own { kind, held } = self.form {
            kind.schema(held).default(value);
        }
    }
}
