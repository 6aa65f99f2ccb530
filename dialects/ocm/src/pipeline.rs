//! The pipeline's plugins: what refuses a cluster and what scores it (docs/systems/ocm.md, "Filters" and "Scores").

pub(crate) mod filters;
pub(crate) mod scorers;

/// The filter that asks for membership in a bound set.
pub(crate) const CLUSTER_SET: &str = "ClusterSet";
/// The filter that leaves clusters alone that are being deleted.
pub(crate) const LIFECYCLE: &str = "Lifecycle";
/// The filter of `spec.predicates`.
pub(crate) const PREDICATE: &str = "Predicate";
/// The filter of `spec.tolerations`.
pub(crate) const TAINT_TOLERATION: &str = "TaintToleration";

/// The filters in pipeline order.
pub(crate) static FILTERS: [&str; 4] = [CLUSTER_SET, LIFECYCLE, PREDICATE, TAINT_TOLERATION];

/// Why a filter refuses, by the filter's place in [`FILTERS`].
pub(crate) static REASONS: [&str; 4] = ["NotInSet", "Terminating", "PredicateMismatch", "Untolerated"];
