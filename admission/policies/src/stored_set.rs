//! The stored policies and bindings, before compilation.

use std::sync::Arc;

use serde_json::Value;

/// Stored policies and bindings, sorted by name.
#[derive(Clone, Debug, Default)]
pub struct StoredSet {
    /// MutatingAdmissionPolicies.
    pub mutating: Vec<Arc<Value>>,
    /// Bindings of the MutatingAdmissionPolicies.
    pub mutating_bindings: Vec<Arc<Value>>,
    /// ValidatingAdmissionPolicies.
    pub validating: Vec<Arc<Value>>,
    /// Bindings of the ValidatingAdmissionPolicies.
    pub validating_bindings: Vec<Arc<Value>>,
}

impl StoredSet {
    /// Whether there are no policies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}
