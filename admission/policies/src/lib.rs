//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy, evaluated as kube-apiserver evaluates them, for the
//! kinds that a server stores itself.
//!
//! [`Policy`] is one compiled policy; [`Enforcer`] holds the policies in force, and evaluates them for the
//! admission chain. An evaluation does no I/O: it reads policies, bindings, namespaces and parameters from
//! [`Surroundings`]. Access reviews may take time, so an evaluation only collects the reviews that it needs;
//! they are made, and then everything is evaluated again with the results.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

mod binding;
mod constraints;
mod dispatch;
mod enforcer;
mod evaluate;
mod expressions;
mod input;
mod invocation;
mod mutate;
mod param_kind;
mod params;
mod policy;
mod refusal;
mod set;
mod stored_set;
mod surroundings;
mod type_check;
mod validate;

#[cfg(test)]
mod tests;

pub use binding::Binding;
pub use constraints::Constraints;
pub use enforcer::Enforcer;
pub use param_kind::{ParamError, ParamKind};
pub use params::ParamRef;
pub use policy::Policy;
pub use policy::Problem;
pub use stored_set::StoredSet;
pub use surroundings::{
    AccessReviewer, Catalog, Check, Enforcement, ErrorType, Params, PendingReview, Surroundings,
};
pub use type_check::{ExpressionWarning, Kinds, check_types};

/// The two kinds of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyType {
    /// MutatingAdmissionPolicy.
    Mutating,
    /// ValidatingAdmissionPolicy.
    Validating,
}

impl PolicyType {
    /// Kind of the policies of this type.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingAdmissionPolicy",
            Self::Validating => "ValidatingAdmissionPolicy",
        }
    }
}
