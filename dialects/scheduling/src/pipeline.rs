//! Filters, scorers and ranking over a fleet of `count` candidates.

use crate::candidate::{Ix, Reason};
use crate::decision::ScoreColumn;
use crate::rejections::{Refusals, Rejections};

/// A filter's answer about one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The filter accepts the candidate.
    Pass,
    /// The filter refuses the candidate, for this reason.
    Reject(Reason),
}

/// Judges single candidates of a fleet `F`.
pub trait Filter<F: ?Sized> {
    /// The number of the filter in the dialect's pipeline order, assigned by [`filters!`](crate::filters).
    fn plugin(&self) -> u16;

    /// The verdict on `candidate`.
    fn check(&self, fleet: &F, candidate: Ix) -> Verdict;

    /// The refused candidates among `count`: the verdicts of [`Filter::check`]. Filters that judge a whole
    /// fleet at once override this method.
    fn refuse(&self, fleet: &F, count: Ix) -> Refusals<'_> {
        let mut refused = Vec::new();
        for candidate in 0..count {
            if let Verdict::Reject(reason) = self.check(fleet, candidate) {
                refused.push((candidate, reason));
            }
        }
        Refusals::List(refused)
    }
}

/// Scores the feasible candidates of a fleet `F`.
pub trait Scorer<F: ?Sized> {
    /// The weight by which the values are multiplied.
    fn weight(&self) -> i64;

    /// Writes one value per entry of `feasible`, in the same order, into `values`, which is initially filled
    /// with `None`.
    fn score(&self, fleet: &F, feasible: &[Ix], values: &mut [Option<i64>]);
}

