//! The trait [`Kind`]: the properties of a kind from which the server derives verbs, discovery, OpenAPI,
//! tables and validation.

use serde_json::Value;

use crate::cell::Cell;
use crate::column::Column;
use crate::field_error::FieldError;
use crate::key::GroupResource;
use crate::name::{self, NameError};
use crate::object::Object;
use crate::schema::Schema;
use crate::selectable::SelectableField;
use jiff::Timestamp;

/// Scope of a kind's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Namespaced objects.
    Namespaced,
    /// Cluster-scoped objects.
    Cluster,
}

/// Names, verbs and switches of a kind. Routes and discovery documents follow the verbs.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// Served versions, with the preferred one first. They differ only in `apiVersion`, unless the kind
    /// converts.
    pub versions: &'static [&'static str],
    /// The stored version.
    pub storage_version: &'static str,
    /// Name of the kind, such as `Placement`.
    pub kind: &'static str,
    /// Plural name, such as `placements`.
    pub plural: &'static str,
    /// Singular name, such as `placement`.
    pub singular: &'static str,
    /// Short names, for `kubectl get <short name>`.
    pub short_names: &'static [&'static str],
    /// Categories, such as `all`, for `kubectl get <category>`.
    pub categories: &'static [&'static str],
    /// Scope of the objects.
    pub scope: Scope,
    /// Served verbs of the resource itself.
    pub verbs: &'static [&'static str],
    /// Whether `status` is a separate subresource; in this case the main resource ignores status changes, and
    /// `metadata.generation` counts changes outside metadata and status.
    pub status_subresource: bool,
    /// Whether an update without resourceVersion overwrites the stored object, as for many of Kubernetes' own
    /// kinds. For other kinds, such as custom resources, the answer is 422 "must be specified for an update".
    pub unconditional_update: bool,
    /// Whether strategic merge patches are accepted (only for Kubernetes' own kinds); other kinds answer 415.
    pub strategic_merge_patch: bool,
}

/// All verbs of an ordinary stored kind.
pub const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

impl KindInfo {
    /// A namespaced kind with all verbs, without `status` and without further names, served in `versions` and
    /// stored in the first of them. Set other fields as in
    /// `KindInfo { status_subresource: true, ..KindInfo::new(…) }`.
    ///
    /// # Panics
    /// When there is no version. In a `const`, that is a compile error.
    #[must_use]
    pub const fn new(
        group: &'static str,
        versions: &'static [&'static str],
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            versions,
            storage_version: versions[0],
            kind,
            plural,
            singular: "",
            short_names: &[],
            categories: &[],
            scope: Scope::Namespaced,
            verbs: ALL_VERBS,
            status_subresource: false,
            unconditional_update: false,
            strategic_merge_patch: false,
        }
    }

    /// Resource of the kind, across versions.
    #[must_use]
    pub const fn resource(&self) -> GroupResource {
        GroupResource::new(self.group, self.plural)
    }

    /// Returns `group/version`, or only the version in the core group.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }

    /// Whether objects have a namespace.
    #[must_use]
    pub fn namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }
}

/// Treatment of metadata in a write of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMetadata {
    /// Metadata are not written, as for custom resources.
    Ignored,
    /// Metadata are written too, as for most of Kubernetes' own kinds.
    Written,
    /// Metadata except labels are written.
    WrittenButLabels,
}

/// Operation of a write, for [`Kind::prepare`] and [`Kind::validate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOperation {
    /// A create.
    Create,
    /// An update of the resource itself (PUT or any PATCH).
    Update,
    /// An update of one subresource, such as `status` or `binding`.
    Subresource(&'static str),
}

/// A write before it is stored: its operation, the stored object and the time.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Operation of the write.
    pub operation: WriteOperation,
    /// The stored object, on updates.
    pub old: Option<&'a Value>,
    /// The instant of the request.
    pub now: Timestamp,
}

/// User whose fields are protected: writes of other users do not change the fields that this user applied
/// ([`Kind::keeper`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeper {
    /// Name of the user that applies the fields.
    pub user: &'static str,
    /// Field manager under which the user applies the fields. No other user may use it.
    pub manager: &'static str,
}

