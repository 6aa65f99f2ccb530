//! Affinity scores by preferred terms, and the ranks of candidates (docs/systems/fleet.md, "Ranking").

use std::cmp::{Ordering, Reverse};

use berth_scheduling::{Ix, Scorer};

use crate::columns::Columns;
use crate::policy::{PreferredTerm, Sorter};

berth_scheduling::names! {
    /// A criterion by which candidates are ranked. Each criterion only decides among candidates that are
    /// equal by all earlier criteria.
    pub(crate) enum RankCriterion {
        /// The topology spread score.
        Spread = "TopologySpreadConstraints",
        /// The affinity score.
        Affinity = "ClusterAffinity",
        /// Whether the cluster has a binding by an older policy snapshot.
        Sticky = "SamePlacementAntiAffinity",
    }
}

impl RankCriterion {
    /// The value of a candidate with `rank` by this criterion.
    pub(crate) fn value(self, rank: &CandidateRank) -> i32 {
        match self {
            Self::Spread => rank.topology,
            Self::Affinity => rank.affinity,
            Self::Sticky => i32::from(rank.sticky),
        }
    }
}

/// The affinity score of every cluster: the sum of the weights of the preferred terms that match the cluster,
/// each scaled by the property of the term, if any.
pub(crate) fn affinity(preferred: &[PreferredTerm], columns: &Columns) -> Vec<i32> {
    let mut sums = vec![0_i32; columns.count() as usize];
    for term in preferred {
        let matching = columns.labels.select(&term.labels, columns.count());
        let Some(sorter) = &term.sorter else {
            for candidate in matching.iter() {
                let sum = &mut sums[candidate as usize];
                *sum = sum.saturating_add(term.weight);
            }
            continue;
        };
        for (candidate, share) in shares(sorter, term.weight, columns) {
            if matching.has(candidate) {
                let sum = &mut sums[candidate as usize];
                *sum = sum.saturating_add(share);
            }
        }
    }
    sums
}

/// The share of `weight` that each cluster with the property of `sorter` gets. The largest and the smallest
/// value are those of all clusters, including refused clusters. Empty if all values are equal.
fn shares(sorter: &Sorter, weight: i32, columns: &Columns) -> Vec<(Ix, i32)> {
    let values: Vec<(Ix, f64)> = columns
        .property(&sorter.name)
        .into_iter()
        .flatten()
        .map(|(&candidate, amount)| (candidate, amount.near))
        .collect();
    let least = values
        .iter()
        .map(|(_, value)| *value)
        .fold(f64::INFINITY, f64::min);
    let most = values
        .iter()
        .map(|(_, value)| *value)
        .fold(f64::NEG_INFINITY, f64::max);
    if least >= most {
        return Vec::new();
    }
    let share = |value: f64| {
        let ratio = (value - least) / (most - least);
        let part = if sorter.descending { ratio } else { 1.0 - ratio };
        round(part * f64::from(weight))
    };
    values
        .into_iter()
        .map(|(candidate, value)| (candidate, share(value)))
        .collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a share is between -100 and 100")]
fn round(share: f64) -> i32 {
    share.round() as i32
}

/// The rank of a candidate. The greater of two ranks is the better rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CandidateRank {
    /// The topology spread score.
    pub(crate) topology: i32,
    /// The affinity score.
    pub(crate) affinity: i32,
    /// Whether the cluster has a binding by an older policy snapshot.
    pub(crate) sticky: bool,
    /// The candidate. Candidates are numbered in the order of names; among otherwise equal ranks, the later
    /// name is better.
    pub(crate) candidate: Ix,
}

impl CandidateRank {
    /// The rank without stickiness, which no object records.
    pub(crate) const fn without_stickiness(self) -> Self {
        Self {
            sticky: false,
            ..self
        }
    }

    /// The fields as one number, with the first field in the highest bits, so that a comparison takes one or
    /// two instructions.
    fn key(self) -> u128 {
        // Flipping the sign bit orders negative numbers below positive ones.
        let ordered = |score: i32| u128::from(score.cast_unsigned() ^ (1 << 31));
        let last = u128::from(self.sticky) << 32 | u128::from(self.candidate);
        ordered(self.topology) << 65 | ordered(self.affinity) << 33 | last
    }
}

impl PartialOrd for CandidateRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CandidateRank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Sorts `ranks`, the best first.
pub(crate) fn best_first(ranks: &mut [CandidateRank]) {
    ranks.sort_unstable_by_key(|rank| Reverse(*rank));
}

/// The best `wanted` of `ranks`, the best first.
pub(crate) fn best(mut ranks: Vec<CandidateRank>, wanted: usize) -> Vec<CandidateRank> {
    if wanted < ranks.len() {
        ranks.select_nth_unstable_by_key(wanted, |rank| Reverse(*rank));
        ranks.truncate(wanted);
    }
    best_first(&mut ranks);
    ranks
}

/// A scorer with the value of every candidate, which is `None` for a candidate without a score.
pub(crate) struct KnownScorer<'a>(pub(crate) &'a [Option<i32>]);

impl Scorer<Columns> for KnownScorer<'_> {
    fn weight(&self) -> i64 {
        1
    }

    fn score(&self, _columns: &Columns, feasible: &[Ix], values: &mut [Option<i64>]) {
        for (value, &candidate) in values.iter_mut().zip(feasible) {
            *value = self.0[candidate as usize].map(i64::from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topology_then_affinity_then_stickiness_then_the_larger_name_decides() {
        let rank = |topology, affinity, sticky, candidate| CandidateRank {
            topology,
            affinity,
            sticky,
            candidate,
        };
        let order = [
            rank(1, -9, false, 0),
            rank(0, 7, true, 1),
            rank(0, 7, false, 3),
            rank(0, 7, false, 2),
            rank(0, -1, true, 9),
            rank(-1, 100, true, 9),
            rank(-1_000, 100, true, 9),
        ];
        let mut shuffled = order;
        shuffled.reverse();
        best_first(&mut shuffled);
        assert_eq!(shuffled, order);
        shuffled.rotate_left(3);
        assert_eq!(best(shuffled.to_vec(), 3), order[..3]);
        assert_eq!(best(shuffled.to_vec(), 9), order);
    }
}
