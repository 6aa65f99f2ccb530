//! Answers that the server itself creates: `Status` bodies, JSON and plain text.

use axum::body::Body;
use berth_apimachinery::Status;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};
use http_body_util::{BodyExt, Collected};
use serde_json::Value;

use crate::response_facts::Failure;
use crate::yaml;

/// Converts a `Status` to a response: its code, its JSON, and `Retry-After` if it has one.
#[must_use]
pub fn status(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match serde_json::to_vec(status) {
        Ok(body) => bytes(code, "application/json", body.into()),
        // A Status consists of strings and numbers, so serializing does not fail; if it ever does, the code
        // is still right.
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

/// Converts the body of `response`, a `Status`, from JSON to YAML. A body that cannot be parsed stays
/// unchanged.
pub(crate) async fn as_yaml(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let Ok(json) = body.collect().await.map(Collected::to_bytes) else {
        return status(&Status::internal(
            "the response of this request could not be read",
        ));
    };
    match serde_json::from_slice(&json).map(|value: Value| yaml::write(&value)) {
        Ok(Ok(text)) => {
            parts
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
            parts.headers.insert(CONTENT_LENGTH, text.len().into());
            Response::from_parts(parts, Body::from(text))
        }
        _ => Response::from_parts(parts, Body::from(json)),
    }
}

/// Replaces the body of `response`, with its type and length in the headers.
pub(crate) fn replace_body(response: &mut Response<Body>, content_type: &'static str, body: Bytes) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_LENGTH, body.len().into());
    *response.body_mut() = Body::from(body);
}

/// Creates a response with `code`, `content_type` and `body`.
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

/// Creates a plain-text response with `code`, for users and probes.
#[must_use]
pub fn text(code: StatusCode, text: impl Into<String>) -> Response<Body> {
    bytes(code, "text/plain; charset=utf-8", text.into().into())
}

/// Sets the header `name` to `value`, unless the response has this header.
pub(crate) fn set_default(response: &mut Response<Body>, name: HeaderName, value: HeaderValue) {
    response.headers_mut().entry(name).or_insert(value);
}
