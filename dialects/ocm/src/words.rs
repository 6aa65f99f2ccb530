//! Sentences about a decision, made only when someone reads it.

use dialect_contract::{Decision, Outcome};
use meta::selector::Selector;
use scheduling::{Ix, Reason, Solved};

use crate::cel::Evaluator;
use crate::columns::Columns;
use crate::decide::detail::Detail;
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
    let policy = fleet
        .placements
        .get(&decision.demand)
        .map(|record| &*record.policy);
    sentence(fleet.columns(), policy, candidate, plugin, reason)
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
            let predicates = policy
                .and_then(|policy| policy.predicates.as_deref().ok())
                .unwrap_or_default();
            let mut evaluator = Evaluator::default();
            let parts: Vec<String> = predicates
                .iter()
                .enumerate()
                .map(|(index, predicate)| {
                    format!(
                        "predicates[{index}] {}",
                        mismatch(predicate, columns, candidate, &mut evaluator)
                    )
                })
                .collect();
            parts.join("; ")
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

/// The first part of `predicate` that does not match.
fn mismatch(predicate: &Predicate, columns: &Columns, candidate: Ix, evaluator: &mut Evaluator) -> String {
    let row = columns.row(candidate);
    let asks = |what: &str, selector: &Selector| format!("asks for {what} {selector}");
    if !predicate.labels.matches(row.labels()) {
        return asks("labels", &predicate.labels);
    }
    if !predicate.claims.matches(&row.claims) {
        return asks("claims", &predicate.claims);
    }
    let failed = predicate
        .expressions
        .iter()
        .find(|(_, expression)| !evaluator.holds(expression, columns, candidate));
    failed.map_or_else(
        || "matches".to_owned(),
        |(source, _)| format!("asks for {source}"),
    )
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
            return problem.unwrap_or_default();
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
