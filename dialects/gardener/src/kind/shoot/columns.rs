//! What `kubectl get shoots` shows (docs/systems/gardener.md, "API objects").

use berth_apimachinery::{Cell, Column, Object};

use super::spec::{NAMESPACED_CLOUD_PROFILE, Shoot};
use crate::kind::common::{LastOperation, condition, or_else};

/// The columns.
pub(super) const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("CloudProfile", "The cloud profile").at(".spec.cloudProfile.name"),
    Column::text("Provider", "The provider type").at(".spec.provider.type"),
    Column::text("Region", "The region of the cluster").at(".spec.region"),
    Column::text("Seed", "The seed that runs the control plane")
        .at(".spec.seedName")
        .wide(),
    Column::text("K8S Version", "The Kubernetes version").at(".spec.kubernetes.version"),
    Column::text("Hibernation", "Whether the cluster sleeps").at(".status.isHibernated"),
    Column::text("Last Operation", "What is being done or was done last").at(".status.lastOperation.state"),
    Column::text("Status", "The overall status").at(".metadata.labels.shoot\\.gardener\\.cloud/status"),
    Column::text("Purpose", "What the cluster is for")
        .at(".spec.purpose")
        .wide(),
    Column::text(
        "Gardener Version",
        "The version of the Gardener that takes care of the cluster",
    )
    .at(".status.gardener.version")
    .wide(),
    Column::text("APIServer", "Whether the API server answers")
        .at(".status.conditions[?(@.type==\"APIServerAvailable\")].status")
        .wide(),
    Column::text("Control", "Whether the control plane is healthy")
        .at(".status.conditions[?(@.type==\"ControlPlaneHealthy\")].status")
        .wide(),
    Column::text("Observability", "Whether monitoring and logging are healthy")
        .at(".status.conditions[?(@.type==\"ObservabilityComponentsHealthy\")].status")
        .wide(),
    Column::text("Nodes", "Whether every node is ready")
        .at(".status.conditions[?(@.type==\"EveryNodeReady\")].status")
        .wide(),
    Column::text("System", "Whether the system components are healthy")
        .at(".status.conditions[?(@.type==\"SystemComponentsHealthy\")].status")
        .wide(),
    Column::AGE,
];

const UNKNOWN: &str = "<unknown>";

/// One row. A shoot that cannot be read shows its name and age.
pub(super) fn row(object: &Object) -> Vec<Cell> {
    let meta = object.meta();
    let Ok(shoot) = object.view::<Shoot>() else {
        let mut cells = vec![Cell::from(UNKNOWN); COLUMNS.len()];
        cells[0] = meta.name().into();
        cells[COLUMNS.len() - 1] = Cell::Age(meta.creation_timestamp());
        return cells;
    };
    let (spec, status) = (&shoot.spec, &shoot.status);
    let is = |name| {
        or_else(
            condition(&status.conditions, name).map(|seen| seen.status.as_str()),
            UNKNOWN,
        )
    };
    let overall = meta.labels().get("shoot.gardener.cloud/status");
    vec![
        meta.name().into(),
        profile_cell(&shoot, meta.namespace()).into(),
        spec.provider.r#type.as_str().into(),
        spec.region.as_str().into(),
        or_else(spec.seed_name.as_deref(), "<none>").into(),
        or_else(
            spec.kubernetes
                .as_ref()
                .map(|kubernetes| kubernetes.version.as_str()),
            UNKNOWN,
        )
        .into(),
        hibernation_cell(&shoot).into(),
        LastOperation::cell(status.last_operation.as_ref()).into(),
        or_else(overall, "<pending>").into(),
        or_else(spec.purpose.as_deref(), "<none>").into(),
        or_else(
            status.gardener.as_ref().map(|gardener| gardener.version.as_str()),
            UNKNOWN,
        )
        .into(),
        is("APIServerAvailable").into(),
        is("ControlPlaneHealthy").into(),
        is("ObservabilityComponentsHealthy").into(),
        is("EveryNodeReady").into(),
        is("SystemComponentsHealthy").into(),
        Cell::Age(meta.creation_timestamp()),
    ]
}

fn profile_cell(shoot: &Shoot, namespace: &str) -> String {
    match shoot.spec.profile() {
        Some((NAMESPACED_CLOUD_PROFILE, name)) => format!("{namespace}/{name}"),
        Some((_, name)) => name.to_owned(),
        None => UNKNOWN.to_owned(),
    }
}

fn hibernation_cell(shoot: &Shoot) -> &'static str {
    let wanted = shoot
        .spec
        .hibernation
        .as_ref()
        .and_then(|hibernation| hibernation.enabled)
        .unwrap_or(false);
    match (wanted, shoot.status.hibernated.unwrap_or(false)) {
        (false, false) => "Awake",
        (true, false) => "Hibernating",
        (true, true) => "Hibernated",
        (false, true) => "Waking Up",
    }
}
