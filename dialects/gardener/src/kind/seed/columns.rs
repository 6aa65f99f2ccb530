//! Columns of `kubectl get seeds` (docs/systems/gardener.md, "API objects").

use berth_apimachinery::{Column, Object};

use super::spec::{Seed, SeedStatus};
use crate::kind::common::{UNKNOWN, condition, last_operation_cell};

/// Columns of a list of seeds.
pub(super) const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text(
        "Status",
        "Whether the seed's agent and system components are healthy",
    )
    .at(".status.conditions[?(@.type==\"GardenletReady\")].status")
    .computed(|seed| {
        read(seed)
            .map_or(UNKNOWN, |seed| status_cell(&seed.status))
            .into()
    }),
    Column::text(
        "Last Operation",
        "The current or last operation of the seed's agent",
    )
    .at(".status.lastOperation.state")
    .computed(last_operation_cell),
    Column::text("Provider", "The provider type of the seed")
        .at(".spec.provider.type")
        .or(UNKNOWN),
    Column::text("Region", "The region of the seed")
        .at(".spec.provider.region")
        .or(UNKNOWN),
    Column::AGE,
    Column::text("Version", "The version of the seed's agent")
        .at(".status.gardener.version")
        .or(UNKNOWN),
    Column::text("K8S Version", "The Kubernetes version of the seed")
        .at(".status.kubernetesVersion")
        .or(UNKNOWN),
];

/// Parses the seed; `None` if its fields have other types than in the schema.
fn read(object: &Object) -> Option<Seed> {
    object.view().ok()
}

/// The cell of the column Status. It depends on more conditions than scheduling does, so the scheduler may
/// pick a seed that is NotReady here.
fn status_cell(status: &SeedStatus) -> &'static str {
    let status_of = |name| condition(&status.conditions, name).map(|condition| condition.status.as_str());
    match status_of("GardenletReady") {
        Some("Unknown") => return "Unknown",
        Some("True") => {}
        _ => return "NotReady",
    }
    let buckets_ready = status_of("BackupBucketsReady").is_none_or(|status| status == "True");
    let extensions_ready =
        status_of("ExtensionsReady").is_some_and(|status| status != "False" && status != "Unknown");
    let components_healthy = status_of("SeedSystemComponentsHealthy")
        .is_none_or(|status| status != "False" && status != "Unknown");
    if buckets_ready && extensions_ready && components_healthy {
        "Ready"
    } else {
        "NotReady"
    }
}
