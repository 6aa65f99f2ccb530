//! Answers the server itself makes: `Status` bodies, JSON and plain text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};
use meta::Status;

/// What went wrong, left in the extensions of a response for the audit log and metrics.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `status.reason`.
    pub reason: String,
    /// `status.message`.
    pub message: String,
}

/// Raised when a watch has handed out all there was at its start. Left in the extensions of its response for metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed(Arc<AtomicBool>);

impl Listed {
    /// Everything has been handed out.
    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether everything has been handed out.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A `Status` as a response: its code, its JSON, and `Retry-After` where it says so.
#[must_use]
pub fn status(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match serde_json::to_vec(status) {
        Ok(body) => bytes(code, "application/json", body.into()),
        // A Status is strings and numbers, so this does not happen; if it ever does, the code still says it.
        Err(problem) => bytes(code, "text/plain; charset=utf-8", problem.to_string().into()),
    };
    if let Some(seconds) = status.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    if status.code >= 400 {
        let failure = Failure {
            reason: status.reason.clone(),
            message: status.message.clone(),
        };
        response.extensions_mut().insert(failure);
    }
    response
}

/// `body` as `code` with `content_type`.
#[must_use]
pub fn bytes(code: StatusCode, content_type: &'static str, body: Bytes) -> Response<Body> {
    let length = body.len();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

/// `text` as `code`, for people and probes.
#[must_use]
pub fn text(code: StatusCode, text: impl Into<String>) -> Response<Body> {
    bytes(code, "text/plain; charset=utf-8", text.into().into())
}

/// Sets a header unless the response has one.
pub(crate) fn set_default(response: &mut Response<Body>, name: HeaderName, value: HeaderValue) {
    response.headers_mut().entry(name).or_insert(value);
}
