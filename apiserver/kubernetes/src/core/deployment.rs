//! The kind Deployment of `apps/v1`, with the subresource `scale`. A standalone server runs no Pods: it
//! stores the Deployment for programs (such as kcp's syncers) that create the Pods on a cluster and report
//! the status.

mod fields;
mod rules;
pub mod scale;

use berth_apimachinery::{
    Cell, Column, Definition, FieldError, GroupResource, Kind, KindInfo, Object, Schema, StatusMetadata,
    Write, described_by,
};
use k8s_openapi::api::apps::v1;
use serde_json::Value;

use crate::core::{typed, value};
pub use fields::{DeploymentFields, LabelSelector, PodTemplate};
pub(crate) use rules::{container_errors, negative_errors, workload_errors};

/// Resource of Deployments.
pub const RESOURCE: GroupResource = GroupResource::new("apps", "deployments");

/// The kind Deployment: a number of equal Pods, and the strategy that replaces Pods of an older template.
#[derive(Clone, Copy, Debug)]
pub struct Deployment;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Ready", "Number of ready Pods, of the desired number")
            .computed(|deployment| ratio(deployment, &["status", "readyReplicas"], &["spec", "replicas"])),
        Column::text("Up-to-date", "Number of Pods of the current template")
            .computed(|deployment| number(deployment.value(), &["status", "updatedReplicas"]).into()),
        Column::text(
            "Available",
            "Number of Pods that have been ready for at least minReadySeconds",
        )
        .computed(|deployment| number(deployment.value(), &["status", "availableReplicas"]).into()),
        Column::AGE,
        Column::text("Containers", "The names of the containers")
            .computed(|deployment| container_texts(deployment, "name"))
            .wide(),
        Column::text("Images", "The images of the containers")
            .computed(|deployment| container_texts(deployment, "image"))
            .wide(),
        Column::text("Selector", "The labels of the Pods")
            .computed(|deployment| scale::selector_text(deployment.value()).into())
            .wide(),
    ],
    ..Definition::new(
        KindInfo {
            singular: "deployment",
            short_names: &["deploy"],
            categories: &["all"],
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("apps", &["v1"], "Deployment", "deployments")
        },
        Schema::of::<DeploymentFields>,
    )
};

impl Kind for Deployment {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::WrittenButLabels
    }

    fn prepare(&self, _: &Write<'_>, new: &mut Value) {
        rules::prepare(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = rules::validate(write.old, new);
        errors.extend(typed::errors::<v1::Deployment>(self.schema("v1"), new));
        errors
    }
}

/// Table cell such as `2/3`, with the numbers at the paths `count` and `total`.
pub(crate) fn ratio(object: &Object, count: &[&str], total: &[&str]) -> Cell {
    format!(
        "{}/{}",
        number(object.value(), count),
        number(object.value(), total)
    )
    .into()
}

/// Table cell with the values of `field` of all containers in the Pod template of `workload`.
pub(crate) fn container_texts(workload: &Object, field: &str) -> Cell {
    let containers = value::list(workload.value(), &["spec", "template", "spec", "containers"]);
    let texts = containers.iter().map(|each| value::text(each, &[field]));
    texts.collect::<Vec<_>>().join(",").into()
}

/// Number at `path`; 0 where there is no number.
fn number(value: &Value, path: &[&str]) -> i64 {
    let at = path.iter().try_fold(value, |value, name| value.get(name));
    at.and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests;
