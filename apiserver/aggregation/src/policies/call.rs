//! Calls of one webhook: HTTPS requests that trust the CAs of the webhook configuration, reuse connections,
//! and follow no redirects.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::client::{Endpoint, Hook};
use berth_certs::Folder;
use berth_client::root_cause;
use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use super::resolve::Resolver;

/// Highest number of bytes of a response.
const MAX_ANSWER_BYTES: usize = berth_admission::webhook::MAX_REVIEW_BYTES;
/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// HTTPS client of one webhook.
pub(super) struct WebhookClient {
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
    uri: Uri,
}

impl WebhookClient {
    /// Creates the client of `hook` without sending a request. `services` reads the Service of the webhook.
    ///
    /// # Errors
    /// When the webhook's `clientConfig` is invalid, or the CAs of the system cannot be read.
    pub(super) fn new(hook: &Hook, services: &kube::Client) -> Result<Self, String> {
        let (uri, resolver) = match &hook.endpoint {
            Endpoint::Url(url) => (url.clone(), Resolver::Dns),
            Endpoint::Service {
                namespace,
                name,
                path,
                port,
            } => {
                let resolver = Resolver::Service {
                    client: services.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                    port: *port,
                };
                (format!("https://{name}.{namespace}.svc:{port}{path}"), resolver)
            }
        };
        let uri = with_timeout(&uri, hook.timeout)?;
        let mut http = HttpConnector::new_with_resolver(resolver);
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(hook.timeout));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(&hook.ca_bundle)?)
            .https_only()
            // HTTP/2 would send all calls over one connection, and so to one replica of the webhook.
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(https);
        Ok(Self { client, uri })
    }

    /// Sends `body`, and returns the body of the response.
    ///
    /// # Errors
    /// Reason of the failure, as kube-apiserver words it after `failed calling webhook "x": `.
    pub(super) async fn call(&self, body: Bytes, timeout: Duration) -> Result<Bytes, String> {
        let call_error =
            |problem: String| format!("failed to call webhook: Post \"{}\": {problem}", self.uri);
        match tokio::time::timeout(timeout, self.exchange(body)).await {
            Ok(response) => response.map_err(call_error),
            Err(_) => Err(call_error(format!(
                "context deadline exceeded: no answer within {timeout:?}"
            ))),
        }
    }

    async fn exchange(&self, body: Bytes) -> Result<Bytes, String> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("berth/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(body))
            .map_err(|problem| problem.to_string())?;
        let response = self
            .client
            .request(request)
            .await
            .map_err(|problem| root_cause(&problem))?;
        let code = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await;
        let body = body.map_err(|problem| root_cause(&*problem))?.to_bytes();
        match code.as_u16() {
            // The codes that client-go takes for a success.
            200..=206 => Ok(body),
            _ => Err(format!("the webhook answered {code}: {}", excerpt(&body))),
        }
    }
}

/// Returns `url` with the timeout as a query parameter, as in kube-apiserver.
fn with_timeout(url: &str, timeout: Duration) -> Result<Uri, String> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let uri: Uri = format!("{url}{separator}timeout={}s", timeout.as_secs())
        .parse()
        .map_err(|problem| format!("the address {url:?} of clientConfig is not valid: {problem}"))?;
    if uri.scheme_str() != Some("https") {
        return Err(format!(
            "clientConfig.url must begin with https://, but is {url:?}"
        ));
    }
    Ok(uri)
}

/// Returns a TLS configuration that trusts the CAs in `bundle`; if `bundle` is empty, the CAs of the system.
fn tls_config(bundle: &[u8]) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(Folder::provider()))
        .with_safe_default_protocol_versions()
        .map_err(|problem| problem.to_string())?;
    if bundle.is_empty() {
        let config = config
            .with_native_roots()
            .map_err(|problem| format!("the CAs of the system cannot be read: {problem}"))?;
        return Ok(config.with_no_client_auth());
    }
    let certificates = berth_certs::pem::certificates(bundle, Path::new("clientConfig.caBundle"))
        .map_err(|problem| problem.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|problem| format!("clientConfig.caBundle: {problem}"))?;
    }
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the beginning of `body`, for messages.
fn excerpt(body: &Bytes) -> String {
    const MAX_CHARS: usize = 200;
    let text = String::from_utf8_lossy(body);
    let mut excerpt: String = text.trim().chars().take(MAX_CHARS).collect();
    if text.trim().chars().count() > MAX_CHARS {
        excerpt.push('…');
    }
    excerpt
}
