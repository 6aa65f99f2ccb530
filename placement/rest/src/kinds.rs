//! The kinds of `scheduling.berth.dev`: one file each, all of them instances of [`Virtual`].

pub mod advice;
pub mod binding;
pub mod candidate;
pub mod decision;
pub mod published;
pub mod record;
pub mod review;
pub mod scheduling;
pub mod shared;
pub mod target;

use berth_apimachinery::kind::{KindInfo, SelectableField, Write};
use berth_apimachinery::{Cell, Column, FieldError, Kind, NameError, Object, Schema, name};
pub use berth_dialect_contract::names::{GROUP, VERSION};
use serde_json::Value;

/// The apiVersion of virtual objects.
pub const API_VERSION: &str = "scheduling.berth.dev/v1alpha1";

/// A kind that is computed: only names, schema and columns differ from one to the next.
pub struct Virtual {
    info: KindInfo,
    schema: Schema,
    columns: Vec<Column>,
    row: fn(&Object) -> Vec<Cell>,
    selectable: &'static [SelectableField],
    rules: fn(&Value) -> Vec<FieldError>,
}

/// What every virtual kind's [`KindInfo`] has in common.
const INFO: KindInfo = KindInfo {
    group: GROUP,
    versions: &[VERSION],
    storage_version: VERSION,
    kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    scope: berth_apimachinery::Scope::Namespaced,
    verbs: &[],
    status: false,
    unconditional_update: false,
    strategic: false,
};

impl Virtual {
    /// A kind that shows name and age and has no rules beyond its schema.
    fn new(info: KindInfo, schema: Schema) -> Self {
        Self {
            info,
            schema,
            columns: vec![Column::NAME, Column::AGE],
            row: berth_apimachinery::kind::name_and_age,
            selectable: &[],
            rules: |_| Vec::new(),
        }
    }
}

impl Kind for Virtual {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        (self.rules)(new)
    }

    /// Virtual names are made of other names, so they are path segments of any length.
    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        (self.row)(object)
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.selectable
    }
}

/// The text at `path` of a value; the empty string where there is none.
fn text_at(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The text at `path`, or `<none>` as kubectl shows what is absent.
fn cell_at(value: &Value, path: &str) -> Cell {
    let text = text_at(value, path);
    if text.is_empty() {
        "<none>".into()
    } else {
        text.into()
    }
}
