//! Filters, scorers and ranking over a fleet of `count` candidates.

use crate::candidate::{Ix, Reason};
use crate::decision::{Rejection, ScoreColumn};

/// A filter's answer about one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// May be used.
    Pass,
    /// Refused, with the reason.
    Reject(Reason),
}

/// Judges single candidates of a fleet `F`.
pub trait Filter<F: ?Sized> {
    /// The number of the filter in the dialect's pipeline order, as [`filters!`](crate::filters) gives it.
    fn plugin(&self) -> u16;

    /// Whether `candidate` may be used.
    fn check(&self, fleet: &F, candidate: Ix) -> Verdict;

    /// Candidates among `count` that may not be used: the verdicts of [`Filter::check`], for filters
    /// that judge whole fleets.
    fn refuse(&self, fleet: &F, count: Ix) -> Refusals<'_> {
        let mut refused = Vec::new();
        for candidate in 0..count {
            if let Verdict::Reject(reason) = self.check(fleet, candidate) {
                refused.push((candidate, reason));
            }
        }
        Refusals::These(refused)
    }
}

/// Candidates that one filter refuses.
#[derive(Clone, Debug)]
pub enum Refusals<'a> {
    /// These, in fleet order.
    These(Vec<(Ix, Reason)>),
    /// All whose bits are not set, the lowest bit of the first word being the first candidate's, for one
    /// reason.
    AllBut(&'a [u64], Reason),
}

/// Returns the feasible candidates of a fleet `F` their values.
pub trait Scorer<F: ?Sized> {
    /// The weight the values count with.
    fn weight(&self) -> i64;

    /// Writes one value per entry of `feasible` (same order) into `values`, which comes filled with `None`.
    fn score(&self, fleet: &F, feasible: &[Ix], values: &mut [Option<i64>]);
}

/// Runs every filter, in the order of their numbers, over every candidate, so that every refusal is known.
/// Returns the feasible candidates in fleet order and the refusals by candidate, then plugin.
pub fn filter<F: ?Sized, P: Filter<F> + ?Sized>(
    fleet: &F,
    count: Ix,
    filters: &[&P],
) -> (Vec<Ix>, Vec<Rejection>) {
    debug_assert!(
        filters.is_sorted_by_key(|filter| filter.plugin()),
        "filters run in the order of their numbers"
    );
    let lists: Vec<Refusals<'_>> = filters.iter().map(|filter| filter.refuse(fleet, count)).collect();
    let many: Vec<usize> = lists.iter().map(|refused| refused.many(count)).collect();
    let mut heads: Vec<Head<'_>> = filters
        .iter()
        .zip(&lists)
        .map(|(filter, refused)| Head::new(filter.plugin(), refused))
        .collect();
    let most = many.iter().max().copied().unwrap_or_default();
    let mut feasible = Vec::with_capacity((count as usize).saturating_sub(most));
    let mut rejections = Vec::with_capacity(many.iter().sum());
    // Candidates are gone through by the word, as many at once as it has bits.
    let mut at_work = Vec::with_capacity(heads.len());
    for (word, first) in (0..count).step_by(u64::BITS as usize).enumerate() {
        let there = u64::MAX >> (u64::BITS - (count - first).min(u64::BITS));
        let mut refused = 0;
        at_work.clear();
        for (place, head) in heads.iter_mut().enumerate() {
            let bits = head.look(word, first, there);
            refused |= bits;
            if bits != 0 {
                at_work.push((place, bits));
            }
        }
        feasible.extend(ones(there & !refused).map(|bit| first + bit));
        // Mostly one filter refuses.
        if let [(place, bits)] = *at_work {
            let head = &mut heads[place];
            rejections.extend(ones(bits).map(|bit| head.refuse(first + bit)));
            continue;
        }
        for bit in ones(refused) {
            for (place, _) in at_work.iter().filter(|(_, bits)| bits >> bit & 1 == 1) {
                rejections.push(heads[*place].refuse(first + bit));
            }
        }
    }
    (feasible, rejections)
}

