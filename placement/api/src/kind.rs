//! [`Virtual`]: a type of this crate as a kind that a server serves.

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Cell, Column, FieldError, Kind, KindInfo, Object, Schema, SelectableField, Write, name,
};
use serde_json::Value;

use super::{GROUP, VERSION};

/// A kind of the group: names, schema, columns and rules are data. All kinds are computed, except records, which
/// are stored.
pub struct Virtual {
    pub(crate) info: KindInfo,
    pub(crate) schema: Schema,
    pub(crate) columns: Vec<Column>,
    /// Renders all cells at once, for a kind whose object would otherwise be parsed again for each
    /// cell.
    pub(crate) row: Option<fn(&Object) -> Vec<Cell>>,
    pub(crate) selectable: &'static [SelectableField],
    pub(crate) rules: fn(&Value) -> Vec<FieldError>,
}

impl Virtual {
    /// A kind that shows name and age and has no rules beyond its schema.
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

/// The names of a kind of the group that is served with `verbs`.
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

    /// Virtual names are composed of other names, so they are path segments of any length.
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
