//! Evaluations of expressions on two versions of a cluster, by which placements are found that a change of the
//! cluster does not concern (docs/systems/ocm.md, "When it runs").

use std::sync::TryLockError;

use berth_cel::{PER_CALL_LIMIT, Value};

use crate::cel::{Expression, ExpressionVerdict, ObjectReadings};
use crate::cluster::Cluster;

/// Cost limit of all evaluations for one change of a cluster: a tenth of the limit of a single evaluation in a
/// decision. The changes of a storm are applied one after the other, and nothing is read meanwhile.
const LIMIT: u64 = PER_CALL_LIMIT / 10;

/// Results of an expression for two versions of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Both results are this value.
    Both(bool),
    /// The results differ, or are not compared.
    MayDiffer,
}

/// Evaluations for one change of a cluster.
pub(crate) struct Trials {
    /// The rest of the cost limit.
    left: u64,
    /// Number of clusters.
    clusters: usize,
}

impl Trials {
    /// Creates the trials for a change in a fleet of this many clusters.
    pub(crate) fn new(clusters: usize) -> Self {
        Self {
            left: LIMIT,
            clusters,
        }
    }

    /// Compares the results of `expression` for two versions of a cluster. The result for the old version must be
    /// cached, as it is after a decision. The results of an expression that fails, or reads scores, may differ. The
    /// costs of both results are not compared: only a decision at its cost limit depends on them, and it is made
    /// again after five minutes anyway.
    pub(crate) fn compare(&mut self, expression: &Expression, old: &Cluster, new: &Cluster) -> Comparison {
        if expression.uses_scores {
            return Comparison::MayDiffer;
        }
        // A decision that evaluates the expression on all clusters holds the lock meanwhile. It is not waited for.
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
            let verdict = ExpressionVerdict::of(expression.program.evaluate(&variables, self.left));
            self.left = self.left.saturating_sub(verdict.cost);
            // A result that this limit ended is not that of a decision.
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
