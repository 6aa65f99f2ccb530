//! The type `Status`: the form of all errors that a client receives.

use serde::{Deserialize, Serialize};

use crate::field;
use crate::field_error::FieldError;
use crate::key::GroupResource;

/// A `metav1.Status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Kind: always `Status`.
    pub kind: String,
    /// API version: always `v1`.
    pub api_version: String,
    /// List metadata; always empty.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Result: `Success` or `Failure`.
    #[serde(default)]
    pub status: String,
    /// Message for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Reason for programs, such as `NotFound`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The object and the causes of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// HTTP status code.
    #[serde(default)]
    pub code: u16,
}

/// Reasons that can be tested with [`Status::is`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusReason {
    /// An object with the name already exists.
    AlreadyExists,
    /// The object was changed concurrently.
    Conflict,
    /// The request violates a rule, or the user lacks the right.
    Forbidden,
    /// The object does not exist.
    NotFound,
}

impl StatusReason {
    /// Returns the reason as it is serialized.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
        }
    }
}

/// The field `details` of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// API group of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind or resource of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// UID of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Causes, one for each problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Seconds to wait before a retry; also sent as `Retry-After`.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// An element of `details.causes` of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// Reason for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Message for users.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Path of the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Status {
    /// Creates a failure with `code`, `reason` and `message` and no details.
    pub fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: "Status".to_owned(),
            api_version: "v1".to_owned(),
            metadata: serde_json::Map::new(),
            status: "Failure".to_owned(),
            message: message.into(),
            reason: reason.to_owned(),
            details: None,
            code,
        }
    }

    /// Creates a success with `details`, the answer to a delete.
    #[must_use]
    pub fn success(details: Option<Details>) -> Self {
        Self {
            status: "Success".to_owned(),
            details,
            code: 200,
            ..Self::failure(200, "", "")
        }
    }

    /// Whether the status has this `reason`.
    #[must_use]
    pub fn is(&self, reason: StatusReason) -> bool {
        self.reason == reason.as_str()
    }

    fn with_object(self, resource: GroupResource, name: &str) -> Self {
        self.with_named_object(resource.group, resource.resource, name)
    }

    fn with_named_object(mut self, group: &str, resource: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.group = group.to_owned();
        details.kind = resource.to_owned();
        details.name = name.to_owned();
        self
    }

    /// Returns the failure with a cause added.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        let cause = Cause {
            reason: reason.to_owned(),
            message: message.into(),
            field: field.to_owned(),
        };
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// Returns the failure with a request to retry after `seconds`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// The error 400: the request is invalid.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message)
    }

    /// The error 401: the user is unknown.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized")
    }

    /// The error 403 about the object `name` of `resource`. `text` is the reason, at the end of the message.
    #[must_use]
    pub fn forbidden(resource: GroupResource, name: &str, text: &str) -> Self {
        Self::forbidden_named(resource.group, resource.resource, name, text)
    }

    /// The error 403 about the object `name` of a resource whose names may come from a request. `text` is the
    /// reason, at the end of the message.
    #[must_use]
    pub fn forbidden_named(group: &str, resource: &str, name: &str, text: &str) -> Self {
        let full_name = match group {
            "" => resource.to_owned(),
            group => format!("{resource}.{group}"),
        };
        let message = if name.is_empty() {
            format!("{full_name} is forbidden: {text}")
        } else {
            format!("{full_name} \"{name}\" is forbidden: {text}")
        };
        Self::failure(403, "Forbidden", message).with_named_object(group, resource, name)
    }

    /// The error 404: the object does not exist.
    #[must_use]
    pub fn not_found(resource: GroupResource, name: &str) -> Self {
        Self::failure(404, "NotFound", format!("{resource} \"{name}\" not found")).with_object(resource, name)
    }

    /// The error 404: the path does not exist.
    #[must_use]
    pub fn no_such_path() -> Self {
        Self::failure(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// The error 405: the resource does not support the verb.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::failure(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// The error 406: the server can answer in none of the media types that the client accepts. `accepted`
    /// are the media types of the server.
    #[must_use]
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::failure(406, "NotAcceptable", message)
    }

    /// The error 409: the object already exists.
    #[must_use]
    pub fn already_exists(resource: GroupResource, name: &str) -> Self {
        Self::failure(
            409,
            "AlreadyExists",
            format!("{resource} \"{name}\" already exists"),
        )
        .with_object(resource, name)
    }

    /// The error 409: the object was changed concurrently. `text` is the reason, at the end of
    /// the message.
    #[must_use]
    pub fn conflict(resource: GroupResource, name: &str, text: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {text}");
        Self::failure(409, "Conflict", message).with_object(resource, name)
    }

    /// The error 410: the requested revision is no longer stored.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message)
    }

    /// The error 413: the body is longer than `limit` bytes.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        Self::failure(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// The error 415: the body's media type is not one of `accepted`.
    #[must_use]
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let list = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {list}"
        );
        Self::failure(415, "UnsupportedMediaType", message)
    }

    /// The error 422: the object `name` of `kind` in `group` violates rules. Each of `errors` is a cause,
    /// up to [`field::MAX_ERRORS`]; the message has the number of the others.
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!("{qualified} \"{name}\" is invalid: {}", field::aggregate(errors));
        let mut status = Self::failure(422, "Invalid", message);
        let causes = errors
            .iter()
            .take(field::MAX_ERRORS)
            .map(|error| Cause {
                reason: error.kind.reason().to_owned(),
                message: error.message(),
                field: error.path.clone(),
            })
            .collect();
        status.details = Some(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..Details::default()
        });
        status
    }

    /// Returns the failure without name, group and kind of the object in its details. The message stays.
    #[must_use]
    pub fn without_object(mut self) -> Self {
        if let Some(details) = &mut self.details {
            details.name.clear();
            details.group.clear();
            details.kind.clear();
        }
        self
    }

    /// The error 429: too many requests; the client retries after `seconds`.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::failure(429, "TooManyRequests", message).retry_after(seconds)
    }

    /// The error 500: an internal error. The client receives `message`.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::failure(
            500,
            "InternalError",
            format!("Internal error occurred: {}", message.into()),
        )
    }

    /// The error 503: temporarily unavailable; the client retries after `seconds`.
    pub fn unavailable(message: impl Into<String>, seconds: u32) -> Self {
        Self::failure(503, "ServiceUnavailable", message).retry_after(seconds)
    }

    /// The error 504: the request has timed out.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::failure(504, "Timeout", message)
    }

    /// Returns `details.retryAfterSeconds`, if it is set.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details
            .as_ref()
            .map(|details| details.retry_after_seconds)
            .filter(|&seconds| seconds > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEMENTS: GroupResource = GroupResource::new("cluster.open-cluster-management.io", "placements");

    #[test]
    fn messages_read_as_kubectl_users_know_them() {
        assert_eq!(
            Status::not_found(PLACEMENTS, "p").message,
            "placements.cluster.open-cluster-management.io \"p\" not found"
        );
        let errors = [FieldError::required("spec.x", "")];
        let invalid = Status::invalid("g", "Foo", "n", &errors);
        assert_eq!(invalid.message, "Foo.g \"n\" is invalid: spec.x: Required value");
        let cause = &invalid.details.unwrap().causes[0];
        assert_eq!(
            (cause.reason.as_str(), cause.field.as_str()),
            ("FieldValueRequired", "spec.x")
        );
    }

    #[test]
    fn of_very_many_errors_the_first_ones_are_told_and_the_others_counted() {
        let errors = vec![FieldError::invalid("metadata.labels", "-", "must be a label"); 100_000];
        let invalid = Status::invalid("", "Foo", "n", &errors);
        assert!(invalid.message.len() < 50_000, "{}", invalid.message.len());
        assert!(
            invalid.message.ends_with("must be a label, and 99750 more]"),
            "{}",
            invalid.message
        );
        assert_eq!(invalid.details.unwrap().causes.len(), 250);
    }

    #[test]
    fn a_failure_serializes_with_empty_metadata() {
        let text = serde_json::to_string(&Status::unauthorized()).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#
        );
    }
}
