//! Sentences about a decision, made only when someone reads it.

use std::fmt;

use dialect_contract::{Action, Decision, Outcome};
use meta::selector::Selector;
use scheduling::{Ix, Reason, Solved};

use crate::columns::Columns;
use crate::columns::taints::Tainted;
use crate::detail::Detail;
use crate::evaluate::Evaluator;
use crate::filters::{FILTERS, REASONS};
use crate::fleet::Fleet;
use crate::names::SET_LABEL;
use crate::policy::{Policy, Predicate};

/// Cluster names a summary lists at most.
const LISTED: usize = 10;

/// The token of a refusal by the filter `plugin`.
pub(crate) fn token(plugin: u16) -> &'static str {
    REASONS[usize::from(plugin)]
}

/// The sentence of a refusal.
pub(crate) fn refusal(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    plugin: u16,
    reason: Reason,
) -> String {
    let detail = decision.detail::<Detail>();
    let policy = detail.and_then(|detail| detail.policy.as_deref());
    sentence(fleet.columns(), policy, candidate, plugin, reason)
}

/// What the sentence of a refusal by `plugin` takes from the candidate, as a number; `None` where that is not known.
pub(crate) fn alike(fleet: &Fleet, decision: &Decision, candidate: Ix, plugin: u16) -> Option<u32> {
    match plugin {
        1 => Some(0),
        2 => {
            let policy = decision.detail::<Detail>()?.policy.as_deref()?;
            let predicates = policy.predicates.as_deref().ok()?;
            predicates
                .iter()
                .all(Predicate::asks_for_labels_only)
                .then_some(0)
        }
        3 => match fleet.columns().taints.of(candidate) {
            Tainted::Like(list) => Some(list),
            Tainted::Not | Tainted::Somehow => None,
        },
        _ => None,
    }
}

/// Every refusal of `candidate` as one text: what a choice of targets answers.
pub(crate) fn refusals(columns: &Columns, policy: &Policy, solved: &Solved, candidate: Ix) -> String {
    let lines: Vec<String> = solved
        .rejections_of(candidate)
        .iter()
        .map(|rejection| {
            let plugin = usize::from(rejection.plugin);
            let text = sentence(
                columns,
                Some(policy),
                candidate,
                rejection.plugin,
                rejection.reason,
            );
            format!("{}/{}: {text}", FILTERS[plugin], REASONS[plugin])
        })
        .collect();
    lines.join("; ")
}

fn sentence(
    columns: &Columns,
    policy: Option<&Policy>,
    candidate: Ix,
    plugin: u16,
    reason: Reason,
) -> String {
    let row = columns.row(candidate);
    match plugin {
        0 => match row.labels().get(SET_LABEL) {
            Some(set) => {
                format!("the cluster is in none of the sets to choose from; its set label names \"{set}\"")
            }
            None => "the cluster is in none of the sets to choose from and has no set label".to_owned(),
        },
        1 => "the cluster is being deleted".to_owned(),
        2 => {
            let predicates = policy.and_then(|policy| policy.predicates.as_deref().ok());
            let unmatched = Unmatched {
                predicates: predicates.unwrap_or_default(),
                columns,
                candidate,
            };
            unmatched.to_string()
        }
        _ => match row.taints().get(reason.detail as usize) {
            Some(taint) if taint.value.is_empty() => {
                format!("the taint {}:{} is not tolerated", taint.key, taint.effect)
            }
            Some(taint) => format!(
                "the taint {}={}:{} is not tolerated",
                taint.key, taint.value, taint.effect
            ),
            None => "a taint is not tolerated".to_owned(),
        },
    }
}

/// What each predicate asks for that a cluster does not have. Of a large fleet most refusals are these, so that nothing is made
/// in between.
struct Unmatched<'a> {
    predicates: &'a [Predicate],
    columns: &'a Columns,
    candidate: Ix,
}

impl fmt::Display for Unmatched<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut evaluator = Evaluator::default();
        for (index, predicate) in self.predicates.iter().enumerate() {
            let between = if index > 0 { "; " } else { "" };
            let asked = mismatch(predicate, self.columns, self.candidate, &mut evaluator);
            write!(f, "{between}predicates[{index}] {asked}")?;
        }
        Ok(())
    }
}

