//! The run of the pipeline: every filter judges every Cluster, and the strategy ranks the feasible ones.

use std::sync::Arc;

use berth_scheduling::{Ix, PipelineOutcome, Random, ScoreColumn, filter, rank_by_total};

use crate::code::Plugin;
use crate::config::Strategy;
use crate::request::Request;

impl Request<'_> {
    /// Judges every Cluster and ranks the feasible ones, but picks none. Also returns the names of the score
    /// columns.
    pub(crate) fn solve(&self, seed: u64) -> (PipelineOutcome, Vec<Arc<str>>) {
        let count = Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX);
        let (feasible, rejections) = filter(self, count, &Plugin::ALL.each_ref());
        let mut solved = PipelineOutcome {
            rejections,
            ..PipelineOutcome::default()
        };
        let mut scorers = Vec::new();
        match self.strategy {
            Strategy::Simple => solved.ranked.clone_from(&feasible),
            Strategy::Random => solved.ranked = shuffled(feasible.clone(), seed),
            Strategy::Balanced if feasible.is_empty() => {}
            Strategy::Balanced => {
                let others = feasible
                    .iter()
                    .map(|&candidate| i64::from(self.other_requests(candidate)));
                let others: Vec<i64> = others.collect();
                // The fewest other requests rank first, then places: candidates are numbered in their order.
                let totals: Vec<i64> = others.iter().map(|others| -others).collect();
                solved.ranked = rank_by_total(&feasible, &totals);
                // The column is for information only: there are no totals.
                solved.scores = vec![ScoreColumn {
                    plugin: 0,
                    weight: 0,
                    values: others.into_iter().map(Some).collect(),
                }];
                scorers.push(Strategy::Balanced.as_str().into());
            }
        }
        solved.feasible = feasible;
        (solved, scorers)
    }
}

/// Shuffles `list` by `seed`.
fn shuffled(mut list: Vec<Ix>, seed: u64) -> Vec<Ix> {
    let mut random = Random::new(seed);
    for index in 0..list.len() {
        let rest = list.len() - index;
        let other = index + usize::try_from(random.below(rest as u64)).unwrap_or_default();
        list.swap(index, other);
    }
    list
}
