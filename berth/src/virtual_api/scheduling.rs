//! `decisions/scheduling` and its kin: what the scheduler would decide now.

use std::sync::Arc;

use apiserver::{Call, Reply, Rows, SubresourceHandler};
use async_trait::async_trait;
use dialect_contract::{Decision, Report};
use engine::{Catalog, Engine, Snapshot};
use meta::{Cell, Key, Status, Timestamp};
use serde_json::{Value, json};

use super::kinds::{API_VERSION, scheduling};
use super::resolve::{About, Found, kind_of};
use super::{hidden, names, render};

/// Reads what the scheduler would decide.
pub(super) struct Scheduling {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// The kinds of what is written.
    pub(super) catalog: Arc<Catalog>,
    /// Whose subresource this is.
    pub(super) about: About,
}

#[async_trait]
impl SubresourceHandler for Scheduling {
    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let Found { snapshot, demand } = self.about.find(&self.engine, &call.namespace, &call.name).await?;
        let decision = decide(&snapshot, &demand, call.now)?;
        let mut object = scheduling_of(&snapshot, &decision)?;
        hidden::hide(call, &self.engine, &self.catalog, &mut object["status"]).await?;
        let rows = rows(&object["status"]);
        Ok(Reply::Table(object, rows))
    }
}

/// The scheduler's own decision on a demand that is in the snapshot.
pub(crate) fn decide(snapshot: &Snapshot, demand: &Key, now: Timestamp) -> Result<Decision, Status> {
    match snapshot.decide(demand, None, now) {
        Some(Ok(decision)) => Ok(decision),
        // Nothing was chosen, so nothing can be refused.
        Some(Err(refused)) => Err(Status::internal(meta::field::aggregate(&refused.errors))),
        None => Err(Status::not_found(demand.resource, &demand.name)),
    }
}

/// A report as JSON.
pub(crate) fn value_of(report: &Report) -> Result<Value, Status> {
    serde_json::to_value(report).map_err(|error| Status::internal(error.to_string()))
}

/// The Scheduling that shows `decision`, which was made on `snapshot`.
pub(crate) fn scheduling_of(snapshot: &Snapshot, decision: &Decision) -> Result<Value, Status> {
    let report = value_of(&snapshot.report(decision))?;
    Ok(object(snapshot, &decision.demand, report))
}

/// The Scheduling of `demand` with `report` as its status.
pub(crate) fn object(snapshot: &Snapshot, demand: &Key, report: Value) -> Value {
    let dialect = &*snapshot.dialect;
    let (namespace, name) = names::place(dialect, demand);
    let mut value = json!({
        "apiVersion": API_VERSION,
        "kind": "Scheduling",
        "spec": {"dialect": dialect.name()},
        "status": report,
    });
    if let Some(source) = snapshot.inventory.object(demand) {
        value["metadata"] = render::metadata(source.meta(), "Scheduling", &namespace, &name).into();
        value["spec"]["sourceRef"] = render::source_ref(&source, kind_of(dialect, demand));
    }
    value
}

/// One row per candidate, or one that says why there is none.
pub(crate) fn rows(report: &Value) -> Rows {
    let candidates = report["candidates"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut rows: Vec<Vec<Cell>> = candidates.iter().map(scheduling::row).collect();
    if rows.is_empty() {
        let none = || Cell::Value(Value::Null);
        let text = |field: &str| report[field].as_str().unwrap_or_default().into();
        rows.push(vec![
            "<none>".into(),
            none(),
            none(),
            none(),
            none(),
            text("reason"),
            text("message"),
        ]);
    }
    Rows {
        columns: scheduling::columns(),
        rows,
    }
}
