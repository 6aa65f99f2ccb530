//! Running an expression on clusters, and keeping what came out and what it cost.

use std::fmt;
use std::sync::PoisonError;

use ::cel::{Error, PER_CALL_LIMIT, Value};
use dialect_columns::Bits;
use scheduling::Ix;

use crate::cel::{Expression, Judged};
use crate::cluster::Cluster;
use crate::columns::Columns;

/// What the expressions of one decision may cost together, in any fleet.
const BASE: u64 = 1_000_000;
/// What they may cost beyond it for each cluster of the fleet.
const PER_CLUSTER: u64 = 1_000;

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
