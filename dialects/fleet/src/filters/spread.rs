//! Topology spread constraints, evaluated incrementally (docs/systems/fleet.md, "Topology spread").
//!
//! A placement with constraints picks one cluster at a time, since each pick changes the counts. The effect
//! of a pick on a cluster depends only on the cluster's domains, so that clusters with the same domains form
//! a cell. A pick compares only the best candidate of each cell, and changes only the counts of the picked
//! cluster's domains. The result is the same as if every cluster were judged again at every pick; a test
//! compares both.

use std::collections::HashMap;
use std::sync::Arc;

use berth_dialect_columns::{Domains, NO_DOMAIN};
use berth_scheduling::Ix;

use crate::columns::Columns;
use crate::policy::Constraint;
use crate::scores::CandidateRank;

/// The score of a violated soft constraint.
const SOFT_VIOLATION: i32 = -1_000;

/// The topology spread constraints of one placement, with counts of its clusters.
#[derive(Clone)]
pub(crate) struct Spread<'a> {
    constraints: Vec<ConstraintCount<'a>>,
}

/// One constraint with its counts.
#[derive(Clone)]
struct ConstraintCount<'a> {
    constraint: &'a Constraint,
    domains: Domains,
    /// Number of the placement's clusters in each domain.
    counts: Vec<u32>,
    extremes: Extremes,
}

/// The smallest, second smallest and largest count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extremes {
    smallest: u32,
    second: u32,
    largest: u32,
}

impl Extremes {
    fn of(counts: &[u32]) -> Self {
        let (mut smallest, mut second, mut largest) = (u32::MAX, u32::MAX, 0);
        for &count in counts {
            largest = largest.max(count);
            if count < smallest {
                (smallest, second) = (count, smallest);
            } else if count < second {
                second = count;
            }
        }
        Self {
            smallest,
            // If there is only one domain, the second smallest count is the smallest one.
            second: if second == u32::MAX { smallest } else { second },
            largest,
        }
    }

    /// The change of the skew if a domain with `count` clusters gets one more: 1 if all counts are equal,
    /// also with a single domain.
    fn change(self, count: u32) -> i32 {
        if self.largest == self.smallest {
            1
        } else if count == self.smallest && self.smallest != self.second {
            -1
        } else {
            i32::from(count == self.largest)
        }
    }
}

impl ConstraintCount<'_> {
    fn emptiest(&self, columns: &Columns) -> Option<Emptiest> {
        let mut clusters: HashMap<u32, Vec<Ix>> = HashMap::new();
        for (candidate, &domain) in (0..).zip(&self.domains.of) {
            let count = self.counts.get(domain as usize);
            if count.is_some_and(|&count| count == self.extremes.smallest) {
                clusters.entry(domain).or_default().push(candidate);
            }
        }
        let value = |candidate: Ix| columns.row(candidate).labels().get(&self.constraint.key);
        let (value, own) = clusters
            .values()
            .filter_map(|own| Some((value(*own.first()?)?, own)))
            .min()?;
        Some(Emptiest {
            value: value.into(),
            others: clusters.len() - 1,
            only: Some(own[0]).filter(|_| own.len() == 1),
        })
    }

    /// The change of the skew if `domain` gets one more cluster, and whether the skew then exceeds its
    /// limit. `None` for a cluster outside of all domains.
    fn judge(&self, domain: u32) -> Option<(i32, bool)> {
        if domain == NO_DOMAIN {
            return None;
        }
        let change = self.extremes.change(self.counts[domain as usize]);
        let skew = i64::from(self.extremes.largest) - i64::from(self.extremes.smallest);
        Some((change, skew + i64::from(change) > self.constraint.max_skew))
    }
}

/// The emptiest domain of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Emptiest {
    /// The value of the label.
    pub(crate) value: Arc<str>,
    /// Number of other domains with the same count.
    pub(crate) others: usize,
    /// The only cluster in the domain; `None` where it has several.
    pub(crate) only: Option<Ix>,
}

impl<'a> Spread<'a> {
    /// Creates the constraints over `columns`, with the clusters in `held` counted.
    pub(crate) fn new(
        constraints: &'a [Constraint],
        columns: &Columns,
        held: impl Iterator<Item = Ix> + Clone,
    ) -> Self {
        let counted = constraints.iter().map(|constraint| {
            let domains = columns.labels.domains(&constraint.key, columns.count());
            let mut counts = vec![0; domains.count];
            let domains_held = held.clone().map(|candidate| domains.of[candidate as usize]);
            for domain in domains_held.filter(|&domain| domain != NO_DOMAIN) {
                counts[domain as usize] += 1;
            }
            ConstraintCount {
                constraint,
                extremes: Extremes::of(&counts),
                domains,
                counts,
            }
        });
        Self {
            constraints: counted.collect(),
        }
    }

