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

/// Message about a MutatingAdmissionPolicy that cannot be configured or evaluated.
pub(crate) fn mutation_failure_text(policy: &str, binding: Option<&str>, problem: &str) -> String {
    match binding {
        Some(binding) => format!("policy '{policy}' with binding '{binding}' denied request: {problem}"),
        None => format!("policy {policy:?} denied request: {problem}"),
    }
}

/// Refusal of a write by MutatingAdmissionPolicies, from the messages about failed policies; `None` without
/// messages. The flag of a message is true if the evaluation failed, and false if the configuration failed.
pub(crate) fn mutation_refusal(request: &Request<'_>, texts: &[(String, bool)]) -> Option<Status> {
    let (first, is_evaluation_failure) = texts.first()?;
    let mut status = Status::forbidden(request.resource, request.name, first);
    status.message.clone_from(first);
    if *is_evaluation_failure {
        status.reason = INVALID.to_owned();
    }
    Some(texts.iter().fold(status, |status, (text, _)| {
        status.with_cause("", text.clone(), "")
    }))
}
