//! The pipeline: filters, then the steps that compare the remaining seeds, then the ranking
//! (docs/systems/gardener.md, "Filters" and "Picking").

use std::sync::Arc;

use berth_scheduling::{Ix, PipelineOutcome, Rejection, ScoreColumn, filter};

use crate::code::{Code, Plugin};
use crate::comparison;
use crate::detail::MinimumDistance;
use crate::request::{EffectiveStrategy, Request};

/// The largest distance, computed from the names of regions, at which a seed is feasible.
pub(crate) const MAX_DISTANCE: u32 = 1000;

/// The result of a run of the pipeline, in which no seed is picked yet.
#[derive(Debug)]
pub(crate) struct Solution {
    /// The refusals, the feasible seeds, and their scores and ranks.
    pub(crate) solved: PipelineOutcome,
    /// The names of the score columns.
    pub(crate) scorers: Vec<Arc<str>>,
    /// The smallest distance; `None` for other strategies than [`EffectiveStrategy::MinimalDistance`].
    pub(crate) minimum: Option<MinimumDistance>,
}

/// Judges all seeds, and scores and ranks the feasible seeds.
pub(crate) fn solve(request: &Request<'_>) -> Solution {
    let count = Ix::try_from(request.rows.len()).unwrap_or(Ix::MAX);
    let (mut feasible, refused) = filter(request, count, &Plugin::ALL.each_ref());
    let mut rejections = refused.into();
    if comparison::refuse(request, &mut rejections) {
        feasible.retain(|candidate| {
            rejections
                .binary_search_by_key(candidate, |rejection| rejection.candidate)
                .is_err()
        });
    }
    let mut minimum = None;
    if request.strategy == EffectiveStrategy::MinimalDistance {
        let (least, distances) = measure_distances(request, &feasible);
        feasible = nearest(&feasible, &distances, least.value(), &mut rejections);
        minimum = Some(least);
    }
    let (scores, scorers) = score_columns(request, &feasible, minimum.and_then(MinimumDistance::value));
    let ranked = rank(request, &feasible);
    let solved = PipelineOutcome {
        rejections: rejections.into(),
        feasible,
        scores,
        totals: Vec::new(),
        ranked,
        picked: Vec::new(),
    };
    Solution {
        solved,
        scorers,
        minimum,
    }
}

/// The seeds that would be feasible if the steps that compare seeds came after all other filters.
/// `rejections` are the refusals of the pipeline, which leaves no feasible seed.
pub(crate) fn feasible_by_late_comparison(request: &Request<'_>, rejections: &[Rejection]) -> Vec<Ix> {
    let seeds = comparison::remaining_after_filters(request, rejections);
    if request.strategy != EffectiveStrategy::MinimalDistance {
        return seeds;
    }
    let (least, distances) = measure_distances(request, &seeds);
    nearest(&seeds, &distances, least.value(), &mut Vec::new())
}

/// The smallest distance, and the distance of each feasible seed. If the ConfigMap for the shoot's profile
/// has the region of any feasible seed, all distances come from the ConfigMap, and seeds in other regions
/// have no distance. Otherwise, distances are computed from the names of regions.
fn measure_distances(request: &Request<'_>, feasible: &[Ix]) -> (MinimumDistance, Vec<Option<i64>>) {
    let mapped = request.known_distances(feasible);
    if let Some(&least) = mapped.iter().flatten().min() {
        return (MinimumDistance::ByConfigMap(least), mapped);
    }
    let by_name = request.distances(feasible);
    let near = by_name
        .iter()
        .copied()
        .filter(|distance| *distance <= MAX_DISTANCE);
    let least = near.min();
    (
        MinimumDistance::ByName(least),
        by_name
            .into_iter()
            .map(|distance| Some(i64::from(distance)))
            .collect(),
    )
}

/// The seeds at the distance `minimum`. All other feasible seeds are refused.
fn nearest(
    feasible: &[Ix],
    distances: &[Option<i64>],
    minimum: Option<i64>,
    rejections: &mut Vec<Rejection>,
) -> Vec<Ix> {
    let mut near = Vec::new();
    let before = rejections.len();
    for (&candidate, &distance) in feasible.iter().zip(distances) {
        if distance.is_some() && distance == minimum {
            near.push(candidate);
        } else {
            let code = Code::NotMinimalDistance;
            // A distance from a ConfigMap may not fit into the detail: the report looks it up again.
            let detail = distance.and_then(|distance| u32::try_from(distance).ok());
            rejections.push(Rejection {
                candidate,
                plugin: code.plugin().number(),
                reason: code.with(detail.unwrap_or_default()),
            });
        }
    }
    if rejections.len() > before {
        // The list consists of two sorted runs, which a stable sort merges in one pass.
        rejections.sort();
    }
    near
}

/// Ranks seeds by the number of shoots, the fewest first, then by name: candidates are numbered in the order
/// of names.
fn rank(request: &Request<'_>, feasible: &[Ix]) -> Vec<Ix> {
    let load = |candidate| u32::try_from(request.other_shoots(candidate)).unwrap_or(u32::MAX);
    let mut keys: Vec<u64> = feasible
        .iter()
        .map(|&candidate| u64::from(load(candidate)) << 32 | u64::from(candidate))
        .collect();
    keys.sort_unstable();
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the candidate")]
    keys.into_iter().map(|key| key as Ix).collect()
}

/// The score columns, which only inform the reader, and their names. Gardener does not add up scores, so each
/// weight is 0.
fn score_columns(
    request: &Request<'_>,
    feasible: &[Ix],
    minimum: Option<i64>,
) -> (Vec<ScoreColumn>, Vec<Arc<str>>) {
    let used = feasible
        .iter()
        .map(|&candidate| Some(request.other_shoots(candidate)))
        .collect();
    let mut columns = vec![ScoreColumn {
        plugin: 0,
        weight: 0,
        values: used,
    }];
    let mut names: Vec<Arc<str>> = vec!["Utilization".into()];
    if let Some(minimum) = minimum {
        let values = vec![Some(minimum); feasible.len()];
        columns.push(ScoreColumn {
            plugin: 1,
            weight: 0,
            values,
        });
        names.push("MinimalDistance".into());
    }
    (columns, names)
}
