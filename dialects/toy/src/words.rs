//! Sentences for codes, rendered only for a reader.

use berth_dialect_contract::{Decision, Targets, report};
use berth_scheduling::{Ix, Reason};

use crate::code::Code;
use crate::fleet::Fleet;

/// The sentence of a refusal.
pub(crate) fn sentence(fleet: &Fleet, candidate: Ix, reason: Reason) -> String {
    let name = fleet.cluster_name(candidate);
    match Code::of_reason(reason) {
        Code::Full => format!("the box has no room: {} toys are in it", fleet.used(&name)),
        Code::Closed => "the box has a lid on it".to_owned(),
    }
}

/// The token and the sentence for a feasible box that is not picked.
pub(crate) fn not_picked(rank: Option<usize>) -> (&'static str, String) {
    match rank {
        Some(rank) => (
            "Fuller",
            format!("another box is emptier: this one is number {rank}"),
        ),
        None => ("Fuller", "another box is emptier".to_owned()),
    }
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let room = format!(
        "{} of {} boxes are feasible",
        decision.solved.feasible.len(),
        fleet.count()
    );
    match decision.solved.picked.first() {
        Some(&picked) => format!("{room}; picked {}", fleet.cluster_name(picked)),
        None => report::cause(fleet, decision).map_or(room, |cause| cause.to_string()),
    }
}
