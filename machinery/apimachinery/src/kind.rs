//! The trait [`Kind`]: the properties of a kind from which the server derives verbs, discovery, OpenAPI,
//! tables and validation.

use std::borrow::Cow;
use std::ptr;

use serde_json::Value;

use crate::cell::{Cell, Cells};
use crate::field_error::FieldError;
use crate::json_path;
use crate::key::GroupResource;
use crate::name::{self, NameError};
use crate::object::Object;
use crate::schema::Schema;
use crate::selectable::{SelectableField, SelectableTexts};
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
    pub status: bool,
    /// Whether an update without resourceVersion overwrites the stored object, as for many of Kubernetes' own
    /// kinds. For other kinds, such as custom resources, the answer is 422 "must be specified for an update".
    pub unconditional_update: bool,
    /// Whether strategic merge patches are accepted (only for Kubernetes' own kinds); other kinds answer 415.
    pub strategic: bool,
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
    /// stored in the first of them. Set other fields as in `KindInfo { status: true, ..KindInfo::new(…) }`.
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
            status: false,
            unconditional_update: false,
            strategic: false,
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

/// Origin of a write, for `prepare` and `validate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A create.
    Create,
    /// An update of the resource itself (PUT or any PATCH).
    Update,
    /// An update of one subresource, such as `status` or `binding`.
    Subresource(&'static str),
}

/// A write before it is stored: its origin, the stored object and the time.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Origin of the write.
    pub via: Via,
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

/// One printer column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading, capitalized as in `kubectl`.
    pub name: &'static str,
    /// Type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    pub r#type: &'static str,
    /// Format of the cells: `name` marks the column with the name of the object; otherwise mostly empty.
    pub format: &'static str,
    /// Description of the column.
    pub description: &'static str,
    /// Priority: 0 is always displayed, a higher one only with `-o wide`.
    pub priority: i32,
    /// Path of the cell in the object, in the form of a CustomResourceDefinition ([`crate::json_path`]);
    /// empty for a computed cell.
    pub path: &'static str,
    /// Text of the cell if the object has no value at the path.
    pub absent: &'static str,
    /// Function that computes the cell, for cells that are not the value at a path.
    pub computed: Option<fn(&Object) -> Cell>,
}

