//! The difference of two reports: clusters with another verdict, amount or score, and added and removed
//! reasons.
//!
//! Pure, over two [`Report`]s of one demand: before and after a change, yesterday and today, one fleet and
//! another. Ranks are not compared, since one better cluster changes every rank below. Of the reasons why
//! feasible clusters are not picked, only the tokens are compared, since the sentences are about the picked
//! clusters.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::{Candidate, Pick, RejectionEntry, Report, Score};

/// A changed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueChange<T> {
    /// The value before.
    pub from: T,
    /// The value after.
    pub to: T,
}

impl<T: PartialEq> ValueChange<T> {
    /// The change from `from` to `to`; `None` if they are equal.
    #[must_use]
    pub fn of(from: T, to: T) -> Option<Self> {
        (from != to).then_some(Self { from, to })
    }
}

/// The verdict of a report on one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The cluster was not considered: it does not exist, or nothing was decided.
    Absent,
    /// A filter refuses the cluster.
    Refused,
    /// The cluster fits and is not picked: other clusters were preferred, or enough.
    Feasible,
    /// The cluster is in the resulting set.
    Picked,
}

impl Verdict {
    /// The verdict on `candidate`.
    #[must_use]
    pub fn of(candidate: &Candidate) -> Self {
        match (candidate.picked, candidate.feasible) {
            (true, _) => Self::Picked,
            (false, true) => Self::Feasible,
            (false, false) => Self::Refused,
        }
    }

    /// The verdict as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "Absent",
            Self::Refused => "Refused",
            Self::Feasible => "Feasible",
            Self::Picked => "Picked",
        }
    }
}

/// The change of the part that one scorer has in the score of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScoreDifference {
    /// The scorer.
    pub plugin: String,
    /// Value times weight, before; absent if the scorer had no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Value times weight, after; absent if the scorer has no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// Differences about one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateDifference {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// The name of the Target object, where there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The change of the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ValueChange<Verdict>>,
    /// The change of the amount of the cluster, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<ValueChange<Option<i64>>>,
    /// The change of the weighted total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<ValueChange<Option<i64>>>,
    /// The scorers whose part in the score changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<ScoreDifference>,
    /// The reasons that only the later report has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appeared: Vec<RejectionEntry>,
    /// The reasons that only the earlier report has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<RejectionEntry>,
}

/// Numbers of clusters with a difference, by the kind of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Number of newly picked clusters.
    pub picked: usize,
    /// Number of clusters that are no longer picked.
    pub dropped: usize,
    /// Number of newly feasible clusters, picked or not.
    pub fits: usize,
    /// Number of clusters that were feasible or picked, and are now refused or absent.
    pub refused: usize,
    /// Number of clusters that are picked before and after, with another amount.
    pub resized: usize,
    /// Number of clusters with the same verdict and other scores.
    pub rescored: usize,
}

/// Differences between two reports on one demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The change of the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ValueChange<String>>,
    /// The change of the reason, a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<ValueChange<String>>,
    /// The change of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<ValueChange<String>>,
    /// Numbers of clusters in `candidates`, by the kind of change.
    pub counts: Counts,
    /// The clusters with a difference, by name.
    pub candidates: Vec<CandidateDifference>,
}

impl Difference {
    /// Whether the reports are equal for the demand and for every cluster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outcome.is_none()
            && self.reason.is_none()
            && self.message.is_none()
            && self.candidates.is_empty()
    }
}

/// Compares two reports on one demand.
#[must_use]
pub fn difference(before: &Report, after: &Report) -> Difference {
    let candidates = candidate_differences(&listed_candidates(before), &listed_candidates(after));
    Difference {
        outcome: ValueChange::of(before.outcome.to_string(), after.outcome.to_string()),
        reason: ValueChange::of(before.reason.to_string(), after.reason.to_string()),
        message: ValueChange::of(before.message.clone(), after.message.clone()),
        counts: Counts::of(&candidates),
        candidates,
    }
}

/// The candidates of a report, and the clusters to create, which are picked but are not candidates.
fn listed_candidates(report: &Report) -> Vec<Candidate> {
    let mut list = report.candidates.clone();
    let known: std::collections::BTreeSet<&str> = report
        .candidates
        .iter()
        .map(|candidate| &*candidate.cluster_name)
        .collect();
    let created = report
        .picked
        .iter()
        .filter(|pick| !known.contains(&*pick.cluster_name));
    list.extend(created.map(created_candidate));
    list
}

fn created_candidate(pick: &Pick) -> Candidate {
    Candidate {
        cluster_name: pick.cluster_name.clone(),
        target: pick.target.clone(),
        feasible: true,
        out_of_scope: false,
        picked: true,
        amount: pick.amount,
        rank: pick.rank,
        score: pick.score,
        scores: pick.scores.clone(),
        rejections: Vec::new(),
    }
}

