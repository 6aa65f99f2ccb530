//! The results of a decision in the objects: the status of the policy snapshot, and the condition of the
//! placement (docs/systems/fleet.md, "What is written").

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
use crate::fulfilment::PolicyFulfilment;
use crate::kind::{ClusterDecision, ClusterScore};
use crate::names::{FULFILLED, MAX_DECISIONS, MAX_UNSELECTED, SCHEDULED, UNFULFILLED};
use crate::plan::{CurrentSnapshot, SnapshotPlan};
use crate::policy::{Mode, Policy};
use crate::scores::{CandidateRank, best_first};
use crate::words;
use crate::words::RefusalSentences;

/// The beginning of the message of every condition.
const FOUND: &str = "found ";

/// The beginnings of the dialect's messages of conditions. Any other message comes from another
/// controller, and is kept.
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
            Mode::All if selection.not_chosen.is_empty() && count == 0 => {
                (true, format!("{FOUND}no cluster that fits"))
            }
            Mode::All if selection.not_chosen.is_empty() => {
                (true, format!("{FOUND}{}, every one that fits", clusters(count)))
            }
            Mode::All => (false, format!("{FOUND}{}, and more would fit", clusters(count))),
            Mode::Number(wanted) => (
                count >= *wanted,
                format!("{FOUND}{count} of the {} asked for", clusters(*wanted)),
            ),
            Mode::Fixed(names) => return Self::of_names(names, selection, columns),
        };
        Self { fulfilled, message }
    }

    /// The fulfilment of a PickFixed policy with these `names` by `selection`.
    fn of_names(names: &[Arc<str>], selection: &Selection, columns: &Columns) -> Self {
        let is_picked = |name: &Arc<str>| {
            columns
                .candidate(name)
                .is_some_and(|candidate| selection.is_chosen(candidate))
        };
        let missing: Vec<&str> = names
            .iter()
            .filter(|name| !is_picked(name))
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
        Self {
            fulfilled: missing.is_empty(),
            message,
        }
    }

    /// The reason of the condition about the fulfilment.
    pub(crate) const fn reason(&self) -> &'static str {
        if self.fulfilled { FULFILLED } else { UNFULFILLED }
    }

    /// The status of the condition about the fulfilment: True or False.
    pub(crate) const fn status(&self) -> &'static str {
        if self.fulfilled { "True" } else { "False" }
    }
}

/// A number of clusters in words: `1 cluster`, `2 clusters`.
fn clusters(count: usize) -> String {
    if count == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{count} clusters")
    }
}

/// The scores of a candidate in the form in which bindings and snapshots record them.
pub(super) fn score(rank: &CandidateRank) -> ClusterScore {
    ClusterScore {
        affinity_score: Some(rank.affinity),
        priority_score: Some(rank.topology),
    }
}

/// The decisions in the status of the snapshot: first the selected clusters in the order of
/// [`Selection::status_order`], then the unselected clusters. For PickFixed, the latter are those of
/// [`missing`]; otherwise, at most 20 clusters of [`unselected`] are listed, as in KubeFleet. The API allows
/// 1,000 decisions in all. `cluster_decisions` are the decisions on the picks, in the order of the picks.
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
        .status_order
        .iter()
        .take(MAX_DECISIONS)
        .filter_map(|candidate| match fresh.get(candidate) {
            Some(decision) => Some((*decision).clone()),
            None => Classes::find(&classes.present, *candidate).map(kept),
        });
    let mut list: Vec<ClusterDecision> = selected.collect();
    let words = RefusalSentences::new(
        fleet,
        placement,
        Some(policy),
        &selection.skews,
        &selection.emptiest,
    );
    let limit = MAX_DECISIONS.saturating_sub(list.len());
    if let Mode::Fixed(names) = &policy.mode {
        list.extend(missing(names, selection, &words).into_iter().take(limit));
        return list;
    }
    list.extend(unselected(selection, &words, limit.min(MAX_UNSELECTED)));
    list
}

