//! The events of a decision, with OCM's own reasons (facts section 7): what became of the PlacementDecisions, and the
//! scores behind it. What finds no place, which OCM tells in conditions alone, is an event as in other systems.

use std::sync::Arc;

use dialect_contract::control::failed_scheduling;
use dialect_contract::{Decision, Note, NoteType, Outcome, Related};
use meta::Key;

use crate::decide::Detail;
use crate::inventory::Hub;
use crate::names::PLACEMENT_API_VERSION;

/// Bytes after which a list of scores ends.
const SCORES_LIMIT: usize = 990;

/// The events. A run that changes nothing has none.
pub(crate) fn notes(hub: &Hub, decision: &Decision, wrote: bool) -> Vec<Note> {
    if !wrote {
        return Vec::new();
    }
    let detail = decision.detail::<Detail>();
    let mut notes = files(decision, detail);
    if !notes.is_empty() && !decision.solved.feasible.is_empty() {
        notes.push(scores(hub, decision));
    }
    let failed = matches!(
        decision.outcome,
        Outcome::Unschedulable | Outcome::Partial | Outcome::Invalid
    );
    if failed {
        notes.push(failed_scheduling(hub, decision));
    }
    notes
}

/// One event per PlacementDecision that was made, changed or deleted.
fn files(decision: &Decision, detail: Option<&Detail>) -> Vec<Note> {
    let placement = &decision.demand;
    let mut notes = Vec::new();
    let Some(plan) = detail.and_then(|detail| detail.plan.as_ref()) else {
        return notes;
    };
    for file in &plan.files {
        let (reason, action, verb) = match &file.stored {
            None => ("DecisionCreate", "DecisionCreated", "created"),
            Some(_) if file.list_changes => ("DecisionUpdate", "DecisionUpdated", "updated"),
            Some(_) => continue,
        };
        let text = format!(
            "PlacementDecision {} of placement {} was {verb}: {}",
            file.key.name,
            placement.name,
            listed(&file.clusters)
        );
        notes.push(note(reason, action, text, file.key.clone()));
    }
    for surplus in &plan.surplus {
        let meta = surplus.object.meta();
        let text = format!(
            "PlacementDecision {} of placement {} was deleted",
            meta.name, placement.name
        );
        let key = Key::new(crate::names::DECISIONS, &meta.namespace, &meta.name);
        notes.push(note("DecisionDelete", "DecisionDeleted", text, key));
    }
    notes
}

fn listed(clusters: &[Arc<str>]) -> String {
    match clusters.len() {
        0 => "no clusters".to_owned(),
        1 => format!("1 cluster: {}", clusters[0]),
        count => format!("{count} clusters: {}", clusters.join(", ")),
    }
}

fn note(reason: &'static str, action: &'static str, text: String, related: Key) -> Note {
    Note {
        r#type: NoteType::Normal,
        reason,
        action,
        text,
        related: Some(Related {
            api_version: PLACEMENT_API_VERSION,
            kind: "PlacementDecision",
            key: related,
        }),
    }
}

/// `<cluster>:<total> ` of every feasible cluster in name order, as far as there is room.
fn scores(hub: &Hub, decision: &Decision) -> Note {
    let fleet = hub.fleet();
    let mut text = String::new();
    for &candidate in &decision.solved.feasible {
        let before = text.len();
        let total = decision.solved.total_of(candidate).unwrap_or_default();
        text.push_str(&format!("{}:{total} ", fleet.row(candidate).name));
        if text.len() > SCORES_LIMIT {
            text.truncate(before);
            text.push_str("......");
            break;
        }
    }
    Note {
        r#type: NoteType::Normal,
        reason: "ScoreUpdate",
        action: "ScoreUpdated",
        text: text.trim_end().to_owned(),
        related: None,
    }
}