impl Refusals<'_> {
    /// Number of refused candidates among `count`.
    fn many(&self, count: Ix) -> usize {
        match self {
            Self::These(list) => list.len(),
            Self::AllBut(passing, _) => {
                let passing: usize = passing.iter().map(|word| word.count_ones() as usize).sum();
                (count as usize).saturating_sub(passing)
            }
        }
    }
}

/// The refusals of one filter, known for the candidates below a number.
struct Head<'a> {
    plugin: u16,
    refused: &'a Refusals<'a>,
    /// The refusals of a list that are left.
    rest: &'a [(Ix, Reason)],
}

impl<'a> Head<'a> {
    fn new(plugin: u16, refused: &'a Refusals<'a>) -> Self {
        let rest = match refused {
            Refusals::These(list) => list.as_slice(),
            Refusals::AllBut(..) => &[],
        };
        Self {
            plugin,
            refused,
            rest,
        }
    }

    /// Refused candidates of a word, limited to those `there`; `first` is the word's first candidate.
    fn look(&self, word: usize, first: Ix, there: u64) -> u64 {
        match self.refused {
            Refusals::AllBut(passing, _) => there & !passing[word],
            Refusals::These(_) => {
                let own = self.rest.iter().map(|(candidate, _)| candidate - first);
                own.take_while(|bit| *bit < u64::BITS)
                    .fold(0, |bits, bit| bits | 1 << bit)
            }
        }
    }

    /// The next refusal, which is of `candidate`.
    #[inline]
    fn refuse(&mut self, candidate: Ix) -> Rejection {
        let reason = match (self.refused, self.rest) {
            (Refusals::AllBut(_, reason), _) => *reason,
            (Refusals::These(_), [(_, reason), rest @ ..]) => {
                self.rest = rest;
                *reason
            }
            (Refusals::These(_), []) => unreachable!("each bit is of a refusal that is left"),
        };
        Rejection {
            candidate,
            plugin: self.plugin,
            reason,
        }
    }
}

/// The places of the bits that are set, lowest first.
pub fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(lowest)
    })
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

/// The feasible candidates by total, highest first; of equal totals the lowest candidate first, which is name
/// order where candidates are numbered so.
#[must_use]
pub fn rank_by_total(feasible: &[Ix], totals: &[i64]) -> Vec<Ix> {
    let most = totals.iter().copied().max().unwrap_or_default();
    let behind = totals.iter().map(|total| most.abs_diff(*total));
    if behind.clone().any(|behind| u32::try_from(behind).is_err()) {
        let mut pairs: Vec<(u64, Ix)> = behind.zip(feasible.iter().copied()).collect();
        pairs.sort_unstable();
        return pairs.into_iter().map(|(_, candidate)| candidate).collect();
    }
    // Totals are mostly close together. Then one number has both, the candidate in its lower half, and
    // is compared faster.
    let keys = behind.zip(feasible);
    let mut keys: Vec<u64> = keys
        .map(|(behind, &candidate)| behind << 32 | u64::from(candidate))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key as Ix).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

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

    /// Refuses those in its list, for the reason of their places; or all others, for one reason.
    struct Listed {
        plugin: u16,
        list: Vec<Ix>,
        passing: Option<Vec<u64>>,
    }

    const OTHER: Reason = Reason { code: 2, detail: 7 };

    impl Filter<()> for Listed {
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
                None => Refusals::These(self.list.iter().copied().zip(0..).map(reason).collect()),
            }
        }
    }

    fn listed(plugin: u16, list: BTreeSet<Ix>, inverse: bool) -> Listed {
        let passing = inverse.then(|| {
            let mut words = vec![0; 3];
            list.iter()
                .for_each(|bit| words[(bit / 64) as usize] |= 1 << (bit % 64));
            words
        });
        Listed {
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
            let filters: Vec<Listed> = numbered.map(|(number, (list, inverse))| listed(number, list, inverse)).collect();
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
            prop_assert_eq!(rejections, expected);
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
