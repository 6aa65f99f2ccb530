//! Evaluation of MutatingAdmissionPolicies, and the changes of the object.

use std::time::{Duration, Instant};

use berth_admission::client::Rounds;
use berth_apimachinery::{Status, budget};
use serde_json::Value;

use super::{Outcome, Pass, PolicyMisconfiguration, configuration_failure};
use crate::PolicyType;
use crate::binding::Binding;
use crate::evaluate::{OutOfBudget, POLICY_COST, conditions_hold};
use crate::input::Input;
use crate::invocation::{Invocation, PolicyMatch};
use crate::mutate;
use crate::policy::Body;
use crate::refusal::{self, FailureStage, MutationFailure};
use crate::set::{PoliciesInForce, PolicyInForce};
use crate::surroundings::{Enforcement, ErrorType};

impl<'s> Pass<'_, 's> {
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
        let mut failures = Vec::new();
        // The matching policies are found before any of them changes the object.
        let matches = self.mutating_matches(in_force, object, &mut failures);
        if !matches.is_empty() {
            self.invoke_all(&matches, object, rounds, &mut failures)?;
        }
        refusal::mutation_refusal(self.write.request, &failures).map_or(Ok(()), Err)
    }

    /// Returns the MutatingAdmissionPolicies that match the write, in order, each with one binding. Records
    /// the policies and bindings whose configuration is wrong in `failures`.
    fn mutating_matches<'p>(
        &mut self,
        in_force: &'p PoliciesInForce,
        object: &Value,
        failures: &mut Vec<MutationFailure>,
    ) -> Vec<PolicyMatch<'p>>
    where
        's: 'p,
    {
        let policies = in_force.mutating.iter();
        let results: Vec<_> = policies
            .flat_map(|bound| self.matches(bound, Some(object)))
            .collect();
        let mut matches = Vec::new();
        for result in results {
            match result {
                Ok(policy_match) => matches.push(policy_match),
                Err(misconfiguration) => {
                    let PolicyMisconfiguration {
                        bound,
                        binding,
                        problem,
                    } = misconfiguration;
                    let problem = format!("{}: {problem}", configuration_failure(binding));
                    let stage = FailureStage::Configuration;
                    self.record_mutation_failure(bound, binding, stage, problem, failures);
                }
            }
        }
        matches
    }

    /// Invokes the policies of `matches` in order, each with all its parameters.
    fn invoke_all(
        &mut self,
        matches: &[PolicyMatch<'_>],
        object: &mut Value,
        rounds: &mut Rounds,
        failures: &mut Vec<MutationFailure>,
    ) -> Result<(), Status> {
        let namespace = self.namespace()?;
        // Successive policies that judge the write in one version use one input. Mutations keep its object
        // up to date.
        let mut cached_input: Option<(&str, Input)> = None;
        for policy_match in matches {
            let version = policy_match.version;
            let mut input = match cached_input.take() {
                Some((cached_version, input)) if cached_version == version => input,
                _ => Input::new(self.write, version, Some(object), namespace.as_deref()),
            };
            self.invoke_with_params(policy_match, &mut input, object, rounds, failures)?;
            cached_input = Some((version, input));
        }
        Ok(())
    }

    /// Invokes the policy of `policy_match` with each of its parameters, and records the costs.
    fn invoke_with_params(
        &mut self,
        policy_match: &PolicyMatch<'_>,
        input: &mut Input,
        object: &mut Value,
        rounds: &mut Rounds,
        failures: &mut Vec<MutationFailure>,
    ) -> Result<(), Status> {
        for params in &policy_match.params {
            budget::check_needed()?;
            let invocation = Invocation {
                policy_match,
                params: params.as_deref(),
            };
            let left_before = self.left.get();
            let was_used_up = self.left.is_used_up();
            self.invoke(&invocation, input, object, rounds, failures);
            policy_match
                .bound
                .policy
                .record_cost(left_before - self.left.get());
            // The budget was used up before this parameter, so its invocation has recorded the failure. All
            // further parameters would fail in the same way.
            if was_used_up {
                break;
            }
        }
        Ok(())
    }

    /// Records that a MutatingAdmissionPolicy failed at `stage`.
    fn record_mutation_failure(
        &mut self,
        bound: &PolicyInForce,
        binding: Option<&Binding>,
        stage: FailureStage,
        problem: String,
        failures: &mut Vec<MutationFailure>,
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
            let message = refusal::mutation_failure_text(&policy.name, binding, &problem);
            failures.push(MutationFailure { stage, message });
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
        failures: &mut Vec<MutationFailure>,
    ) {
        let PolicyMatch { bound, binding, .. } = invocation.policy_match;
        let policy = &bound.policy;
        let params = policy.param_kind.as_ref().map(|_| invocation.params);
        let outcome = match self.left.spend(POLICY_COST) {
            Ok(()) => {
                let values = input.condition_values(params);
                conditions_hold(policy, self.evaluation(policy, &values))
            }
            Err(OutOfBudget) => Err(OutOfBudget::text()),
        };
        match outcome {
            Ok(true) => {}
            Ok(false) => return,
            Err(problem) => {
                let stage = FailureStage::Evaluation;
                self.record_mutation_failure(bound, Some(binding), stage, problem, failures);
                return;
            }
        }
        let id = invocation.id();
        if !rounds.includes(&id) {
            return;
        }
        let changed = self.apply_mutations(invocation, input, object, failures);
        rounds.record_call(id, mutate::is_reinvoked(policy), changed);
    }

    /// Applies the mutations of one policy to `object`, in order. Returns whether the object changed.
    fn apply_mutations(
        &mut self,
        invocation: &Invocation<'_>,
        input: &mut Input,
        object: &mut Value,
        failures: &mut Vec<MutationFailure>,
    ) -> bool {
        let policy_match = invocation.policy_match;
        let (bound, binding) = (policy_match.bound, policy_match.binding);
        let (policy, version) = (&bound.policy, policy_match.version);
        let Body::Mutating { mutations, .. } = &policy.body else {
            return false;
        };
        let params = policy.param_kind.as_ref().map(|_| invocation.params);
        let mut before: Option<Value> = None;
        for mutation in mutations {
            let start = Instant::now();
            let result = {
                let values = input.values(params);
                let mut evaluation = self.evaluation(policy, &values);
                let current = input.object().unwrap_or(&Value::Null);
                mutate::apply_mutation(mutation, &mut evaluation, self.write, version, current)
            };
            match result {
                Ok(changed) => {
                    if let Some(changed) = changed {
                        let old = self.replace_object(version, changed, input, object);
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
                    let stage = FailureStage::Evaluation;
                    self.record_mutation_failure(bound, Some(binding), stage, problem, failures);
                }
            }
        }
        before.is_some_and(|before| *object != before)
    }

    /// Replaces `object`, and the object of `input`, by `changed`, which is in `version`. Returns the old
    /// object.
    fn replace_object(&self, version: &str, changed: Value, input: &mut Input, object: &mut Value) -> Value {
        let mut changed_object = self.write.in_object_version(version, changed);
        self.write.fill_defaults(&mut changed_object);
        input.set_object(self.write.in_version(version, &changed_object));
        std::mem::replace(object, changed_object)
    }
}
