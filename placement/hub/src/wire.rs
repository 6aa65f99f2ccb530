//! Requests to the hub, each with a time limit: a hub that hangs must not block Berth.

use std::time::Duration;

use berth_apimachinery::{GroupResource, Key, Status};
use berth_client::root_cause;
use http::{Method, Request, header};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Time limit of the hub's answer to one request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Seconds after which a client should ask again while the hub is unreachable.
const RETRY_AFTER: u32 = 1;

/// A client of the hub, for requests to any resource.
#[derive(Clone)]
pub struct HubClient(pub Client);

/// One request to the hub.
pub struct HubRequest<'a> {
    /// HTTP method.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// User to impersonate; empty for a request as Berth itself.
    pub actor: &'a str,
    /// Body of the request, if any.
    pub body: Option<&'a Value>,
}

impl<'a> HubRequest<'a> {
    /// A GET of `path`, as Berth itself.
    pub fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            actor: "",
            body: None,
        }
    }

    /// The HTTP request, with the usual media type.
    fn to_http(&self) -> Result<Request<Body>, Status> {
        self.to_http_with(match self.method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        })
    }

    /// The HTTP request with a body of the media type `content_type`.
    fn to_http_with(&self, content_type: &str) -> Result<Request<Body>, Status> {
        let internal = |problem: String| Status::internal(problem);
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(self.path)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, content_type);
        if !self.actor.is_empty() {
            request = request.header("Impersonate-User", self.actor);
        }
        let bytes = match self.body {
            Some(value) => serde_json::to_vec(value).map_err(|problem| internal(problem.to_string()))?,
            None => Vec::new(),
        };
        request
            .body(Body::from(bytes))
            .map_err(|problem| internal(problem.to_string()))
    }
}

impl HubClient {
    /// Sends one request and returns the object in the answer.
    ///
    /// # Errors
    /// The hub's refusal; 503 when the hub could not be reached or did not answer in time.
    pub async fn send(&self, request: HubRequest<'_>) -> Result<Value, Status> {
        self.receive(request.to_http()?).await
    }

    /// Sends a server-side apply. The body is the applied configuration, and the query names the field
    /// manager.
    ///
    /// # Errors
    /// As [`HubClient::send`].
    pub async fn apply(&self, request: HubRequest<'_>) -> Result<Value, Status> {
        // There is no media type with `+json` for an apply; JSON is YAML.
        self.receive(request.to_http_with("application/apply-patch+yaml")?)
            .await
    }

    async fn receive(&self, request: Request<Body>) -> Result<Value, Status> {
        match tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("the hub did not answer within {ANSWER_TIMEOUT:?}");
                Err(Status::unavailable(text, RETRY_AFTER))
            }
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Value, Status> {
        let unreachable = |problem: kube::Error| {
            let text = format!("the hub could not be reached: {}", root_cause(&problem));
            Status::unavailable(text, RETRY_AFTER)
        };
        let response = self.0.send(request).await.map_err(unreachable)?;
        let code = response.status();
        let bytes = response.into_body().collect_bytes().await.map_err(unreachable)?;
        if code.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|problem| Status::internal(format!("the hub's response is not JSON: {problem}")));
        }
        Err(serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            let text = format!("the hub answered {code}: {}", String::from_utf8_lossy(&bytes));
            match code.as_u16() {
                429 | 502..=504 => Status::unavailable(text, RETRY_AFTER),
                code => Status::failure(code, "InternalError", text),
            }
        }))
    }
}

/// The path of the group version `api_version`.
pub fn root(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}

/// The path of the collection of `resource` in `namespace`, which is empty for a cluster-scoped
/// resource.
pub fn collection(api_version: &str, resource: GroupResource, namespace: &str) -> String {
    let root = root(api_version);
    if namespace.is_empty() {
        format!("{root}/{}", resource.resource)
    } else {
        format!("{root}/namespaces/{namespace}/{}", resource.resource)
    }
}

/// The path of the object at `key`.
pub fn object(api_version: &str, key: &Key) -> String {
    let collection = collection(api_version, key.resource, &key.namespace);
    format!("{collection}/{}", key.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kubernetes_own() {
        let shoots = GroupResource::new("core.gardener.cloud", "shoots");
        let key = Key::new(shoots, "garden-dev", "one");
        assert_eq!(
            object("core.gardener.cloud/v1beta1", &key),
            "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/one"
        );
        let namespace = Key::new(GroupResource::new("", "namespaces"), "", "app");
        assert_eq!(object("v1", &namespace), "/api/v1/namespaces/app");
    }

    #[test]
    fn patches_are_merged_and_actors_impersonated() {
        let body = Value::Null;
        let request = HubRequest {
            method: Method::PATCH,
            path: "/api/v1/namespaces/app",
            actor: "berth:scheduler",
            body: Some(&body),
        };
        let merged = request.to_http().unwrap();
        assert_eq!(merged.headers()["content-type"], "application/merge-patch+json");
        assert_eq!(merged.headers()["impersonate-user"], "berth:scheduler");
        let applied = request.to_http_with("application/apply-patch+yaml").unwrap();
        assert_eq!(applied.headers()["content-type"], "application/apply-patch+yaml");
        assert!(
            !HubRequest::get("/version")
                .to_http()
                .unwrap()
                .headers()
                .contains_key("impersonate-user")
        );
    }
}
