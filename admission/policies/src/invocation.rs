//! One policy with one of its bindings and one parameter.

use serde_json::Value;

use crate::dispatch::PolicyMatch;

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
