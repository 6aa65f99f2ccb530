//! Policies with their bindings and parameters.

use std::sync::Arc;

use serde_json::Value;

use crate::binding::Binding;
use crate::set::PolicyInForce;

/// One policy with one binding that concerns the write.
pub(crate) struct PolicyMatch<'p> {
    pub(crate) bound: &'p PolicyInForce,
    pub(crate) binding: &'p Binding,
    pub(crate) version: &'p str,
    pub(crate) params: Vec<Option<Arc<Value>>>,
}

/// One policy with one of its bindings and one parameter.
pub(crate) struct Invocation<'p> {
    pub(crate) policy_match: &'p PolicyMatch<'p>,
    pub(crate) params: Option<&'p Value>,
}

impl Invocation<'_> {
    /// Unique name among policies and webhooks, for users: names of webhook configurations contain no space.
    pub(crate) fn key(&self) -> String {
        let bound = self.policy_match;
        let (policy, binding) = (&bound.bound.policy.name, &bound.binding.name);
        let key = format!("MutatingAdmissionPolicy {policy} by binding {binding}");
        let Some(params) = self.params else { return key };
        let text = |field: &str| params["metadata"][field].as_str().unwrap_or_default();
        format!("{key} with parameter {}/{}", text("namespace"), text("name"))
    }
}