/// Compares two lists of candidates of one demand, by name. A cluster that only one list has is
/// [`Verdict::Absent`] in the other list.
#[must_use]
pub fn candidate_differences(before: &[Candidate], after: &[Candidate]) -> Vec<CandidateDifference> {
    let mut pairs: BTreeMap<&str, (Option<&Candidate>, Option<&Candidate>)> = BTreeMap::new();
    for candidate in before {
        pairs.entry(&candidate.cluster_name).or_default().0 = Some(candidate);
    }
    for candidate in after {
        pairs.entry(&candidate.cluster_name).or_default().1 = Some(candidate);
    }
    pairs
        .into_iter()
        .filter_map(|(name, (from, to))| candidate_difference(name, from, to))
        .collect()
}

fn candidate_difference(
    name: &str,
    from: Option<&Candidate>,
    to: Option<&Candidate>,
) -> Option<CandidateDifference> {
    let verdict = |side: Option<&Candidate>| side.map_or(Verdict::Absent, Verdict::of);
    let target = |side: Option<&Candidate>| side.map(|candidate| candidate.target.clone());
    let (old, new) = (reasons(from), reasons(to));
    let only = |these: &[&RejectionEntry], others: &[&RejectionEntry]| -> Vec<RejectionEntry> {
        let differs = |entry: &&&RejectionEntry| !others.iter().any(|other| same_reason(entry, other));
        these.iter().filter(differs).map(|&entry| entry.clone()).collect()
    };
    let changes = CandidateDifference {
        cluster_name: name.to_owned(),
        target: target(to)
            .filter(|name| !name.is_empty())
            .or(target(from))
            .unwrap_or_default(),
        verdict: ValueChange::of(verdict(from), verdict(to)),
        amount: ValueChange::of(
            from.and_then(|candidate| candidate.amount),
            to.and_then(|candidate| candidate.amount),
        ),
        score: ValueChange::of(
            from.and_then(|candidate| candidate.score),
            to.and_then(|candidate| candidate.score),
        ),
        scores: score_differences(
            from.map_or(&[], |candidate| &candidate.scores),
            to.map_or(&[], |candidate| &candidate.scores),
        ),
        appeared: only(&new, &old),
        gone: only(&old, &new),
    };
    let is_equal = changes.verdict.is_none()
        && changes.amount.is_none()
        && changes.score.is_none()
        && changes.scores.is_empty()
        && changes.appeared.is_empty()
        && changes.gone.is_empty();
    (!is_equal).then_some(changes)
}

fn reasons(side: Option<&Candidate>) -> Vec<&RejectionEntry> {
    side.map_or(Vec::new(), |candidate| candidate.rejections.iter().collect())
}

/// Whether two reasons are equal. A reason without a plugin is the reason of a feasible cluster that was not
/// picked. Its sentence is about the picked clusters, and is not compared.
fn same_reason(one: &RejectionEntry, other: &RejectionEntry) -> bool {
    one.plugin == other.plugin
        && one.reason == other.reason
        && (one.plugin.is_empty() || one.message == other.message)
}

fn score_differences(before: &[Score], after: &[Score]) -> Vec<ScoreDifference> {
    let mut pairs: BTreeMap<&str, (Option<i64>, Option<i64>)> = BTreeMap::new();
    for score in before {
        pairs.entry(&score.plugin).or_default().0 = Some(score.weighted);
    }
    for score in after {
        pairs.entry(&score.plugin).or_default().1 = Some(score.weighted);
    }
    let differs = |(_, (from, to)): &(&str, (Option<i64>, Option<i64>))| from != to;
    pairs
        .into_iter()
        .filter(differs)
        .map(|(plugin, (from, to))| ScoreDifference {
            plugin: plugin.to_owned(),
            from,
            to,
        })
        .collect()
}

impl Counts {
    fn of(candidates: &[CandidateDifference]) -> Self {
        let mut counts = Self::default();
        for candidate in candidates {
            let Some(ValueChange { from, to }) = candidate.verdict else {
                counts.resized += usize::from(candidate.amount.is_some());
                counts.rescored += usize::from(candidate.score.is_some() || !candidate.scores.is_empty());
                continue;
            };
            counts.picked += usize::from(to == Verdict::Picked);
            counts.dropped += usize::from(from == Verdict::Picked);
            counts.fits += usize::from(from < Verdict::Feasible && to >= Verdict::Feasible);
            counts.refused += usize::from(from >= Verdict::Feasible && to < Verdict::Feasible);
        }
        counts
    }
}

#[cfg(test)]
mod tests;
