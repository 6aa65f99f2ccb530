//! Columns of `kubectl get shoots` (docs/systems/gardener.md, "API objects").

use berth_apimachinery::{Column, Object};

use super::spec::{NAMESPACED_CLOUD_PROFILE, Shoot};
use crate::kind::common::{UNKNOWN, last_operation_cell};

/// Columns of a list of shoots.
pub(super) const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("CloudProfile", "The cloud profile of the cluster")
        .at(".spec.cloudProfile.name")
        .computed(|shoot| {
            read(shoot)
                .map_or_else(
                    || UNKNOWN.to_owned(),
                    |fields| profile_cell(&fields, shoot.meta().namespace()),
                )
                .into()
        }),
    Column::text("Provider", "The provider type of the cluster").at(".spec.provider.type"),
    Column::text("Region", "The region of the cluster").at(".spec.region"),
    Column::text("Seed", "The seed that runs the control plane")
        .at(".spec.seedName")
        .or_none()
        .wide(),
    Column::text("K8S Version", "The Kubernetes version of the cluster")
        .at(".spec.kubernetes.version")
        .or(UNKNOWN),
    Column::text("Hibernation", "Whether the cluster is hibernated")
        .at(".status.hibernated")
        .computed(|shoot| {
            read(shoot)
                .map_or(UNKNOWN, |shoot| hibernation_cell(&shoot))
                .into()
        }),
    Column::text("Last Operation", "The current or last operation on the cluster")
        .at(".status.lastOperation.state")
        .computed(last_operation_cell),
    Column::text("Status", "The overall status of the cluster")
        .at(".metadata.labels.shoot\\.gardener\\.cloud/status")
        .or("<pending>"),
    Column::text("Purpose", "The purpose of the cluster")
        .at(".spec.purpose")
        .or_none()
        .wide(),
    Column::text(
        "Gardener Version",
        "The version of Gardener that manages the cluster",
    )
    .at(".status.gardener.version")
    .or(UNKNOWN)
    .wide(),
    Column::text("APIServer", "Whether the API server answers")
        .at(".status.conditions[?(@.type==\"APIServerAvailable\")].status")
        .or(UNKNOWN)
        .wide(),
    Column::text("Control", "Whether the control plane is healthy")
        .at(".status.conditions[?(@.type==\"ControlPlaneHealthy\")].status")
        .or(UNKNOWN)
        .wide(),
    Column::text("Observability", "Whether monitoring and logging are healthy")
        .at(".status.conditions[?(@.type==\"ObservabilityComponentsHealthy\")].status")
        .or(UNKNOWN)
        .wide(),
    Column::text("Nodes", "Whether every node is ready")
        .at(".status.conditions[?(@.type==\"EveryNodeReady\")].status")
        .or(UNKNOWN)
        .wide(),
    Column::text("System", "Whether the system components are healthy")
        .at(".status.conditions[?(@.type==\"SystemComponentsHealthy\")].status")
        .or(UNKNOWN)
        .wide(),
    Column::AGE,
];

/// Parses the shoot; `None` if its fields have other types than in the schema.
fn read(object: &Object) -> Option<Shoot> {
    object.view().ok()
}

fn profile_cell(shoot: &Shoot, namespace: &str) -> String {
    match shoot.spec.profile() {
        Some((NAMESPACED_CLOUD_PROFILE, name)) => format!("{namespace}/{name}"),
        Some((_, name)) => name.to_owned(),
        None => UNKNOWN.to_owned(),
    }
}

fn hibernation_cell(shoot: &Shoot) -> &'static str {
    let is_enabled = shoot
        .spec
        .hibernation
        .as_ref()
        .and_then(|hibernation| hibernation.enabled)
        .unwrap_or(false);
    match (is_enabled, shoot.status.hibernated.unwrap_or(false)) {
        (false, false) => "Awake",
        (true, false) => "Hibernating",
        (true, true) => "Hibernated",
        (false, true) => "Waking Up",
    }
}
