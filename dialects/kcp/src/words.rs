//! Sentences for codes, and other texts about a decision.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::{Decision, Outcome, report};
use berth_scheduling::{Ix, Reason};

use crate::code::Code;
use crate::condition::find;
use crate::detail::Detail;
use crate::fleet::{Fleet, NamespaceRecord, Row};
use crate::placement::{Form, State};
use crate::readiness::{self, ReportedConditions};

/// Whether all clusters that are refused for `reason` have equal sentences.
pub(crate) fn is_alike(reason: Reason) -> bool {
    match Code::of_reason(reason) {
        Code::NotInLocation | Code::Cordoned | Code::AlreadyPlaced => true,
        Code::OtherLocation | Code::NotReady | Code::Evicting => false,
    }
}

/// The sentence of a refusal. `locations` are the locations for which clusters are searched.
pub(crate) fn refusal(
    fleet: &Fleet,
    row: &Row,
    locations: &[Arc<str>],
    now: Timestamp,
    reason: Reason,
) -> String {
    match Code::of_reason(reason) {
        Code::NotInLocation => "the labels match the instanceSelector of no location".to_owned(),
        Code::OtherLocation if locations.is_empty() => {
            format!(
                "it is in {}; the namespace is in another location",
                locations_in_words(fleet, row)
            )
        }
        Code::OtherLocation => format!(
            "it is in {}; the namespace stays in {}",
            locations_in_words(fleet, row),
            locations.join(", ")
        ),
        Code::NotReady => readiness_text(row, now).1,
        Code::Cordoned => "it takes no new namespaces (spec.unschedulable)".to_owned(),
        Code::Evicting => {
            let since = berth_apimachinery::time::rfc3339(row.facts.evict_after);
            format!("namespaces must leave it since {since} (spec.evictAfter)")
        }
        Code::AlreadyPlaced => "the namespace is leaving it".to_owned(),
    }
}

/// The locations of a workload cluster in words, such as `location east`.
fn locations_in_words(fleet: &Fleet, row: &Row) -> String {
    let numbers = fleet.locations_of(row).iter();
    let mut names: Vec<&str> = numbers.map(|&number| &**fleet.numbers.name(number)).collect();
    names.sort_unstable();
    if let [name] = names[..] {
        format!("location {name}")
    } else {
        format!("locations {}", names.join(", "))
    }
}

/// The reason token and the sentence about the readiness of a workload cluster.
pub(crate) fn readiness_text(row: &Row, now: Timestamp) -> (&'static str, String) {
    if let Some(problem) = &row.record.problem {
        return (
            "Unreadable",
            format!("the WorkloadCluster cannot be read: {problem}"),
        );
    }
    let status = &row.record.view.status;
    match row.record.reported {
        ReportedConditions::False(part) => (
            "NotReady",
            readiness::false_condition_text(&status.conditions, part),
        ),
        ReportedConditions::Unknown => {
            let text = match find(&status.conditions, readiness::READY) {
                Some(_) => "condition Ready is Unknown",
                None => "condition Ready is missing, and no condition that it summarizes is True or False",
            };
            ("StatusUnknown", text.to_owned())
        }
        ReportedConditions::Nothing => ("ConditionMissing", "condition Ready is missing".to_owned()),
        ReportedConditions::Ready if now > row.facts.fresh_until => {
            let last = status
                .last_syncer_heartbeat_time
                .map(berth_apimachinery::time::rfc3339);
            (
                "HeartbeatStale",
                format!("no heartbeat of its syncer since {}", last.unwrap_or_default()),
            )
        }
        ReportedConditions::Ready => ("WorkloadClusterReady", "the cluster is ready".to_owned()),
    }
}

fn names(fleet: &Fleet, candidates: &[Ix]) -> String {
    let names: Vec<&str> = candidates
        .iter()
        .map(|&candidate| &*fleet.row(candidate).name)
        .collect();
    names.join(", ")
}

/// Reason why a namespace on the clusters in `held` gets no further cluster.
pub(crate) fn settled(fleet: &Fleet, held: &[Ix]) -> String {
    format!(
        "the namespace is on {} and gets no second workload cluster; it moves within its location when it must leave \
         that cluster, for example at spec.evictAfter",
        names(fleet, held)
    )
}

