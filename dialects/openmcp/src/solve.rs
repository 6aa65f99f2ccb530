//! The run of the pipeline: every filter judges every Cluster, and the strategy ranks the feasible ones.

use std::sync::Arc;

use berth_scheduling::{Ix, PipelineOutcome, Random, ScoreColumn, filter};

use crate::code::Plugin;
use crate::config::Strategy;
use crate::request::Request;

impl Request<'_> {
    /// Judges every Cluster and ranks the feasible ones, but picks none. Also returns the names of the score
    /// columns.
    pub(crate) fn solve(&self, seed: u64) -> (PipelineOutcome, Vec<Arc<str>>) {
        let count = Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX);
        let (feasible, rejections) = filter(self, count, &Plugin::ALL.each_ref());
        let ranked = match self.strategy {
            Strategy::Simple => feasible.clone(),
            Strategy::Balanced => self.balanced(&feasible),
            Strategy::Random => shuffled(feasible.clone(), seed),
        };
        let mut solved = PipelineOutcome {
            rejections,
            ranked,
            ..PipelineOutcome::default()
        };
        let mut scorers = Vec::new();
        if self.strategy == Strategy::Balanced && !feasible.is_empty() {
            // The column is for information only: the fewest requests rank first, and there are no totals.
            let values = feasible
                .iter()
                .map(|&candidate| Some(i64::from(self.other_requests(candidate))));
            solved.scores = vec![ScoreColumn {
                plugin: 0,
                weight: 0,
                values: values.collect(),
            }];
            scorers.push(Strategy::Balanced.as_str().into());
        }
        solved.feasible = feasible;
        (solved, scorers)
    }

    /// Ranks by the fewest other requests, then by place: candidates are numbered in the order of places.
    fn balanced(&self, feasible: &[Ix]) -> Vec<Ix> {
        let key = |&candidate: &Ix| u64::from(self.other_requests(candidate)) << 32 | u64::from(candidate);
        let mut keys: Vec<u64> = feasible.iter().map(key).collect();
        keys.sort_unstable();
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the candidate")]
        keys.into_iter().map(|key| key as Ix).collect()
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
