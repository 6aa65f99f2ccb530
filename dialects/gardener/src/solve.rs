//! The pipeline: filters, then the strategy on what is left, then the order (docs/systems/gardener.md, "Filters" and
//! "Picking").

use std::sync::Arc;

use berth_scheduling::{Ix, Rejection, ScoreColumn, Solved, filter};

use crate::code::{Code, Plugin};
use crate::relative;
use crate::request::{Request, Rule};

/// The largest distance that counts as near.
pub(crate) const FARTHEST: u32 = 1000;

/// A run of the pipeline; nothing is picked yet.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) solved: Solved,
    /// The names of the score columns.
    pub(crate) scorers: Vec<Arc<str>>,
    /// The smallest distance, where distances count.
    pub(crate) minimum: Option<u32>,
}

/// Judges, measures and orders every seed.
pub(crate) fn solve(request: &Request<'_>) -> Solution {
    let count = Ix::try_from(request.rows.len()).unwrap_or(Ix::MAX);
    let (mut feasible, mut rejections) = filter(request, count, &Plugin::ALL.each_ref());
    if relative::refuse(request, &mut rejections) {
        feasible.retain(|candidate| {
            rejections
                .binary_search_by_key(candidate, |one| one.candidate)
                .is_err()
        });
    }
    let mut minimum = None;
    if request.rule == Rule::MinimalDistance {
        let distances = request.distances(&feasible);
        minimum = distances
            .iter()
            .copied()
            .filter(|distance| *distance <= FARTHEST)
            .min();
        feasible = nearest(&feasible, &distances, minimum, &mut rejections);
    }
    let (scores, scorers) = columns(request, &feasible, minimum);
    let ranked = rank(request, &feasible);
    let solved = Solved {
        rejections,
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

/// Those at the smallest distance; the others are refused.
fn nearest(
    feasible: &[Ix],
    distances: &[u32],
    minimum: Option<u32>,
    rejections: &mut Vec<Rejection>,
) -> Vec<Ix> {
    let mut near = Vec::new();
    let before = rejections.len();
    for (&candidate, &distance) in feasible.iter().zip(distances) {
        if Some(distance) == minimum {
            near.push(candidate);
        } else {
            let code = Code::NotMinimalDistance;
            rejections.push(Rejection {
                candidate,
                plugin: code.plugin().number(),
                reason: code.with(distance),
            });
        }
    }
    if rejections.len() > before {
        // Two sorted runs: a stable sort merges them in one pass.
        rejections.sort();
    }
    near
}

/// Fewest shoots first, then by name: candidates are numbered in name order.
fn rank(request: &Request<'_>, feasible: &[Ix]) -> Vec<Ix> {
    let load = |candidate| u32::try_from(request.used(candidate)).unwrap_or(u32::MAX);
    let mut keys: Vec<u64> = feasible
        .iter()
        .map(|&candidate| u64::from(load(candidate)) << 32 | u64::from(candidate))
        .collect();
    keys.sort_unstable();
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the candidate")]
    keys.into_iter().map(|key| key as Ix).collect()
}

/// What the order goes by, for information: the system does not add it up, so its weight is 0.
fn columns(
    request: &Request<'_>,
    feasible: &[Ix],
    minimum: Option<u32>,
) -> (Vec<ScoreColumn>, Vec<Arc<str>>) {
    let used = feasible
        .iter()
        .map(|&candidate| Some(request.used(candidate)))
        .collect();
    let mut columns = vec![ScoreColumn {
        plugin: 0,
        weight: 0,
        values: used,
    }];
    let mut names: Vec<Arc<str>> = vec!["Utilization".into()];
    if let Some(minimum) = minimum {
        let values = vec![Some(i64::from(minimum)); feasible.len()];
        columns.push(ScoreColumn {
            plugin: 1,
            weight: 0,
            values,
        });
        names.push("MinimalDistance".into());
    }
    (columns, names)
}
