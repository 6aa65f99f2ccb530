//! Evaluation of all policies that concern a write, and the consequences of their verdicts, with the access
//! reviews made so far.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_admission::NAMESPACES;
use berth_admission::client::{PolicyNotes, Rounds, Subject};
use berth_apimachinery::{Status, budget};
use berth_cel::{Decisions, Review};
use serde_json::{Value, json};

use crate::PolicyType;
use crate::binding::Binding;
use crate::constraints::Constraints;
use crate::evaluate::{EACH, Evaluation, OutOfBudget, PendingReviews, RemainingBudget, conditions_hold};
use crate::input::Input;
use crate::invocation::{Invocation, PolicyMatch};
use crate::mutate;
use crate::params::ParamRef;
use crate::policy::{Body, Policy};
use crate::refusal;
use crate::set::{InForce, PolicyInForce};
use crate::surroundings::{Check, Enforcement, ErrorType, Surroundings};
use crate::validate::{self, Decision, ValidationFindings};

/// Key of the audit annotation with the failures under bindings with the action `Audit`.
const FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

/// One evaluation of the policies for one write.
pub(crate) struct Pass<'w, 's> {
    pub(crate) surroundings: &'w dyn Surroundings,
    pub(crate) subject: &'s Subject<'s>,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) pending: PendingReviews,
    /// Remaining budget of this pass, for all policies together.
    pub(crate) left: RemainingBudget,
    checks: Vec<PolicyCheck>,
}

/// Data of a [`Check`], which is recorded once no review is pending.
struct PolicyCheck {
    policy_type: PolicyType,
    policy: Arc<Policy>,
    binding: String,
    outcome: Outcome,
    /// The problem of the evaluation, or the empty string.
    problem: String,
}

/// Result of an evaluation, and the time it took.
#[derive(Clone, Copy)]
struct Outcome {
    error: ErrorType,
    enforcement: Enforcement,
    took: Duration,
}

/// A policy whose configuration cannot be used.
struct PolicyMisconfiguration<'p> {
    bound: &'p PolicyInForce,
    binding: Option<&'p Binding>,
    problem: String,
}

impl<'w, 's> Pass<'w, 's> {
    pub(crate) fn new(
        surroundings: &'w dyn Surroundings,
        subject: &'s Subject<'s>,
        decisions: Arc<Decisions>,
        left: RemainingBudget,
    ) -> Self {
        Self {
            surroundings,
            subject,
            decisions,
            pending: PendingReviews::default(),
            left,
            checks: Vec::new(),
        }
    }

    /// Returns the reviews to make before the next evaluation. An empty set means that the result is final;
    /// its checks are then recorded.
    pub(crate) fn finish(self) -> BTreeSet<Review> {
        let pending = self.pending.into_inner();
        if pending.is_empty() {
            for one in &self.checks {
                self.surroundings.checked(&Check {
                    policy_type: one.policy_type,
                    policy: &one.policy.name,
                    binding: &one.binding,
                    error: one.outcome.error,
                    enforcement: one.outcome.enforcement,
                    took: one.outcome.took,
                });
                if !one.problem.is_empty() {
                    one.policy
                        .log_problem(one.policy_type, &one.binding, &one.problem);
                }
            }
        }
        pending
    }

