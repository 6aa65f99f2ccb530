//! Ownership of fields: the effect of a write on the managed fields of an object.
//!
//! The rules are in the crate `berth-apply`. This module provides the input of the rules: the versions of a
//! kind, the fields that a write cannot set, and the managed fields before a write.

use std::borrow::Cow;

use berth_apimachinery::{Object, Revision, Timestamp, WriteOperation};
use berth_apply::{ApplyError, ApplyOutcome, Managers, Reset, Types, Versions, Writer};
use serde_json::{Value, json};

use super::{Index, ServedVersion, system};
use crate::call::Warnings;

/// The new object of a write, in the served version.
pub(crate) enum WriteIntent {
    /// The body of a create or an update, or the result of a patch.
    Sent(Value),
    /// The result of a patch of the stored object.
    Patched {
        /// The new object.
        value: Value,
        /// The stored object, without its managed fields.
        before: Value,
    },
    /// The result of an apply, with the owners of fields.
    Applied {
        /// The new object.
        value: Value,
        /// The new managed fields.
        managers: Managers,
        /// The stored object without its managed fields, if it was parsed.
        before: Option<Value>,
    },
}

impl WriteIntent {
    /// Returns the new object.
    pub(crate) const fn value(&self) -> &Value {
        let (Self::Sent(value) | Self::Patched { value, .. } | Self::Applied { value, .. }) = self;
        value
    }

    /// Returns the write that creates the result of an apply, when no object is stored yet.
    pub(crate) fn of_first_apply(applied: ApplyOutcome) -> Self {
        Self::Applied {
            value: applied.object,
            managers: applied.managers,
            before: None,
        }
    }

    /// Returns the new object for changes.
    pub(crate) const fn value_mut(&mut self) -> &mut Value {
        let (Self::Sent(value) | Self::Patched { value, .. } | Self::Applied { value, .. }) = self;
        value
    }

    /// Returns the new object alone.
    pub(crate) fn into_value(self) -> Value {
        let (Self::Sent(value) | Self::Patched { value, .. } | Self::Applied { value, .. }) = self;
        value
    }
}

/// Versions in which the stored objects of a resource are served.
struct StoredVersions<'a> {
    index: &'a Index,
    served: &'a ServedVersion,
}

impl StoredVersions<'_> {
    fn version(&self, api_version: &str) -> Option<&ServedVersion> {
        if *self.served.api_version == *api_version {
            return Some(self.served);
        }
        self.index.storing(self.served.stored, api_version)
    }
}

impl Versions for StoredVersions<'_> {
    fn types(&self, api_version: &str) -> Option<&Types> {
        let served = self.version(api_version)?;
        let version = if is_alike(served, self.served) {
            self.served
        } else {
            served
        };
        Some(&version.merge_schema().types)
    }

    fn convert<'a>(&self, object: &'a Value, from: &str, to: &str) -> Cow<'a, Value> {
        let (Some(old), Some(new)) = (self.version(from), self.version(to)) else {
            return Cow::Borrowed(object);
        };
        if is_alike(old, new) {
            return Cow::Borrowed(object);
        }
        let mut value = object.clone();
        old.kind().to_stored(old.version, &mut value);
        // The empty state before a create has no name, so it is not a valid object and stays unchanged.
        match Object::new(&value, Revision(0)) {
            Ok(stored) => Cow::Owned(new.kind().to_served(new.version, &stored).unwrap_or(value)),
            Err(_) => Cow::Borrowed(object),
        }
    }
}

/// Whether two versions differ only in `apiVersion`.
fn is_alike(one: &ServedVersion, other: &ServedVersion) -> bool {
    let schema = |served: &ServedVersion| std::ptr::from_ref(served.kind().schema(served.version));
    one.name == other.name && schema(one) == schema(other)
}

/// Computation of the managed fields after a write.
pub(crate) struct Ownership<'a> {
    versions: StoredVersions<'a>,
    operation: WriteOperation,
    manager: &'a str,
    now: Timestamp,
}

