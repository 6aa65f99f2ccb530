//! A client of any API server: objects of any kind by apiVersion and kind, answers as JSON, refusals as
//! `Status`.
//!
//! Start reading at [`Client::send`] (one request), [`Client::put`] (create or update an object, as `berth
//! load` does) and [`Client::apply`] (server-side apply, as `berth load --server-side` does).
#![doc = include_str!("../README.md")]

mod apply;
mod config;
mod error;
mod failure;
mod object_watches;
mod put;
mod refused_changes;
mod retry;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use berth_apimachinery::Status;
use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};

pub use config::{config, config_or_service_account, connect, kubeconfig};
pub use error::{Error, Result};
pub use failure::{Server, root_cause};
pub use kube;
pub use object_watches::{ObjectWatches, Pauses};
use retry::{NextStep, RetryPolicy};

/// Resource of a kind, from which the paths of objects are built.
#[derive(Clone, Debug)]
struct Resource {
    plural: String,
    namespaced: bool,
    status: bool,
}

/// A connection, with the known resources of the server. Clones share the connection.
#[derive(Clone)]
pub struct Client {
    inner: kube::Client,
    resources: HashMap<(String, String), Resource>,
    /// Field manager of writes; without one the server uses the user agent.
    manager: Option<String>,
    /// Handling of unknown fields; `None` means the server's default.
    validation: Option<FieldValidation>,
    /// Server of the kubeconfig.
    server: Server,
    /// Retry policy while the server is not ready; with `None`, refusals are returned.
    retry_policy: Option<RetryPolicy>,
    /// Whether the last object of [`Client::put`] was new: the next object is then created without a
    /// read before.
    expects_new: Arc<AtomicBool>,
}

/// Handling of unknown and duplicate fields, as with kubectl's `--validate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// The object is refused.
    Strict,
    /// The fields are reported.
    Warn,
    /// The fields are ignored.
    Ignore,
}

impl FieldValidation {
    /// Returns the value of the query parameter `fieldValidation`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// Highest number of attempts at a write. After a refusal of single fields, the next attempt omits their
/// changes; guards and validation refuse fields one after the other, so one attempt may not be enough.
const MAX_ATTEMPTS: usize = 4;

/// An answer as text.
#[derive(Clone, Debug)]
pub struct TextAnswer {
    /// HTTP status code.
    pub code: u16,
    /// Value of the header Date.
    pub date: Option<String>,
    /// Body of the answer.
    pub text: String,
}

/// An answer with its relevant headers.
struct Reply {
    answer: Answer,
    warnings: Vec<String>,
    code: u16,
    /// Pause that the server requests before a retry.
    retry_after: Option<Duration>,
}

/// Answer of a server: the object, or the `Status` of a refusal.
pub type Answer = Result<Value, Box<Status>>;

impl Client {
    /// Connects with the kubeconfig at `path`.
    ///
    /// # Errors
    /// When the file cannot be read or used as a configuration.
    pub async fn from_kubeconfig(path: &Path) -> Result<Self> {
        let (config, context) = config::config_with_context(Some(path), None).await?;
        let server = Server::of(&config, context);
        let inner =
            kube::Client::try_from(config).map_err(|problem| Error::Unusable(root_cause(&problem)))?;
        Ok(Self {
            server,
            ..Self::new(inner)
        })
    }

    /// Connects as kubectl does: with the kubeconfig at `path`, in the files of KUBECONFIG, or in
    /// `~/.kube/config`, and with `context` or the current context.
    ///
    /// # Errors
    /// When there is no kubeconfig, or it is invalid.
    pub async fn as_kubectl(path: Option<&Path>, context: Option<&str>) -> Result<Self> {
        // `connect` turns off the retries of the crate `kube`, which take minutes.
        let (config, context) = config::config_with_context(path, context).await?;
        Ok(Self {
            server: Server::of(&config, context),
            ..Self::new(connect(config)?)
        })
    }

    /// Returns the namespace of the context.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    /// Returns the URL of the server in the kubeconfig; empty without a kubeconfig.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// Returns the server, for messages.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the underlying connection.
    #[must_use]
    pub fn connection(&self) -> kube::Client {
        self.inner.clone()
    }

    /// Returns the server's name for this client's user, if the server reports it.
    ///
    /// # Errors
    /// When the server did not answer.
    pub async fn user(&self) -> Result<Option<String>> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let answer = self
            .send(Method::POST, path, Some(("application/json", &review)))
            .await?;
        let name = answer.ok().and_then(|answer| {
            let name = answer["status"]["userInfo"]["username"].as_str()?;
            Some(name.to_owned())
        });
        Ok(name)
    }

    /// Creates a client with an existing connection.
    #[must_use]
    pub fn new(inner: kube::Client) -> Self {
        Self {
            inner,
            resources: HashMap::new(),
            manager: None,
            validation: None,
            server: Server::default(),
            retry_policy: None,
            expects_new: Arc::default(),
        }
    }

