//! Creation of SubjectAccessReviews and TokenReviews on the hub.

use async_trait::async_trait;
use berth_apimachinery::Status;
use berth_apiserver::{ReviewError, Reviewer};
use berth_client::root_cause;
use http::{Method, Request, header};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Reviewer that creates reviews on the hub with a client.
pub struct HubReviewer(pub Client);

#[async_trait]
impl Reviewer for HubReviewer {
    async fn review(&self, path: &str, review: &Value) -> Result<Value, ReviewError> {
        create(&self.0, path, review).await
    }
}

/// Creates the review `object` with a POST to `path`, and returns the review with its status.
///
/// # Errors
/// When the hub refuses the review, cannot be reached, or answers without JSON.
pub async fn create(client: &Client, path: &str, object: &Value) -> Result<Value, ReviewError> {
    let temporary = |message: String| ReviewError {
        message,
        temporary: true,
    };
    let permanent = |message: String| ReviewError {
        message,
        temporary: false,
    };
    let body = serde_json::to_vec(object).map_err(|problem| permanent(problem.to_string()))?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Body::from(body))
        .map_err(|problem| permanent(problem.to_string()))?;
    let unreachable =
        |problem: kube::Error| temporary(format!("the hub could not be reached: {}", root_cause(&problem)));
    let response = client.send(request).await.map_err(unreachable)?;
    let code = response.status();
    let body = response.into_body().collect_bytes().await.map_err(unreachable)?;
    if code.is_success() {
        return serde_json::from_slice(&body)
            .map_err(|problem| permanent(format!("the hub's response is not JSON: {problem}")));
    }
    let message = match serde_json::from_slice::<Status>(&body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(&body).into_owned(),
    };
    Err(ReviewError {
        message: format!("the hub answered {code}: {message}"),
        temporary: code.is_server_error() || code.as_u16() == 429,
    })
}
