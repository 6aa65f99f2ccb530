//! Scheduling: the scheduler's present decision, with every reason (docs/reference.md, "The scheduling
//! report").

use berth_apimachinery::{Cell, Column, Schema};
use berth_dialect_contract::Report;
use berth_dialect_contract::report::{self, Candidate, WriteEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::advice::ShortAdvice;
use super::shared::SchedulingSpec;

/// The published report.
pub type PublishedReport = Report<Vec<Candidate>, Vec<WriteEntry>, ShortAdvice>;

/// The decision that the scheduler would make about an object now, with all candidates and reasons. Reading
/// it changes nothing; a Binding carries it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scheduling<Status = PublishedReport> {
    /// The object to schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingSpec>,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// The schema of the `scheduling` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Scheduling>()
}

/// The columns of candidates, in the table of a Scheduling and in the table of `candidates`.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The name of the Target"),
        Column::text("Rank", "The rank, from 1").integer(),
        Column::text(
            "Score",
            "The weighted total; if the system does not add scores, its scores in the order of precedence",
        ),
        Column::text(
            "Result",
            "Whether the Target is picked, fits but is not picked, is refused, or is out of scope",
        ),
        Column::text(
            "Reason",
            "The reason why the Target is refused, or why others rank higher",
        ),
        Column::text("Message", "The reasons as sentences").wide(),
        Column::text("Amount", "The amount of the Target, if the system divides one")
            .integer()
            .wide(),
    ]
}

/// The verdict on a candidate in the words of tables.
#[must_use]
pub const fn verdict(picked: bool, feasible: bool, out_of_scope: bool) -> &'static str {
    match (picked, feasible, out_of_scope) {
        (true, ..) => "picked",
        (_, true, _) => "not picked",
        (.., true) => "not to choose from",
        _ => "refused",
    }
}

/// Facts about a candidate for its row.
#[derive(Default)]
pub struct CandidateFacts<'a> {
    /// The name of the Target, or of the cluster where there is no Target.
    pub name: &'a str,
    /// The rank, or null.
    pub rank: Value,
    /// The score in one text ([`report::score_cell`]), or empty.
    pub score: String,
    /// The verdict in words ([`verdict`]).
    pub result: &'static str,
    /// Plugin, token and sentence of every refusal.
    pub reasons: Vec<[&'a str; 3]>,
    /// The amount that the candidate gets, or null.
    pub amount: Value,
}

impl<'a> CandidateFacts<'a> {
    /// Facts about `candidate`.
    #[must_use]
    pub fn of(candidate: &'a Candidate) -> Self {
        let rejections = candidate.rejections.iter();
        Self {
            name: match candidate.target.as_str() {
                "" => &candidate.cluster_name,
                target => target,
            },
            rank: candidate.rank.into(),
            score: report::score_cell(candidate.score, candidate.scores.iter().map(|score| score.value)),
            result: verdict(candidate.picked, candidate.feasible, candidate.out_of_scope),
            reasons: rejections
                .map(|entry| [&*entry.plugin, &*entry.reason, &entry.message])
                .collect(),
            amount: candidate.amount.into(),
        }
    }

    /// The cells under [`columns`].
    #[must_use]
    pub fn row(self) -> Vec<Cell> {
        let token = |[plugin, reason, _]: &[&str; 3]| match *plugin {
            "" => (*reason).to_owned(),
            plugin => format!("{plugin}/{reason}"),
        };
        let tokens: Vec<String> = self.reasons.iter().map(token).collect();
        let messages: Vec<&str> = self.reasons.iter().map(|[.., message]| *message).collect();
        vec![
            self.name.into(),
            Cell::Value(self.rank),
            self.score.into(),
            self.result.into(),
            tokens.join(",").into(),
            messages.join("; ").into(),
            Cell::Value(self.amount),
        ]
    }
}

/// The row of a decision without candidates.
#[must_use]
pub fn no_row(reason: &str, message: &str) -> Vec<Cell> {
    let none = || Cell::Value(Value::Null);
    vec![
        "<none>".into(),
        none(),
        none(),
        none(),
        reason.into(),
        message.into(),
        none(),
    ]
}