/// The first `limit` unselected clusters: feasible clusters with a lower rank, the best first, then refused
/// clusters by name, with all refusals.
fn unselected(selection: &Selection, words: &RefusalSentences<'_>, limit: usize) -> Vec<ClusterDecision> {
    let mut ranks: Vec<CandidateRank> = selection
        .not_chosen
        .iter()
        .map(|rank| rank.without_stickiness())
        .collect();
    best_first(&mut ranks);
    let lower_ranked = ranks.iter().map(|rank| ClusterDecision {
        cluster_name: selection.name(rank.candidate),
        selected: false,
        cluster_score: Some(score(rank)),
        reason: format!(
            "feasible, but selected clusters come first (affinity score {}, topology spread score {})",
            rank.affinity, rank.topology
        ),
    });
    let mut list: Vec<ClusterDecision> = lower_ranked.take(limit).collect();
    let mut rest = selection.solved.rejections.as_slice();
    while list.len() < limit
        && let Some(first) = rest.first()
    {
        let own = rest.partition_point(|rejection| rejection.candidate <= first.candidate);
        let (refusals, more) = rest.split_at(own);
        rest = more;
        if selection.is_chosen(first.candidate) {
            continue;
        }
        list.push(refused(selection.name(first.candidate), joined(words, refusals)));
    }
    list
}

/// The decision on a cluster whose binding stays, as the binding records it.
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

/// The decision against a cluster, for `reason`.
fn refused(cluster_name: String, reason: String) -> ClusterDecision {
    ClusterDecision {
        cluster_name,
        selected: false,
        cluster_score: None,
        reason,
    }
}

/// The unselected clusters that a PickFixed policy names: first the existing clusters, then the names without
/// a cluster, both in the order of the policy.
fn missing(names: &[Arc<str>], selection: &Selection, words: &RefusalSentences<'_>) -> Vec<ClusterDecision> {
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

/// The sentences of all `rejections` of one cluster as one text.
pub(super) fn joined(words: &RefusalSentences<'_>, rejections: &[Rejection]) -> String {
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
pub(super) fn snapshot_changes(
    plan: &SnapshotPlan,
    listed: &[ClusterDecision],
    fulfilment: &PolicyFulfilment,
    record: &PlacementRecord,
) -> bool {
    let CurrentSnapshot::Known(snapshot, _) = &plan.current else {
        return true;
    };
    let status = &snapshot.status;
    let same_condition = condition(&status.conditions, SCHEDULED).is_some_and(|known| {
        known.status == fulfilment.status()
            && known.reason == fulfilment.reason()
            && SENTENCES.keeps(&known.message, &fulfilment.message)
            && known.observed_generation == Some(snapshot.object.meta().generation())
    });
    status.observed_generation != Some(record.object.meta().generation())
        || !same_condition
        || !is_equal(&status.target_clusters, listed)
}

/// Whether two lists contain the same decisions, in any order.
fn is_equal(stored: &[ClusterDecision], listed: &[ClusterDecision]) -> bool {
    fn by_name(list: &[ClusterDecision]) -> BTreeMap<&str, &ClusterDecision> {
        list.iter()
            .map(|decision| (decision.cluster_name.as_str(), decision))
            .collect()
    }
    stored == listed || (stored.len() == listed.len() && by_name(stored) == by_name(listed))
}

/// Whether the condition of the placement must be written.
pub(super) fn placement_changes(record: &PlacementRecord, fulfilment: &PolicyFulfilment) -> bool {
    condition(&record.conditions, record.form.scheduled_condition).is_none_or(|known| {
        known.status != fulfilment.status()
            || known.reason != fulfilment.reason()
            || known.observed_generation != Some(record.object.meta().generation())
            || !SENTENCES.keeps(&known.message, &fulfilment.message)
    })
}
