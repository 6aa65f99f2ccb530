//! Candidate and ClusterCandidate: one target as a candidate of one decision, as an object of its own.

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Virtual, info};
use super::scheduling::{self, CandidateFacts};
use super::text::{part_at, text_at};

/// The scheduler's current verdict on one target for one placeable object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate<Status = report::Candidate> {
    /// The decision and the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<CandidateSpec>,
    /// Verdict of the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// Decision and target of a Candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateSpec {
    /// The name of the Decision (or ClusterDecision).
    pub decision: Arc<str>,
    /// The name of the Target; absent if the request names a cluster that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The kind of `candidates`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        short_names: &["bcand"],
        ..info("Candidate", "candidates", "candidate", VERBS)
    })
}

/// The kind of `clustercandidates`.
#[must_use]
pub fn cluster() -> Virtual {
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

fn kind(info: KindInfo) -> Virtual {
    // A list without a selector has the candidates of several decisions.
    let decision = Column::text("Decision", "The decision of the candidate");
    Virtual {
        columns: [Column::NAME.wide(), decision]
            .into_iter()
            .chain(scheduling::columns())
            .collect(),
        row: Some(row),
        selectable: SELECTABLE,
        ..Virtual::new(info, Schema::of::<Candidate>())
    }
}

fn row(object: &Object) -> Vec<Cell> {
    let value = object.value();
    let decision = text_at(value, "/spec/decision");
    match part_at::<report::Candidate>(value, "/status") {
        Some(candidate) => shown(object.meta().name(), &decision, CandidateFacts::of(&candidate)),
        None => shown(object.meta().name(), &decision, CandidateFacts::default()),
    }
}

/// The cells of the candidate `name` of `decision`.
#[must_use]
pub fn shown(name: &str, decision: &str, facts: CandidateFacts<'_>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![name.into(), decision.into()];
    cells.extend(facts.row());
    cells
}

#[cfg(test)]
mod tests;
