//! Evaluation of MutatingAdmissionPolicies, and the changes of the object.

use std::time::{Duration, Instant};

use berth_admission::client::Rounds;
use berth_apimachinery::{Status, budget};
use serde_json::Value;

use super::{Outcome, Pass, configuration_failure};
use crate::PolicyType;
use crate::binding::Binding;
use crate::evaluate::{OutOfBudget, POLICY_COST, conditions_hold};
use crate::input::Input;
use crate::invocation::{Invocation, PolicyMatch};
use crate::mutate;
use crate::policy::Body;
use crate::refusal;
use crate::set::{PoliciesInForce, PolicyInForce};
use crate::surroundings::{Enforcement, ErrorType};

impl Pass<'_, '_> {
    /// Applies the MutatingAdmissionPolicies of the current round to `object`, in order: each policy sees the
    /// changes of earlier policies.
    pub(crate) fn mutate(
        &mut self,
        in_force: &PoliciesInForce,
        object: &mut Value,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        if object.is_null() {
            return Ok(());
        }
        let mut problems: Vec<(String, bool)> = Vec::new();
        // The matching policies are found before any of them changes the object.
        let mut matches = Vec::new();
        for bound in &in_force.mutating {
            for policy_match in self.matches(bound, Some(object)) {
                match policy_match {
                    Ok(policy_match) => matches.push(policy_match),
                    Err(misconfiguration) => {
                        let binding = misconfiguration.binding;
                        let problem = misconfiguration.problem;
                        let text = format!("{}: {problem}", configuration_failure(binding));
                        self.record_mutation_failure(bound, binding, text, false, &mut problems);
                    }
                }
            }
        }
        if !matches.is_empty() {
            let namespace = self.namespace()?;
            let mut cached_input: Option<(&str, Input)> = None;
            for policy_match in &matches {
                let mut input = match cached_input.take() {
                    Some((version, input)) if version == policy_match.version => input,
                    _ => Input::new(
                        self.write,
                        policy_match.version,
                        Some(object),
                        namespace.as_deref(),
                    ),
                };
                for params in &policy_match.params {
                    budget::check_needed()?;
                    let invocation = Invocation {
                        policy_match,
                        params: params.as_deref(),
                    };
                    let (before, is_used_up) = (self.left.get(), self.left.is_used_up());
                    self.invoke(&invocation, &mut input, object, rounds, &mut problems);
                    policy_match.bound.policy.record_cost(before - self.left.get());
                    if is_used_up {
                        break;
                    }
                }
                cached_input = Some((policy_match.version, input));
            }
        }
        refusal::mutation_refusal(self.write.request, &problems).map_or(Ok(()), Err)
    }

    /// Records that a MutatingAdmissionPolicy failed. `evaluated` is true if its evaluation failed, and false if
    /// its configuration is wrong.
    fn record_mutation_failure(
        &mut self,
        bound: &PolicyInForce,
        binding: Option<&Binding>,
        problem: String,
        evaluated: bool,
        problems: &mut Vec<(String, bool)>,
    ) {
        let policy = &bound.policy;
        let enforcement = if policy.fails_open {
            Enforcement::Allow
        } else {
            Enforcement::Deny
        };
        let error = match problem == OutOfBudget::text() {
            true => ErrorType::OutOfBudget,
            false => ErrorType::Invalid,
        };
        let outcome = Outcome {
            error,
            enforcement,
            took: Duration::ZERO,
        };
        self.add_check(PolicyType::Mutating, policy, binding, outcome, &problem);
        if !policy.fails_open {
            let binding = binding.map(|binding| binding.name.as_str());
            problems.push((
                refusal::mutation_failure_text(&policy.name, binding, &problem),
                evaluated,
            ));
        }
    }

    /// Evaluates the match conditions of one MutatingAdmissionPolicy with one parameter, and applies its
    /// mutations if the policy takes part in the current round.
    fn invoke(
        &mut self,
        invocation: &Invocation<'_>,
        input: &mut Input,
        object: &mut Value,
        rounds: &mut Rounds,
        problems: &mut Vec<(String, bool)>,
    ) {
        let PolicyMatch { bound, binding, .. } = invocation.policy_match;
        let policy = &bound.policy;
        let params = policy.param_kind.as_ref().map(|_| invocation.params);
        let outcome = match self.left.spend(POLICY_COST) {
            Ok(()) => {
                let values = input.values(params, true);
                conditions_hold(policy, self.evaluation(policy, &values))
            }
            Err(OutOfBudget) => Err(OutOfBudget::text()),
        };
        match outcome {
            Ok(true) => {}
            Ok(false) => return,
            Err(problem) => {
                self.record_mutation_failure(bound, Some(binding), problem, true, problems);
                return;
            }
        }
        let id = (invocation.key().into(), 0);
        if !rounds.includes(&id) {
            return;
        }
        let changed = self.apply_mutations(invocation, input, object, problems);
        rounds.record_call(id, mutate::is_reinvoked(policy), changed);
    }

    /// Applies the mutations of one policy to `object`, in order. Returns whether the object changed.
    fn apply_mutations(
        &mut self,
        invocation: &Invocation<'_>,
        input: &mut Input,
        object: &mut Value,
        problems: &mut Vec<(String, bool)>,
    ) -> bool {
        let PolicyMatch {
            bound,
            binding,
            version,
            ..
        } = invocation.policy_match;
        let policy = &bound.policy;
        let Body::Mutating { mutations, .. } = &policy.body else {
            return false;
        };
        let params = policy.param_kind.as_ref().map(|_| invocation.params);
        let mut before: Option<Value> = None;
        for mutation in mutations {
            let start = Instant::now();
            let result = {
                let values = input.values(params, false);
                let mut evaluation = self.evaluation(policy, &values);
                let current = input.object().unwrap_or(&Value::Null);
                mutate::apply_mutation(mutation, &mut evaluation, self.write, version, current)
            };
            match result {
                Ok(changed) => {
                    if let Some(changed) = changed {
                        let mut changed_object = self.write.in_object_version(version, changed);
                        self.write.fill_defaults(&mut changed_object);
                        input.set_object(self.write.in_version(version, &changed_object));
                        let old = std::mem::replace(object, changed_object);
                        before.get_or_insert(old);
                    }
                    let outcome = Outcome {
                        error: ErrorType::None,
                        enforcement: Enforcement::Allow,
                        took: start.elapsed(),
                    };
                    self.add_check(PolicyType::Mutating, policy, Some(binding), outcome, "");
                }
                Err(problem) => {
                    self.record_mutation_failure(bound, Some(binding), problem, true, problems);
                }
            }
        }
        before.is_some_and(|before| *object != before)
    }
}
