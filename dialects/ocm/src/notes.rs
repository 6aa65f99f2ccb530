//! The events of a decision, with OCM's own reasons (docs/systems/ocm.md, "Events"): changes of
//! PlacementDecisions, and the scores that led to them. A Placement with too few clusters or with an invalid
//! spec, which OCM reports only in conditions, gets an event as in other systems.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::control::failed_scheduling;
use berth_dialect_contract::{Decision, Note, NoteType, Outcome, RelatedObject};

use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::names::PLACEMENT_API_VERSION;
use crate::policy::ScoreSource;
use crate::warnings::failure;

/// Highest number of bytes in a list of scores, without the dots at the end of a cut list.
const SCORES_LIMIT: usize = 990;
/// Highest number of expired scores that a sentence names for one prioritizer.
const EXPIRED_LISTED: usize = 10;

/// The events of `decision`; none if the decision changed nothing (`wrote` is false).
pub(crate) fn notes(fleet: &Fleet, decision: &Decision, wrote: bool) -> Vec<Note> {
    if !wrote {
        return Vec::new();
    }
    let detail = decision.detail::<Detail>();
    let expired = expired_scores(fleet, decision);
    let mut notes = decision_notes(decision, detail, &expired);
    if !notes.is_empty() && !decision.solved.feasible.is_empty() {
        notes.push(score_note(fleet, decision));
    }
    notes.extend(cost_warning(fleet, decision, detail));
    let failed = matches!(
        decision.outcome,
        Outcome::Unschedulable | Outcome::Partial | Outcome::Invalid
    );
    if failed {
        notes.push(failed_scheduling(fleet, decision));
    }
    notes
}

/// The warning about expressions that exceed a cost limit on some clusters, so that their results are unknown
/// there.
fn cost_warning(fleet: &Fleet, decision: &Decision, detail: Option<&Detail>) -> Option<Note> {
    let detail = detail?;
    let policy = detail.policy.as_deref()?;
    let costly = detail
        .failing
        .iter()
        .filter(|failing| failing.failures.costly > 0);
    let texts: Vec<String> = costly
        .filter_map(|failing| failure(fleet, decision, policy, failing))
        .collect();
    (!texts.is_empty()).then(|| Note {
        r#type: NoteType::Warning,
        reason: "ExpressionTooCostly",
        action: "Evaluating",
        text: texts.join("; "),
        related: None,
    })
}

/// One event per PlacementDecision that was created or deleted, or whose list of clusters changed. `expired`
/// has the sentences about expired scores. If there are any, the events of created and changed
/// PlacementDecisions are warnings: the program that reports the scores may have stopped.
fn decision_notes(decision: &Decision, detail: Option<&Detail>, expired: &[String]) -> Vec<Note> {
    let placement = &decision.demand;
    let mut notes = Vec::new();
    let Some(plan) = detail.and_then(|detail| detail.plan.as_ref()) else {
        return notes;
    };
    for planned in &plan.decisions {
        let (reason, action, verb) = match &planned.stored {
            None => ("DecisionCreate", "DecisionCreated", "created"),
            Some(_) if planned.list_changes => ("DecisionUpdate", "DecisionUpdated", "updated"),
            Some(_) => continue,
        };
        let text = format!(
            "PlacementDecision {} of placement {} was {verb}: {}",
            planned.key.name,
            placement.name,
            cluster_list(&planned.clusters)
        );
        let mut note = decision_note(reason, action, text, planned.key.clone());
        if !expired.is_empty() {
            note.r#type = NoteType::Warning;
            note.text.push_str(": ");
            note.text.push_str(&expired.join("; "));
        }
        notes.push(note);
    }
    for surplus in &plan.surplus {
        let meta = surplus.object.meta();
        let text = format!(
            "PlacementDecision {} of placement {} was deleted",
            meta.name(),
            placement.name
        );
        let key = Key::new(crate::names::DECISIONS, meta.namespace(), meta.name());
        notes.push(decision_note("DecisionDelete", "DecisionDeleted", text, key));
    }
    notes
}

/// Sentences about expired scores of feasible clusters, one per prioritizer.
fn expired_scores(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let columns = fleet.columns();
    let policy = fleet
        .placements
        .get(&decision.demand)
        .map(|record| &record.policy);
    let prioritizers = policy.and_then(|policy| policy.prioritizers.as_deref().ok());
    let mut list = Vec::new();
    for prioritizer in prioritizers.unwrap_or_default() {
        let ScoreSource::AddOn { resource, score } = &prioritizer.scoring else {
            continue;
        };
        let column = columns.scores(resource, score);
        let entries = column.iter().flat_map(|column| column.iter());
        let old = entries.filter(|entry| {
            entry.until < decision.now && decision.solved.feasible.binary_search(&entry.candidate).is_ok()
        });
        let mut names: Vec<String> = old
            .map(|entry| format!("{}/{resource}", columns.row(entry.candidate).name))
            .collect();
        let more = names.len().saturating_sub(EXPIRED_LISTED);
        names.truncate(EXPIRED_LISTED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        if !names.is_empty() {
            let names = names.join(", ");
            list.push(format!(
                "AddOnPlacementScores {names} expired in plugin AddOn/{resource}/{score}"
            ));
        }
    }
    list
}

/// The number and the names of `clusters`.
fn cluster_list(clusters: &[Arc<str>]) -> String {
    match clusters.len() {
        0 => "no clusters".to_owned(),
        1 => format!("1 cluster: {}", clusters[0]),
        count => format!("{count} clusters: {}", clusters.join(", ")),
    }
}

/// The event with this `reason` about the PlacementDecision `related`.
fn decision_note(reason: &'static str, action: &'static str, text: String, related: Key) -> Note {
    Note {
        r#type: NoteType::Normal,
        reason,
        action,
        text,
        related: Some(RelatedObject {
            api_version: PLACEMENT_API_VERSION,
            kind: "PlacementDecision",
            key: related,
        }),
    }
}

/// The event with the scores: `<cluster>:<total> ` for every feasible cluster in name order, up to the size
/// limit.
fn score_note(fleet: &Fleet, decision: &Decision) -> Note {
    let columns = fleet.columns();
    let mut text = String::new();
    for &candidate in &decision.solved.feasible {
        let before = text.len();
        let total = decision.solved.total_of(candidate).unwrap_or_default();
        text.push_str(&format!("{}:{total} ", columns.row(candidate).name));
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
