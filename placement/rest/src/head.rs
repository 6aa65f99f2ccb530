//! Head (metadata and spec) of the virtual objects Scheduling and SchedulingAdvice about one demand.

use berth_apimachinery::Key;
use berth_engine::Snapshot;
use berth_scheduling_api::shared::SchedulingSpec;
use serde_json::{Map, Value};

use super::resolve::kind_of;
use super::{names, render};

/// Metadata and spec of an object of `kind` about `demand`. For a missing demand, the metadata is empty, and
/// the spec has no source reference.
pub(super) fn head(snapshot: &Snapshot, demand: &Key, kind: &str) -> (Map<String, Value>, SchedulingSpec) {
    let dialect = &*snapshot.dialect;
    let (namespace, name) = names::place(dialect, demand);
    let source = snapshot.inventory.object(demand);
    let metadata = source
        .as_ref()
        .map(|source| render::metadata(source.meta(), kind, &namespace, &name));
    let spec = SchedulingSpec {
        dialect: dialect.name().into(),
        source_ref: source.map(|source| render::source_ref(&source, kind_of(dialect, demand))),
    };
    (metadata.unwrap_or_default(), spec)
}
