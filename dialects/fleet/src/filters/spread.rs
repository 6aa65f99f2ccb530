//! Topology spread constraints, evaluated incrementally (docs/systems/fleet.md, "Topology spread").
//!
//! A placement with constraints picks one cluster at a time, since each pick changes the counts. The effect
//! of a pick on other clusters depends only on their domains: clusters with equal domains for all constraints
//! form a cell. A pick compares only the best candidate of each cell, and changes only the counts of the
//! picked cluster's domains. The result equals that of judging every cluster again at every pick; a test
//! compares the two.

use std::collections::HashMap;
use std::sync::Arc;

use berth_dialect_columns::{Domains, NO_DOMAIN};
use berth_scheduling::Ix;

use crate::columns::Columns;
use crate::policy::Constraint;
use crate::scores::CandidateRank;

/// The score of a violated soft constraint.
const SOFT_VIOLATION: i32 = -1_000;

/// The topology spread constraints of one placement, with the numbers of its clusters in their domains.
#[derive(Clone)]
pub(crate) struct Spread<'a> {
    constraints: Vec<ConstraintCount<'a>>,
}

/// One constraint, with the numbers of the placement's clusters in the domains.
#[derive(Clone)]
struct ConstraintCount<'a> {
    constraint: &'a Constraint,
    domains: Domains,
    /// The number of the placement's clusters in each domain.
    counts: Vec<u32>,
    extremes: Extremes,
}

/// The smallest, second smallest and largest number of clusters in a domain.
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
            // With a single domain, the second smallest count is the smallest one.
            second: if second == u32::MAX { smallest } else { second },
            largest,
        }
    }

    /// The change of the skew if a domain with `count` clusters gets one more cluster. If all counts are
    /// equal, or there is only one domain, the change is 1.
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
    /// The emptiest domain; `None` if there are no domains. Of several equally empty domains,
    /// the domain with the first value in order.
    fn emptiest(&self, columns: &Columns) -> Option<EmptiestDomain> {
        let mut clusters: HashMap<u32, Vec<Ix>> = HashMap::new();
        for (candidate, &domain) in (0..).zip(&self.domains.by_candidate) {
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
        Some(EmptiestDomain {
            value: value.into(),
            tied: clusters.len() - 1,
            only_cluster: Some(own[0]).filter(|_| own.len() == 1),
        })
    }

    /// The change of the skew if `domain` gets one more cluster, and whether the skew then exceeds `maxSkew`;
    /// `None` for a cluster outside all domains.
    fn judge(&self, domain: u32) -> Option<(i32, bool)> {
        if domain == NO_DOMAIN {
            return None;
        }
        let count = self.counts[domain as usize];
        let change = self.extremes.change(count);
        Some((change, self.skew_after(count) > self.constraint.max_skew))
    }

    /// The skew after a domain with `count` clusters gets one more cluster.
    fn skew_after(&self, count: u32) -> i64 {
        let skew = i64::from(self.extremes.largest) - i64::from(self.extremes.smallest);
        skew + i64::from(self.extremes.change(count))
    }
}

/// The numbers of a placement's clusters in the domains of one constraint, for one more cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DomainCounts {
    /// The number in the domain of the cluster.
    pub(crate) own: u32,
    /// The number in the emptiest domain.
    pub(crate) least: u32,
    /// The skew with the cluster.
    pub(crate) skew: i64,
}

/// The domain of a constraint with the fewest clusters of the placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EmptiestDomain {
    /// The value of the topology label for the domain.
    pub(crate) value: Arc<str>,
    /// The number of other domains with an equal number of the placement's clusters.
    pub(crate) tied: usize,
    /// The only cluster of the fleet in the domain; `None` for a domain with several clusters.
    pub(crate) only_cluster: Option<Ix>,
}

