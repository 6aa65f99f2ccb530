//! Options of a binding, its result and its observers.

use std::sync::Arc;

use berth_apimachinery::write::{Guard, Write};
use berth_apimachinery::{Key, Object, Status};
use berth_dialect_contract::{ChoiceRefusal, Decision};

use crate::behind::Behind;
use crate::snapshot::Snapshot;

/// Observer of all bindings, of controllers and users. Its methods run on the task of the binding, and
/// must not block.
pub trait BindObserver: Send + Sync + 'static {
    /// Receives the result of a binding: `bound` is committed, or nothing had to be written. Not called for
    /// dry runs.
    fn bound(&self, bind: &Bind<'_>, bound: &BindOutcome);

    /// Receives the error of a binding of `demand`, a demand of the dialect named `dialect`. Not called for
    /// dry runs.
    fn failed(&self, dialect: &str, demand: &Key, error: &BindError);
}

/// Treatment of a decision that places nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnplacedTreatment {
    /// Refuse the decision, unless it releases a place: for callers that requested a binding.
    Refuse,
    /// Commit the writes of the decision (such as status conditions) like the writes of other decisions: for
    /// controllers.
    Commit,
}

/// A request for a binding.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The dialect's name.
    pub dialect: &'a str,
    /// The demand.
    pub demand: &'a Key,
    /// The cluster names to bind to; `None` lets the scheduler pick.
    pub chosen: Option<&'a [String]>,
    /// Whether to validate and store nothing.
    pub dry_run: bool,
    /// Treatment of a decision that would place nothing.
    pub unplaced: UnplacedTreatment,
    /// The user who requested the binding; `None` where Berth binds by itself.
    pub by: Option<&'a str>,
}

/// A committed binding, or an existing binding (then nothing is `written`).
#[derive(Debug)]
pub struct BindOutcome {
    /// The world of the decision.
    pub snapshot: Snapshot,
    /// The decision.
    pub decision: Decision,
    /// The written objects, in their present state.
    pub written: Vec<Arc<Object>>,
}

/// The writes of one decision, with all conditions that have to be true when they are committed.
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
    /// Conditions in addition to the bases of the writes. They guard the list as a whole.
    pub guards: Vec<Guard>,
    /// Whether to check everything and store nothing.
    pub dry_run: bool,
}

/// A decision that another writer keeps changing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Contest {
    /// Sentence with the other writer, the changed object, and the remedy.
    pub text: Arc<str>,
    /// Whether this is the first report of the contest.
    pub is_new: bool,
}

/// Reason why there is no binding.
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
    #[error("the objects kept changing: {}", .0.message)]
    Moved(Box<Status>),
    /// Berth does not decide the demand: another scheduler does.
    #[error(
        "Berth does not decide {0}: the SchedulerConfiguration says mode: Observe, or leaves it out of spec.requests"
    )]
    Observed(Key),
    /// Another writer keeps changing the decision, so Berth does not change it any more.
    #[error(transparent)]
    Contested(Contest),
    /// The writes were refused.
    #[error("{}", .0.message)]
    Rejected(Box<Status>),
    /// The writes were stored, and changed by others in the process.
    #[error("{}", .0.message)]
    Overruled(Box<Status>),
    /// The engine has no complete world for a decision.
    #[error(transparent)]
    Behind(#[from] Behind),
}

/// Settlement of a demand, for all waiters.
pub type Settlement = Arc<Result<BindOutcome, BindError>>;
