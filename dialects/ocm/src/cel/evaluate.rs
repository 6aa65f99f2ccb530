//! Running an expression on clusters, and keeping what came out and what it cost.

use std::collections::HashMap;
use std::fmt;
use std::sync::PoisonError;

use ::cel::{Error, PER_CALL_LIMIT, Value};
use dialect_columns::Bits;
use scheduling::Ix;

use super::Expression;
use crate::columns::Columns;
use crate::fleet::cluster::Cluster;

/// What the expressions of one decision may cost together, in any fleet.
const BASE: u64 = 1_000_000;
/// What they may cost beyond it for each cluster of the fleet.
const PER_CLUSTER: u64 = 1_000;

/// What an expression says of a cluster.
#[derive(Clone, Copy, Debug)]
struct Judged {
    holds: bool,
    /// What that cost, kept with it: whether a decision may afford its expressions does not depend on what is known.
    cost: u64,
    /// Whether it was ended, because it cost more than one evaluation may.
    ended: bool,
}

/// Results by the stamp of the cluster that was judged, in two generations: what is still asked for moves to the young
/// one, what is not is forgotten when the generations change. So memory is bounded, and a cluster that comes or goes
/// costs one evaluation, not one per cluster.
#[derive(Debug, Default)]
pub(super) struct Results {
    young: HashMap<u64, Judged>,
    old: HashMap<u64, Judged>,
}

impl Results {
    /// The fewest results a generation holds.
    const LEAST: usize = 256;

    fn get(&mut self, stamp: u64, clusters: usize, judge: impl FnOnce() -> Judged) -> Judged {
        if let Some(&held) = self.young.get(&stamp) {
            return held;
        }
        let held = self.old.get(&stamp).copied().unwrap_or_else(judge);
        if self.young.len() >= clusters.max(Self::LEAST) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(stamp, held);
        held
    }
}

/// Why a decision is not made: its expressions cost too much.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// One does, on the cluster of this name.
    One(String),
    /// All of them do together.
    All {
        /// What they may cost.
        limit: u64,
        /// On so many clusters.
        clusters: usize,
    },
}

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(cluster) => {
                let limit = PER_CALL_LIMIT;
                write!(formatter, "on cluster {cluster}: {}", Error::Cost { limit })
            }
            Self::All { limit, clusters } => write!(
                formatter,
                "the expressions of the placement cost more than {limit}, which is what one decision over {clusters} \
                 clusters may cost"
            ),
        }
    }
}

/// Runs expressions during one decision, and counts what they cost.
#[derive(Default)]
pub(crate) struct Evaluator {
    spent: u64,
}

impl Evaluator {
    /// Keeps in `matching` only the clusters of `columns` of which `expression` is true. Errors and other values than
    /// true are no match. Two decisions that need the same results wait for each other instead of both working.
    ///
    /// # Errors
    /// When the expression costs too much on a cluster of `scope`, or all so far do together.
    pub(crate) fn retain(
        &mut self,
        expression: &Expression,
        columns: &Columns,
        scope: &Bits,
        matching: &mut Bits,
    ) -> Result<(), Exceeded> {
        let clusters = columns.rows.len();
        let limit = BASE + PER_CLUSTER * clusters as u64;
        let mut results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates: Vec<Ix> = matching.iter().collect();
        for candidate in candidates {
            let cluster = columns.row(candidate);
            let judged = results.get(cluster.stamp, clusters, || judge(expression, cluster));
            self.spent = self.spent.saturating_add(judged.cost);
            if judged.ended && scope.has(candidate) {
                return Err(Exceeded::One(cluster.name.to_string()));
            }
            if self.spent > limit {
                return Err(Exceeded::All { limit, clusters });
            }
            if !judged.holds {
                matching.set(candidate, false);
            }
        }
        Ok(())
    }

    /// Whether `expression` is true of the cluster at `candidate`.
    pub(crate) fn holds(&mut self, expression: &Expression, columns: &Columns, candidate: Ix) -> bool {
        let mut one = Bits::none(columns.count());
        one.set(candidate, true);
        let scope = Bits::none(columns.count());
        self.retain(expression, columns, &scope, &mut one).is_ok() && one.has(candidate)
    }
}

fn judge(expression: &Expression, cluster: &Cluster) -> Judged {
    let variables = [Value::from(&**cluster.object.value())];
    let evaluation = expression.program.evaluate(&variables, PER_CALL_LIMIT);
    Judged {
        holds: matches!(evaluation.value, Ok(Value::Bool(true))),
        ended: matches!(evaluation.value, Err(Error::Cost { .. })),
        cost: evaluation.cost.min(PER_CALL_LIMIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_while_they_are_asked_for_and_forgotten_after() {
        let mut results = Results::default();
        let mut runs = 0;
        for round in 0..10u64 {
            // One of 1,000 clusters changes in each round.
            for stamp in (0..999).chain([10_000 + round]) {
                results.get(stamp, 1_000, || {
                    runs += 1;
                    Judged {
                        holds: true,
                        cost: 1,
                        ended: false,
                    }
                });
            }
        }
        assert_eq!(runs, 999 + 10);
        assert!(results.young.len() + results.old.len() <= 2_000);
    }
}
