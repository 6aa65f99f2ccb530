//! The status of the snapshot and the condition of the placement (docs/systems/fleet.md, "What is written").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_apimachinery::types::condition;
use berth_dialect_contract::listing;
use berth_dialect_contract::wording::Sentences;
use berth_scheduling::{Ix, Rejection};

use super::classify::Classes;
use super::selection::Selection;
use crate::code::{self, Code, Plugin};
use crate::columns::Columns;
use crate::fleet::Fleet;
use crate::fleet::record::{BindingRecord, PlacementRecord};
use crate::kind::{ClusterDecision, ClusterScore};
use crate::names::{DECISIONS_LISTED, FULFILLED, SCHEDULED, UNFULFILLED, UNSELECTED_LISTED};
use crate::plan::{CurrentSnapshot, SnapshotPlan};
use crate::policy::{Mode, Policy};
use crate::satisfied::PolicyFulfilment;
use crate::scores::{CandidateRank, best_first};
use crate::words;
use crate::words::Words;

/// The beginning of every message of a condition.
const FOUND: &str = "found ";

const SENTENCES: Sentences = Sentences(&[
    "found # cluster",
    "found no cluster that fits",
    "found # of the #",
]);

impl PolicyFulfilment {
    /// The fulfilment of `policy` by `selection`.
    pub(super) fn of(policy: &Policy, selection: &Selection, columns: &Columns) -> Self {
        let count = selection.kept.len() + selection.picks.len();
        let (fulfilled, message) = match &policy.mode {
            Mode::All if selection.others.is_empty() && count == 0 => {
                (true, format!("{FOUND}no cluster that fits"))
            }
            Mode::All if selection.others.is_empty() => {
                (true, format!("{FOUND}{}, every one that fits", clusters(count)))
            }
            Mode::All => (false, format!("{FOUND}{}, and more would fit", clusters(count))),
            Mode::Number(wanted) => (
                count >= *wanted,
                format!("{FOUND}{count} of the {} asked for", clusters(*wanted)),
            ),
            Mode::Fixed(names) => {
                let chosen: Vec<Ix> = selection.solved.picked.clone();
                let missing: Vec<&str> = names
                    .iter()
                    .filter(|name| {
                        !columns
                            .candidate(name)
                            .is_some_and(|named| chosen.contains(&named))
                    })
                    .map(|name| &**name)
                    .collect();
                let mut message = format!(
                    "{FOUND}{} of the {} named",
                    names.len() - missing.len(),
                    clusters(names.len())
                );
                if !missing.is_empty() {
                    message.push_str(&format!(
                        "; missing {}",
                        listing::clusters(missing.iter().copied())
                    ));
                }
                (missing.is_empty(), message)
            }
        };
        Self { fulfilled, message }
    }

    /// The reason of the condition.
    pub(crate) const fn reason(&self) -> &'static str {
        if self.fulfilled { FULFILLED } else { UNFULFILLED }
    }

    /// The status of the condition.
    pub(crate) const fn status(&self) -> &'static str {
        if self.fulfilled { "True" } else { "False" }
    }
}

fn clusters(count: usize) -> String {
    if count == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{count} clusters")
    }
}

/// The scores as they are recorded.
pub(super) fn score(standing: &CandidateRank) -> ClusterScore {
    ClusterScore {
        affinity_score: Some(standing.affinity),
        priority_score: Some(standing.topology),
    }
}

/// The decisions in the status: first selected clusters in the order of [`Selection::recorded`], then
/// feasible clusters that ranked too low, by scores, then refused clusters by name, with all refusals. For
/// PickFixed, the unselected clusters are those of [`missing`]. The API allows 1,000 decisions in all. Except
/// for PickFixed, at most 20 unselected clusters are listed, as in KubeFleet.
pub(super) fn listed(
    fleet: &Fleet,
    placement: &Key,
    policy: &Policy,
    selection: &Selection,
    classes: &Classes<'_>,
    cluster_decisions: &[ClusterDecision],
) -> Vec<ClusterDecision> {
    let fresh: HashMap<Ix, &ClusterDecision> = selection
        .picks
        .iter()
        .map(|pick| pick.candidate)
        .zip(cluster_decisions)
        .collect();
    let selected = selection
        .recorded
        .iter()
        .take(DECISIONS_LISTED)
        .filter_map(|candidate| match fresh.get(candidate) {
            Some(decision) => Some((*decision).clone()),
            None => Classes::find(&classes.present, *candidate).map(kept),
        });
    let mut list: Vec<ClusterDecision> = selected.collect();
    let words = Words::new(
        fleet,
        placement,
        Some(policy),
        &selection.skews,
        &selection.emptiest,
    );
    let limit = DECISIONS_LISTED.saturating_sub(list.len());
    if let Mode::Fixed(names) = &policy.mode {
        list.extend(missing(names, selection, &words).into_iter().take(limit));
        return list;
    }
    let limit = limit.min(UNSELECTED_LISTED);
    let mut others: Vec<CandidateRank> = selection
        .others
        .iter()
        .map(|other| other.without_stickiness())
        .collect();
    best_first(&mut others);
    let lower_ranked = others.iter().map(|standing| ClusterDecision {
        cluster_name: selection.name(standing.candidate),
        selected: false,
        cluster_score: Some(score(standing)),
        reason: format!(
            "feasible, but selected clusters come first (affinity score {}, topology spread score {})",
            standing.affinity, standing.topology
        ),
    });
    let mut unselected: Vec<ClusterDecision> = lower_ranked.take(limit).collect();
    let mut rest = selection.solved.rejections.as_slice();
    while unselected.len() < limit
        && let Some(first) = rest.first()
    {
        let own = rest.partition_point(|rejection| rejection.candidate <= first.candidate);
        let (refusals, more) = rest.split_at(own);
        rest = more;
        if selection.is_chosen(first.candidate) {
            continue;
        }
        unselected.push(refused(selection.name(first.candidate), joined(&words, refusals)));
    }
    list.extend(unselected);
    list
}

