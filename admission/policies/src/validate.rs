//! Evaluation of one ValidatingAdmissionPolicy on a write, with one parameter.

use std::time::{Duration, Instant};

use berth_cel::Value;

use crate::evaluate::{Evaluation, OutOfBudget};
use crate::policy::{Body, Policy, Validation};
use crate::surroundings::ErrorType;

/// Highest length of a message from an expression, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;
/// Highest number of bytes of an audit annotation that are published.
const LONGEST_ANNOTATION: usize = 10 * 1024;

/// Result of one validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Admitted,
    /// The validation could not be evaluated, and its failure is ignored.
    Ignored {
        /// The reason.
        problem: String,
        error: ErrorType,
    },
    Denied {
        message: String,
        /// The reason of the refusal, or the empty string.
        reason: String,
        error: ErrorType,
    },
}

/// Result of one evaluation.
#[derive(Debug, Default)]
pub(crate) struct ValidationFindings {
    /// Result of each validation, and the duration of evaluating its expression; a single result if the
    /// policy could not be evaluated.
    pub(crate) decisions: Vec<(Decision, Duration)>,
    /// Audit annotations, by key; an error refuses the write.
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
            decisions: vec![(failed(policy, problem, error), Duration::ZERO)],
            annotations: Vec::new(),
        }
    }
}

fn failed(policy: &Policy, message: String, error: ErrorType) -> Decision {
    if policy.fails_open {
        return Decision::Ignored {
            problem: message,
            error,
        };
    }
    let reason = String::new();
    Decision::Denied {
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
    let messages = messages(validations, evaluation);
    let mut findings = ValidationFindings::default();
    for (index, (validation, (result, took))) in validations.iter().zip(results).enumerate() {
        let decision = match (result, &messages) {
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
            (Ok(Value::Bool(true)), _) => Decision::Admitted,
            (Ok(_), Ok(messages)) => Decision::Denied {
                message: message(validation, messages.get(index).and_then(Option::as_ref)),
                reason: validation.reason.clone(),
                error: ErrorType::None,
            },
        };
        findings.decisions.push((decision, took));
    }
    evaluation.renew();
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

/// Texts of the message expressions; absent where there is no expression, or no value that can be shown. As
/// in kube-apiserver, all of them are evaluated, and share one budget with the validations.
fn messages<'a>(
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
            Ok(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| is_printable(text)),
            Ok(_) => None,
            Err(problem) => {
                tracing::debug!(problem, "a messageExpression has no value");
                None
            }
        });
    }
    Ok(messages)
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')
}

fn message(validation: &Validation, evaluated: Option<&String>) -> String {
    match (evaluated, validation.message.trim()) {
        (Some(evaluated), _) => evaluated.clone(),
        (None, "") => format!("failed expression: {}", validation.expression.source.trim()),
        (None, message) => message.to_owned(),
    }
}

fn truncate_annotation(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_ANNOTATION)]
}
