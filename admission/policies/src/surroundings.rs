//! Interfaces to the data that an evaluation reads.

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

/// An access review under way.
pub type PendingReview<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// The objects of a kind that policies use as parameters.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Existing objects that match the lookup, sorted by namespace and name.
    pub objects: Vec<Arc<Value>>,
}

/// Access reviewer.
pub trait Decider: Send + Sync + 'static {
    /// Makes `review` for `user`, or for the service account that the review names.
    fn decide<'a>(&'a self, user: &'a UserInfo, review: &'a Review) -> PendingReview<'a>;
}

/// Catalog of policies and their parameters.
pub trait Catalog: Send + Sync + 'static {
    /// Stored policies and bindings; the same `Arc` as long as nothing changes.
    fn stored(&self) -> Arc<StoredSet>;

    /// Checks that objects of `kind` can be found.
    ///
    /// # Errors
    /// [`ParamError::Unknown`] when no served kind matches.
    fn find(&self, kind: &ParamKind) -> Result<(), ParamError>;

    /// Objects of `kind`, in `namespace` if the kind is namespaced; only the object `name` if a name is
    /// given.
    ///
    /// # Errors
    /// Reason why the objects are not known.
    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError>;

    /// Number of objects that [`Catalog::params`] would find without a name, up to `most`.
    fn count(&self, kind: &ParamKind, namespace: &str, most: usize) -> usize;
}

/// Everything that an evaluation reads.
pub trait Surroundings: Decider + Catalog {
    /// The namespace `name`, if it exists.
    fn namespace(&self, name: &str) -> Option<Arc<Value>>;

    /// Records the result of a policy, for metrics.
    fn checked(&self, check: &Check<'_>);

    /// Runs `work`, if possible in a way that does not delay other users of the thread.
    fn aside(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// Reason why a policy could not be evaluated, as in the label of kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// The policy was evaluated.
    None,
    /// The policy does not compile.
    Compile,
    /// The evaluation failed, or the policy's configuration is wrong.
    Invalid,
    /// The policy's cost exceeded the limit.
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

/// Effect of a policy on a write, as in the label of kube-apiserver's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// The write goes on: the policy could not be evaluated and its failure is ignored, or its mutation was
    /// carried out.
    Allow,
    /// The policy refused the write.
    Deny,
    /// The policy added a warning.
    Warn,
    /// The policy's failure is recorded in the audit log.
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
    /// Name of the policy.
    pub policy: &'a str,
    /// The binding, or the empty string.
    pub binding: &'a str,
    /// Reason why the policy could not be evaluated.
    pub error: ErrorType,
    /// Consequence of the verdict.
    pub enforcement: Enforcement,
    /// Duration of a validation or of a successful mutation; otherwise zero.
    pub took: Duration,
}
