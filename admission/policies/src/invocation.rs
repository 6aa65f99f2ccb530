//! Policies with the bindings and parameters for one write.

use std::sync::Arc;

use berth_admission::client::HookId;
use serde_json::Value;

use crate::binding::Binding;
use crate::set::PolicyInForce;

/// A policy with one of its bindings, both of which match the write.
pub(crate) struct PolicyMatch<'p> {
    pub(crate) bound: &'p PolicyInForce,
    pub(crate) binding: &'p Binding,
    /// Version of the resource in which the policy judges the write.
    pub(crate) version: &'p str,
    /// Parameters of the binding; `None` stands for an evaluation without a parameter.
    pub(crate) params: Vec<Option<Arc<Value>>>,
}

/// A mutating policy with one of its bindings and at most one parameter.
pub(crate) struct Invocation<'p> {
    pub(crate) policy_match: &'p PolicyMatch<'p>,
    pub(crate) params: Option<&'p Value>,
}

impl Invocation<'_> {
    /// Identity of the invocation among the webhooks and policies of a round. The index is always 0: it only
    /// tells apart the webhooks of one configuration.
    pub(crate) fn id(&self) -> HookId {
        (self.key().into(), 0)
    }

    /// Key of the invocation in messages, unique among policies and webhook configurations: names of webhook
    /// configurations contain no space.
    fn key(&self) -> String {
        let PolicyMatch { bound, binding, .. } = self.policy_match;
        let (policy, binding) = (&bound.policy.name, &binding.name);
        let key = format!("MutatingAdmissionPolicy {policy} by binding {binding}");
        let Some(params) = self.params else { return key };
        let text = |field: &str| params["metadata"][field].as_str().unwrap_or_default();
        format!("{key} with parameter {}/{}", text("namespace"), text("name"))
    }
}
