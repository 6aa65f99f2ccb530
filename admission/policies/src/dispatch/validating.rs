//! Evaluation of ValidatingAdmissionPolicies, and the consequences of failed validations.

use std::time::Duration;

use berth_admission::client::PolicyNotes;
use berth_apimachinery::{Status, budget};
use serde_json::{Value, json};

use super::{Outcome, Pass, PolicyMisconfiguration, configuration_failure};
use crate::PolicyType;
use crate::evaluate::{OutOfBudget, POLICY_COST, conditions_hold};
use crate::input::Input;
use crate::invocation::PolicyMatch;
use crate::policy::Policy;
use crate::refusal;
use crate::set::PoliciesInForce;
use crate::surroundings::{Enforcement, ErrorType};
use crate::validate::{self, ValidationFindings, ValidationResult};

/// Key of the audit annotation with the failed validations of bindings with the action `Audit`.
const FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

impl Pass<'_, '_> {
    /// Evaluates the ValidatingAdmissionPolicies. Returns the first refusal as an error.
    pub(crate) fn validate(
        &mut self,
        in_force: &PoliciesInForce,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let mut refusal: Option<Status> = None;
        let mut failures = Vec::new();
        let mut cached_input: Option<(&str, Input)> = None;
        for bound in &in_force.validating {
            let mut annotations: Vec<(String, Vec<String>)> = Vec::new();
            for policy_match in self.matches(bound, object) {
                let policy_match = match policy_match {
                    Ok(policy_match) => policy_match,
                    Err(misconfiguration) => {
                        self.record_misconfiguration(&misconfiguration, &mut refusal);
                        continue;
                    }
                };
                let input = match cached_input.take() {
                    Some((version, input)) if version == policy_match.version => input,
                    _ => {
                        let namespace = self.namespace()?;
                        Input::new(self.write, policy_match.version, object, namespace.as_deref())
                    }
                };
                for params in &policy_match.params {
                    budget::check_needed()?;
                    let is_used_up = self.left.is_used_up();
                    let findings = self.validation_findings(&bound.policy, &input, params.as_deref());
                    self.apply_findings(
                        &policy_match,
                        findings,
                        &mut refusal,
                        &mut failures,
                        &mut annotations,
                        notes,
                    );
                    // The budget was used up before this parameter: all further ones would fail in the same
                    // way.
                    if is_used_up {
                        break;
                    }
                }
                cached_input = Some((policy_match.version, input));
            }
            for (key, values) in annotations {
                let key = format!("{}/{key}", bound.policy.name);
                notes.annotations.push((key, values.join(", ")));
            }
        }
        if !failures.is_empty() {
            notes
                .annotations
                .push((FAILURES.to_owned(), Value::Array(failures).to_string()));
        }
        refusal.map_or(Ok(()), Err)
    }

    fn record_misconfiguration(
        &mut self,
        misconfiguration: &PolicyMisconfiguration<'_>,
        refusal: &mut Option<Status>,
    ) {
        let policy = &misconfiguration.bound.policy;
        let enforcement = if policy.fails_open {
            Enforcement::Allow
        } else {
            Enforcement::Deny
        };
        let outcome = Outcome {
            error: ErrorType::Invalid,
            enforcement,
            took: Duration::ZERO,
        };
        self.add_check(
            PolicyType::Validating,
            policy,
            misconfiguration.binding,
            outcome,
            &misconfiguration.problem,
        );
        if !policy.fails_open {
            let message = format!(
                "{}: {}",
                configuration_failure(misconfiguration.binding),
                misconfiguration.problem
            );
            let binding = misconfiguration.binding.map(|binding| binding.name.as_str());
            refusal.get_or_insert_with(|| {
                refusal::denied(self.write.request, &policy.name, binding, "", &message)
            });
        }
    }

    /// Evaluates one ValidatingAdmissionPolicy with one parameter, and records the cost.
    fn validation_findings(
        &self,
        policy: &Policy,
        input: &Input,
        params: Option<&Value>,
    ) -> ValidationFindings {
        let before = self.left.get();
        let findings = match self.left.spend(POLICY_COST) {
            Ok(()) => self.evaluate(policy, input, params),
            Err(OutOfBudget) => ValidationFindings::failure(policy, OutOfBudget::text()),
        };
        policy.record_cost(before - self.left.get());
        findings
    }

