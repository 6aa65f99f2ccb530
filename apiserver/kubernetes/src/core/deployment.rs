//! `apps/v1` Deployment, and its `scale`. Standalone nothing runs its Pods: it is kept for whoever syncs it to a cluster
//! that does (kcp's syncers), and its status is what they report.

mod fields;
mod rules;
pub mod scale;

use std::sync::LazyLock;

use berth_apimachinery::kind::{ALL_VERBS, Write};
use berth_apimachinery::{Cell, Column, FieldError, GroupResource, Kind, KindInfo, Object, Schema, Scope};
use k8s_openapi::api::apps::v1;
use serde_json::Value;

use crate::core::{typed, value};
pub use fields::DeploymentFields;

/// The resource.
pub const RESOURCE: GroupResource = GroupResource::new("apps", "deployments");

/// Copies of a Pod, and how they are replaced by newer ones.
#[derive(Clone, Copy, Debug)]
pub struct Deployment;

static INFO: KindInfo = KindInfo {
    group: "apps",
    versions: &["v1"],
    storage_version: "v1",
    kind: "Deployment",
    plural: "deployments",
    singular: "deployment",
    short_names: &["deploy"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    status: true,
    unconditional_update: true,
    strategic: true,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<DeploymentFields>);

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", "How many Pods are ready, of those wanted"),
    Column::text("Up-to-date", "How many Pods are made of the current template"),
    Column::text("Available", "How many Pods have been ready for long enough"),
    Column::AGE,
    Column::text("Containers", "The names of the containers").wide(),
    Column::text("Images", "The images of the containers").wide(),
    Column::text("Selector", "The labels of the Pods").wide(),
];

impl Kind for Deployment {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _: &str) -> &Schema {
        &SCHEMA
    }

    fn prepare(&self, _: &Write<'_>, new: &mut Value) {
        rules::prepare(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = rules::validate(write.old, new);
        errors.extend(typed::errors::<v1::Deployment>(&SCHEMA, new));
        errors
    }

    fn columns(&self) -> &[Column] {
        COLUMNS
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        let value = object.value();
        let count = |path: &[&str]| number(value, path);
        let ready = format!(
            "{}/{}",
            count(&["status", "readyReplicas"]),
            count(&["spec", "replicas"])
        );
        let containers = value::list(value, &["spec", "template", "spec", "containers"]);
        let of_each = |field: &str| {
            let texts: Vec<&str> = containers
                .iter()
                .map(|each| value::text(each, &[field]))
                .collect();
            texts.join(",")
        };
        vec![
            object.meta().name().into(),
            ready.into(),
            count(&["status", "updatedReplicas"]).into(),
            count(&["status", "availableReplicas"]).into(),
            Cell::Age(object.meta().creation_timestamp()),
            of_each("name").into(),
            of_each("image").into(),
            scale::selector_text(value).into(),
        ]
    }
}

/// The number at `path`; a missing one is zero.
fn number(value: &Value, path: &[&str]) -> i64 {
    let at = path.iter().try_fold(value, |value, name| value.get(name));
    at.and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests;