impl<'a> Spread<'a> {
    /// Creates the counts for `constraints` over the clusters in `columns`. The placement already has the
    /// clusters in `held`.
    pub(crate) fn new(
        constraints: &'a [Constraint],
        columns: &Columns,
        held: impl Iterator<Item = Ix> + Clone,
    ) -> Self {
        let counted = constraints.iter().map(|constraint| {
            let domains = columns.labels.domains(&constraint.key, columns.count());
            let mut counts = vec![0; domains.count];
            let held_domains = held
                .clone()
                .map(|candidate| domains.by_candidate[candidate as usize]);
            for domain in held_domains.filter(|&domain| domain != NO_DOMAIN) {
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

    /// Counts `candidate` as one more cluster of the placement.
    fn add(&mut self, candidate: Ix) {
        for counted in &mut self.constraints {
            let domain = counted.domains.by_candidate[candidate as usize];
            if domain != NO_DOMAIN {
                counted.counts[domain as usize] += 1;
                counted.extremes = Extremes::of(&counted.counts);
            }
        }
    }

    /// The index of the first hard constraint that a pick of `candidate` would violate.
    pub(crate) fn violated(&self, candidate: Ix) -> Option<u32> {
        let hard = (0..)
            .zip(&self.constraints)
            .filter(|(_, counted)| counted.constraint.hard);
        let judged = hard.map(|(index, counted)| {
            (
                index,
                counted.judge(counted.domains.by_candidate[candidate as usize]),
            )
        });
        let mut violated = judged.filter(|(_, judged)| judged.is_some_and(|(_, violated)| violated));
        violated.next().map(|(index, _)| index)
    }

    /// The topology score of `candidate`: the sum over the constraints of the negated changes of the skew. A
    /// violated soft constraint counts as [`SOFT_VIOLATION`] instead.
    pub(crate) fn score(&self, candidate: Ix) -> i32 {
        self.judge(candidate).0
    }

    /// The topology score of `candidate`, and whether its pick would violate a hard constraint.
    fn judge(&self, candidate: Ix) -> (i32, bool) {
        let (mut score, mut refused) = (0, false);
        for counted in &self.constraints {
            let Some((change, violated)) = counted.judge(counted.domains.by_candidate[candidate as usize])
            else {
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

    /// The counts of the constraint with the index `constraint` for a pick of `candidate`; `None` for a
    /// candidate outside all domains.
    pub(crate) fn counts(&self, constraint: u32, candidate: Ix) -> Option<DomainCounts> {
        let counted = self.constraints.get(constraint as usize)?;
        let domain = counted.domains.by_candidate[candidate as usize];
        let own = *counted.counts.get(domain as usize)?;
        Some(DomainCounts {
            own,
            least: counted.extremes.smallest,
            skew: counted.skew_after(own),
        })
    }

    /// The emptiest domain of each constraint; `None` for a constraint without domains. Of several equally
    /// empty domains, the domain with the first value in order.
    pub(crate) fn emptiest(&self, columns: &Columns) -> Vec<Option<EmptiestDomain>> {
        self.constraints
            .iter()
            .map(|counted| counted.emptiest(columns))
            .collect()
    }

    /// The number of the cell of every candidate in `candidates`, and the count of cells. Candidates in one
    /// cell have equal domains for all constraints.
    fn cells(&self, candidates: &[CandidateRank]) -> (Vec<usize>, usize) {
        let mut cells = vec![0; candidates.len()];
        let mut count = 1;
        for counted in &self.constraints {
            let mut numbers: HashMap<(usize, u32), usize> = HashMap::with_capacity(counted.counts.len() + 1);
            for (cell, rank) in cells.iter_mut().zip(candidates) {
                let domain = counted.domains.by_candidate[rank.candidate as usize];
                let next = numbers.len();
                *cell = *numbers.entry((*cell, domain)).or_insert(next);
            }
            count = numbers.len();
        }
        (cells, count)
    }

    /// Picks up to `wanted` of `candidates`, one at a time, and counts the picks. The candidates are sorted,
    /// the best first, and have no topology scores yet. Returns the picks in order, each with its topology
    /// score at the time of the pick.
    pub(crate) fn pick(&mut self, candidates: &[CandidateRank], wanted: usize) -> Vec<CandidateRank> {
        let (cells, count) = self.cells(candidates);
        let mut members: Vec<Vec<CandidateRank>> = vec![Vec::new(); count];
        // The best candidate of each cell is pushed last, so that it is popped first.
        for (cell, rank) in cells.iter().zip(candidates).rev() {
            members[*cell].push(*rank);
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
