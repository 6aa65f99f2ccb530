//! A copy of the present world of a dialect, for questions that change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Status;
use berth_dialect_contract::Dialect;
use berth_engine::{Engine, World};
use berth_storage::At;

use super::resolve::behind;

/// A copy of the present world of `dialect`, which the caller may change.
pub(super) async fn live_world(engine: &Engine, dialect: &Arc<dyn Dialect>) -> Result<World, Status> {
    let snapshot = engine
        .fresh(dialect.name())
        .await
        .map_err(|error| behind(&error))?;
    let snapshot =
        snapshot.ok_or_else(|| Status::internal(format!("the engine has no dialect {}", dialect.name())))?;
    let mut base = BTreeMap::new();
    for resource in dialect.reads() {
        let exact = engine.source().list(resource, At::Exact(snapshot.revision)).await;
        let list = match exact {
            Ok(list) => list,
            // The revision was dropped after many later writes, for example; the present state serves as
            // well.
            Err(_) => engine.source().cached(resource),
        };
        base.insert(resource, list);
    }
    let preceding = dialect.controllers().preceding();
    for resource in preceding.iter().flat_map(|reconciler| reconciler.watches()) {
        base.entry(resource)
            .or_insert_with(|| engine.source().cached(resource));
    }
    Ok(World::over(snapshot, base))
}
