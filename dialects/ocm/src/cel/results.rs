//! A cache of the results of one expression on clusters. Results that are no longer used are dropped.

use std::collections::HashMap;

use berth_cel::{Error, Evaluation, PER_CALL_LIMIT, Value};

/// The result of an expression on one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpressionVerdict {
    /// Whether the value of the expression is true.
    pub(crate) holds: bool,
    /// Whether the expression has no value, or a value that is not a bool.
    pub(crate) fails: bool,
    /// Cost of the evaluation. It is cached with the result, so that the cost of a decision does not depend
    /// on which results are cached.
    pub(crate) cost: u64,
    /// Whether the evaluation ended early at its cost limit.
    pub(crate) ended: bool,
}

impl ExpressionVerdict {
    /// The result of `evaluation`.
    pub(crate) fn of(evaluation: Evaluation<'_>) -> Self {
        Self {
            holds: matches!(evaluation.value, Ok(Value::Bool(true))),
            fails: !matches!(evaluation.value, Ok(Value::Bool(_))),
            ended: matches!(evaluation.value, Err(Error::Cost { .. })),
            cost: evaluation.cost.min(PER_CALL_LIMIT),
        }
    }
}

/// The versions of the objects on which the result of an expression depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectReadings {
    /// The stamp of the version of the ManagedCluster.
    pub(crate) cluster: u64,
    /// The stamp of the version of the cluster's scores, if the expression reads scores.
    pub(crate) scores: u64,
    /// Number of expired scores. For one version of the scores, this number identifies the expired scores.
    pub(crate) expired: u32,
}

/// The cached results of one expression, in two generations: a result that is used moves to the young
/// generation, and the results of the old generation are dropped when the young generation is full. So memory
/// is bounded, and a changed cluster costs one evaluation, not one evaluation per cluster.
#[derive(Debug, Default)]
pub(crate) struct Results {
    young: HashMap<ObjectReadings, ExpressionVerdict>,
    old: HashMap<ObjectReadings, ExpressionVerdict>,
}

impl Results {
    /// The smallest capacity of a generation.
    const MIN_CAPACITY: usize = 256;

    /// The result for `reading`, if it is cached.
    pub(crate) fn known(&self, reading: ObjectReadings) -> Option<ExpressionVerdict> {
        self.young
            .get(&reading)
            .or_else(|| self.old.get(&reading))
            .copied()
    }

    /// The result for `reading`, computed by `judge` if it is not cached. `clusters` is the number of
    /// clusters, which a generation has to hold.
    pub(crate) fn get(
        &mut self,
        reading: ObjectReadings,
        clusters: usize,
        judge: impl FnOnce() -> ExpressionVerdict,
    ) -> ExpressionVerdict {
        if let Some(&verdict) = self.young.get(&reading) {
            return verdict;
        }
        let verdict = self.old.get(&reading).copied().unwrap_or_else(judge);
        if self.young.len() >= clusters.max(Self::MIN_CAPACITY) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(reading, verdict);
        verdict
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
            // In each round, one of 1,000 clusters changes.
            for stamp in (0..999).chain([10_000 + round]) {
                let reading = ObjectReadings {
                    cluster: stamp,
                    scores: 0,
                    expired: 0,
                };
                results.get(reading, 1_000, || {
                    runs += 1;
                    ExpressionVerdict {
                        holds: true,
                        fails: false,
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
