//! Comparison of the results of expressions for two versions of a cluster. A placement whose expressions have
//! equal results for both versions is not due (docs/systems/ocm.md, "When it runs").

use std::sync::TryLockError;

use berth_cel::{PER_CALL_LIMIT, Value};

use crate::cel::{Expression, ExpressionVerdict, ObjectReadings};
use crate::cluster::Cluster;

/// Cost limit of all evaluations for one change of a cluster: a tenth of the limit of a single evaluation in
/// a decision. Changes are applied one after the other, so slow evaluations would delay all later changes.
const LIMIT: u64 = PER_CALL_LIMIT / 10;

/// Relation of the results of an expression for two versions of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Both results are this value.
    Both(bool),
    /// The results differ, or are not compared.
    MayDiffer,
}

/// Compares the results of expressions for one change of a cluster, within a cost limit.
pub(crate) struct ExpressionComparer {
    /// Cost that further evaluations may have.
    remaining_cost: u64,
    /// Number of clusters in the fleet, which bounds the cached results.
    clusters: usize,
}

impl ExpressionComparer {
    /// Creates the comparer for one change in a fleet of `clusters` clusters.
    pub(crate) fn new(clusters: usize) -> Self {
        Self {
            remaining_cost: LIMIT,
            clusters,
        }
    }

    /// Compares the results of `expression` for two versions of a cluster. The results may differ if the
    /// expression fails or reads scores, or if no decision has cached the result for the old version. Costs
    /// are not compared: they matter only to a decision at its cost limit, which is repeated after five
    /// minutes anyway.
    pub(crate) fn compare(&mut self, expression: &Expression, old: &Cluster, new: &Cluster) -> Comparison {
        if expression.uses_scores {
            return Comparison::MayDiffer;
        }
        // A decision holds the lock while it evaluates the expression on all clusters, which may take long.
        let mut results = match expression.results.try_lock() {
            Ok(results) => results,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Comparison::MayDiffer,
        };
        let Some(before) = results.known(reading(old)) else {
            return Comparison::MayDiffer;
        };
        let after = results.known(reading(new)).or_else(|| {
            let variables = [Value::from(&**new.object.value())];
            let verdict = ExpressionVerdict::of(expression.program.evaluate(&variables, self.remaining_cost));
            self.remaining_cost = self.remaining_cost.saturating_sub(verdict.cost);
            // Decisions have a higher limit, so an evaluation that ended at this limit must not be cached.
            (!verdict.ended).then(|| results.get(reading(new), self.clusters, || verdict))
        });
        match after {
            Some(after) if !before.fails && !after.fails && before.holds == after.holds => {
                Comparison::Both(after.holds)
            }
            _ => Comparison::MayDiffer,
        }
    }
}

/// The versions of the objects on which the result of an expression without scores depends.
fn reading(cluster: &Cluster) -> ObjectReadings {
    ObjectReadings {
        cluster: cluster.stamp,
        scores: 0,
        expired: 0,
    }
}
