//! [`VirtualKind`]: the declaration of a kind of the API group `scheduling.berth.dev`.

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Cell, Column, FieldError, Kind, KindInfo, Object, Schema, SelectableField, Write, name,
};
use serde_json::Value;

use super::{GROUP, VERSION};

/// A kind of the API group `scheduling.berth.dev`. Names, schema, columns and rules are data. The objects of
/// all kinds are computed, except records, which are stored.
pub struct VirtualKind {
    pub(crate) info: KindInfo,
    pub(crate) schema: Schema,
    pub(crate) columns: Vec<Column>,
    /// Renders all cells of a row at once; `None` if each column renders a cell. With columns, some objects
    /// would be parsed again for each cell.
    pub(crate) row: Option<fn(&Object) -> Vec<Cell>>,
    /// The fields for field selectors.
    pub(crate) selectable: &'static [SelectableField],
    /// Returns the errors that the schema does not find.
    pub(crate) rules: fn(&Value) -> Vec<FieldError>,
}

impl VirtualKind {
    /// Creates a kind with the columns name and age, and without rules beyond `schema`.
    pub(crate) fn new(info: KindInfo, schema: Schema) -> Self {
        Self {
            info,
            schema,
            columns: vec![Column::NAME, Column::AGE],
            row: None,
            selectable: &[],
            rules: |_| Vec::new(),
        }
    }
}

/// Returns the names of a namespaced kind that is served with `verbs`.
pub(crate) const fn info(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    verbs: &'static [&'static str],
) -> KindInfo {
    KindInfo {
        singular,
        verbs,
        ..KindInfo::new(GROUP, &[VERSION], kind, plural)
    }
}

impl Kind for VirtualKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        (self.rules)(new)
    }

    /// Checks that `name` is a path segment. The length is not limited, since names of virtual objects are
    /// composed of other names.
    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        match self.row {
            Some(row) => row(object),
            None => self.columns.iter().map(|column| column.cell(object)).collect(),
        }
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.selectable
    }
}
