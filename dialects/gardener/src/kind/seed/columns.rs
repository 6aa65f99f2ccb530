//! What `kubectl get seeds` shows (docs/systems/gardener.md, "API objects").

use berth_apimachinery::{Cell, Column, Object};

use super::spec::{Seed, SeedStatus};
use crate::kind::common::{LastOperation, condition, or_else};

/// The columns.
pub(super) const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text(
        "Status",
        "Whether the seed's agent and system components are well",
    )
    .at(".status.conditions[?(@.type==\"GardenletReady\")].status"),
    Column::text("Last Operation", "What the seed's agent is doing or did last")
        .at(".status.lastOperation.state"),
    Column::text("Provider", "The provider type").at(".spec.provider.type"),
    Column::text("Region", "The region").at(".spec.provider.region"),
    Column::AGE,
    Column::text("Version", "The version of the seed's agent").at(".status.gardener.version"),
    Column::text("K8S Version", "The Kubernetes version of the seed").at(".status.kubernetesVersion"),
];

/// One row. A seed that cannot be read shows its name and age.
pub(super) fn row(object: &Object) -> Vec<Cell> {
    const UNKNOWN: &str = "<unknown>";
    let seed = object.view::<Seed>().ok();
    let spec = seed.as_ref().map(|seed| &seed.spec.provider);
    let status = seed.as_ref().map(|seed| &seed.status);
    let gardener = status.and_then(|status| status.gardener.as_ref());
    vec![
        object.meta().name().into(),
        status.map_or(UNKNOWN, status_cell).into(),
        LastOperation::cell(status.and_then(|status| status.last_operation.as_ref())).into(),
        or_else(spec.map(|provider| provider.r#type.as_str()), UNKNOWN).into(),
        or_else(spec.map(|provider| provider.region.as_str()), UNKNOWN).into(),
        Cell::Age(object.meta().creation_timestamp()),
        or_else(gardener.map(|gardener| gardener.version.as_str()), UNKNOWN).into(),
        or_else(
            status.and_then(|status| status.kubernetes_version.as_deref()),
            UNKNOWN,
        )
        .into(),
    ]
}

/// The Status cell. It looks at more conditions than scheduling does, so a NotReady seed may still be picked.
fn status_cell(status: &SeedStatus) -> &'static str {
    let is = |name| condition(&status.conditions, name).map(|condition| condition.status.as_str());
    match is("GardenletReady") {
        Some("Unknown") => return "Unknown",
        Some("True") => {}
        _ => return "NotReady",
    }
    let buckets = is("BackupBucketsReady").is_none_or(|status| status == "True");
    let extensions = is("ExtensionsReady").is_some_and(|status| status != "False" && status != "Unknown");
    let components =
        is("SeedSystemComponentsHealthy").is_none_or(|status| status != "False" && status != "Unknown");
    if buckets && extensions && components {
        "Ready"
    } else {
        "NotReady"
    }
}