/// The token and the sentence for a feasible cluster that is not picked.
pub(crate) fn not_picked(fleet: &Fleet, decision: &Decision) -> (&'static str, String) {
    const TOKEN: &str = "NotChosen";
    let no_detail = Detail::default();
    let detail = decision.detail::<Detail>().unwrap_or(&no_detail);
    let chosen: Vec<Ix> = detail.chosen_in.iter().map(|&(_, candidate)| candidate).collect();
    let sentence = if detail.settled {
        format!("the namespace stays on {}", names(fleet, &decision.solved.picked))
    } else if chosen.is_empty() {
        "other workload clusters were asked for".to_owned()
    } else if detail.is_chosen {
        format!("{} was asked for", names(fleet, &chosen))
    } else {
        format!("{} was chosen at random", names(fleet, &chosen))
    };
    (TOKEN, sentence)
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let no_detail = Detail::default();
    let detail = decision.detail::<Detail>().unwrap_or(&no_detail);
    let record = fleet.namespace(&decision.demand);
    match decision.outcome {
        Outcome::Released if record.is_some_and(|record| record.deleting) => {
            let holders = record.map(|record| holders(fleet, record)).unwrap_or_default();
            match holders.is_empty() {
                true => "the namespace is being deleted; its workload clusters have released it".to_owned(),
                false => format!("the namespace is being deleted; {holders} must release it"),
            }
        }
        Outcome::Released => "the namespace is no longer placed and leaves its workload clusters".to_owned(),
        Outcome::Ignored => "scheduling is disabled by label; the placement stays as it is".to_owned(),
        Outcome::Invalid => {
            let problem = record.map(|record| match &record.reading.form {
                Form::Malformed(problem) => problem.clone(),
                _ => "has entries that are not valid".to_owned(),
            });
            let problem = problem.unwrap_or_default();
            format!(
                "the placement annotation {problem}; {}",
                feasible_count(fleet, decision)
            )
        }
        Outcome::Unchanged if detail.unmet.is_empty() => {
            format!(
                "placed on {}; nothing to do",
                names(fleet, &decision.solved.picked)
            )
        }
        _ => change_summary(fleet, decision, detail),
    }
}

/// The names of the workload clusters that have not yet released the namespace.
fn holders(fleet: &Fleet, record: &NamespaceRecord) -> String {
    let name = |identifier: &Arc<str>| match fleet.find_row(identifier) {
        Some((_, row)) => row.name.to_string(),
        None => format!("{identifier} (which no longer exists)"),
    };
    record.occupied().map(name).collect::<Vec<_>>().join(", ")
}

/// The number of feasible workload clusters in words.
fn feasible_count(fleet: &Fleet, decision: &Decision) -> String {
    let (count, all) = (decision.solved.feasible.len(), fleet.cluster_count());
    if all == 0 {
        return "there are no workload clusters".to_owned();
    }
    format!("{count} of {all} workload clusters feasible")
}

/// The summary of a decision that changes the placement, or lacks a cluster.
fn change_summary(fleet: &Fleet, decision: &Decision, detail: &Detail) -> String {
    let cause = (decision.outcome == Outcome::Unschedulable)
        .then(|| report::cause(fleet, decision))
        .flatten();
    let mut parts = match cause {
        Some(_) => Vec::new(),
        None => vec![feasible_count(fleet, decision)],
    };
    for (location, candidate) in &detail.chosen_in {
        parts.push(format!(
            "picked {} in location {location}",
            fleet.row(*candidate).name
        ));
    }
    if detail.chosen_in.is_empty() && !decision.solved.picked.is_empty() {
        parts.push(format!("kept {}", names(fleet, &decision.solved.picked)));
    }
    let leaving = decision
        .changes
        .iter()
        .filter(|change| change.to == State::Removing.as_str());
    let leaving: Vec<&str> = leaving
        .map(|change| match fleet.find_row(&change.cluster_name) {
            Some((_, row)) => &*row.name,
            None => &*change.cluster_name,
        })
        .collect();
    if !leaving.is_empty() {
        parts.push(format!("leaving {}", leaving.join(", ")));
    }
    if !detail.unmet.is_empty() {
        parts.push(format!(
            "no workload cluster to move to in location {}",
            detail.unmet.join(", ")
        ));
    }
    let text = parts.join("; ");
    match cause {
        Some(cause) if text.is_empty() => cause.to_string(),
        Some(cause) => format!("{text}. {cause}"),
        None if detail.chosen_in.is_empty() && !detail.settled => {
            format!("{text}{}", refusal_counts(decision))
        }
        None => text,
    }
}

/// The number of refusals for each reason, in the order of the filters, such as
/// `: 3 Ready/NotReady, 1 Eviction/Evicting`; empty without refusals.
fn refusal_counts(decision: &Decision) -> String {
    let mut counts = [0usize; Code::ALL.len()];
    for rejection in &decision.solved.rejections {
        counts[usize::from(rejection.reason.code)] += 1;
    }
    let parts: Vec<String> = Code::ALL
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(code, count)| format!("{count} {code}"))
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    }
}
