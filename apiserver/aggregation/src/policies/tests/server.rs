//! A webhook over TLS on loopback that answers as a test defines, and records its requests.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::routing::any;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Timestamp;
use berth_certs::{Authority, Folder};
use http::{Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::sign::SingleCertAndKey;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// An HTTP answer: the code and the body. `None` means that no answer is ever sent.
pub(crate) type Reply = Option<(u16, Value)>;
/// Answer to the path and the `request` of a review.
pub(crate) type Say = dyn Fn(&str, &Value) -> Reply + Send + Sync;

/// A running webhook.
pub(crate) struct Server {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    /// The CA of its certificate, PEM.
    pub(crate) ca: String,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

struct Seen {
    say: Box<Say>,
    /// Path, query and request of each review.
    reviews: Mutex<Vec<(String, Value)>>,
    connections: AtomicUsize,
}

impl Server {
    /// Starts a webhook whose certificate has `names` and that answers with `say`.
    pub(crate) async fn start(
        names: &[&str],
        now: Timestamp,
        say: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let authority = Authority::open(folder.path(), "ca", "webhook-ca", now).expect("a CA can be made");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let issued = authority
            .issue_server(&names, now)
            .expect("a certificate can be made");
        let provider = Folder::provider();
        let certificate = (issued.certificate.as_bytes(), Path::new("tls.crt"));
        let key = berth_certs::pem::certified_key(
            certificate,
            (issued.key.as_bytes(), Path::new("tls.key")),
            &provider,
        );
        let resolver = SingleCertAndKey::from(key.expect("they belong together"));
        let acceptor = TlsAcceptor::from(Arc::new(config(provider, resolver)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let seen = Arc::new(Seen {
            say: Box::new(say),
            reviews: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let task = tokio::spawn(serve(listener, acceptor, Arc::clone(&seen)));
        Self {
            port,
            ca: authority.certificate_pem().to_owned(),
            seen,
            task,
        }
    }

    /// `clientConfig` with its URL.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port), "caBundle": STANDARD.encode(&self.ca)})
    }

    /// Received reviews: path and query, and the review's request.
    pub(crate) fn reviews(&self) -> Vec<(String, Value)> {
        self.locked().clone()
    }

    /// The paths of the received reviews, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let of = |(path, _): &(String, Value)| path.split('?').next().unwrap_or_default().to_owned();
        self.locked().iter().map(of).collect()
    }

    /// Number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    fn locked(&self) -> MutexGuard<'_, Vec<(String, Value)>> {
        self.seen.reviews.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn config(provider: CryptoProvider, resolver: SingleCertAndKey) -> ServerConfig {
    ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, seen: Arc<Seen>) {
    let router = axum::Router::new()
        .fallback(any(answer))
        .with_state(Arc::clone(&seen));
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (acceptor, router) = (acceptor.clone(), router.clone());
        tokio::spawn(async move {
            // A client that rejects the certificate closes the connection; some tests check that.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let connection = Builder::new(TokioExecutor::new());
            let service = TowerToHyperService::new(router);
            drop(connection.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn answer(State(seen): State<Arc<Seen>>, uri: Uri, body: Bytes) -> Response<Body> {
    let review: Value = serde_json::from_slice(&body).expect("a review is JSON");
    let request = review["request"].clone();
    let said = (seen.say)(uri.path(), &request);
    let reviews = seen.reviews.lock();
    reviews
        .unwrap_or_else(PoisonError::into_inner)
        .push((uri.to_string(), request));
    let Some((code, body)) = said else {
        return std::future::pending().await;
    };
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .header("location", "/elsewhere")
        .body(Body::from(body.to_string()))
        .expect("the answer is well formed")
}

/// A review that answers `request` with `fields` beside its uid.
pub(crate) fn review(request: &Value, fields: &Value) -> Reply {
    let mut response = fields.clone();
    response["uid"] = request["uid"].clone();
    Some((
        200,
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}),
    ))
}

/// Allows the request.
pub(crate) fn allow(request: &Value) -> Reply {
    review(request, &json!({"allowed": true}))
}

/// Denies the request with a code and a reason.
pub(crate) fn deny(request: &Value, code: u16, message: &str) -> Reply {
    review(
        request,
        &json!({"allowed": false, "status": {"code": code, "message": message}}),
    )
}

/// Allows the request with a JSON Patch.
pub(crate) fn patch(request: &Value, operations: &Value) -> Reply {
    let patch = STANDARD.encode(operations.to_string());
    review(
        request,
        &json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}),
    )
}
