//! Kinds of `admissionregistration.k8s.io`: ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their
//! bindings, with their schemas and validation. The crate `berth-policies` evaluates them.
//!
//! Mutating policies and their bindings are served in `v1` and in `v1beta1`, the version in manifests from
//! before Kubernetes 1.36.

mod binding;
mod expressions;
pub mod fields;
mod matching;
mod mutating;
mod validating;

use berth_apimachinery::{GroupResource, KindInfo, Scope};

pub use binding::{MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBinding};
pub use mutating::MutatingAdmissionPolicy;
pub use validating::ValidatingAdmissionPolicy;

/// API group of admission policies.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// Resource of ValidatingAdmissionPolicies.
pub const VALIDATING: GroupResource = GroupResource::new(GROUP, "validatingadmissionpolicies");
/// Resource of ValidatingAdmissionPolicyBindings.
pub const VALIDATING_BINDINGS: GroupResource = GroupResource::new(GROUP, "validatingadmissionpolicybindings");
/// Resource of MutatingAdmissionPolicies.
pub const MUTATING: GroupResource = GroupResource::new(GROUP, "mutatingadmissionpolicies");
/// Resource of MutatingAdmissionPolicyBindings.
pub const MUTATING_BINDINGS: GroupResource = GroupResource::new(GROUP, "mutatingadmissionpolicybindings");

/// Text of a table cell without a value.
const UNSET: &str = "<unset>";

const fn info(
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
) -> KindInfo {
    KindInfo {
        singular,
        scope: Scope::Cluster,
        categories: &["api-extensions"],
        strategic_merge_patch: true,
        ..KindInfo::new(GROUP, versions, kind, plural)
    }
}

#[cfg(test)]
mod tests;
