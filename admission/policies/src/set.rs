//! The policies in force. As long as a policy stays in force, it is compiled again only when its `spec`
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::PolicyType;
use crate::binding::Binding;
use crate::policy::Policy;
use crate::stored_set::StoredSet;

/// A policy with the bindings that put it in force.
#[derive(Debug)]
pub(crate) struct PolicyInForce {
    pub(crate) policy: Arc<Policy>,
    pub(crate) bindings: Vec<Binding>,
    /// Number of expressions of the policy that do not compile.
    pub(crate) uncompiled: usize,
    /// Stored object of the policy.
    object: Arc<Value>,
}

/// The policies in force: those with at least one binding.
#[derive(Debug, Default)]
pub(crate) struct PoliciesInForce {
    pub(crate) stored: Arc<StoredSet>,
    pub(crate) mutating: Vec<PolicyInForce>,
    pub(crate) validating: Vec<PolicyInForce>,
}

impl PoliciesInForce {
    /// Compiles the policies of `stored` that have a binding. Unchanged policies are reused from `before`.
    pub(crate) fn new(stored: Arc<StoredSet>, before: &Self) -> Self {
        Self {
            mutating: compile_bound(
                PolicyType::Mutating,
                &stored.mutating,
                &stored.mutating_bindings,
                &before.mutating,
            ),
            validating: compile_bound(
                PolicyType::Validating,
                &stored.validating,
                &stored.validating_bindings,
                &before.validating,
            ),
            stored,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    pub(crate) fn of(&self, policy_type: PolicyType) -> &[PolicyInForce] {
        match policy_type {
            PolicyType::Mutating => &self.mutating,
            PolicyType::Validating => &self.validating,
        }
    }
}

/// Compiles the `policies` that have a binding. Unchanged policies are reused from `before`.
fn compile_bound(
    policy_type: PolicyType,
    policies: &[Arc<Value>],
    bindings: &[Arc<Value>],
    before: &[PolicyInForce],
) -> Vec<PolicyInForce> {
    let mut by_policy: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
    for binding in bindings.iter().map(|value| Binding::of(value)) {
        by_policy.entry(binding.policy.clone()).or_default().push(binding);
    }
    let old_policies: BTreeMap<&str, &PolicyInForce> =
        before.iter().map(|one| (one.policy.name.as_str(), one)).collect();
    let mut all = Vec::new();
    for object in policies {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(bindings) = by_policy.remove(name) else {
            continue;
        };
        let (policy, uncompiled) = match old_policies.get(name) {
            Some(old) if old.object["spec"] == object["spec"] => (Arc::clone(&old.policy), old.uncompiled),
            _ => compile_policy(policy_type, object),
        };
        all.push(PolicyInForce {
            policy,
            bindings,
            uncompiled,
            object: Arc::clone(object),
        });
    }
    all
}

/// Compiles a policy. Logs the expressions that do not compile, and returns their number.
fn compile_policy(policy_type: PolicyType, object: &Value) -> (Arc<Policy>, usize) {
    let policy = Policy::compile(policy_type, object);
    let problems = policy.problems();
    for problem in &problems {
        tracing::warn!(
            kind = policy_type.kind(),
            policy = policy.name,
            field = problem.field,
            problem = problem.text,
            "an expression of an admission policy does not compile; its failurePolicy applies"
        );
    }
    (Arc::new(policy), problems.len())
}
