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

/// The report of a decision in the wire format of this API.
pub type PublishedReport = Report<Vec<Candidate>, Vec<WriteEntry>, ShortAdvice>;

/// The decision that the scheduler would make about an object now, with all candidates and reasons. Reading a
/// Scheduling changes nothing; a Binding carries the decision out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scheduling<Status = PublishedReport> {
    /// The object to schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingSpec>,
    /// The decision, with all candidates and reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// Returns the schema of the `scheduling` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Scheduling>()
}

/// Returns the columns of candidates, for the table of a Scheduling and the table of `candidates`.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The name of the Target"),
        Column::text("Rank", "The rank, from 1").integer(),
        Column::text(
            "Score",
            "The weighted total; the scores in the order of precedence if the system does not add them",
        ),
        Column::text(
            "Result",
            "The verdict: picked, not picked (but fits), refused, or not to choose from (out of scope)",
        ),
        Column::text(
            "Reason",
            "The reason why the Target is refused, or why other Targets rank higher",
        ),
        Column::text("Message", "The reasons as sentences").wide(),
        Column::text("Amount", "The amount of the Target, if the system divides one")
            .integer()
            .wide(),
    ]
}

/// Returns the verdict on a candidate, in the words that tables use.
#[must_use]
pub const fn verdict(picked: bool, feasible: bool, out_of_scope: bool) -> &'static str {
    match (picked, feasible, out_of_scope) {
        (true, ..) => "picked",
        (_, true, _) => "not picked",
        (.., true) => "not to choose from",
        _ => "refused",
    }
}

/// The facts about a candidate that a row shows.
#[derive(Default)]
pub struct CandidateFacts<'a> {
    /// The name of the Target, or of the cluster if there is no Target.
    pub name: &'a str,
    /// The rank, or null.
    pub rank: Value,
    /// The score or scores as text ([`report::score_cell`]), or empty.
    pub score: String,
    /// The verdict in words ([`verdict`]).
    pub result: &'static str,
    /// Plugin, token and sentence of every refusal.
    pub reasons: Vec<[&'a str; 3]>,
    /// The amount that the candidate gets, or null.
    pub amount: Value,
}

impl<'a> CandidateFacts<'a> {
    /// Collects the facts about `candidate`.
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

    /// Returns the cells of the candidate for [`columns`].
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

/// Returns the row of a decision without candidates.
#[must_use]
pub fn empty_row(reason: &str, message: &str) -> Vec<Cell> {
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
