//! RBAC as Kubernetes evaluates it, over the roles and bindings in a store.
//!
//! Roles and bindings are compiled into hash maps by user and group whenever one of them changes, so that a
//! request costs a few lookups. The rules of aggregated cluster roles are computed in that step. The rules
//! that are stored in aggregated roles are only for users and tools, and are updated later ([`aggregation`]).

pub mod aggregation;
pub mod bootstrap;
mod compiled;
mod covering;
mod escalation;
mod rules;

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apiserver::{Access, Attributes, Authorizer, DelegationError};
use berth_storage::Source;
use parking_lot::RwLock;

use compiled::CompiledRules;
pub use compiled::UserGrant;
use covering::UncoveredRules;
pub use escalation::EscalationGuard;

use crate::core::rbac::{PolicyRule, RoleRef};

/// The group whose members are allowed everything, independent of stored rules.
pub const MASTERS: &str = "system:masters";

/// The RBAC evaluator.
pub struct Rbac {
    source: Arc<dyn Source>,
    compiled: RwLock<Arc<CompiledRules>>,
}

impl Rbac {
    /// Creates an evaluator of the content of `source` at the time of each request.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Arc<Self> {
        let compiled = RwLock::new(Arc::new(CompiledRules::of(compiled::lists(&*source))));
        Arc::new(Self { source, compiled })
    }

    /// Returns the reason why a request is allowed, in kube-apiserver's words; `None` when no rule allows it.
    #[must_use]
    pub fn allow_reason(&self, attributes: &Attributes) -> Option<String> {
        let compiled = self.current();
        let namespace = if attributes.is_resource {
            attributes.namespace.as_str()
        } else {
            ""
        };
        compiled
            .grants_of(&attributes.user, namespace)
            .find(|grant| grant.rules.iter().any(|rule| rules::allows(rule, attributes)))
            .map(|grant| format!("RBAC: allowed by {grant}"))
    }

    /// Returns every rule that applies to `user` in `namespace`, or cluster-wide if `namespace` is empty.
    #[must_use]
    pub fn rules_for(&self, user: &UserInfo, namespace: &str) -> Vec<PolicyRule> {
        let compiled = self.current();
        held_rules(&compiled, user, namespace).cloned().collect()
    }

    /// Returns the parts of the rules `wanted` that the user does not hold in `namespace`, at most `limit` of
    /// them.
    ///
    /// # Errors
    /// A message when there are too many rules, or too many parts of a rule, to compare.
    pub(crate) fn uncovered(
        &self,
        user: &UserInfo,
        namespace: &str,
        wanted: &[PolicyRule],
        limit: usize,
    ) -> Result<UncoveredRules, String> {
        let compiled = self.current();
        covering::uncovered(held_rules(&compiled, user, namespace), wanted, limit)
    }

    /// Returns the rules of the role to which a binding in `namespace` refers; `None` when there is no such
    /// role.
    #[must_use]
    pub fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<Arc<[PolicyRule]>> {
        self.current().rules_of(role, namespace)
    }

    fn current(&self) -> Arc<CompiledRules> {
        let compiled = Arc::clone(&self.compiled.read());
        if compiled.is_compiled_from(&compiled::lists(&*self.source)) {
            return compiled;
        }
        // After a change, one request compiles, and the others wait for its result: each would take as long.
        let mut compiled = self.compiled.write();
        let lists = compiled::lists(&*self.source);
        if !compiled.is_compiled_from(&lists) {
            *compiled = Arc::new(CompiledRules::of(lists));
        }
        Arc::clone(&compiled)
    }
}

/// Returns the rules of a user. The rules of a role that several bindings grant are returned once.
fn held_rules<'a>(
    compiled: &'a CompiledRules,
    user: &UserInfo,
    namespace: &str,
) -> impl Iterator<Item = &'a PolicyRule> {
    let mut pointers = HashSet::new();
    let roles = compiled.grants_of(user, namespace).map(|grant| grant.rules);
    roles
        .filter(move |rules| pointers.insert(rules.as_ptr()))
        .flatten()
}

#[async_trait]
impl Authorizer for Rbac {
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        Ok(match self.allow_reason(attributes) {
            Some(reason) => Access::Allow(reason),
            None => Access::NoOpinion(String::new()),
        })
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
