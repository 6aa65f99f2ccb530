//! Refusals by policies, in kube-apiserver's words.

use berth_admission::Request;
use berth_apimachinery::Status;

/// Reason of a refusal by a ValidatingAdmissionPolicy, unless the failed validation has a `reason`, and of a
/// refusal by a MutatingAdmissionPolicy whose evaluation failed.
pub(crate) const INVALID: &str = "Invalid";

/// Refusal of a write by a ValidatingAdmissionPolicy.
pub(crate) fn denied(
    request: &Request<'_>,
    policy: &str,
    binding: Option<&str>,
    reason: &str,
    message: &str,
) -> Status {
    let with = binding.map_or_else(String::new, |binding| format!(" with binding '{binding}'"));
    let text = format!("ValidatingAdmissionPolicy '{policy}'{with} denied request: {message}");
    let mut status =
        Status::forbidden(request.resource, request.name, &text).with_cause("", text.clone(), "");
    let reason = if reason.is_empty() { INVALID } else { reason };
    status.code = match reason {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    status.reason = reason.to_owned();
    status
}

/// Failure of a MutatingAdmissionPolicy that refuses the write.
pub(crate) struct MutationFailure {
    pub(crate) stage: FailureStage,
    pub(crate) message: String,
}

/// Stage at which a MutatingAdmissionPolicy failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureStage {
    /// The policy, its binding or its parameters are wrong, so that it is not evaluated.
    Configuration,
    /// An expression failed or cost too much, or the result cannot be applied to the object.
    Evaluation,
}

/// Message about a MutatingAdmissionPolicy that cannot be configured or evaluated.
pub(crate) fn mutation_failure_text(policy: &str, binding: Option<&str>, problem: &str) -> String {
    match binding {
        Some(binding) => format!("policy '{policy}' with binding '{binding}' denied request: {problem}"),
        None => format!("policy {policy:?} denied request: {problem}"),
    }
}

/// Refusal of a write with all `failures`; `None` without failures. The first one gives the message and the
/// reason.
pub(crate) fn mutation_refusal(request: &Request<'_>, failures: &[MutationFailure]) -> Option<Status> {
    let first = failures.first()?;
    let mut status = Status::forbidden(request.resource, request.name, &first.message);
    status.message.clone_from(&first.message);
    if first.stage == FailureStage::Evaluation {
        status.reason = INVALID.to_owned();
    }
    Some(failures.iter().fold(status, |status, failure| {
        status.with_cause("", failure.message.clone(), "")
    }))
}
