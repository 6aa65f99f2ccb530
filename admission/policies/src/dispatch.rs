//! Evaluation of all policies that match a write, with the results of the access reviews so far, and the
//! consequences: refusals, warnings, audit annotations and mutations.

mod mutating;
mod validating;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::NAMESPACES;
use berth_admission::client::VersionedWrite;
use berth_apimachinery::Status;
use berth_cel::{Decisions, Review};
use serde_json::Value;

use crate::PolicyType;
use crate::binding::Binding;
use crate::constraints::Constraints;
use crate::evaluate::{Evaluation, PendingReviews, RemainingBudget};
use crate::invocation::PolicyMatch;
use crate::params::ParamRef;
use crate::policy::Policy;
use crate::set::PolicyInForce;
use crate::surroundings::{Check, Enforcement, ErrorType, Surroundings};

/// One evaluation of all policies for one write.
pub(crate) struct Pass<'w, 's> {
    pub(crate) surroundings: &'w dyn Surroundings,
    pub(crate) write: &'s VersionedWrite<'s>,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) pending: PendingReviews,
    /// Remaining cost budget of the pass, for all policies together.
    pub(crate) left: RemainingBudget,
    checks: Vec<PolicyCheck>,
}

/// Data of a [`Check`], which is reported if the evaluation needs no further access review.
struct PolicyCheck {
    policy_type: PolicyType,
    policy: Arc<Policy>,
    binding: String,
    outcome: Outcome,
    /// Problem of the evaluation for the log, or the empty string.
    problem: String,
}

/// Result of an evaluation, and its duration.
#[derive(Clone, Copy)]
struct Outcome {
    error: ErrorType,
    enforcement: Enforcement,
    took: Duration,
}

/// A policy that cannot be evaluated because the policy, its binding or its parameters are wrong.
struct PolicyMisconfiguration<'p> {
    bound: &'p PolicyInForce,
    binding: Option<&'p Binding>,
    problem: String,
}

impl<'w, 's> Pass<'w, 's> {
    pub(crate) fn new(
        surroundings: &'w dyn Surroundings,
        write: &'s VersionedWrite<'s>,
        decisions: Arc<Decisions>,
        left: RemainingBudget,
    ) -> Self {
        Self {
            surroundings,
            write,
            decisions,
            pending: PendingReviews::default(),
            left,
            checks: Vec::new(),
        }
    }

    /// Returns the access reviews that the evaluation still needs. If it needs none, its result is final, and
    /// its checks are reported for metrics and logs.
    pub(crate) fn finish(self) -> BTreeSet<Review> {
        let pending = self.pending.into_inner();
        if pending.is_empty() {
            for check in &self.checks {
                self.surroundings.checked(&Check {
                    policy_type: check.policy_type,
                    policy: &check.policy.name,
                    binding: &check.binding,
                    error: check.outcome.error,
                    enforcement: check.outcome.enforcement,
                    took: check.outcome.took,
                });
                if !check.problem.is_empty() {
                    check
                        .policy
                        .log_problem(check.policy_type, &check.binding, &check.problem);
                }
            }
        }
        pending
    }

    fn add_check(
        &mut self,
        policy_type: PolicyType,
        policy: &Arc<Policy>,
        binding: Option<&Binding>,
        outcome: Outcome,
        problem: &str,
    ) {
        self.checks.push(PolicyCheck {
            policy_type,
            policy: Arc::clone(policy),
            binding: binding.map(|binding| binding.name.clone()).unwrap_or_default(),
            outcome,
            problem: problem.to_owned(),
        });
    }

    /// Bindings of `bound` that match the write, with their parameters; an error for a binding, or for the
    /// whole policy, that cannot be evaluated.
    fn matches<'p>(
        &self,
        bound: &'p PolicyInForce,
        object: Option<&Value>,
    ) -> Vec<Result<PolicyMatch<'p>, PolicyMisconfiguration<'p>>>
    where
        's: 'p,
    {
        let misconfiguration = |binding, problem| PolicyMisconfiguration {
            bound,
            binding,
            problem,
        };
        let Some(constraints) = &bound.policy.constraints else {
            let problem = "policy contained no match constraints, a required field".to_owned();
            return vec![Err(misconfiguration(None, problem))];
        };
        let version: &'p str = match constraints.matching_version(self.write, object, self.surroundings) {
            Ok(Some(version)) => version,
            Ok(None) => {
                self.record_exclusion(bound);
                return Vec::new();
            }
            Err(problem) => return vec![Err(misconfiguration(None, problem))],
        };
        if let Some(kind) = &bound.policy.param_kind
            && let Err(problem) = self.surroundings.find(kind)
        {
            return vec![Err(misconfiguration(None, problem.to_string()))];
        }
        let mut all = Vec::new();
        for binding in &bound.bindings {
            let matches = binding.constraints.as_ref().map_or(Ok(true), |constraints| {
                Ok(constraints
                    .matching_version(self.write, object, self.surroundings)?
                    .is_some())
            });
            let found = matches.and_then(|matches| {
                if !matches {
                    return Ok(None);
                }
                let (kind, param_ref) = (bound.policy.param_kind.as_ref(), binding.params.as_ref());
                let namespace = self.write.request.namespace_attribute();
                ParamRef::find(kind, param_ref, namespace, self.surroundings).map(Some)
            });
            match found {
                Ok(None) => {}
                Ok(Some(params)) => all.push(Ok(PolicyMatch {
                    bound,
                    binding,
                    version,
                    params,
                })),
                Err(problem) => all.push(Err(misconfiguration(Some(binding), problem))),
            }
        }
        if all.is_empty() {
            self.record_exclusion(bound);
        }
        all
    }

    /// Records the exclusion of the write on the policy of `bound`, if only object selectors excluded it: the
    /// rules and the namespace selectors match the write.
    fn record_exclusion(&self, bound: &PolicyInForce) {
        let (policy, bindings) = (&bound.policy, &bound.bindings);
        let may_match = |constraints: Option<&Constraints>| {
            constraints.is_none_or(|one| one.may_concern_in(self.write, self.surroundings))
        };
        if !policy.has_expected_cost()
            && may_match(policy.constraints.as_ref())
            && bindings
                .iter()
                .any(|binding| may_match(binding.constraints.as_ref()))
        {
            policy.record_exclusion();
        }
    }

    /// The Namespace of the written object; `None` for a cluster-scoped object, including a Namespace.
    fn namespace(&self) -> Result<Option<Arc<Value>>, Status> {
        let request = self.write.request;
        if request.namespace.is_empty() || request.resource == NAMESPACES {
            return Ok(None);
        }
        match self.surroundings.namespace(request.namespace) {
            Some(found) => Ok(Some(found)),
            None => Err(Status::not_found(NAMESPACES, request.namespace)),
        }
    }

    fn evaluation<'a>(
        &'a self,
        policy: &'a Policy,
        values: &'a [berth_cel::Value<'a>],
    ) -> Evaluation<'a, 'a> {
        Evaluation::new(policy, values, &self.decisions, &self.pending, &self.left)
    }
}

fn configuration_failure(binding: Option<&Binding>) -> &'static str {
    match binding {
        None => "failed to configure policy",
        Some(_) => "failed to configure binding",
    }
}
