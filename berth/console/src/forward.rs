//! Forwarding of API requests to the server, as the user of the kubeconfig.

use axum::body::{Body, to_bytes};
use berth_client::root_cause;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderMap, Method, Request, Response, StatusCode};

use crate::refusal::Refusal;

/// The largest body that is forwarded, in bytes.
pub(crate) const LARGEST_BODY: usize = 1 << 20;

/// Forwards one request, and streams the answer to the browser.
///
/// Of the browser's headers, only Accept and Content-Type are forwarded: the kubeconfig alone decides the
/// user. Of the server's headers, only Content-Type, Retry-After and Warning are returned.
///
/// # Errors
/// 413 for a body that is too large or breaks off, 400 for an invalid path, and 502 when the server does not
/// answer.
pub(crate) async fn send(
    client: &kube::Client,
    method: Method,
    path: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response<Body>, Refusal> {
    let body = to_bytes(body, LARGEST_BODY).await.map_err(|_| {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the whole body could not be read: it must have at most {LARGEST_BODY} bytes"),
        )
    })?;
    let mut request = Request::builder().method(method).uri(path);
    for name in [ACCEPT, CONTENT_TYPE] {
        if let Some(value) = headers.get(&name) {
            request = request.header(name, value);
        }
    }
    let request = request
        .body(kube::client::Body::from(body.to_vec()))
        .map_err(|problem| Refusal::new(StatusCode::BAD_REQUEST, format!("{path}: {problem}")))?;
    let answer = client.send(request).await.map_err(|problem| {
        Refusal::new(
            StatusCode::BAD_GATEWAY,
            format!(
                "the server that the kubeconfig names did not answer: {}",
                root_cause(&problem)
            ),
        )
    })?;
    let (parts, body) = answer.into_parts();
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = parts.status;
    for name in [CONTENT_TYPE, RETRY_AFTER, WARNING] {
        for value in parts.headers.get_all(&name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    Ok(response)
}