    fn note(
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

    /// Bindings of `bound` that concern the write, and the reasons why a binding or the policy cannot be
    /// used.
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
        let version: &'p str = match constraints.concerns(self.subject, object, self.surroundings) {
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
            let concerns = binding.constraints.as_ref().map_or(Ok(true), |constraints| {
                Ok(constraints
                    .concerns(self.subject, object, self.surroundings)?
                    .is_some())
            });
            let found = concerns.and_then(|concerns| {
                if !concerns {
                    return Ok(None);
                }
                let (kind, by) = (bound.policy.param_kind.as_ref(), binding.params.as_ref());
                ParamRef::find(kind, by, self.subject.request.namespace, self.surroundings).map(Some)
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

    /// Records that the object selectors of `bound` exclude the write, if the rules and the namespace
    /// selectors do not exclude it.
    fn record_exclusion(&self, bound: &PolicyInForce) {
        let (policy, bindings) = (&bound.policy, &bound.bindings);
        let concerns = |constraints: Option<&Constraints>| {
            constraints.is_none_or(|one| one.may_concern_in(self.subject, self.surroundings))
        };
        if !policy.has_expected_cost()
            && concerns(policy.constraints.as_ref())
            && bindings
                .iter()
                .any(|binding| concerns(binding.constraints.as_ref()))
        {
            policy.record_exclusion();
        }
    }

    /// The object of the write's namespace; `None` for a cluster-scoped object, a Namespace included.
    fn namespace(&self) -> Result<Option<Arc<Value>>, Status> {
        let request = self.subject.request;
        if request.namespace.is_empty() || request.resource == NAMESPACES {
            return Ok(None);
        }
        match self.surroundings.namespace(request.namespace) {
            Some(found) => Ok(Some(found)),
            None => Err(Status::not_found(NAMESPACES, request.namespace)),
        }
    }

    /// Evaluates every ValidatingAdmissionPolicy.
    pub(crate) fn validate(
        &mut self,
        in_force: &InForce,
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
                        self.misconfigured(&misconfiguration, &mut refusal);
                        continue;
                    }
                };
                let input = match cached_input.take() {
                    Some((version, input)) if version == policy_match.version => input,
                    _ => {
                        let namespace = self.namespace()?;
                        Input::new(self.subject, policy_match.version, object, namespace.as_deref())
                    }
                };
                for params in &policy_match.params {
                    budget::wanted()?;
                    let out = self.left.is_out();
                    let findings = self.findings_of(&bound.policy, &input, params.as_deref());
                    self.follow(
                        &policy_match,
                        findings,
                        &mut refusal,
                        &mut failures,
                        &mut annotations,
                        notes,
                    );
                    // The budget is used up. One failure is enough, so the remaining parameters are skipped.
                    if out {
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

    fn misconfigured(&mut self, misconfiguration: &PolicyMisconfiguration<'_>, refusal: &mut Option<Status>) {
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
        self.note(
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
                refusal::denied(self.subject.request, &policy.name, binding, "", &message)
            });
        }
    }

    fn findings_of(&self, policy: &Policy, input: &Input, params: Option<&Value>) -> ValidationFindings {
        let before = self.left.get();
        let findings = match self.left.spend(EACH) {
            Ok(()) => self.evaluate(policy, input, params),
            Err(OutOfBudget) => ValidationFindings::failure(policy, OutOfBudget::text()),
        };
        policy.record_cost(before - self.left.get());
        findings
    }

    fn evaluate(&self, policy: &Policy, input: &Input, params: Option<&Value>) -> ValidationFindings {
        let params = policy.param_kind.as_ref().map(|_| params);
        let values = input.values(params, true);
        let conditions = self.evaluation(policy, &values);
        match conditions_hold(policy, conditions) {
            Ok(true) => {}
            Ok(false) => return ValidationFindings::default(),
            // When the failure of a condition is ignored, the policy does not apply.
            Err(_) if policy.fails_open => return ValidationFindings::failure(policy, String::new()),
            Err(problem) => return ValidationFindings::failure(policy, problem),
        }
        let values = input.values(params, false);
        validate::evaluate(policy, &mut self.evaluation(policy, &values))
    }

    fn evaluation<'a>(
        &'a self,
        policy: &'a Policy,
        values: &'a [berth_cel::Value<'a>],
    ) -> Evaluation<'a, 'a> {
        Evaluation::new(policy, values, &self.decisions, &self.pending, &self.left)
    }

