//! Filters, scorers and ranking over a fleet of `count` candidates.

use crate::candidate::{Ix, Reason};
use crate::decision::{Rejection, ScoreColumn};

/// A filter's answer about one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// May be used.
    Pass,
    /// May not be used, and why.
    Reject(Reason),
}

impl Verdict {
    /// A refusal by code alone.
    #[must_use]
    pub const fn reject(code: u16) -> Self {
        Self::Reject(Reason { code, detail: 0 })
    }
}

/// Judges single candidates of a fleet `F`.
pub trait Filter<F: ?Sized> {
    /// The plugin's name, as the system and docs/api.md ("Reason tokens") name it.
    fn name(&self) -> &'static str;

    /// Whether `candidate` may be used.
    fn check(&self, fleet: &F, candidate: Ix) -> Verdict;

    /// Puts every one of the `count` candidates that may not be used into `refused`, in fleet order: what [`Filter::check`]
    /// says of each, for filters that know of whole fleets.
    fn refuse(&self, fleet: &F, count: Ix, refused: &mut Vec<(Ix, Reason)>) {
        for candidate in 0..count {
            if let Verdict::Reject(reason) = self.check(fleet, candidate) {
                refused.push((candidate, reason));
            }
        }
    }
}

/// Gives the feasible candidates of a fleet `F` their values.
pub trait Scorer<F: ?Sized> {
    /// The weight the values count with.
    fn weight(&self) -> i64;

    /// Writes one value per entry of `feasible` (same order) into `values`, which comes filled with `None`.
    fn score(&self, fleet: &F, feasible: &[Ix], values: &mut [Option<i64>]);
}

/// Runs every filter over every candidate, so that every refusal is known. Gives the feasible candidates in fleet
/// order and the refusals by candidate, then plugin.
pub fn filter<F: ?Sized>(fleet: &F, count: Ix, filters: &[&dyn Filter<F>]) -> (Vec<Ix>, Vec<Rejection>) {
    let mut refusing = Vec::with_capacity(filters.len());
    for (plugin, filter) in (0u16..).zip(filters) {
        let mut refused = Vec::new();
        filter.refuse(fleet, count, &mut refused);
        // What refuses nobody is not looked at again.
        if !refused.is_empty() {
            refusing.push((plugin, refused.into_iter().peekable()));
        }
    }
    let many = |(_, refused): &(u16, std::iter::Peekable<std::vec::IntoIter<_>>)| refused.len();
    let most = refusing.iter().map(many).max().unwrap_or_default();
    let mut feasible = Vec::with_capacity((count as usize).saturating_sub(most));
    let mut rejections = Vec::with_capacity(refusing.iter().map(many).sum());
    for candidate in 0..count {
        let before = rejections.len();
        for (plugin, refused) in &mut refusing {
            if let Some((_, reason)) = refused.next_if(|(refused, _)| *refused == candidate) {
                rejections.push(Rejection {
                    candidate,
                    plugin: *plugin,
                    reason,
                });
            }
        }
        if rejections.len() == before {
            feasible.push(candidate);
        }
    }
    (feasible, rejections)
}

/// Runs every scorer over the feasible candidates and adds up the weighted totals, saturating.
pub fn score<F: ?Sized>(
    fleet: &F,
    feasible: &[Ix],
    scorers: &[&dyn Scorer<F>],
) -> (Vec<ScoreColumn>, Vec<i64>) {
    let mut totals = vec![0i64; feasible.len()];
    let mut columns = Vec::with_capacity(scorers.len());
    for (plugin, scorer) in (0u16..).zip(scorers) {
        let weight = scorer.weight();
        let mut values = vec![None; feasible.len()];
        scorer.score(fleet, feasible, &mut values);
        for (total, value) in totals.iter_mut().zip(&values) {
            *total = total.saturating_add(weight.saturating_mul(value.unwrap_or(0)));
        }
        columns.push(ScoreColumn {
            plugin,
            weight,
            values,
        });
    }
    (columns, totals)
}

/// The feasible candidates by total, highest first; ties by `name_rank` (the candidate's place in name order),
/// lowest first.
pub fn rank_by_total(feasible: &[Ix], totals: &[i64], name_rank: impl Fn(Ix) -> u32) -> Vec<Ix> {
    let mut keyed: Vec<(std::cmp::Reverse<i64>, u32, Ix)> = feasible
        .iter()
        .zip(totals)
        .map(|(&candidate, &total)| (std::cmp::Reverse(total), name_rank(candidate), candidate))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct AtLeast(i64);
    impl Filter<[i64]> for AtLeast {
        fn name(&self) -> &'static str {
            "AtLeast"
        }
        fn check(&self, fleet: &[i64], candidate: Ix) -> Verdict {
            if fleet[candidate as usize] >= self.0 {
                Verdict::Pass
            } else {
                Verdict::reject(1)
            }
        }
    }
    impl Scorer<[i64]> for AtLeast {
        fn weight(&self) -> i64 {
            self.0
        }
        fn score(&self, fleet: &[i64], feasible: &[Ix], values: &mut [Option<i64>]) {
            for (value, &candidate) in values.iter_mut().zip(feasible) {
                *value = Some(fleet[candidate as usize]);
            }
        }
    }

    #[test]
    fn every_refusal_of_every_filter_is_kept() {
        let fleet = [1, 5, 9];
        let (feasible, rejections) = filter(&fleet[..], 3, &[&AtLeast(2), &AtLeast(6)]);
        assert_eq!(feasible, [2]);
        let seen: Vec<(Ix, u16)> = rejections.iter().map(|r| (r.candidate, r.plugin)).collect();
        assert_eq!(seen, [(0, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn totals_rank_high_first_and_ties_by_name() {
        let fleet = [3, 7, 7];
        let feasible = [0, 1, 2];
        let (_, totals) = score(&fleet[..], &feasible, &[&AtLeast(2)]);
        assert_eq!(totals, [6, 14, 14]);
        let names = [0, 9, 4];
        assert_eq!(
            rank_by_total(&feasible, &totals, |candidate| names[candidate as usize]),
            [2, 1, 0]
        );
    }
}