impl Column {
    /// Creates a text column.
    #[must_use]
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            r#type: "string",
            format: "",
            description,
            priority: 0,
            path: "",
            absent: "",
            computed: None,
        }
    }

    /// Returns the column with its cell at `path`.
    #[must_use]
    pub const fn at(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// Returns the column with the text `<none>` for a missing value at the column's path.
    #[must_use]
    pub const fn or_none(self) -> Self {
        self.or("<none>")
    }

    /// Returns the column with `text` for a missing value at the column's path.
    #[must_use]
    pub const fn or(mut self, text: &'static str) -> Self {
        self.absent = text;
        self
    }

    /// Returns the column with cells that `compute` returns.
    #[must_use]
    pub const fn computed(mut self, compute: fn(&Object) -> Cell) -> Self {
        self.computed = Some(compute);
        self
    }

    /// Whether the column is NAME.
    #[must_use]
    pub fn is_name(&self) -> bool {
        (self.format, self.path) == (Self::NAME.format, Self::NAME.path)
    }

    /// Whether the column is AGE.
    #[must_use]
    pub fn is_age(&self) -> bool {
        (self.name, self.path) == (Self::AGE.name, Self::AGE.path)
    }

    /// Returns the column with cells of type boolean.
    #[must_use]
    pub const fn boolean(mut self) -> Self {
        self.r#type = "boolean";
        self
    }

    /// Returns the column with instants as cells, which are displayed as ages.
    #[must_use]
    pub const fn date(mut self) -> Self {
        self.r#type = "date";
        self
    }

    /// Returns the cell of `object`: computed, or the value at the column's path. In place of a missing or
    /// empty text it is [`Column::absent`]. A column of another type is null for a missing value and for a
    /// value of a wrong type. As in kube-apiserver, an empty instant is `<unknown>` and an invalid one
    /// `<invalid>`, and a number in a column of integers loses its fraction.
    #[must_use]
    pub fn cell(&self, object: &Object) -> Cell {
        if let Some(computed) = self.computed {
            return computed(object);
        }
        if self.is_name() {
            return object.meta().name().into();
        }
        if self.is_age() {
            return Cell::Age(object.meta().creation_timestamp());
        }
        let found = json_path::first(self.path, object.value());
        match (self.r#type, found) {
            ("string", None | Some(Value::Null)) => self.absent.into(),
            ("string", Some(Value::String(text))) if text.is_empty() => self.absent.into(),
            ("string", Some(Value::String(text))) => text.as_str().into(),
            ("string", Some(other)) => other.to_string().into(),
            ("date", Some(Value::String(text))) if text.is_empty() => Cell::Age(None),
            ("date", Some(Value::String(text))) => match text.parse() {
                Ok(instant) => Cell::Age(Some(instant)),
                Err(_) => "<invalid>".into(),
            },
            ("integer", Some(Value::Number(number))) if number.is_f64() => {
                Cell::from(number.as_f64().unwrap_or_default() as i64)
            }
            ("integer" | "number", Some(number)) if number.is_number() => Cell::Value(number.clone()),
            ("boolean", Some(flag)) if flag.is_boolean() => Cell::Value(flag.clone()),
            _ => Cell::Value(Value::Null),
        }
    }

    /// The column NAME, which is first in every table.
    pub const NAME: Self = Self {
        name: "Name",
        r#type: "string",
        format: "name",
        description: "The name of the object, unique within its namespace or, without one, its resource",
        priority: 0,
        path: ".metadata.name",
        absent: "",
        computed: None,
    };

    /// The column AGE.
    pub const AGE: Self = Self {
        name: "Age",
        r#type: "string",
        format: "",
        description: "The time since the object was created",
        priority: 0,
        path: ".metadata.creationTimestamp",
        absent: "",
        computed: None,
    };

    /// Returns the column with cells of type integer.
    #[must_use]
    pub const fn integer(mut self) -> Self {
        self.r#type = "integer";
        self
    }

    /// Returns the column with the priority 1: it is displayed only with `-o wide`.
    #[must_use]
    pub const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}

