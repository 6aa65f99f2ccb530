//! Scheduling: what the scheduler would decide now, and every reason for it (docs/reference.md, "The scheduling
//! report").

use berth_apimachinery::{Cell, Column, Schema};
use berth_dialect_contract::Report;
use berth_dialect_contract::report::{self, Candidate, WriteEntry};
use schemars::JsonSchema;
use serde_json::Value;

use super::advice::ShortAdvice;
use super::shared::SchedulingSpec;

/// The report as it is published.
pub type Decided = Report<Vec<Candidate>, Vec<WriteEntry>, ShortAdvice>;

/// What the scheduler would decide about an object now, with every candidate and every reason. Reading it changes
/// nothing; binding the object does what it says.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Scheduling {
    /// What is decided.
    pub spec: Option<SchedulingSpec>,
    /// The decision.
    pub status: Option<Decided>,
}

/// The schema of the `scheduling` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Scheduling>()
}

/// The columns of candidates, in a Scheduling's table and in that of `candidates`.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The Target that is judged"),
        Column {
            r#type: "boolean",
            ..Column::text("Feasible", "Whether no plugin refuses it")
        },
        Column::text("Rank", "The place in the ranking, from 1").integer(),
        Column::text(
            "Score",
            "The weighted total; where the system adds nothing up, its scores in the order in which they decide",
        ),
        Column {
            r#type: "boolean",
            ..Column::text("Picked", "Whether it is in the resulting set")
        },
        Column::text("Reason", "Why it is refused, or why others rank higher"),
        Column::text("Message", "The reasons as sentences").wide(),
    ]
}

/// What a row of candidates shows of one.
pub struct Judged<'a> {
    /// The Target, or the cluster where there is none.
    pub name: &'a str,
    /// Whether no plugin refuses it.
    pub feasible: Value,
    /// The place in the ranking, or null.
    pub rank: Value,
    /// The score in one text ([`report::score_cell`]), or empty.
    pub score: String,
    /// Whether it is in the resulting set.
    pub picked: Value,
    /// Plugin, token and sentence of every refusal.
    pub reasons: Vec<[&'a str; 3]>,
}

impl<'a> Judged<'a> {
    /// What there is to show of `candidate`.
    #[must_use]
    pub fn of(candidate: &'a Candidate) -> Self {
        let rejections = candidate.rejections.iter();
        Self {
            name: match candidate.target.as_str() {
                "" => &candidate.cluster_name,
                target => target,
            },
            feasible: candidate.feasible.into(),
            rank: candidate.rank.into(),
            score: report::score_cell(candidate.score, candidate.scores.iter().map(|score| score.value)),
            picked: candidate.picked.into(),
            reasons: rejections
                .map(|entry| [entry.plugin, entry.reason, &entry.message])
                .collect(),
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
            Cell::Value(self.feasible),
            Cell::Value(self.rank),
            self.score.into(),
            Cell::Value(self.picked),
            tokens.join(",").into(),
            messages.join("; ").into(),
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
        none(),
        reason.into(),
        message.into(),
    ]
}