/// Runs every filter, in the order of their numbers, over every candidate, so that every refusal is known.
/// Returns the feasible candidates in fleet order and the refusals.
pub fn filter<F: ?Sized, P: Filter<F> + ?Sized>(
    fleet: &F,
    count: Ix,
    filters: &[&P],
) -> (Vec<Ix>, Rejections) {
    debug_assert!(
        filters.is_sorted_by_key(|filter| filter.plugin()),
        "filters run in the order of their numbers"
    );
    let lists: Vec<(u16, Refusals<'_>)> = filters
        .iter()
        .map(|filter| (filter.plugin(), filter.refuse(fleet, count)))
        .collect();
    let rejections = Rejections::new(count, lists);
    (rejections.feasible(), rejections)
}

/// Runs every scorer over the feasible candidates. Returns the columns of values and the weighted totals; a
/// total beyond the range of its type is cut to the range.
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

/// The feasible candidates by total, highest first. Candidates with equal totals are in the order of their
/// numbers, which is name order where candidates are numbered by name.
#[must_use]
pub fn rank_by_total(feasible: &[Ix], totals: &[i64]) -> Vec<Ix> {
    let most = totals.iter().copied().max().unwrap_or_default();
    let least = totals.iter().copied().min().unwrap_or_default();
    let range = most.abs_diff(least);
    // Totals are mostly close together, so that they can be sorted by counting, without comparisons.
    if feasible.is_sorted()
        && let Ok(range) = usize::try_from(range)
        && range <= COUNTERS_PER_CANDIDATE * feasible.len()
    {
        return sort_by_counting(feasible, totals, most, range);
    }
    let behind = totals.iter().map(|total| most.abs_diff(*total));
    let mut pairs: Vec<(u64, Ix)> = behind.zip(feasible.iter().copied()).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Highest number of counters per candidate in a sort by counting. Totals with a wider range are sorted by
/// comparison.
const COUNTERS_PER_CANDIDATE: usize = 4;

/// Sorts `feasible` by `totals`, which are between `most` - `range` and `most`, by counting. Candidates with
/// equal totals keep their order.
fn sort_by_counting(feasible: &[Ix], totals: &[i64], most: i64, range: usize) -> Vec<Ix> {
    // No difference is larger than the range, which is a usize.
    let behind = |total: i64| usize::try_from(most.abs_diff(total)).unwrap_or(range);
    // For each distance from the highest total, the rank of the next candidate.
    let mut ranks = vec![0; range + 2];
    for &total in totals {
        ranks[behind(total) + 1] += 1;
    }
    let mut so_far = 0;
    for rank in &mut ranks {
        so_far += *rank;
        *rank = so_far;
    }
    let mut ranked = vec![0; feasible.len()];
    for (&total, &candidate) in totals.iter().zip(feasible) {
        let rank = &mut ranks[behind(total)];
        ranked[*rank] = candidate;
        *rank += 1;
    }
    ranked
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::rejections::Rejection;

    struct AtLeast {
        plugin: u16,
        least: i64,
    }
    impl Filter<[i64]> for AtLeast {
        fn plugin(&self) -> u16 {
            self.plugin
        }
        fn check(&self, fleet: &[i64], candidate: Ix) -> Verdict {
            if fleet[candidate as usize] >= self.least {
                Verdict::Pass
            } else {
                Verdict::Reject(Reason { code: 1, detail: 0 })
            }
        }
    }
    impl Scorer<[i64]> for AtLeast {
        fn weight(&self) -> i64 {
            self.least
        }
        fn score(&self, fleet: &[i64], feasible: &[Ix], values: &mut [Option<i64>]) {
            for (value, &candidate) in values.iter_mut().zip(feasible) {
                *value = Some(fleet[candidate as usize]);
            }
        }
    }

    fn at_least(plugin: u16, least: i64) -> AtLeast {
        AtLeast { plugin, least }
    }

    #[test]
    fn every_refusal_of_every_filter_is_kept_under_its_number() {
        let fleet = [1, 5, 9];
        let (feasible, rejections) = filter(&fleet[..], 3, &[&at_least(1, 2), &at_least(4, 6)]);
        assert_eq!(feasible, [2]);
        let seen: Vec<(Ix, u16)> = rejections.iter().map(|r| (r.candidate, r.plugin)).collect();
        assert_eq!(seen, [(0, 1), (0, 4), (1, 4)]);
    }

    /// Refuses the candidates in `list`, each with its index as detail. With `passing`, refuses all others
    /// instead, with one reason.
    struct ListFilter {
        plugin: u16,
        list: Vec<Ix>,
        passing: Option<Vec<u64>>,
    }

    const OTHER: Reason = Reason { code: 2, detail: 7 };

    impl Filter<()> for ListFilter {
        fn plugin(&self) -> u16 {
            self.plugin
        }
        fn check(&self, (): &(), candidate: Ix) -> Verdict {
            match (self.list.binary_search(&candidate), &self.passing) {
                (Ok(_), Some(_)) | (Err(_), None) => Verdict::Pass,
                (Err(_), Some(_)) => Verdict::Reject(OTHER),
                (Ok(place), None) => Verdict::Reject(Reason {
                    code: 1,
                    detail: u32::try_from(place).unwrap(),
                }),
            }
        }
        fn refuse(&self, (): &(), _count: Ix) -> Refusals<'_> {
            let reason = |(candidate, detail)| (candidate, Reason { code: 1, detail });
            match &self.passing {
                Some(passing) => Refusals::AllBut(passing, OTHER),
                None => Refusals::List(self.list.iter().copied().zip(0..).map(reason).collect()),
            }
        }
    }

    fn listed(plugin: u16, list: BTreeSet<Ix>, inverse: bool) -> ListFilter {
        let passing = inverse.then(|| {
            let mut words = vec![0; 3];
            list.iter()
                .for_each(|bit| words[(bit / 64) as usize] |= 1 << (bit % 64));
            words
        });
        ListFilter {
            plugin,
            list: list.into_iter().collect(),
            passing,
        }
    }

    proptest! {
        #[test]
        fn refusals_come_by_candidate_then_plugin_however_they_fall(
            lists in proptest::collection::vec(
                (proptest::collection::btree_set(0..150u32, 0..150), any::<bool>()),
                0..5,
            ),
            more in 0..40u32,
        ) {
            let count = 150 + more;
            let numbered = (0..).zip(lists);
            let filters: Vec<ListFilter> = numbered.map(|(number, (list, inverse))| listed(number, list, inverse)).collect();
            let by_trait: Vec<&dyn Filter<()>> = filters.iter().map(|filter| filter as _).collect();
            let (feasible, rejections) = filter(&(), count, &by_trait);
            let mut expected = Vec::new();
            let mut passing = Vec::new();
            for candidate in 0..count {
                let before = expected.len();
                for (plugin, filter) in (0..).zip(&filters) {
                    if let Verdict::Reject(reason) = filter.check(&(), candidate) {
                        expected.push(Rejection { candidate, plugin, reason });
                    }
                }
                passing.extend((expected.len() == before).then_some(candidate));
            }
            prop_assert_eq!(rejections.len(), expected.len());
            prop_assert_eq!(rejections.is_empty(), expected.is_empty());
            for candidate in 0..count {
                let own: Vec<Rejection> = expected.iter().filter(|one| one.candidate == candidate).copied().collect();
                // The list of all refusals is not built yet.
                let unlisted = rejections.clone();
                prop_assert_eq!(unlisted.of_candidate(candidate), own.as_slice());
            }
            for scope in [None, Some(1)] {
                let from_list = Rejections::from(expected.clone());
                let sorted = |rejections: &Rejections| {
                    let mut groups = rejections.groups(scope);
                    groups.sort_unstable_by_key(|group| (group.first.plugin, group.first.reason));
                    groups
                };
                prop_assert_eq!(sorted(&rejections), sorted(&from_list));
            }
            prop_assert_eq!(&*rejections, expected.as_slice());
            prop_assert_eq!(feasible, passing);
        }

        #[test]
        fn candidates_rank_by_total_backwards_then_by_number(
            rows in proptest::collection::vec((any::<i64>(), -2..3i64), 0..30),
            are_wide in any::<bool>(),
        ) {
            let totals: Vec<i64> = rows.iter().map(|(wide, near)| if are_wide { *wide } else { *near }).collect();
            let feasible: Vec<Ix> = (0..).map(|place| 3 * place).take(rows.len()).collect();
            let mut expected: Vec<(i64, Ix)> = totals.iter().copied().zip(feasible.iter().copied()).collect();
            expected.sort_by_key(|&(total, candidate)| (std::cmp::Reverse(total), candidate));
            let expected: Vec<Ix> = expected.into_iter().map(|(_, candidate)| candidate).collect();
            prop_assert_eq!(rank_by_total(&feasible, &totals), expected);
        }
    }

    #[test]
    fn totals_rank_high_first_and_ties_by_number() {
        let fleet = [3, 7, 7];
        let feasible = [0, 1, 2];
        let (_, totals) = score(&fleet[..], &feasible, &[&at_least(0, 2)]);
        assert_eq!(totals, [6, 14, 14]);
        assert_eq!(rank_by_total(&feasible, &totals), [1, 2, 0]);
    }
}