    fn evaluate(&self, policy: &Policy, input: &Input, params: Option<&Value>) -> ValidationFindings {
        let params = policy.param_kind.as_ref().map(|_| params);
        let values = input.condition_values(params);
        let conditions = self.evaluation(policy, &values);
        match conditions_hold(policy, conditions) {
            Ok(true) => {}
            Ok(false) => return ValidationFindings::default(),
            Err(problem) => return ValidationFindings::failure(policy, problem),
        }
        let values = input.values(params);
        validate::evaluate(policy, &mut self.evaluation(policy, &values))
    }

    /// Applies the consequences of the findings about one parameter, by the actions of the binding.
    fn apply_findings(
        &mut self,
        policy_match: &PolicyMatch<'_>,
        findings: ValidationFindings,
        refusal: &mut Option<Status>,
        failures: &mut Vec<Value>,
        annotations: &mut Vec<(String, Vec<String>)>,
        notes: &mut PolicyNotes,
    ) {
        for (index, (result, took)) in findings.results.into_iter().enumerate() {
            self.apply_result(policy_match, (index, result, took), refusal, failures, notes);
        }
        for (key, value) in findings.annotations {
            let value = match value {
                Ok(value) => value,
                Err(problem) => {
                    self.refuse_annotation(policy_match, &problem, refusal);
                    continue;
                }
            };
            match annotations.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => annotations.push((key, vec![value])),
            }
        }
    }

    /// Applies the consequences of the result of one validation, given with its index and duration.
    fn apply_result(
        &mut self,
        policy_match: &PolicyMatch<'_>,
        (index, result, took): (usize, ValidationResult, Duration),
        refusal: &mut Option<Status>,
        failures: &mut Vec<Value>,
        notes: &mut PolicyNotes,
    ) {
        let (policy, binding) = (&policy_match.bound.policy, policy_match.binding);
        let request = self.write.request;
        let mut add_check = |error, enforcement, problem: &str| {
            let outcome = Outcome {
                error,
                enforcement,
                took,
            };
            let problem = if error == ErrorType::None { "" } else { problem };
            self.add_check(PolicyType::Validating, policy, Some(binding), outcome, problem);
        };
        let (message, reason, error) = match result {
            ValidationResult::Admitted => return,
            ValidationResult::Ignored { problem, error } => {
                add_check(error, Enforcement::Allow, &problem);
                return;
            }
            ValidationResult::Denied {
                message,
                reason,
                error,
            } => (message, reason, error),
        };
        if binding.has_action("Deny") {
            add_check(error, Enforcement::Deny, &message);
            refusal.get_or_insert_with(|| {
                refusal::denied(request, &policy.name, Some(&binding.name), &reason, &message)
            });
        }
        if binding.has_action("Audit") {
            add_check(error, Enforcement::Audit, &message);
            failures.push(json!({
                "message": message,
                "policy": binding.policy,
                "binding": binding.name,
                "expressionIndex": index,
                "validationActions": binding.actions,
            }));
        }
        if binding.has_action("Warn") {
            add_check(error, Enforcement::Warn, &message);
            notes.warnings.push(format!(
                "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {message}",
                policy.name, binding.name
            ));
        }
    }

    /// Refuses the write because an audit annotation of the policy cannot be evaluated.
    fn refuse_annotation(
        &mut self,
        policy_match: &PolicyMatch<'_>,
        problem: &str,
        refusal: &mut Option<Status>,
    ) {
        let (policy, binding) = (&policy_match.bound.policy, policy_match.binding);
        let outcome = Outcome {
            error: ErrorType::Invalid,
            enforcement: Enforcement::Deny,
            took: Duration::ZERO,
        };
        self.add_check(PolicyType::Validating, policy, Some(binding), outcome, problem);
        let request = self.write.request;
        refusal
            .get_or_insert_with(|| refusal::denied(request, &policy.name, Some(&binding.name), "", problem));
    }
}
