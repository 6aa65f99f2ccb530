//! The events of a decision, with Karmada's own reasons.

use berth_dialect_contract::{Decision, Note, NoteType, Outcome};

use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::words;

/// The events of `decision`. A failure is always reported, and a success only if objects were written
/// (`wrote`).
pub(crate) fn notes(fleet: &Fleet, decision: &Decision, wrote: bool) -> Vec<Note> {
    let detail = decision.detail::<Detail>();
    if detail.is_none_or(|detail| detail.trigger.is_none()) {
        return Vec::new();
    }
    let note = |r#type, reason| Note {
        r#type,
        reason,
        action: "ScheduleBinding",
        text: words::message(fleet, decision),
        related: None,
    };
    match decision.outcome {
        Outcome::Unschedulable => vec![note(NoteType::Warning, "ScheduleBindingFailed")],
        _ if wrote => vec![note(NoteType::Normal, "ScheduleBindingSucceed")],
        _ => Vec::new(),
    }
}
