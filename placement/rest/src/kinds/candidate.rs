//! Candidate and ClusterCandidate: one target as one decision sees it, as an object of its own.

use berth_apimachinery::kind::{KindInfo, SelectableField};
use berth_apimachinery::{Cell, Column, Object, Schema, Scope};
use berth_dialect_contract::report;
use schemars::JsonSchema;
use serde_json::Value;

use super::scheduling::{self, Judged};
use super::{INFO, Virtual, text_at};

/// What the scheduler thinks of one target for one placeable object, now.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Candidate {
    /// Which decision and which target.
    pub spec: Option<CandidateSpec>,
    /// What the scheduler thinks of it.
    pub status: Option<report::Candidate>,
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
    SelectableField::computed("outOfScope", |value| match text_at(value, "/status/outOfScope") {
        text if text.is_empty() => "false".into(),
        text => text,
    }),
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
    let value = object.value();
    let (spec, status) = (&value["spec"], &value["status"]);
    let text = |value: &'_ Value, field: &str| value[field].as_str().map(str::to_owned);
    let name = text(status, "target").or_else(|| text(status, "clusterName"));
    let rejections = status["rejections"].as_array().map(Vec::as_slice);
    let reasons = rejections.unwrap_or_default().iter();
    let scores = status["scores"].as_array().into_iter().flatten();
    let judged = Judged {
        name: &name.unwrap_or_default(),
        rank: status["rank"].clone(),
        score: report::score_cell(
            status["score"].as_i64(),
            scores.map(|score| score["value"].as_i64()),
        ),
        result: scheduling::verdict(
            status["picked"] == true,
            status["feasible"] == true,
            status["outOfScope"] == true,
        ),
        reasons: reasons
            .map(|entry| {
                ["plugin", "reason", "message"].map(|field| entry[field].as_str().unwrap_or_default())
            })
            .collect(),
    };
    let decision = text(spec, "decision").unwrap_or_default();
    shown(object.meta().name(), &decision, judged)
}

/// The cells of the candidate `name` of `decision`.
#[must_use]
pub fn shown(name: &str, decision: &str, judged: Judged<'_>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![name.into(), decision.into()];
    cells.extend(judged.row());
    cells
}

#[cfg(test)]
mod tests;
