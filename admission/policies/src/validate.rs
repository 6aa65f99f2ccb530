//! Evaluation of one ValidatingAdmissionPolicy on a write, with one parameter.

use std::time::{Duration, Instant};

use berth_cel::Value;

use crate::evaluate::{Evaluation, OutOfBudget};
use crate::policy::{Body, Policy, Validation};
use crate::surroundings::ErrorType;

/// Highest length in bytes of a message from a `messageExpression`; longer messages are ignored.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;
/// Highest length in bytes of an audit annotation; longer texts are cut.
const MAX_ANNOTATION_BYTES: usize = 10 * 1024;

/// Result of one validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValidationResult {
    Admitted,
    /// The validation could not be evaluated, and its failure is ignored.
    Ignored {
        /// Reason why the validation could not be evaluated.
        problem: String,
        error: ErrorType,
    },
    Denied {
        message: String,
        /// Reason of the refusal for the client; empty if the policy names none.
        reason: String,
        error: ErrorType,
    },
}

/// Results of the validations and audit annotations of one policy.
#[derive(Debug, Default)]
pub(crate) struct ValidationFindings {
    /// Result of each validation, and the duration of evaluating its expression; a single result if the
    /// policy could not be evaluated.
    pub(crate) results: Vec<(ValidationResult, Duration)>,
    /// Audit annotations, as keys with texts; an error refuses the write.
    pub(crate) annotations: Vec<(String, Result<String, String>)>,
}

impl ValidationFindings {
    /// Findings of a policy that could not be evaluated.
    pub(crate) fn failure(policy: &Policy, problem: String) -> Self {
        let error = match problem == OutOfBudget::text() {
            true => ErrorType::OutOfBudget,
            false => ErrorType::Invalid,
        };
        Self {
            results: vec![(failed(policy, problem, error), Duration::ZERO)],
            annotations: Vec::new(),
        }
    }
}

/// Result of a validation that could not be evaluated, by the `failurePolicy`.
fn failed(policy: &Policy, message: String, error: ErrorType) -> ValidationResult {
    if policy.fails_open {
        return ValidationResult::Ignored {
            problem: message,
            error,
        };
    }
    let reason = String::new();
    ValidationResult::Denied {
        message,
        reason,
        error,
    }
}

/// Evaluates the validations and audit annotations of `policy`, whose match conditions hold.
pub(crate) fn evaluate<'a>(policy: &'a Policy, evaluation: &mut Evaluation<'a, '_>) -> ValidationFindings {
    let Body::Validating {
        validations,
        annotations,
    } = &policy.body
    else {
        return ValidationFindings::default();
    };
    let mut results = Vec::with_capacity(validations.len());
    for validation in validations {
        let start = Instant::now();
        match evaluation.value(&validation.expression) {
            Ok(result) => results.push((result, start.elapsed())),
            Err(OutOfBudget) => return ValidationFindings::failure(policy, OutOfBudget::text()),
        }
    }
    let messages = evaluated_messages(validations, evaluation);
    let mut findings = ValidationFindings::default();
    for (index, (validation, (result, took))) in validations.iter().zip(results).enumerate() {
        let outcome = match (result, &messages) {
            (Err(problem), _) => {
                let error = match validation.expression.program {
                    Ok(_) => ErrorType::Invalid,
                    Err(_) => ErrorType::Compile,
                };
                failed(policy, problem, error)
            }
            (Ok(_), Err(OutOfBudget)) => {
                let problem = format!("failed messageExpression: {}", OutOfBudget::text());
                failed(policy, problem, ErrorType::Invalid)
            }
            (Ok(Value::Bool(true)), _) => ValidationResult::Admitted,
            (Ok(_), Ok(messages)) => ValidationResult::Denied {
                message: message(validation, messages.get(index).and_then(Option::as_ref)),
                reason: validation.reason.clone(),
                error: ErrorType::None,
            },
        };
        findings.results.push((outcome, took));
    }
    evaluation.reset_budget();
    for (key, expression) in annotations {
        match evaluation.value(expression) {
            Err(OutOfBudget) => return ValidationFindings::failure(policy, OutOfBudget::text()),
            Ok(Ok(Value::String(text))) if !text.trim().is_empty() => {
                let text = truncate_annotation(text.trim()).to_owned();
                findings.annotations.push((key.clone(), Ok(text)));
            }
            Ok(Ok(_)) => {}
            Ok(Err(_)) if policy.fails_open => {}
            Ok(Err(problem)) => findings.annotations.push((key.clone(), Err(problem))),
        }
    }
    findings
}

/// Messages from the message expressions, one for each validation; `None` where there is no expression, or
/// its value is not a usable message. As in kube-apiserver, the expressions are evaluated for all
/// validations, and share one budget with the validations.
fn evaluated_messages<'a>(
    validations: &'a [Validation],
    evaluation: &mut Evaluation<'a, '_>,
) -> Result<Vec<Option<String>>, OutOfBudget> {
    let mut messages = Vec::with_capacity(validations.len());
    for validation in validations {
        let Some(expression) = &validation.message_expression else {
            messages.push(None);
            continue;
        };
        messages.push(match evaluation.value(expression)? {
            Ok(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| is_usable_message(text)),
            Ok(_) => None,
            Err(problem) => {
                tracing::debug!(problem, "a messageExpression has no value");
                None
            }
        });
    }
    Ok(messages)
}

fn is_usable_message(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n')
}

fn message(validation: &Validation, evaluated: Option<&String>) -> String {
    match (evaluated, validation.message.trim()) {
        (Some(evaluated), _) => evaluated.clone(),
        (None, "") => format!("failed expression: {}", validation.expression.source.trim()),
        (None, message) => message.to_owned(),
    }
}

fn truncate_annotation(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_ANNOTATION_BYTES)]
}
