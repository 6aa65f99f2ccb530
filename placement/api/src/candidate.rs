//! Candidate and ClusterCandidate: one target as a candidate of one decision, as an object of its own.

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{VirtualKind, info};
use super::scheduling::{self, CandidateFacts};
use super::text::{part_at, text_at};

/// The scheduler's current verdict on one target for one placeable object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate<Status = report::Candidate> {
    /// The decision and the target of the candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<CandidateSpec>,
    /// The scheduler's verdict on the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// The decision and the target of a Candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateSpec {
    /// The name of the Decision (or ClusterDecision).
    pub decision: Arc<str>,
    /// The name of the Target; absent if the placeable object names a cluster that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Returns the kind of `candidates`.
#[must_use]
pub fn namespaced() -> VirtualKind {
    kind(KindInfo {
        short_names: &["bcand"],
        ..info("Candidate", "candidates", "candidate", VERBS)
    })
}

/// Returns the kind of `clustercandidates`.
#[must_use]
pub fn cluster() -> VirtualKind {
    kind(KindInfo {
        scope: Scope::Cluster,
        ..info("ClusterCandidate", "clustercandidates", "clustercandidate", VERBS)
    })
}

const VERBS: &[&str] = &["get", "list"];

/// The fields by which candidates can be selected.
pub const SELECTABLE: &[SelectableField] = &[
    SelectableField::computed("decision", |value| text_at(value, "/spec/decision")),
    SelectableField::computed("target", |value| text_at(value, "/spec/target")),
    SelectableField::computed("feasible", |value| text_at(value, "/status/feasible")),
    SelectableField::computed("outOfScope", |value| match text_at(value, "/status/outOfScope") {
        text if text.is_empty() => "false".into(),
        text => text,
    }),
    SelectableField::computed("picked", |value| text_at(value, "/status/picked")),
];

fn kind(info: KindInfo) -> VirtualKind {
    // A list may have candidates of several decisions, so a column names the decision.
    let decision = Column::text("Decision", "The decision of the candidate");
    VirtualKind {
        columns: [Column::NAME.wide(), decision]
            .into_iter()
            .chain(scheduling::columns())
            .collect(),
        row: Some(row),
        selectable: SELECTABLE,
        ..VirtualKind::new(info, Schema::of::<Candidate>())
    }
}

fn row(object: &Object) -> Vec<Cell> {
    let value = object.value();
    let decision = text_at(value, "/spec/decision");
    match part_at::<report::Candidate>(value, "/status") {
        Some(candidate) => cells(object.meta().name(), &decision, CandidateFacts::of(&candidate)),
        None => cells(object.meta().name(), &decision, CandidateFacts::default()),
    }
}

/// Returns the cells of the row of the candidate `name` of `decision`.
#[must_use]
pub fn cells(name: &str, decision: &str, facts: CandidateFacts<'_>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![name.into(), decision.into()];
    cells.extend(facts.row());
    cells
}

#[cfg(test)]
mod tests;
