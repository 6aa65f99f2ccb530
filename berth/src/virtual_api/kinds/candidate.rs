//! Candidate and ClusterCandidate: one target as one decision sees it, as an object of its own.

use meta::kind::{KindInfo, SelectableField};
use meta::{Cell, Column, Object, Schema, Scope};
use schemars::JsonSchema;

use super::scheduling::{self, CandidateReport};
use super::{INFO, Virtual, text_at};

/// What the scheduler thinks of one target for one placeable object, now.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Candidate {
    /// Which decision and which target.
    pub spec: Option<CandidateSpec>,
    /// What the scheduler thinks of it.
    pub status: Option<CandidateReport>,
}

/// Which decision and which target a Candidate is about.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct CandidateSpec {
    /// The name of the Decision (or ClusterDecision).
    pub decision: String,
    /// The name of the Target; absent for a cluster that the request names and that does not exist.
    pub target: Option<String>,
}

/// The kind of `candidates`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        kind: "Candidate",
        plural: "candidates",
        singular: "candidate",
        short_names: &["bcand"],
        scope: Scope::Namespaced,
        ..INFO
    })
}

/// The kind of `clustercandidates`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        kind: "ClusterCandidate",
        plural: "clustercandidates",
        singular: "clustercandidate",
        scope: Scope::Cluster,
        ..INFO
    })
}

/// The fields candidates can be selected by.
pub const SELECTABLE: &[SelectableField] = &[
    SelectableField::computed("decision", |value| text_at(value, "/spec/decision")),
    SelectableField::computed("target", |value| text_at(value, "/spec/target")),
    SelectableField::computed("feasible", |value| text_at(value, "/status/feasible")),
    SelectableField::computed("picked", |value| text_at(value, "/status/picked")),
];

fn kind(info: KindInfo) -> Virtual {
    let mut columns = vec![Column {
        priority: 1,
        ..Column::NAME
    }];
    // Without a selector a list has the candidates of several decisions.
    columns.push(Column::text("Decision", "The decision it is a candidate of"));
    columns.extend(scheduling::columns());
    Virtual {
        columns,
        row,
        selectable: SELECTABLE,
        ..Virtual::new(
            KindInfo {
                verbs: &["get", "list"],
                ..info
            },
            Schema::of::<Candidate>(),
        )
    }
}

fn row(object: &Object) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![object.meta().name.as_str().into()];
    let value = object.value();
    cells.push(value["spec"]["decision"].as_str().unwrap_or_default().into());
    cells.extend(scheduling::row(&value["status"]));
    cells
}

#[cfg(test)]
mod tests;