    /// Counts one more cluster.
    fn add(&mut self, candidate: Ix) {
        for counted in &mut self.constraints {
            let domain = counted.domains.of[candidate as usize];
            if domain != NO_DOMAIN {
                counted.counts[domain as usize] += 1;
                counted.extremes = Extremes::of(&counted.counts);
            }
        }
    }

    /// The first hard constraint that `candidate` would violate.
    pub(crate) fn violated(&self, candidate: Ix) -> Option<u32> {
        let hard = (0..)
            .zip(&self.constraints)
            .filter(|(_, counted)| counted.constraint.hard);
        let judged =
            hard.map(|(index, counted)| (index, counted.judge(counted.domains.of[candidate as usize])));
        let mut violated = judged.filter(|(_, judged)| judged.is_some_and(|(_, violated)| violated));
        violated.next().map(|(index, _)| index)
    }

    /// The score of `candidate`, regardless of hard violations: the sum over the constraints of the negative
    /// changes of the skew, or [`SOFT_VIOLATION`] for a violated soft constraint.
    pub(crate) fn score(&self, candidate: Ix) -> i32 {
        self.judge(candidate).0
    }

    /// The score of `candidate`, and whether it would violate a hard constraint.
    fn judge(&self, candidate: Ix) -> (i32, bool) {
        let (mut score, mut refused) = (0, false);
        for counted in &self.constraints {
            let Some((change, violated)) = counted.judge(counted.domains.of[candidate as usize]) else {
                continue;
            };
            refused |= violated && counted.constraint.hard;
            score += if violated && !counted.constraint.hard {
                SOFT_VIOLATION
            } else {
                -change
            };
        }
        (score, refused)
    }

    /// Numbers of the placement's clusters in the domain of `candidate`, and in the emptiest domain.
    pub(crate) fn counts(&self, constraint: u32, candidate: Ix) -> Option<(u32, u32)> {
        let counted = self.constraints.get(constraint as usize)?;
        let count = counted
            .counts
            .get(counted.domains.of[candidate as usize] as usize)?;
        Some((*count, counted.extremes.smallest))
    }

    /// The emptiest domain of each constraint; of several, the domain with the first value in order.
    pub(crate) fn emptiest(&self, columns: &Columns) -> Vec<Option<Emptiest>> {
        self.constraints
            .iter()
            .map(|counted| counted.emptiest(columns))
            .collect()
    }

    /// The cell of every candidate in `candidates`, and the number of cells.
    fn cells(&self, candidates: &[CandidateRank]) -> (Vec<usize>, usize) {
        let mut cells = vec![0; candidates.len()];
        let mut count = 1;
        for counted in &self.constraints {
            let mut numbers: HashMap<(usize, u32), usize> = HashMap::with_capacity(counted.counts.len() + 1);
            for (cell, standing) in cells.iter_mut().zip(candidates) {
                let domain = counted.domains.of[standing.candidate as usize];
                let next = numbers.len();
                *cell = *numbers.entry((*cell, domain)).or_insert(next);
            }
            count = numbers.len();
        }
        (cells, count)
    }

    /// Picks up to `wanted` of `candidates`, one at a time, and counts the picks. The candidates are sorted
    /// best first, and their topology scores are not yet set. Returns the picks in order, each with its
    /// score at that time.
    pub(crate) fn pick(&mut self, candidates: &[CandidateRank], wanted: usize) -> Vec<CandidateRank> {
        let (cells, count) = self.cells(candidates);
        let mut members: Vec<Vec<CandidateRank>> = vec![Vec::new(); count];
        // The best candidate of each cell is pushed last, so that it is popped first.
        for (cell, standing) in cells.iter().zip(candidates).rev() {
            members[*cell].push(*standing);
        }
        let mut picked = Vec::with_capacity(wanted.min(candidates.len()));
        while picked.len() < wanted {
            let heads = members
                .iter()
                .enumerate()
                .filter_map(|(cell, members)| Some((cell, members.last()?)));
            let scored = heads.filter_map(|(cell, head)| match self.judge(head.candidate) {
                (_, true) => None,
                (topology, false) => Some((CandidateRank { topology, ..*head }, cell)),
            });
            let Some((best, cell)) = scored.max() else { break };
            members[cell].pop();
            self.add(best.candidate);
            picked.push(best);
        }
        picked
    }
}

#[cfg(test)]
mod tests;
