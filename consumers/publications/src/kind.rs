//! The kind Publication, which selects the targets and decisions that other tools read, and their namespace.

use std::sync::Arc;

use berth_apimachinery::{
    ALL_VERBS, Column, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation,
};
use berth_dialect_contract::{Dialect, config};
use berth_scheduling_api::publication;
use serde_json::Value;

use super::PUBLICATIONS;
use super::spec;

/// The kind of `publications`.
pub struct Publication {
    info: KindInfo,
    schema: Schema,
    columns: Vec<Column>,
    systems: Vec<&'static str>,
}

impl Publication {
    /// The kind for a server with `dialects`: `spec.systems` may name only these systems.
    #[must_use]
    pub fn new(dialects: &[Arc<dyn Dialect>]) -> Self {
        Self {
            info: KindInfo {
                singular: "publication",
                scope: Scope::Cluster,
                verbs: ALL_VERBS,
                status_subresource: true,
                ..KindInfo::new(
                    config::GROUP,
                    &[config::VERSION],
                    "Publication",
                    PUBLICATIONS.resource,
                )
            },
            schema: Schema::of::<publication::Publication>(),
            columns: vec![
                Column::NAME,
                Column::text("Namespace", "The namespace of the published objects").at(".spec.namespace"),
                Column::text("Systems", "The published systems").at(".spec.systems"),
                Column::text("Valid", "Whether the Publication is in force")
                    .at(".status.conditions[?(@.type==\"Valid\")].status"),
                Column::text("Published", "Whether all objects are published")
                    .at(".status.conditions[?(@.type==\"Published\")].status"),
                Column::AGE,
            ],
            systems: dialects.iter().map(|dialect| dialect.name()).collect(),
        }
    }
}

impl Kind for Publication {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        // The status of an invalid Publication has to be writable, to report that it is invalid.
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        let mut errors = spec::read(new, &self.systems).err().unwrap_or_default();
        errors.extend(
            write
                .old
                .map(|old| spec::immutable(old, new))
                .into_iter()
                .flatten(),
        );
        errors
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }
}
