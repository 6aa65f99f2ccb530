//! Refusals of requests, which are answered with a Kubernetes `Status`.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

/// Refusal of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status code of the answer.
    pub(crate) code: StatusCode,
    /// The problem, and how to fix it.
    pub(crate) message: String,
}

impl Refusal {
    /// A refusal with `code`.
    pub(crate) fn new(code: StatusCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A refusal with 403 (Forbidden).
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// The HTTP response, whose body is a `Status`.
    pub(crate) fn into_response(self) -> Response<Body> {
        let reason = match self.code {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::UNAUTHORIZED => "Unauthorized",
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
            StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "UnsupportedMediaType",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            StatusCode::BAD_GATEWAY => "ServiceUnavailable",
            _ => "BadRequest",
        };
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": reason, "code": self.code.as_u16(),
        });
        let mut response = Response::new(Body::from(status.to_string()));
        *response.status_mut() = self.code;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