/// The recorded decision of a binding that stays.
fn kept(binding: &Arc<BindingRecord>) -> ClusterDecision {
    let recorded = &binding.decision;
    let reason = if recorded.reason.is_empty() {
        "picked by scheduling policy".to_owned()
    } else {
        recorded.reason.clone()
    };
    ClusterDecision {
        cluster_name: binding.cluster.to_string(),
        selected: true,
        cluster_score: recorded.cluster_score,
        reason,
    }
}

fn refused(cluster_name: String, reason: String) -> ClusterDecision {
    ClusterDecision {
        cluster_name,
        selected: false,
        cluster_score: None,
        reason,
    }
}

/// The unselected clusters that a PickFixed policy names: first those that exist, then those that do not,
/// both in the order of the policy.
fn missing(names: &[Arc<str>], selection: &Selection, words: &Words<'_>) -> Vec<ClusterDecision> {
    let known = names
        .iter()
        .filter_map(|name| Some((name, selection.columns.candidate(name)?)));
    let ineligible = known
        .filter(|(_, candidate)| !selection.is_chosen(*candidate))
        .map(|(name, candidate)| {
            let refusals = selection.solved.rejections_of(candidate);
            let reason = if refusals.is_empty() {
                "eligible, but not chosen by the binding request".to_owned()
            } else {
                joined(words, refusals)
            };
            refused(name.to_string(), reason)
        });
    let unknown = selection.unknown.iter().map(|name| {
        refused(
            name.to_string(),
            format!("{}: {}", Code::NotFound, words::not_found(name)),
        )
    });
    ineligible.chain(unknown).collect()
}

/// All refusals as one text.
pub(super) fn joined(words: &Words<'_>, rejections: &[Rejection]) -> String {
    let lines = rejections.iter().map(|rejection| {
        let plugin = Plugin::of_rejection(rejection).name();
        let token = code::token(rejection.reason);
        let sentence = words.refusal(rejection.candidate, rejection.reason);
        format!("{plugin}/{token}: {sentence}")
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Whether the status of the snapshot must be written. The order of the decisions and the time of the
/// condition do not matter.
pub(super) fn changes(
    plan: &SnapshotPlan,
    listed: &[ClusterDecision],
    satisfied: &PolicyFulfilment,
    record: &PlacementRecord,
) -> bool {
    let CurrentSnapshot::Known(snapshot, _) = &plan.current else {
        return true;
    };
    let status = &snapshot.status;
    let same_condition = condition(&status.conditions, SCHEDULED).is_some_and(|known| {
        known.status == satisfied.status()
            && known.reason == satisfied.reason()
            && SENTENCES.leave(&known.message, &satisfied.message)
            && known.observed_generation == Some(snapshot.object.meta().generation())
    });
    status.observed_generation != Some(record.object.meta().generation())
        || !same_condition
        || !alike(&status.target_clusters, listed)
}

/// Whether two lists have the same decisions.
fn alike(stored: &[ClusterDecision], listed: &[ClusterDecision]) -> bool {
    fn by_name(list: &[ClusterDecision]) -> BTreeMap<&str, &ClusterDecision> {
        list.iter()
            .map(|decision| (decision.cluster_name.as_str(), decision))
            .collect()
    }
    stored == listed || (stored.len() == listed.len() && by_name(stored) == by_name(listed))
}

/// Whether the condition of the placement must be written.
pub(super) fn placement_changes(record: &PlacementRecord, satisfied: &PolicyFulfilment) -> bool {
    condition(&record.conditions, record.form.scheduled).is_none_or(|known| {
        known.status != satisfied.status()
            || known.reason != satisfied.reason()
            || known.observed_generation != Some(record.object.meta().generation())
            || !SENTENCES.leave(&known.message, &satisfied.message)
    })
}
