//! Updates of the fleet by one change, with the toys that the change makes due.

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

/// Applies a change of a toy. The creation of a toy, or a change of its spec outside of `box`, makes the toy
/// due. A toy that leaves a box makes all toys due: it needs a box itself, and others may take its room. A
/// toy that only gets a box makes no toy due: this is a write of the scheduler.
fn fold_toy(fleet: &mut Fleet, change: &Change) -> Consequences {
    let old = match &change.new {
        Some(toy) => fleet.toys.insert(change.key.clone(), Arc::clone(toy)),
        None => fleet.toys.remove(&change.key),
    };
    let place = |toy: &Option<Arc<Object>>| toy.as_deref().and_then(place_of);
    let left = place(&old).is_some_and(|left| place(&change.new).as_ref() != Some(&left));
    let decide = match (&old, &change.new) {
        _ if left => AffectedDemands::All,
        (Some(old), Some(new)) if spec_without_box(old) == spec_without_box(new) => AffectedDemands::None,
        _ => AffectedDemands::Some(vec![change.key.clone()]),
    };
    Consequences {
        decide,
        demands: AffectedDemands::Some(vec![change.key.clone()]),
        targets: None,
    }
}

/// The spec of a toy without the field `box`, which the scheduler writes.
fn spec_without_box(toy: &Object) -> Value {
    let mut spec = toy.value()["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("box");
    }
    spec
}

/// Applies a change of a box. A change of the spec makes all toys due.
fn fold_box(fleet: &mut Fleet, change: &Change) -> Consequences {
    let name = &change.key.name;
    let old = match &change.new {
        Some(object) => fleet.boxes.insert(Arc::clone(name), Arc::clone(object)),
        None => fleet.boxes.remove(name),
    };
    let spec = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.value()["spec"].clone());
    let is_unchanged = spec(&old) == spec(&change.new);
    Consequences {
        decide: if is_unchanged {
            AffectedDemands::None
        } else {
            AffectedDemands::All
        },
        demands: AffectedDemands::None,
        targets: Some(vec![Arc::clone(name)]),
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Key, Revision};
    use serde_json::json;

    use super::*;
    use crate::object;

    #[test]
    fn a_toy_that_leaves_a_box_makes_toys_due() {
        let key = Key::new(TOYS, "ns", "t");
        let in_box = |name: Option<&str>| {
            let spec = name.map_or_else(|| json!({}), |name| json!({"box": name}));
            let toy = object("Toy", "ns", "t", spec);
            Change::added(key.clone(), Arc::new(Object::new(&toy, Revision(1)).unwrap()))
        };
        for (old, new, decide) in [
            (Some("a"), None, AffectedDemands::All),
            (Some("a"), Some("b"), AffectedDemands::All),
            (Some("a"), Some("a"), AffectedDemands::None),
            (None, Some("a"), AffectedDemands::None),
        ] {
            let mut fleet = Fleet::default();
            fold(&mut fleet, &in_box(old));
            let due = fold(&mut fleet, &in_box(new)).decide;
            assert_eq!(due, decide, "{old:?} {new:?}");
        }
    }
}