impl<'a> Ownership<'a> {
    /// Creates the computation for a write by the field manager `manager`.
    pub(crate) fn new(
        index: &'a Index,
        served: &'a ServedVersion,
        operation: WriteOperation,
        manager: &'a str,
        now: Timestamp,
    ) -> Self {
        Self {
            versions: StoredVersions { index, served },
            operation,
            manager,
            now,
        }
    }

    fn writer(&self) -> Writer<'_> {
        let served = self.versions.served;
        let merge_schema = served.merge_schema();
        let (subresource, reset) = match self.operation {
            WriteOperation::Create | WriteOperation::Update => ("", &merge_schema.itself),
            WriteOperation::Subresource("status") => ("status", &merge_schema.status),
            WriteOperation::Subresource(name) => (name, &Reset::Nothing),
        };
        Writer {
            manager: self.manager,
            subresource,
            api_version: &served.api_version,
            now: self.now,
            reset,
        }
    }

    /// Returns the managed fields of the new object `value`, whose body had the managed fields `sent_fields`.
    pub(crate) fn created(&self, value: &Value, sent_fields: Option<&Value>) -> Managers {
        let before = Managers::of_request(sent_fields, Managers::default());
        before.update(&self.versions, &empty_state(value), value, &self.writer())
    }

    /// Returns the managed fields of `value`, which replaces `stored`, and whose body had the managed fields
    /// `sent_fields`. `live` is `stored` in the served version.
    pub(crate) fn updated(
        &self,
        stored: &Object,
        live: &Value,
        value: &Value,
        sent_fields: Option<&Value>,
    ) -> Managers {
        let stored_managers = of_stored(stored);
        let before = match self.operation {
            WriteOperation::Subresource(_) => stored_managers,
            WriteOperation::Create | WriteOperation::Update => {
                Managers::of_request(sent_fields, stored_managers)
            }
        };
        before.update(&self.versions, live, value, &self.writer())
    }

    /// Applies `config` to the stored object, which is given as stored and in the served version; to an empty
    /// object if none is stored.
    pub(crate) fn applied(
        &self,
        stored: Option<(&Object, &Value)>,
        config: &Value,
        force: bool,
    ) -> Result<ApplyOutcome, ApplyError> {
        let absent;
        let (live, before) = match stored {
            Some((stored, live)) => (live, of_stored(stored)),
            None => {
                absent = empty_state(config);
                (&absent, Managers::default())
            }
        };
        before.apply(&self.versions, live, config, &self.writer(), force)
    }
}

/// Returns the state of the object `value` before the creation.
fn empty_state(value: &Value) -> Value {
    json!({"apiVersion": value["apiVersion"], "kind": value["kind"]})
}

/// Returns the managed fields of a stored object; empty if they cannot be parsed.
pub(crate) fn of_stored(stored: &Object) -> Managers {
    let bytes = stored.managed_fields();
    match bytes.is_empty() {
        true => Managers::default(),
        false => Managers::decode(&bytes).unwrap_or_default(),
    }
}

/// Removes the managed fields from `value` and returns them.
pub(crate) fn take_managed_fields(value: &mut Value) -> Option<Value> {
    system::metadata(value).remove("managedFields")
}

/// Sets the managed fields in `value`.
pub(crate) fn put_managed_fields(value: &mut Value, managers: &Managers) {
    if let Some(list) = managers.to_value() {
        system::metadata(value).insert("managedFields".to_owned(), list);
    }
}

/// Returns the managed fields after admission, which received `before` and returned `list`: `before` if
/// `list` is invalid.
pub(crate) fn after_admission(before: Managers, list: Option<&Value>, warnings: &Warnings) -> Managers {
    let managers = list.map_or_else(|| Ok(Managers::default()), Managers::decode_value);
    match managers {
        Ok(managers) if managers.validate().is_empty() => managers,
        _ => {
            warnings.add(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
                 mutating admission controller; please fix your requests",
            );
            before
        }
    }
}
