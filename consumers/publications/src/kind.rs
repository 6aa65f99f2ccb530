//! The kind Publication, which selects the targets and decisions that other tools read, and their namespace.

use std::sync::Arc;

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation, described_by,
};
use berth_dialect_contract::{Dialect, config};
use berth_scheduling_api::publication;
use serde_json::Value;

use super::PUBLICATIONS;
use super::spec;

/// The kind of `publications`.
pub struct Publication {
    systems: Vec<&'static str>,
}

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Namespace", "The namespace of the published objects").at(".spec.namespace"),
        Column::text("Systems", "The published systems").at(".spec.systems"),
        Column::text("Valid", "Whether the Publication is in force")
            .at(".status.conditions[?(@.type==\"Valid\")].status"),
        Column::text("Published", "Whether all objects are published")
            .at(".status.conditions[?(@.type==\"Published\")].status"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "publication",
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(
                config::GROUP,
                &[config::VERSION],
                "Publication",
                PUBLICATIONS.resource,
            )
        },
        Schema::of::<publication::Publication>,
    )
};

impl Publication {
    /// The kind for a server with `dialects`: `spec.systems` may name only these systems.
    #[must_use]
    pub fn new(dialects: &[Arc<dyn Dialect>]) -> Self {
        Self {
            systems: dialects.iter().map(|dialect| dialect.name()).collect(),
        }
    }
}

impl Kind for Publication {
    described_by!(DEFINITION);

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
}
