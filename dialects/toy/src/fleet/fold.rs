//! Folding a change, and the demands that it makes due.

use std::sync::Arc;

use berth_apimachinery::{Change, Object};
use berth_dialect_contract::{AffectedDemands, Consequences};
use serde_json::Value;

use super::{Fleet, place_of};
use crate::names::{BOXES, TOYS};

/// Applies `change`.
pub(crate) fn fold(fleet: &mut Fleet, change: &Change) -> Consequences {
    match change.key.resource {
        TOYS => fold_toy(fleet, change),
        BOXES => fold_box(fleet, change),
        _ => Consequences::nothing(),
    }
}

/// Applies a change of a toy. The toy is due again when its wish changes, and all toys are due when a toy in
/// a box is deleted. A write of the field `box` is the scheduler's own, and makes no toy due.
fn fold_toy(fleet: &mut Fleet, change: &Change) -> Consequences {
    let old = match &change.new {
        Some(toy) => fleet.toys.insert(change.key.clone(), Arc::clone(toy)),
        None => fleet.toys.remove(&change.key),
    };
    let was_placed = old.as_deref().and_then(place_of).is_some();
    let decide = match (&old, &change.new) {
        (_, None) if was_placed => AffectedDemands::All,
        (Some(old), Some(new)) if wish(old) == wish(new) => AffectedDemands::None,
        _ => AffectedDemands::Some(vec![change.key.clone()]),
    };
    Consequences {
        decide,
        demands: AffectedDemands::Some(vec![change.key.clone()]),
        targets: None,
    }
}

/// Wish of a toy: its spec without its place.
fn wish(toy: &Object) -> Value {
    let mut spec = toy.value()["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("box");
    }
    spec
}

fn fold_box(fleet: &mut Fleet, change: &Change) -> Consequences {
    let name = &change.key.name;
    let old = match &change.new {
        Some(object) => fleet.boxes.insert(Arc::clone(name), Arc::clone(object)),
        None => fleet.boxes.remove(name),
    };
    let spec = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.value()["spec"].clone());
    let same = spec(&old) == spec(&change.new);
    Consequences {
        decide: if same {
            AffectedDemands::None
        } else {
            AffectedDemands::All
        },
        demands: AffectedDemands::None,
        targets: Some(vec![Arc::clone(name)]),
    }
}
