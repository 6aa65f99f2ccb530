//! Evaluation of expressions on clusters, with cached results and counted cost.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use berth_apimachinery::Timestamp;
use berth_cel::{Evaluation, PER_CALL_LIMIT, Value};
use berth_dialect_columns::Bits;
use berth_scheduling::Ix;

use crate::cel::{Expression, ExpressionVerdict, ObjectReadings, ScoreReader};
use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::scored::ClusterScores;

/// Cost limit for all expressions of one predicate together on one cluster, as in OCM.
const PER_PREDICATE: u64 = 10_000_000;
/// The part of the cost limit for all expressions of one decision that does not depend on the fleet's size: a
/// hundred times the limit of one evaluation. The limit ends decisions that would keep a server busy for
/// minutes.
const BASE: u64 = 100_000_000;
/// Additional cost limit of a decision for each cluster of the fleet: ten thousand times the cost of
/// comparing a label.
const PER_CLUSTER: u64 = 50_000;

/// Reason why an expression fails on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The value is an error, or neither true nor false. [`Evaluator::failure`] returns the details.
    Value,
    /// The expressions of the predicate together exceed their cost limit on the cluster.
    Predicate,
    /// All expressions of the decision together exceed this cost limit, so the expression was not evaluated
    /// on the cluster.
    Decision(u64),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value => formatter.write_str("it is neither true nor false"),
            Self::Predicate => write!(
                formatter,
                "the expressions of the predicate together cost more than {PER_PREDICATE} on the cluster, the limit of one \
                 predicate"
            ),
            Self::Decision(limit) => write!(
                formatter,
                "it was not evaluated, since the expressions of the placement together cost more than {limit}, the limit of \
                 one decision"
            ),
        }
    }
}

/// Summary of the clusters on which an expression fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failures {
    /// Number of clusters on which the expression fails.
    pub(crate) count: usize,
    /// Number of clusters on which the expression fails because of its cost.
    pub(crate) costly: usize,
    /// The first cluster on which the expression fails.
    pub(crate) first: Ix,
    /// Reason why the expression fails on the first cluster.
    pub(crate) reason: Failure,
}

/// Evaluates expressions during one decision, at one instant, and counts their cost.
pub(crate) struct Evaluator<'a> {
    fleet: &'a Fleet,
    now: Timestamp,
    spent: u64,
    /// Cost of the current predicate's expressions so far, by candidate.
    predicate_costs: HashMap<Ix, u64>,
    /// The clusters on which an expression exceeds a cost limit; `None` if there are none.
    pub(crate) costly: Option<Bits>,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator for the clusters of `fleet` at `now`.
    pub(crate) fn new(fleet: &'a Fleet, now: Timestamp) -> Self {
        Self {
            fleet,
            now,
            spent: 0,
            predicate_costs: HashMap::new(),
            costly: None,
        }
    }

    /// Begins another predicate, whose expressions have their own cost limit.
    pub(crate) fn begin_predicate(&mut self) {
        self.predicate_costs.clear();
    }

    /// Removes from `matching` the clusters on which `expression` is false, fails, or exceeds a cost limit.
    /// Returns a summary of the failures on clusters of `scope`; `None` if there are none. If two concurrent
    /// decisions evaluate the same expression, one waits for the other.
    pub(crate) fn retain(
        &mut self,
        expression: &Expression,
        scope: &Bits,
        matching: &mut Bits,
    ) -> Option<Failures> {
        let columns = self.fleet.columns();
        let clusters = columns.rows.len();
        let limit = BASE + PER_CLUSTER * clusters as u64;
        let mut results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failures: Option<Failures> = None;
        let candidates: Vec<Ix> = matching.iter().collect();
        for candidate in candidates {
            let cluster = columns.row(candidate);
            let (reason, is_costly) = if self.spent > limit {
                (Some(Failure::Decision(limit)), true)
            } else {
                let reading = self.reading(expression, cluster);
                let verdict = results.get(reading, clusters, || {
                    self.run(expression, cluster, ExpressionVerdict::of)
                });
                self.spent = self.spent.saturating_add(verdict.cost);
                let predicate_cost = self.predicate_costs.entry(candidate).or_default();
                *predicate_cost = predicate_cost.saturating_add(verdict.cost);
                match *predicate_cost > PER_PREDICATE {
                    true => (Some(Failure::Predicate), true),
                    false if verdict.holds => continue,
                    false => (verdict.fails.then_some(Failure::Value), verdict.ended),
                }
            };
            matching.set(candidate, false);
            if is_costly {
                let costly = self.costly.get_or_insert_with(|| Bits::none(columns.count()));
                costly.set(candidate, true);
            }
            if let Some(reason) = reason
                && scope.has(candidate)
            {
                let failures = failures.get_or_insert(Failures {
                    count: 0,
                    costly: 0,
                    first: candidate,
                    reason,
                });
                failures.count += 1;
                failures.costly += usize::from(is_costly);
            }
        }
        failures
    }

    /// Whether `expression` is true for the cluster at `candidate`.
    pub(crate) fn holds(&mut self, expression: &Expression, candidate: Ix) -> bool {
        let count = self.fleet.columns().count();
        let mut matching = Bits::none(count);
        matching.set(candidate, true);
        let scope = Bits::none(count);
        self.begin_predicate();
        self.retain(expression, &scope, &mut matching);
        matching.has(candidate)
    }

    /// Reason why `expression` is neither true nor false for the cluster at `candidate`; `None` if it is true
    /// or false. The expression is evaluated again, since only verdicts are cached.
    pub(crate) fn failure(&self, expression: &Expression, candidate: Ix) -> Option<String> {
        let cluster = self.fleet.columns().row(candidate);
        self.run(expression, cluster, |evaluation| match evaluation.value {
            Ok(Value::Bool(_)) => None,
            Ok(value) => Some(format!("its value is a {}, not a bool", value.type_name())),
            Err(error) => Some(error.to_string()),
        })
    }

    /// The versions of the objects on which the result of `expression` on `cluster` depends.
    fn reading(&self, expression: &Expression, cluster: &Cluster) -> ObjectReadings {
        let scored = self
            .fleet
            .scored
            .get(&cluster.name)
            .filter(|_| expression.uses_scores);
        let expired = |scored: &Arc<ClusterScores>| {
            let objects = scored.objects.iter();
            objects.filter(|scores| scores.until < self.now).count()
        };
        ObjectReadings {
            cluster: cluster.stamp,
            scores: scored.map_or(0, |scored| scored.stamp),
            expired: scored.map_or(0, |scored| u32::try_from(expired(scored)).unwrap_or(u32::MAX)),
        }
    }

    fn run<R>(
        &self,
        expression: &Expression,
        cluster: &Cluster,
        read: impl FnOnce(Evaluation<'_>) -> R,
    ) -> R {
        let variables = [Value::from(&**cluster.object.value())];
        read(match expression.uses_scores {
            false => expression.program.evaluate(&variables, PER_CALL_LIMIT),
            true => {
                let scored = ScoreReader {
                    cluster: Arc::clone(&cluster.name),
                    objects: self.fleet.scored.get(&cluster.name).cloned(),
                    now: self.now,
                };
                let program = &expression.program;
                program.evaluate_with_data(&variables, PER_CALL_LIMIT, Arc::new(scored))
            }
        })
    }
}
