//! Interfaces of the server to the evaluation of policies: policies, parameters, namespaces, access reviews
//! and metrics.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::UserInfo;
use berth_cel::{Decision, Review};
use serde_json::Value;

use crate::PolicyType;
use crate::param_kind::{ParamError, ParamKind};
use crate::stored_set::StoredSet;

/// Future result of an access review.
pub type PendingReview<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// The objects of a kind that policies use as parameters.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Objects that the lookup found, sorted by namespace and name.
    pub objects: Vec<Arc<Value>>,
}

/// Reviewer of the rights that expressions check with `authorizer`.
pub trait AccessReviewer: Send + Sync + 'static {
    /// Decides `review` for `user`, or for the service account that the review names.
    fn decide<'a>(&'a self, user: &'a UserInfo, review: &'a Review) -> PendingReview<'a>;
}

/// Catalog of policies and their parameters.
pub trait Catalog: Send + Sync + 'static {
    /// Returns the stored policies and bindings, in the same `Arc` as long as nothing changes.
    fn stored(&self) -> Arc<StoredSet>;

    /// Checks that `kind` is served.
    ///
    /// # Errors
    /// [`ParamError::Unknown`] when no served kind matches.
    fn find(&self, kind: &ParamKind) -> Result<(), ParamError>;

    /// Returns the objects of `kind`, in `namespace` if the kind is namespaced; only the object `name` if a
    /// name is given.
    ///
    /// # Errors
    /// When the kind is not served, or its objects are not listed yet.
    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError>;

    /// Returns the number of objects that [`Catalog::params`] would find without a name, at most `limit`.
    fn count(&self, kind: &ParamKind, namespace: &str, limit: usize) -> usize;
}

/// Data and services of the server that an evaluation uses.
pub trait Surroundings: AccessReviewer + Catalog {
    /// Returns the Namespace `name`, if it exists.
    fn namespace(&self, name: &str) -> Option<Arc<Value>>;

    /// Called for metrics with the result of each mutation, of each validation that failed or could not be
    /// evaluated, and of each policy or binding that could not be evaluated. Validations that pass are not
    /// reported.
    fn checked(&self, check: &Check<'_>);

    /// Runs `work`, which may block the thread for long. An implementation may move other tasks of the thread
    /// to another thread first.
    fn run_blocking(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// Type of the error in the evaluation of a policy, as in kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// The policy was evaluated without an error.
    None,
    /// An expression of the policy does not compile.
    Compile,
    /// The evaluation failed, or the policy's configuration is wrong.
    Invalid,
    /// The policy's cost exceeded the limit.
    OutOfBudget,
}

impl ErrorType {
    /// Value of the metrics label `error_type`.
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

/// Effect of a policy on a write, as in kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// The policy allowed the write: its failure is ignored, or its mutation was applied.
    Allow,
    /// The policy refused the write.
    Deny,
    /// The policy added a warning.
    Warn,
    /// The policy added a failed validation to the audit log.
    Audit,
}

impl Enforcement {
    /// Value of the metrics label `enforcement_action`.
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

/// Result of one validation or mutation of a policy, or of the whole policy, for one write.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Type of the policy.
    pub policy_type: PolicyType,
    /// Name of the policy.
    pub policy: &'a str,
    /// Name of the binding; empty if the policy itself is wrong.
    pub binding: &'a str,
    /// Type of the error, if the policy could not be evaluated.
    pub error: ErrorType,
    /// Effect on the write.
    pub enforcement: Enforcement,
    /// Duration of a validation or of a successful mutation; otherwise zero.
    pub took: Duration,
}
