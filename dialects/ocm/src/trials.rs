//! Evaluations of expressions on two versions of a cluster, by which placements are found that a change of the
//! cluster does not concern (docs/systems/ocm.md, "When it runs").

use std::sync::PoisonError;

use berth_cel::{PER_CALL_LIMIT, Value};

use crate::cel::{Expression, ExpressionVerdict, ObjectReadings};
use crate::cluster::Cluster;

/// Highest number of evaluations for one change of a cluster.
const MOST_TRIALS: u32 = 32;

/// Evaluations for one change of a cluster, by which placements are found that the change does not concern.
pub(crate) struct Trials {
    /// Number of evaluations that are left.
    left: u32,
    /// Number of clusters.
    clusters: usize,
}

impl Trials {
    /// Creates the trials for a change in a fleet of this many clusters.
    pub(crate) fn new(clusters: usize) -> Self {
        Self {
            left: MOST_TRIALS,
            clusters,
        }
    }

    /// Whether the result of `expression` may differ for two versions of a cluster. An expression that fails, or
    /// reads scores, always may. The costs of both results are not compared: only a decision at its cost limit
    /// depends on them, and it is made again after five minutes anyway.
    pub(crate) fn tells_apart(&mut self, expression: &Expression, old: &Cluster, new: &Cluster) -> bool {
        if expression.uses_scores {
            return true;
        }
        let mut results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
        let mut holds = |cluster: &Cluster| {
            let reading = ObjectReadings {
                cluster: cluster.stamp,
                scores: 0,
                expired: 0,
            };
            if !results.knows(reading) {
                self.left = self.left.checked_sub(1)?;
            }
            let verdict = results.get(reading, self.clusters, || {
                let variables = [Value::from(&**cluster.object.value())];
                ExpressionVerdict::of(expression.program.evaluate(&variables, PER_CALL_LIMIT))
            });
            (!verdict.fails).then_some(verdict.holds)
        };
        match (holds(old), holds(new)) {
            (Some(was), Some(is)) => was != is,
            _ => true,
        }
    }
}