/// What a predicate asks for and a cluster does not have.
enum Asked<'a> {
    Nothing,
    Labels(&'a Selector),
    Claims(&'a Selector),
    Expression(&'a str),
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("matches"),
            Self::Labels(selector) => write!(f, "asks for labels {selector}"),
            Self::Claims(selector) => write!(f, "asks for claims {selector}"),
            Self::Expression(source) => write!(f, "asks for {source}"),
        }
    }
}

/// The first part of `predicate`, which refuses the cluster, that does not match.
fn mismatch<'a>(
    predicate: &'a Predicate,
    columns: &Columns,
    candidate: Ix,
    evaluator: &mut Evaluator,
) -> Asked<'a> {
    // Where labels are all that it asks for, the cluster need not be looked at again: it has been refused.
    if predicate.asks_for_labels_only() {
        return Asked::Labels(&predicate.labels);
    }
    let row = columns.row(candidate);
    if !predicate.labels.matches(row.labels()) {
        return Asked::Labels(&predicate.labels);
    }
    if !predicate.claims.matches(&row.claims) {
        return Asked::Claims(&predicate.claims);
    }
    let mut expressions = predicate.expressions.iter();
    let failed = expressions.find(|(_, expression)| !evaluator.holds(expression, columns, candidate));
    failed.map_or(Asked::Nothing, |(source, _)| Asked::Expression(source))
}

/// The token and the sentence for a feasible cluster that is not picked.
pub(crate) fn not_picked(decision: &Decision, rank: Option<usize>) -> (&'static str, String) {
    let picked = decision.solved.picked.len();
    let text = match rank {
        Some(rank) => format!(
            "ranks {rank} of {}, and {picked} are selected",
            decision.solved.ranked.len()
        ),
        None => format!("{picked} other clusters are selected"),
    };
    ("LowerRank", text)
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let detail = decision.detail::<Detail>();
    match decision.outcome {
        Outcome::Released => {
            return format!(
                "the placement is being deleted and lets go of {}",
                names(decision.current.iter().map(|entry| &*entry.cluster_name))
            );
        }
        Outcome::Ignored => return "scheduling is disabled by the annotation on the placement".to_owned(),
        Outcome::Invalid => {
            let problem = detail
                .and_then(|detail| detail.problem.as_ref())
                .map(|problem| problem.message());
            return problem.unwrap_or_default() + &kept(decision);
        }
        _ => {}
    }
    let columns = fleet.columns();
    let feasible = decision.solved.feasible.len();
    let in_scope = detail.map_or(0, |detail| detail.in_scope);
    let counts = format!("{feasible} of {in_scope} clusters in the bound sets feasible");
    if decision.solved.picked.is_empty() {
        let why = detail
            .and_then(|detail| detail.satisfied.as_ref())
            .map(|satisfied| satisfied.message.as_str());
        return format!("{counts}; {}", why.unwrap_or_default());
    }
    let rows = decision
        .solved
        .picked
        .iter()
        .map(|&candidate| &*columns.row(candidate).name);
    format!("{counts}; picked {}", names(rows))
}

/// What becomes of the clusters of a placement that cannot be understood.
fn kept(decision: &Decision) -> String {
    let of = |action: Action| -> Vec<&str> {
        let changes = decision.changes.iter().filter(|change| change.action == action);
        changes.map(|change| &*change.cluster_name).collect()
    };
    let (stay, go) = (of(Action::Keep), of(Action::Unbind));
    let mut text = String::new();
    if !stay.is_empty() {
        text.push_str(&format!(
            "; until that is mended it keeps {}",
            names(stay.into_iter())
        ));
    }
    if !go.is_empty() {
        text.push_str(&format!(
            "; it lets go of {}, gone or being deleted",
            names(go.into_iter())
        ));
    }
    text
}

/// The first names, and how many more there are.
fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = all.len();
    if count == 0 {
        return "no cluster".to_owned();
    }
    let first: Vec<&str> = all.take(LISTED).collect();
    let more = if count > LISTED {
        format!(" and {} more", count - LISTED)
    } else {
        String::new()
    };
    format!("{}{more}", first.join(", "))
}