    /// Returns the client with retries for at most `limit` while the server is not ready or overloaded. The
    /// client calls `report` with each new reason to wait. After `limit`, requests no longer wait
    /// ([`Client::gave_up`]).
    #[must_use]
    pub fn waiting(mut self, limit: Duration, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.retry_policy = Some(RetryPolicy::new(limit, report));
        self
    }

    /// Whether this client, or a clone of it, no longer waits, since the server was not ready within the
    /// limit.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.retry_policy.as_ref().is_some_and(RetryPolicy::is_over)
    }

    /// Returns the client with another field manager for its writes by [`Client::put`] and [`Client::apply`].
    #[must_use]
    pub fn writing_as(mut self, manager: impl Into<String>) -> Self {
        self.manager = Some(manager.into());
        self
    }

    /// Sets the `validation` that [`Client::put`] requests. For the status,
    /// [`FieldValidation::Strict`] becomes [`FieldValidation::Warn`].
    #[must_use]
    pub fn validating(mut self, validation: FieldValidation) -> Self {
        self.validation = Some(validation);
        self
    }

    /// Sends one request; `body` is the media type and the value of the body. The outer error means that
    /// there is no usable answer.
    ///
    /// # Errors
    /// When the request is malformed, the server did not answer or was not ready in time
    /// ([`Client::waiting`]), or a successful answer is not JSON.
    pub async fn send(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Answer> {
        self.exchange(method, path, body).await.map(|(answer, _)| answer)
    }

    /// Sends one request, with retries; returns the answer and its warnings.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<(Answer, Vec<String>)> {
        let (start, mut tried) = (Instant::now(), 0);
        loop {
            let Reply {
                answer,
                warnings,
                code,
                retry_after,
            } = self.send_once(&method, path, body).await?;
            let Some(retry_policy) = &self.retry_policy else {
                return Ok((answer, warnings));
            };
            let next = match &answer {
                Ok(_) => NextStep::Answer,
                Err(status) => retry_policy.next_step(code, &status.message, start, tried, retry_after),
            };
            match next {
                NextStep::Answer => {
                    retry_policy.restart();
                    return Ok((answer, warnings));
                }
                NextStep::Retry(pause) => tokio::time::sleep(pause).await,
                NextStep::GiveUp(error) => return Err(error),
            }
            tried += 1;
        }
    }

    /// Sends one request, without retries.
    async fn send_once(&self, method: &Method, path: &str, body: Option<(&str, &Value)>) -> Result<Reply> {
        let response = self
            .inner
            .send(json_request(method, path, body)?)
            .await
            .map_err(|problem| self.server.unanswered(&problem))?;
        let code = response.status();
        let header = response.headers().get("retry-after");
        let retry_after: Option<u64> = header.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        let warnings = response
            .headers()
            .get_all("warning")
            .iter()
            .filter_map(warning)
            .collect();
        let bytes = response
            .into_body()
            .collect_bytes()
            .await
            .map_err(|problem| Error::Unanswered(format!("{method} {path}: {}", root_cause(&problem))))?;
        if code.is_success() {
            let value = serde_json::from_slice(&bytes).map_err(|problem| {
                let text = String::from_utf8_lossy(&bytes);
                Error::Unreadable(format!("{method} {path}: {code}: {text}: {problem}"))
            })?;
            return Ok(Reply {
                answer: Ok(value),
                warnings,
                code: code.as_u16(),
                retry_after,
            });
        }
        // Answers for paths that are not served, and answers of proxies, may not be a `Status`.
        let status = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&bytes);
            Status::failure(
                code.as_u16(),
                "",
                format!("{method} {path}: {code}: {}", text.trim()),
            )
        });
        Ok(Reply {
            answer: Err(Box::new(status)),
            warnings,
            code: code.as_u16(),
            retry_after,
        })
    }

    /// Reads `path` as text, with the server's time.
    ///
    /// # Errors
    /// When `path` is malformed, or the server did not answer.
    pub async fn raw(&self, path: &str) -> Result<TextAnswer> {
        let request = Request::builder().uri(path).body(Body::empty());
        let request = request.map_err(|problem| Error::Malformed(format!("{path}: {problem}")))?;
        let response = self.inner.send(request).await;
        let response = response.map_err(|problem| self.server.unanswered(&problem))?;
        let code = response.status().as_u16();
        let date = response.headers().get("date").and_then(|date| date.to_str().ok());
        let date = date.map(str::to_owned);
        let bytes = response
            .into_body()
            .collect_bytes()
            .await
            .map_err(|problem| Error::Unanswered(format!("{path}: {}", root_cause(&problem))))?;
        Ok(TextAnswer {
            code,
            date,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// Reads the object at `path`.
    ///
    /// # Errors
    /// When the server refused the request or did not answer.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.send(Method::GET, path, None)
            .await?
            .map_err(|status| Error::Refused {
                text: format!("{path}: {}", status.message),
                status,
            })
    }

    /// Returns the resource of the object's kind.
    async fn resource(&mut self, object: &Value) -> Result<Resource> {
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let key = (version.clone(), kind.clone());
        if !self.resources.contains_key(&key) {
            self.discover(&version).await?;
        }
        self.resources
            .get(&key)
            .cloned()
            .ok_or(Error::NotServed { kind, version })
    }

    /// Reads the resource list of one group version.
    async fn discover(&mut self, version: &str) -> Result<()> {
        let list = self.get(&root(version)).await?;
        let resources = list["resources"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for resource in resources
            .iter()
            .filter(|resource| !text(&resource["name"]).contains('/'))
        {
            let plural = text(&resource["name"]);
            let status = resources
                .iter()
                .any(|other| text(&other["name"]) == format!("{plural}/status"));
            let entry = Resource {
                plural,
                namespaced: resource["namespaced"] == true,
                status,
            };
            self.resources
                .insert((version.to_owned(), text(&resource["kind"])), entry);
        }
        Ok(())
    }

    /// Returns the path of the collection to which `object` belongs. As with kubectl, an object without a
    /// namespace belongs to the namespace of the context.
    fn collection(&self, object: &Value, resource: &Resource) -> String {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        if !resource.namespaced {
            return format!("{}/{}", root(version), resource.plural);
        }
        let namespace = match object["metadata"]["namespace"].as_str() {
            None | Some("") => self.namespace(),
            Some(namespace) => namespace,
        };
        format!("{}/namespaces/{namespace}/{}", root(version), resource.plural)
    }
}

/// Builds a request that accepts JSON; `body` is the media type and the value of the body.
fn json_request(method: &Method, path: &str, body: Option<(&str, &Value)>) -> Result<Request<Body>> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", "application/json");
    let bytes = match body {
        Some((media_type, value)) => {
            request = request.header("content-type", media_type);
            serde_json::to_vec(value)
                .map_err(|problem| Error::Malformed(format!("{method} {path}: {problem}")))?
        }
        None => Vec::new(),
    };
    request
        .body(Body::from(bytes))
        .map_err(|problem| Error::Malformed(format!("{method} {path}: {problem}")))
}

/// Returns `kind.group/name`, as in kubectl's output.
fn describe(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
    {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

/// Returns the path of a group version: `/api/v1`, `/apis/apps/v1`.
fn root(version: &str) -> String {
    if version.contains('/') {
        format!("/apis/{version}")
    } else {
        format!("/api/{version}")
    }
}

/// Returns the text of a header Warning: `299 - "unknown field \"spec.foo\""`.
fn warning(value: &http::HeaderValue) -> Option<String> {
    // A text with names outside of ASCII is UTF-8.
    let text = String::from_utf8_lossy(value.as_bytes());
    let (_, text) = text.strip_prefix("299 ")?.split_once(" \"")?;
    let text = text.rsplit_once('"').map_or(text, |(text, _)| text);
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Whether a warning is about unknown or duplicate fields. Other warnings are about the object's content.
fn about_fields(warning: &str) -> bool {
    warning.starts_with("unknown field")
        || warning.starts_with("duplicate field")
        || warning.contains("more unknown fields")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{HeaderValue, Response};
    use tower::service_fn;

    use super::*;

    #[test]
    fn a_warning_with_a_name_outside_of_ascii_is_reported() {
        let header = "299 - \"unknown field \\\"spec.größe\\\"\"";
        let header = HeaderValue::from_bytes(header.as_bytes()).unwrap();
        assert_eq!(warning(&header).unwrap(), "unknown field \"spec.größe\"");
    }

    #[tokio::test]
    async fn an_object_without_a_namespace_belongs_to_the_namespace_of_the_context() {
        let service = service_fn(|_: Request<Body>| async move {
            let answer = Response::new(Body::empty());
            Ok::<_, Infallible>(answer)
        });
        let client = Client::new(kube::Client::new(service, "team-a"));
        for (namespace, namespaced, path) in [
            (json!(null), true, "/apis/g/v1/namespaces/team-a/foos"),
            (json!(""), true, "/apis/g/v1/namespaces/team-a/foos"),
            (json!("b"), true, "/apis/g/v1/namespaces/b/foos"),
            (json!(null), false, "/apis/g/v1/foos"),
        ] {
            let resource = Resource {
                plural: "foos".to_owned(),
                namespaced,
                status: false,
            };
            let object = json!({"apiVersion": "g/v1", "metadata": {"name": "a", "namespace": namespace}});
            assert_eq!(client.collection(&object, &resource), path);
        }
    }
}
