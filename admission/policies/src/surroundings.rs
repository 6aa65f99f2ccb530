//! Surroundings that evaluating needs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::UserInfo;
use berth_cel::{Decision, Review};
use serde_json::Value;

use crate::PolicyType;
use crate::param_kind::{ParamError, ParamKind};
use crate::stored::StoredSet;

/// An access review under way.
pub type PendingReview<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// The objects of a kind that policies have as parameters.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// Whether they are in namespaces.
    pub namespaced: bool,
    /// The existing ones that `find` was asked for, sorted by namespace and name.
    pub objects: Vec<Arc<Value>>,
}

/// Makes access reviews.
pub trait Decider: Send + Sync + 'static {
    /// Makes `review` for `user`, or for the service account that the review names.
    fn decide<'a>(&'a self, user: &'a UserInfo, review: &'a Review) -> PendingReview<'a>;
}

/// Knows the policies and their parameters.
pub trait Catalog: Send + Sync + 'static {
    /// The policies and bindings there are; the same `Arc` as long as nothing changes.
    fn stored(&self) -> Arc<StoredSet>;

    /// Whether objects of `kind` can be found.
    ///
    /// # Errors
    /// [`ParamError::Unknown`] when it is not.
    fn find(&self, kind: &ParamKind) -> Result<(), ParamError>;

    /// Objects of `kind`: of `namespace` where they are in namespaces, and of the name `name` if one is asked
    /// for.
    ///
    /// # Errors
    /// Reason why they cannot be known.
    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError>;

    /// Number of objects that [`Catalog::params`] would find without a name, up to `most`.
    fn count(&self, kind: &ParamKind, namespace: &str, most: usize) -> usize;
}

/// Knowledge that evaluating needs.
pub trait Surroundings: Decider + Catalog {
    /// A namespace.
    fn namespace(&self, name: &str) -> Option<Arc<Value>>;

    /// Records the result of a policy, for metrics.
    fn checked(&self, check: &Check<'_>);

    /// Does `work` where it does not delay other users of the thread.
    fn aside(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// Reason why a policy could not be evaluated, as in the label of kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// It was evaluated.
    None,
    /// It does not compile.
    Compile,
    /// Its evaluation failed, or its configuration is wrong.
    Invalid,
    /// Its cost exceeded the limit.
    OutOfBudget,
}

impl ErrorType {
    /// The label's value.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "no_error",
            Self::Compile => "compile_error",
            Self::Invalid => "invalid_error",
            Self::OutOfBudget => "out_of_budget",
        }
    }
}

/// Effect of a policy on a write, as the label of kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// No effect: it could not be evaluated and its failure is ignored, or its mutation was made.
    Allow,
    /// It refused the write.
    Deny,
    /// It warned.
    Warn,
    /// It is recorded in the audit log.
    Audit,
}

impl Enforcement {
    /// The label's value.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Audit => "audit",
        }
    }
}

/// Verdict of a policy about one write.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Kind of policy.
    pub policy_type: PolicyType,
    /// Its name.
    pub policy: &'a str,
    /// The binding, or the empty string.
    pub binding: &'a str,
    /// Reason why it could not be evaluated.
    pub error: ErrorType,
    /// Consequence.
    pub enforcement: Enforcement,
    /// Time of evaluating the expression.
    pub took: Duration,
}