    fn follow(
        &mut self,
        policy_match: &PolicyMatch<'_>,
        findings: ValidationFindings,
        refusal: &mut Option<Status>,
        failures: &mut Vec<Value>,
        annotations: &mut Vec<(String, Vec<String>)>,
        notes: &mut PolicyNotes,
    ) {
        let (policy, binding) = (&policy_match.bound.policy, policy_match.binding);
        let request = self.subject.request;
        for (index, (decision, took)) in findings.decisions.into_iter().enumerate() {
            let mut note = |error, enforcement, problem: &str| {
                let outcome = Outcome {
                    error,
                    enforcement,
                    took,
                };
                let problem = if error == ErrorType::None { "" } else { problem };
                self.note(PolicyType::Validating, policy, Some(binding), outcome, problem);
            };
            let (message, reason, error) = match decision {
                Decision::Admitted => continue,
                Decision::Ignored { problem, error } => {
                    note(error, Enforcement::Allow, &problem);
                    continue;
                }
                Decision::Denied {
                    message,
                    reason,
                    error,
                } => (message, reason, error),
            };
            if binding.does("Deny") {
                note(error, Enforcement::Deny, &message);
                refusal.get_or_insert_with(|| {
                    refusal::denied(request, &policy.name, Some(&binding.name), &reason, &message)
                });
            }
            if binding.does("Audit") {
                note(error, Enforcement::Audit, &message);
                failures.push(json!({
                    "message": message,
                    "policy": binding.policy,
                    "binding": binding.name,
                    "expressionIndex": index,
                    "validationActions": binding.actions,
                }));
            }
            if binding.does("Warn") {
                note(error, Enforcement::Warn, &message);
                notes.warnings.push(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {message}",
                    policy.name, binding.name
                ));
            }
        }
        for (key, value) in findings.annotations {
            let value = match value {
                Ok(value) => value,
                Err(problem) => {
                    let outcome = Outcome {
                        error: ErrorType::Invalid,
                        enforcement: Enforcement::Deny,
                        took: Duration::ZERO,
                    };
                    self.note(PolicyType::Validating, policy, Some(binding), outcome, &problem);
                    refusal.get_or_insert_with(|| {
                        refusal::denied(request, &policy.name, Some(&binding.name), "", &problem)
                    });
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

    /// Applies every MutatingAdmissionPolicy of this round in order: each sees the changes of earlier ones.
    pub(crate) fn mutate(
        &mut self,
        in_force: &InForce,
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
                        let text = format!(
                            "{}: {}",
                            configuration_failure(misconfiguration.binding),
                            misconfiguration.problem
                        );
                        self.unmutated(bound, misconfiguration.binding, text, false, &mut problems);
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
                        self.subject,
                        policy_match.version,
                        Some(object),
                        namespace.as_deref(),
                    ),
                };
                for params in &policy_match.params {
                    budget::wanted()?;
                    let invocation = Invocation {
                        policy_match,
                        params: params.as_deref(),
                    };
                    let (before, out) = (self.left.get(), self.left.is_out());
                    self.invoke(&invocation, &mut input, object, rounds, &mut problems);
                    policy_match.bound.policy.record_cost(before - self.left.get());
                    if out {
                        break;
                    }
                }
                cached_input = Some((policy_match.version, input));
            }
        }
        refusal::not_mutated_by(self.subject.request, &problems).map_or(Ok(()), Err)
    }

    fn unmutated(
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
        self.note(PolicyType::Mutating, policy, binding, outcome, &problem);
        if !policy.fails_open {
            let binding = binding.map(|binding| binding.name.as_str());
            problems.push((refusal::not_mutated(&policy.name, binding, &problem), evaluated));
        }
    }

    fn invoke(
        &mut self,
        invocation: &Invocation<'_>,
        input: &mut Input,
        object: &mut Value,
        rounds: &mut Rounds,
        problems: &mut Vec<(String, bool)>,
    ) {
        let PolicyMatch {
            bound,
            binding,
            version,
            ..
        } = invocation.policy_match;
        let policy = &bound.policy;
        let Body::Mutating { mutations, .. } = &policy.body else {
            return;
        };
        let params = policy.param_kind.as_ref().map(|_| invocation.params);
        let outcome = match self.left.spend(EACH) {
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
                self.unmutated(bound, Some(binding), problem, true, problems);
                return;
            }
        }
        let id = (invocation.key().into(), 0);
        if !rounds.includes(&id) {
            return;
        }
        let mut before: Option<Value> = None;
        for mutation in mutations {
            let start = Instant::now();
            let result = {
                let values = input.values(params, false);
                let mut evaluation = self.evaluation(policy, &values);
                let current = input.object().unwrap_or(&Value::Null);
                mutate::carry_out(mutation, &mut evaluation, self.subject, version, current)
            };
            match result {
                Ok(changed) => {
                    if let Some(changed) = changed {
                        let mut changed_object = self.subject.as_held(version, changed);
                        self.subject.default(&mut changed_object);
                        input.set_object(self.subject.in_version(version, &changed_object));
                        let was = std::mem::replace(object, changed_object);
                        before.get_or_insert(was);
                    }
                    let outcome = Outcome {
                        error: ErrorType::None,
                        enforcement: Enforcement::Allow,
                        took: start.elapsed(),
                    };
                    self.note(PolicyType::Mutating, policy, Some(binding), outcome, "");
                }
                Err(problem) => self.unmutated(bound, Some(binding), problem, true, problems),
            }
        }
        let changed = before.is_some_and(|before| *object != before);
        rounds.called(id, mutate::again(policy), changed);
    }
}

fn configuration_failure(binding: Option<&Binding>) -> &'static str {
    match binding {
        None => "failed to configure policy",
        Some(_) => "failed to configure binding",
    }
}
