//! The options, the result, the errors and the observers of a binding.

use std::sync::Arc;

use berth_apimachinery::write::{Guard, Write};
use berth_apimachinery::{Key, Object, Status};
use berth_dialect_contract::{ChoiceRefusal, Decision};

use crate::readiness::ReadinessError;
use crate::snapshot::Snapshot;

/// Observer of all bindings by controllers and users. The methods run on the task of the binding, and must
/// not block.
pub trait BindObserver: Send + Sync + 'static {
    /// Receives the result of a binding whose writes are committed, or that had nothing to write. Not called
    /// for dry runs.
    fn bound(&self, bind: &Bind<'_>, bound: &BindOutcome);

    /// Receives the error of a binding of `demand`, a demand of `dialect`. Not called for dry runs.
    fn failed(&self, dialect: &str, demand: &Key, error: &BindError);
}

/// Treatment of a decision that places nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnplacedTreatment {
    /// Refuses the decision, unless it releases a place and the caller chose no targets. For callers that
    /// requested a binding.
    Refuse,
    /// Commits the writes of the decision, such as status conditions, as for any decision. For controllers.
    Commit,
}

/// A binding to make, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The name of the dialect.
    pub dialect: &'a str,
    /// The demand to bind.
    pub demand: &'a Key,
    /// The names of the clusters to bind to; `None` lets the scheduler pick clusters.
    pub chosen: Option<&'a [String]>,
    /// Whether to validate everything and store nothing.
    pub dry_run: bool,
    /// Treatment of a decision that would place nothing.
    pub unplaced: UnplacedTreatment,
    /// The user who requested the binding; `None` if Berth binds by itself.
    pub by: Option<&'a str>,
}

/// The result of a binding: the decision, and the objects that were written for it.
#[derive(Debug)]
pub struct BindOutcome {
    /// The snapshot on which the decision was made.
    pub snapshot: Snapshot,
    /// The decision on the demand.
    pub decision: Decision,
    /// The written objects, in their present state; empty if the decision was already written.
    pub written: Vec<Arc<Object>>,
}

/// A list of writes, with the conditions that must be true when the writes are committed.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The user that makes the writes.
    pub actor: &'static str,
    /// Field manager of the writes.
    pub manager: String,
    /// Cause of the writes, for the audit log.
    pub cause: String,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// Conditions on the list as a whole, in addition to the base revision of each write.
    pub guards: Vec<Guard>,
    /// Whether to validate everything and store nothing.
    pub dry_run: bool,
}

/// A contest: another writer keeps changing a decision of Berth.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Contest {
    /// The sentence about the contest, with the other writer, the changed object, and the remedy.
    pub text: Arc<str>,
    /// Whether this is the first report of the contest.
    pub is_new: bool,
}

/// Reason why a demand was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The demand does not exist.
    #[error("{0} not found")]
    NotFound(Key),
    /// The chosen targets cannot be bound.
    #[error("the decision is refused: {}", berth_apimachinery::field::aggregate(&.0.errors))]
    Refused(ChoiceRefusal),
    /// The scheduler finds no place; nothing was written.
    #[error("nothing can be bound")]
    Unplaced(Box<BindOutcome>),
    /// The world changed during every attempt; the value is the answer to the last attempt.
    #[error("the objects kept changing during the binding: {}", .0.message)]
    Conflict(Box<Status>),
    /// Berth does not decide the demand: another scheduler does.
    #[error(
        "Berth does not decide {0}: it observes the system, or spec.requests of the SchedulerConfiguration does \
         not select the object"
    )]
    Observed(Key),
    /// Another writer keeps changing the decision, so Berth does not change it any more.
    #[error(transparent)]
    Contested(Contest),
    /// The writes were refused, for example by admission.
    #[error("{}", .0.message)]
    Rejected(Box<Status>),
    /// The writes were stored, but with another content: admission changed them.
    #[error("{}", .0.message)]
    Overruled(Box<Status>),
    /// The engine has no complete world for a decision.
    #[error(transparent)]
    NotReady(#[from] ReadinessError),
}

/// Result of the settlement of a demand, which all waiters share.
pub type Settlement = Arc<Result<BindOutcome, BindError>>;
