//! Refusals of writes because of webhooks. Most have kube-apiserver's words, because users search for these
//! words and programs compare them.

use berth_apimachinery::Status;

use super::answer::Answer;
use crate::request::Request;

/// Refusal of a write by the webhook `name`.
#[must_use]
pub fn denied(name: &str, answer: &Answer) -> Status {
    let mut status = answer
        .status
        .clone()
        .unwrap_or_else(|| Status::failure(0, "", ""));
    // As in kube-apiserver, the code of a refusal is at least 400. Here it is also at most 599.
    status.code = status.code.clamp(400, 599);
    let explanation = match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => " without explanation".to_owned(),
        ("", reason) => format!(": {reason}"),
        (message, _) => format!(": {message}"),
    };
    status.message = format!("admission webhook \"{name}\" denied the request{explanation}");
    status
}

/// Refusal because calling the webhook `name` failed, and its `failurePolicy` is `Fail`.
#[must_use]
pub fn failed(name: &str, problem: &str) -> Status {
    let text = format!("failed calling webhook \"{name}\": {problem}");
    Status::internal(text.clone()).with_cause("", text, "")
}

/// Refusal because the patch in the answer of the webhook `name` cannot be applied.
#[must_use]
pub fn patch_failed(name: &str, problem: &str) -> Status {
    Status::internal(format!(
        "the patch of admission webhook \"{name}\" cannot be applied: {problem}"
    ))
}

/// Refusal of a dry run because a call of the webhook `name` may have side effects.
#[must_use]
pub fn dry_run_unsupported(name: &str) -> Status {
    Status::bad_request(format!("admission webhook \"{name}\" does not support dry run"))
}

/// Refusal because the match conditions of a webhook could not be evaluated, and its `failurePolicy` is
/// `Fail`.
#[must_use]
pub fn condition_failed(request: &Request<'_>, problem: &str) -> Status {
    Status::forbidden(request.resource, request.name, problem)
}