/// A kind: names, schema, defaults, rules and columns. Implementations are stateless and have no clock.
pub trait Kind: Send + Sync + 'static {
    /// Names and switches.
    fn info(&self) -> &KindInfo;

    /// Returns the structural schema of `version`, which is built once: each call returns the same reference.
    fn schema(&self, version: &str) -> &Schema;

    /// Normalises write-only fields of a body, and removes values that count as absent. Runs after schema
    /// defaulting and before field ownership is computed, so the sender owns the changed fields, unlike
    /// fields that [`Kind::prepare`] changes. Does not run on applied configurations, whose manager owns
    /// exactly the fields in them.
    fn read_body(&self, _old: Option<&Value>, _body: &mut Value) {}

    /// Sets and resets fields in `new`, in addition to the schema's defaults. Runs after schema defaulting
    /// and before validation.
    fn prepare(&self, _write: &Write<'_>, _new: &mut Value) {}

    /// Whether `metadata.generation` counts changes outside metadata and status. This holds for kinds with a
    /// status; without a status, it holds for kinds that are custom resources in their own system.
    fn counts_generation(&self) -> bool {
        self.info().status
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

    /// Whether a field other than `metadata.finalizers` delays the removal of `object`, which is being
    /// deleted: a Namespace's `spec.finalizers`. Called at the deletion and at each later update without
    /// finalizers, until it returns false. It may mark the object (`status.phase: Terminating`).
    fn holds_deletion(&self, _object: &mut Value, _now: Timestamp) -> bool {
        false
    }

    /// Returns the object in the form of `version`; `None` if that form differs from the stored form in
    /// `apiVersion` alone.
    fn to_served(&self, _version: &str, _object: &Object) -> Option<Value> {
        None
    }
}

impl Object {
    /// Returns the table cells of this object of `kind`, which are computed at the first call and cached. The
    /// parsed object is not cached: it takes many times the memory, and for most objects it is not needed
    /// again.
    #[must_use]
    pub fn cells(&self, kind: &dyn Kind) -> &Cells {
        self.cells.get_or_init(|| Cells::of(&self.row(kind)))
    }

    /// Returns the texts of `fields`, in their order. The texts are read at the first call and cached,
    /// without the parsed object. If a later call names other fields, their texts are not cached.
    #[must_use]
    pub fn texts(&self, fields: &'static [SelectableField]) -> Cow<'_, [Box<str>]> {
        let cached = self.parsed().selectable.get_or_init(|| SelectableTexts {
            fields,
            texts: self.read_texts(fields),
        });
        match ptr::eq(cached.fields, fields) {
            true => Cow::Borrowed(&cached.texts),
            false => Cow::Owned(self.read_texts(fields).into_vec()),
        }
    }

    fn read_texts(&self, fields: &[SelectableField]) -> Box<[Box<str>]> {
        let read = |value: &Value| fields.iter().map(|field| field.read(value).into()).collect();
        match self.parsed_value() {
            Some(value) => read(value),
            None => read(&self.parse_unmanaged()),
        }
    }

    /// Returns the row of the object from [`Kind::row`], computed at each call.
    #[must_use]
    pub fn row(&self, kind: &dyn Kind) -> Vec<Cell> {
        match self.parsed_value() {
            Some(_) => kind.row(self),
            None => kind.row(&self.unparsed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Draft;

    #[test]
    fn a_cell_is_computed_or_the_value_at_the_path_or_the_absent_text() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy",
            "metadata": {"name": "car"}, "spec": {"color": "red", "owner": "", "wheels": 4},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let cell_of = |column: Column| column.cell(&object);
        assert_eq!(
            cell_of(Column::text("Color", "").at(".spec.color").or_none()),
            "red".into()
        );
        assert_eq!(
            cell_of(Column::text("Owner", "").at(".spec.owner").or_none()),
            "<none>".into()
        );
        assert_eq!(cell_of(Column::text("Age", "").at(".spec.age")), "".into());
        assert_eq!(
            cell_of(Column::text("Wheels", "").at(".spec.wheels").integer()),
            4.into()
        );
        let computed = |toy: &Object| toy.meta().name().to_uppercase().into();
        assert_eq!(cell_of(Column::text("Loud", "").computed(computed)), "CAR".into());
        assert_eq!(cell_of(Column::NAME.wide()), "car".into());
        assert!(!Column::text("Place", "").at(".metadata.name").is_name());
    }

    #[test]
    fn a_column_is_not_the_name_by_its_format_alone() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy", "metadata": {"name": "car"}, "spec": {"alias": "auto"},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let alias = Column {
            format: Column::NAME.format,
            ..Column::text("Alias", "").at(".spec.alias")
        };
        assert!(!alias.is_name() && Column::NAME.is_name());
        assert_eq!(alias.cell(&object), "auto".into());
    }

    #[test]
    fn a_cell_has_the_type_of_its_column() {
        let value = json!({
            "apiVersion": "v1", "kind": "Toy", "metadata": {"name": "car"},
            "spec": {"ratio": 0.5, "half": 2.5, "count": 3, "at": "2026-01-01T00:00:00Z", "never": "", "soon": "soon"},
        });
        let object = Draft::new(&value).unwrap().unstored();
        let cell = |cell_type, path| {
            let column = Column {
                r#type: cell_type,
                ..Column::text("Column", "").at(path)
            };
            column.cell(&object)
        };
        let null = || Cell::Value(Value::Null);
        for (cell_type, path, expected) in [
            ("number", ".spec.ratio", Cell::Value(json!(0.5))),
            ("number", ".spec.count", 3.into()),
            ("number", ".spec.soon", null()),
            ("number", ".spec.missing", null()),
            ("integer", ".spec.half", 2.into()),
            ("integer", ".spec.soon", null()),
            ("date", ".spec.at", Cell::Age("2026-01-01T00:00:00Z".parse().ok())),
            ("date", ".spec.never", Cell::Age(None)),
            ("date", ".spec.soon", "<invalid>".into()),
            ("date", ".spec.missing", null()),
            ("date", ".spec.count", null()),
        ] {
            assert_eq!(cell(cell_type, path), expected, "{cell_type} {path}");
        }
    }
}
