//! Decisions of toys: a pure function of the known objects and the [`Ask`].

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{FieldError, Key, Object};
use berth_dialect_contract::guarded::fence;
use berth_dialect_contract::{
    Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome, Targets,
};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::Plugin;
use crate::detail::Detail;
use crate::fleet::{Fleet, place_of};
use crate::names::{BOXES, DIALECT};

/// Decides `toy`. A toy that is in a box stays there.
pub(crate) fn decide(fleet: &Fleet, toy: &Arc<Object>, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
    let place = place_of(toy);
    let solved = match &place {
        Some(place) => {
            refuse_other_boxes(ask, place)?;
            PipelineOutcome::default()
        }
        None => solve(fleet, ask)?,
    };
    let changes: Vec<BindingChange> = solved
        .picked
        .iter()
        .map(|&candidate| BindingChange {
            action: Action::Bind,
            cluster_name: fleet.cluster_name(candidate),
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        })
        .collect();
    let outcome = match (&place, changes.is_empty()) {
        (Some(_), _) => Outcome::Unchanged,
        (None, true) => Outcome::Unschedulable,
        (None, false) => Outcome::Scheduled,
    };
    // The decision counted the room of the box: if two toys are decided at once, the fence conflicts, and
    // one of them is decided again.
    let fences = changes
        .iter()
        .map(|change| fence(DIALECT, &Key::new(BOXES, "", &change.cluster_name)))
        .collect();
    let current = place.into_iter().map(|cluster_name| CurrentPlace {
        cluster_name,
        state: "",
        amount: None,
    });
    let look_after = toy.value()["spec"]["lookAfter"].as_i64();
    Ok(Decision {
        demand: ask.demand.clone(),
        demand_revision: toy.revision(),
        outcome,
        reason: if outcome == Outcome::Unschedulable {
            "NoRoom"
        } else {
            "Picked"
        },
        solved,
        amounts: Vec::new(),
        scorers: Vec::new(),
        unknown: Vec::new(),
        current: current.collect(),
        changes,
        fences,
        due_at: look_after.and_then(|seconds| {
            let wait = Duration::from_secs(seconds.unsigned_abs());
            ask.now.checked_add(wait).ok()
        }),
        now: ask.now,
        detail: Box::new(Detail { toy: Arc::clone(toy) }),
    })
}

/// Refuses a choice of other boxes than `place`, the box of the toy.
///
/// # Errors
/// An error for every other box, and for a choice of several boxes.
fn refuse_other_boxes(ask: &Ask<'_>, place: &str) -> Result<(), ChoiceRefusal> {
    let Some(names) = ask.chosen else {
        return Ok(());
    };
    let mut errors = too_many(names);
    for (index, name) in names.iter().enumerate().filter(|(_, name)| **name != *place) {
        let detail = format!("the toy is in box \"{place}\" and stays there");
        errors.push(FieldError::invalid(target_path(index), name.as_str(), detail));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ChoiceRefusal { errors })
    }
}

/// Runs every filter on every box, and picks the chosen box or, without a choice, the emptiest feasible box.
///
/// # Errors
/// When the choice is refused.
fn solve(fleet: &Fleet, ask: &Ask<'_>) -> Result<PipelineOutcome, ChoiceRefusal> {
    let (feasible, rejections) = berth_scheduling::filter(fleet, fleet.count(), &Plugin::ALL.each_ref());
    let mut ranked = feasible.clone();
    ranked.sort_by_key(|&candidate| (fleet.used(&fleet.cluster_name(candidate)), candidate));
    let picked = match ask.chosen {
        None => ranked.first().copied().into_iter().collect(),
        Some(names) => vec![choose(fleet, &feasible, names)?],
    };
    Ok(PipelineOutcome {
        rejections,
        feasible,
        ranked,
        picked,
        ..PipelineOutcome::default()
    })
}

/// The feasible box that the caller chose by `names`.
///
/// # Errors
/// An error for each box that does not exist or is refused; one error if there is no name, or several.
fn choose(fleet: &Fleet, feasible: &[Ix], names: &[String]) -> Result<Ix, ChoiceRefusal> {
    let mut errors = too_many(names);
    let mut chosen = None;
    for (index, name) in names.iter().enumerate() {
        let candidate = fleet.candidate(name);
        match candidate.filter(|candidate| feasible.contains(candidate)) {
            Some(candidate) => chosen = Some(candidate),
            None => {
                let detail = "must be a box that exists, has room and has no lid";
                errors.push(FieldError::invalid(target_path(index), name.as_str(), detail));
            }
        }
    }
    match chosen {
        Some(candidate) if errors.is_empty() => Ok(candidate),
        None if errors.is_empty() => {
            let detail = "name one box, or give no targets to let the scheduler pick";
            Err(ChoiceRefusal {
                errors: vec![FieldError::required("spec.targets", detail)],
            })
        }
        _ => Err(ChoiceRefusal { errors }),
    }
}

/// The error of a choice of several boxes: a toy is in one box.
fn too_many(names: &[String]) -> Vec<FieldError> {
    if names.len() > 1 {
        vec![FieldError::too_many("spec.targets", names.len(), 1)]
    } else {
        Vec::new()
    }
}

fn target_path(index: usize) -> String {
    format!("spec.targets[{index}]")
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Change, Revision, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::fleet::fold::fold;
    use crate::names::TOYS;
    use crate::object;

    #[test]
    fn a_choice_that_a_toy_cannot_follow_is_refused() {
        let mut fleet = Fleet::default();
        let toy = |name| Key::new(TOYS, "ns", name);
        for (key, value) in [
            (
                Key::new(BOXES, "", "a"),
                object("Box", "", "a", json!({"capacity": 2})),
            ),
            (
                Key::new(BOXES, "", "b"),
                object("Box", "", "b", json!({"capacity": 2})),
            ),
            (toy("free"), object("Toy", "ns", "free", json!({}))),
            (toy("kept"), object("Toy", "ns", "kept", json!({"box": "a"}))),
        ] {
            let object = Object::new(&value, Revision(1)).unwrap();
            fold(&mut fleet, &Change::added(key, Arc::new(object)));
        }
        let other = "spec.targets[0]: Invalid value: \"b\": the toy is in box \"a\" and stays there";
        let several = "spec.targets: Too many: 2: must have at most 1 items";
        let none = "spec.targets: Required value: name one box, or give no targets to let the scheduler pick";
        for (name, chosen, expected) in [
            ("free", vec!["b"], vec![]),
            ("free", vec!["a", "b"], vec![several]),
            ("free", vec![], vec![none]),
            ("kept", vec!["a"], vec![]),
            ("kept", vec!["b"], vec![other]),
            ("kept", vec!["b", "a"], vec![several, other]),
        ] {
            let demand = toy(name);
            let names: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
            let ask = Ask {
                demand: &demand,
                now: Timestamp::UNIX_EPOCH,
                seed: 0,
                chosen: Some(names.as_slice()),
            };
            let refusal = decide(&fleet, &fleet.toys[&demand], &ask).err();
            let errors = refusal.map(|refusal| refusal.errors).unwrap_or_default();
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, expected, "{name} {chosen:?}");
        }
    }
}
