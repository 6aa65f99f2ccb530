//! Kinds as a view serves them: with fewer verbs than in the registry.

use std::sync::Arc;

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Cell, Column, FieldError, GroupResource, Kind, KindInfo, Object, Schema, SelectableField, StatusMetadata,
    Timestamp, Write,
};
use serde_json::Value;

/// Verbs of a view: objects are neither created nor deleted through a view.
pub(super) const VERBS: &[&str] = &["get", "list", "patch", "update", "watch"];

/// A kind of the registry, limited to the verbs of a view.
pub(super) struct NarrowedKind {
    kind: Arc<dyn Kind>,
    info: KindInfo,
}

impl NarrowedKind {
    pub(super) fn new(kind: &Arc<dyn Kind>) -> Self {
        let info = KindInfo {
            verbs: VERBS,
            ..kind.info().clone()
        };
        Self {
            kind: Arc::clone(kind),
            info,
        }
    }
}

impl Kind for NarrowedKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, version: &str) -> &Schema {
        self.kind.schema(version)
    }

    fn normalize_body(&self, old: Option<&Value>, body: &mut Value) {
        self.kind.normalize_body(old, body);
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.kind.prepare(write, new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        self.kind.validate(write, new)
    }

    fn own_rules(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        self.kind.own_rules(write, new)
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        self.kind.validate_name(name)
    }

    fn status_metadata(&self) -> StatusMetadata {
        self.kind.status_metadata()
    }

    fn has_rows(&self) -> bool {
        self.kind.has_rows()
    }

    fn columns(&self) -> &[Column] {
        self.kind.columns()
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        self.kind.row(object)
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.kind.selectable()
    }

    fn stored_in(&self) -> GroupResource {
        self.kind.stored_in()
    }

    fn to_stored(&self, version: &str, value: &mut Value) {
        self.kind.to_stored(version, value);
    }

    fn hold_deletion(&self, object: &mut Value, now: Timestamp) -> bool {
        self.kind.hold_deletion(object, now)
    }

    fn to_served(&self, version: &str, object: &Object) -> Option<Value> {
        self.kind.to_served(version, object)
    }
}
