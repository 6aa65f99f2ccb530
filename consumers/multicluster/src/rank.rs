//! Ranks of a decision's clusters by their recorded scores.

use berth_dialect_contract::PlacedCluster;

/// Rank of a cluster among all chosen clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// The rank, from 1: the number of clusters with a higher score, plus one.
    pub(crate) position: usize,
    /// Number of clusters with a rank.
    pub(crate) total: usize,
    /// Number of other clusters with an equal score.
    pub(crate) ties: usize,
}

/// The clusters in `placed`, except clusters that the decision is leaving. Clusters have a rank only if each
/// of these clusters has a recorded score.
pub(crate) fn ranked(placed: &[PlacedCluster]) -> Vec<(&PlacedCluster, Option<Rank>)> {
    let places: Vec<&PlacedCluster> = placed.iter().filter(|place| !place.leaving).collect();
    let mut scores: Option<Vec<i64>> = places.iter().map(|place| place.score).collect();
    if let Some(scores) = &mut scores {
        scores.sort_unstable_by(|a, b| b.cmp(a));
    }
    let ranked = places.into_iter().map(|place| {
        let rank = scores
            .as_deref()
            .zip(place.score)
            .map(|(all, own)| rank(all, own));
        (place, rank)
    });
    ranked.collect()
}

/// The rank of the score `own` among `all` scores, which are sorted from the highest to the lowest.
fn rank(all: &[i64], own: i64) -> Rank {
    let better = all.partition_point(|&score| score > own);
    let same = all[better..].partition_point(|&score| score == own);
    Rank {
        position: better + 1,
        total: all.len(),
        ties: same.saturating_sub(1),
    }
}
