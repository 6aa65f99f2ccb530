//! Forecast for an object that is not stored: the decision on the object in the present inventory with the
//! object added.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision, Timestamp};
use berth_dialect_contract::{Decision, Outcome, Phase};
use berth_engine::{Snapshot, World};
use berth_storage::Source;
use serde_json::Value;

/// Placeholder for the name of an object that has none yet.
const UNNAMED: &str = "unnamed";

/// The decision that would be made, and the object after the writes of the decision.
pub(super) struct Forecast {
    /// The outcome of the decision.
    pub(super) outcome: Outcome,
    /// Warning to the client that the object is not placed, or only in part.
    pub(super) warning: Option<String>,
    /// Further warnings for the client, in addition to `warning`.
    pub(super) further_warnings: Vec<String>,
    /// The object after the writes.
    pub(super) object: Arc<Object>,
}

/// Decides on `object` at `now` as if it were in `snapshot`, a state of `source`. Returns `None` if the
/// dialect does not decide on the object.
///
/// # Errors
/// When the dialect cannot read the object, or plans writes that cannot be applied.
pub(super) fn forecast(
    snapshot: Snapshot,
    source: &dyn Source,
    key: &Key,
    object: &Arc<Object>,
    now: Timestamp,
) -> Result<Option<Forecast>, String> {
    let reads = snapshot.dialect.reads().into_iter();
    let base: BTreeMap<_, _> = reads
        .map(|resource| (resource, source.cached(resource)))
        .collect();
    let mut world = World::over(snapshot, base);
    world
        .put(key, Arc::clone(object))
        .map_err(|problem| problem.to_string())?;
    let decision = match world.snapshot().decide(key, None, now) {
        None => return Ok(None),
        Some(Ok(decision)) => decision,
        Some(Err(refused)) => return Err(berth_apimachinery::field::aggregate(&refused.errors)),
    };
    let warning = warning(world.snapshot(), &decision);
    let further_warnings = world.snapshot().inventory.warnings(&decision);
    let writes = world.snapshot().inventory.writes(&decision);
    world
        .apply(&writes, now)
        .map_err(|malformed| malformed.to_string())?;
    Ok(Some(Forecast {
        outcome: decision.outcome,
        warning,
        further_warnings,
        object: Arc::clone(world.get(key).unwrap_or(object)),
    }))
}

/// Returns the warning about `decision` for the author of the demand; `None` if everything is placed, or
/// nothing has to be placed.
pub(super) fn warning(snapshot: &Snapshot, decision: &Decision) -> Option<String> {
    let how = match decision.outcome {
        Outcome::Unschedulable | Outcome::Invalid => "not bound",
        Outcome::Partial => "bound in part",
        // A controller has already bound the object, and found no more places either.
        Outcome::Unchanged if is_partial(snapshot, decision) => "bound in part",
        Outcome::Scheduled
        | Outcome::Provision
        | Outcome::Unchanged
        | Outcome::Ignored
        | Outcome::Released => return None,
    };
    let message = snapshot.inventory.message(decision);
    Some(format!("{how} ({}): {message}", decision.reason))
}

fn is_partial(snapshot: &Snapshot, decision: &Decision) -> bool {
    let view = snapshot.inventory.demand(&decision.demand, decision.now);
    view.is_some_and(|view| view.phase == Phase::Partial)
}

/// Converts `value`, in which fields may still be missing, to an object with the name and namespace of `key`.
///
/// # Errors
/// The reason why `value` is not an object.
pub(super) fn provisional(value: &Value, key: &Key) -> Result<Arc<Object>, String> {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("name".to_owned(), (*key.name).into());
        if !key.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), (*key.namespace).into());
        }
    }
    Object::new(&value, Revision::default())
        .map(Arc::new)
        .map_err(|malformed| malformed.to_string())
}

/// Returns the key that the object of a create `request` has in a forecast.
pub(super) fn key(request: &berth_admission::Request<'_>, object: &Value) -> Key {
    let own = object["metadata"]["name"].as_str().unwrap_or_default();
    let name = [request.name, own, UNNAMED]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    Key::new(request.resource, request.namespace, name)
}
