//! Decisions of toys: a pure function of the known objects and the [`Ask`].

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{FieldError, Key, Object};
use berth_dialect_contract::guarded::fence;
use berth_dialect_contract::{
    Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome, Targets,
};
use berth_scheduling::PipelineOutcome;

use crate::code::Plugin;
use crate::detail::Detail;
use crate::fleet::{Fleet, place_of};
use crate::names::{BOXES, DIALECT};

/// Decides `toy`. A toy that is in a box stays there.
pub(crate) fn decide(fleet: &Fleet, toy: &Arc<Object>, ask: &Ask<'_>) -> Result<Decision, ChoiceRefusal> {
    let place = place_of(toy);
    let solved = match &place {
        Some(_) => PipelineOutcome::default(),
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

/// Runs every filter on every box, and picks the chosen boxes or, without a choice, the emptiest feasible
/// box.
///
/// # Errors
/// When a chosen box does not exist or is refused.
fn solve(fleet: &Fleet, ask: &Ask<'_>) -> Result<PipelineOutcome, ChoiceRefusal> {
    let (feasible, rejections) = berth_scheduling::filter(fleet, fleet.count(), &Plugin::ALL.each_ref());
    let mut ranked = feasible.clone();
    ranked.sort_by_key(|&candidate| (fleet.used(&fleet.cluster_name(candidate)), candidate));
    let picked = match ask.chosen {
        None => ranked.first().copied().into_iter().collect(),
        Some(names) => {
            let mut chosen = Vec::with_capacity(names.len());
            let mut errors = Vec::new();
            for (index, name) in names.iter().enumerate() {
                match fleet
                    .candidate(name)
                    .filter(|candidate| feasible.contains(candidate))
                {
                    Some(candidate) => chosen.push(candidate),
                    None => {
                        let detail = "must be a box that exists, has room and has no lid";
                        let path = format!("spec.targets[{index}]");
                        errors.push(FieldError::invalid(path, name.as_str(), detail));
                    }
                }
            }
            if !errors.is_empty() {
                return Err(ChoiceRefusal { errors });
            }
            chosen
        }
    };
    Ok(PipelineOutcome {
        rejections,
        feasible,
        ranked,
        picked,
        ..PipelineOutcome::default()
    })
}
