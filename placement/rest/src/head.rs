//! What a virtual object that is made of one demand says of itself: Scheduling and SchedulingAdvice.

use berth_apimachinery::Key;
use berth_engine::Snapshot;
use serde_json::{Value, json};

use super::resolve::kind_of;
use super::{names, render};

/// Metadata and spec of what is told of `demand`, which is of `kind`.
pub(super) fn head(snapshot: &Snapshot, demand: &Key, kind: &str) -> (Value, Value) {
    let dialect = &*snapshot.dialect;
    let (namespace, name) = names::place(dialect, demand);
    let (mut metadata, mut spec) = (json!({}), json!({"dialect": dialect.name()}));
    if let Some(source) = snapshot.inventory.object(demand) {
        metadata = render::metadata(source.meta(), kind, &namespace, &name).into();
        spec["sourceRef"] = render::source_ref(&source, kind_of(dialect, demand));
    }
    (metadata, spec)
}
