//! Location: a collection of WorkloadClusters in which users can place namespaces (docs/systems/kcp.md, "API
//! objects").

use std::collections::BTreeSet;

use berth_apimachinery::selector::{LabelSelector, Selector, validate_label_key, validate_label_value};
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::view;
use crate::location_status::labels_text;
use crate::names::{SCHEDULING_GROUP, VERSION};

/// Workload clusters that belong together, and their description for users.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Location {
    /// The workload clusters that belong to the location, and a description for users.
    pub spec: LocationSpec,
    /// Numbers of workload clusters that belong to the location.
    #[serde(default)]
    pub status: LocationStatus,
}

/// The workload clusters that belong to a location, and a description for users.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct LocationSpec {
    /// The resource of the location's instances.
    pub resource: InstanceResource,
    /// Description of the location for users.
    #[serde(default)]
    pub description: Option<String>,
    /// Labels by which users may select instances. The list informs users, and has no effect on scheduling.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub available_selector_labels: Vec<AvailableLabel>,
    /// Label selector of the workload clusters that belong to the location. An empty selector selects all
    /// workload clusters.
    #[serde(default)]
    #[schemars(extend("x-default" = {}))]
    pub instance_selector: LabelSelector,
}

/// The resource of a location's instances, which is always that of workload clusters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct InstanceResource {
    /// The API group of the instances.
    #[serde(default)]
    #[schemars(extend("enum" = ["workloads.kcp.dev"]))]
    pub group: Option<String>,
    /// The API version of the instances.
    #[schemars(extend("enum" = ["v1alpha1"]))]
    pub version: String,
    /// The plural name of the instances' resource.
    #[schemars(extend("enum" = ["workloadclusters"]))]
    pub resource: String,
}

/// A label by which users may select instances of a location.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AvailableLabel {
    /// The key of the label.
    #[schemars(length(max = 255))]
    pub key: String,
    /// The possible values of the label.
    #[serde(default)]
    pub values: Vec<String>,
    /// The meaning of the label.
    #[serde(default)]
    pub description: Option<String>,
}

/// Numbers of workload clusters that belong to the location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct LocationStatus {
    /// Number of workload clusters that the instanceSelector matches.
    #[schemars(range(min = 0))]
    pub instances: Option<i32>,
    /// Number of workload clusters of the location that are ready and not cordoned.
    #[schemars(range(min = 0))]
    pub available_instances: Option<i32>,
}

/// The kind Location.
#[derive(Clone, Copy, Debug)]
pub struct LocationKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Resource", "The resource of the instances").at(".spec.resource.resource"),
        Column::text("Available", "Number of instances that are ready and not cordoned")
            .at(".status.availableInstances")
            .integer(),
        Column::text("Instances", "Number of instances")
            .at(".status.instances")
            .integer(),
        Column::text("Labels", "The labels of the location, by which users select it")
            .at(".metadata.labels")
            .computed(|location| labels_text(location.meta().labels()).into()),
    ],
    ..Definition::new(
        KindInfo {
            singular: "location",
            categories: &["kcp"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(SCHEDULING_GROUP, &[VERSION], "Location", "locations")
        },
        Schema::of::<Location>,
    )
};

impl Kind for LocationKind {
    described_by!(DEFINITION);

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let location: Location = match view(self.schema(VERSION), new) {
            Ok(location) => location,
            Err(errors) => return errors,
        };
        let mut errors = Vec::new();
        check_available_labels(&location.spec.available_selector_labels, &mut errors);
        let selector = Selector::compile(&location.spec.instance_selector, "spec.instanceSelector");
        errors.extend(selector.err().into_iter().flatten());
        errors
    }
}

fn check_available_labels(labels: &[AvailableLabel], errors: &mut Vec<FieldError>) {
    for (index, label) in labels.iter().enumerate() {
        let path = format!("spec.availableSelectorLabels[{index}]");
        if let Err(problem) = validate_label_key(&label.key) {
            errors.push(FieldError::invalid(
                format!("{path}.key"),
                label.key.as_str(),
                problem,
            ));
        }
        if label.values.is_empty() {
            errors.push(FieldError::required(
                format!("{path}.values"),
                "must have at least one value",
            ));
        }
        let mut seen = BTreeSet::new();
        for (place, value) in label.values.iter().enumerate() {
            let path = format!("{path}.values[{place}]");
            if let Err(problem) = validate_label_value(value) {
                errors.push(FieldError::invalid(path.as_str(), value.as_str(), problem));
            }
            if !seen.insert(value) {
                errors.push(FieldError::duplicate(path, value.as_str()));
            }
        }
    }
}