/// A kind: names, schema, defaults, rules and columns. Implementations are stateless and have no clock.
pub trait Kind: Send + Sync + 'static {
    /// Names and switches.
    fn info(&self) -> &KindInfo;

    /// Returns the structural schema of `version`, which is built once: each call returns the same reference.
    fn schema(&self, version: &str) -> &Schema;

    /// Normalizes `body`, which a client sent: moves write-only fields, and removes values that count as
    /// absent. Runs after schema defaulting and before field ownership is computed, so the sender owns the
    /// changed fields, unlike fields that [`Kind::prepare`] changes. Does not run on applied configurations,
    /// whose manager owns exactly the fields in them.
    fn normalize_body(&self, _old: Option<&Value>, _body: &mut Value) {}

    /// Sets and resets fields in `new`, in addition to the schema's defaults. Runs after schema defaulting
    /// and before validation.
    fn prepare(&self, _write: &Write<'_>, _new: &mut Value) {}

    /// Whether `metadata.generation` counts changes outside metadata and status. This holds for kinds with a
    /// status; without a status, it holds for kinds that are custom resources in their own system.
    fn counts_generation(&self) -> bool {
        self.info().status_subresource
    }

    /// Treatment of the metadata in a write of the status.
    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Ignored
    }

    /// Whether an update of a missing object creates it, as for some of Kubernetes' own kinds.
    fn creates_on_update(&self) -> bool {
        false
    }

    /// Whether a deletion's propagation policy applies to the dependents of the object. The policy is
    /// ignored for events, which own no objects.
    fn has_dependents(&self) -> bool {
        true
    }

    /// Rules in addition to the schema: cross-field checks and immutability. Returns all errors, not only the
    /// first.
    fn validate(&self, _write: &Write<'_>, _new: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Top-level fields whose values must not appear in error messages, since the reader of a message may be
    /// another user than the writer of the object.
    fn confidential(&self) -> &'static [&'static str] {
        &[]
    }

    /// Rules of Berth that the system's own API does not have: a write that breaks a rule is refused before
    /// the object causes a problem. Objects from other sources (files, reviews, a hub) are accepted
    /// nevertheless.
    fn own_rules(&self, _write: &Write<'_>, _new: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Checks that `name` is valid for an object of this kind. The default requires an RFC 1123 subdomain.
    ///
    /// # Errors
    /// The problem of the name, in Kubernetes' words.
    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::dns_subdomain(name)
    }

    /// Whether the objects have table rows. Reviews, which have no name and are only returned, have none.
    fn has_rows(&self) -> bool {
        true
    }

    /// Printer columns, with NAME first.
    fn columns(&self) -> &[Column] {
        &[Column::NAME, Column::AGE]
    }

    /// Returns the table row of `object`, with one cell for each of [`Kind::columns`].
    fn row(&self, object: &Object) -> Vec<Cell> {
        self.columns().iter().map(|column| column.cell(object)).collect()
    }

    /// Selectable fields in addition to `metadata.name` and `metadata.namespace`.
    fn selectable(&self) -> &'static [SelectableField] {
        &[]
    }

    /// API groups of the kind in other releases of the kind's system. Objects in files may have these groups.
    fn other_groups(&self) -> &'static [&'static str] {
        &[]
    }

    /// Resource under which this kind's objects are stored. It differs from the kind's own resource where two
    /// APIs serve the same objects (Event).
    fn stored_in(&self) -> GroupResource {
        self.info().resource()
    }

    /// Returns the user whose applied fields are protected, if the kind has one: writes of other users do not
    /// change these fields.
    fn keeper(&self) -> Option<Keeper> {
        None
    }

    /// Converts an object of `version` to the stored form, for kinds whose versions differ in more than
    /// `apiVersion`.
    fn to_stored(&self, _version: &str, _value: &mut Value) {}

    /// Holds the removal of `object`, which is being deleted, while a field other than `metadata.finalizers`
    /// delays it, such as a Namespace's `spec.finalizers`. May mark the object (`status.phase: Terminating`).
    /// Returns whether the removal is held. Called at the deletion, and at each later update without
    /// finalizers, until it returns false.
    fn hold_deletion(&self, _object: &mut Value, _now: Timestamp) -> bool {
        false
    }

    /// Returns the object in the form of `version`; `None` if that form differs from the stored form in
    /// `apiVersion` alone.
    fn to_served(&self, _version: &str, _object: &Object) -> Option<Value> {
        None
    }
}
