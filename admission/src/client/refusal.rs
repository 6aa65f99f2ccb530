//! Refusals, most of them in kube-apiserver's words, since users search for these, and programs compare them.

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
    // A refusal is an error, so its code is raised or lowered to the codes of errors.
    status.code = status.code.clamp(400, 599);
    let why = match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => " without explanation".to_owned(),
        ("", reason) => format!(": {reason}"),
        (message, _) => format!(": {message}"),
    };
    status.message = format!("admission webhook \"{name}\" denied the request{why}");
    status
}

/// Refusal because the webhook `name` could not be called, and its failure policy is Fail.
#[must_use]
pub fn failed(name: &str, problem: &str) -> Status {
    let text = format!("failed calling webhook \"{name}\": {problem}");
    Status::internal(text.clone()).with_cause("", text, "")
}

/// Refusal because the answer of the webhook `name` is well-formed, but its patch cannot be applied.
#[must_use]
pub fn unusable(name: &str, problem: &str) -> Status {
    Status::internal(format!(
        "the patch of admission webhook \"{name}\" cannot be applied: {problem}"
    ))
}

/// Refusal because the webhook `name` may have side effects, which a dry run must not have.
#[must_use]
pub fn no_dry_run(name: &str) -> Status {
    Status::bad_request(format!("admission webhook \"{name}\" does not support dry run"))
}

/// Refusal because the match conditions of a webhook could not be evaluated.
#[must_use]
pub fn condition_failed(request: &Request<'_>, problem: &str) -> Status {
    Status::forbidden(request.resource, request.name, problem)
}
