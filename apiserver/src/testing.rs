//! Common parts of the tests of this crate: certificate authorities, authorizers, clocks and a toy API.

use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use axum::body::Body;
use berth_apimachinery::{Clock, FixedClock, Status, Timestamp};
use bytes::Bytes;
use futures::StreamExt;
use http::{Response, StatusCode};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::auth::{Access, Attributes, Authorizer};
use crate::authn::{Authentication, CaPool, RequestHeaderTrust, Trust};
use crate::chain::{ChainConfig, Limits};
use crate::context::{Api, AuthorizedRequest, Route};
use crate::delegation::DelegationError;
use crate::documents::Documents;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::request_info::RequestInfo;
use crate::respond;
use crate::response_facts::WatchProgress;
use crate::version::VersionInfo;
use crate::websocket::Handshake;

/// A temporary certificate authority.
pub(crate) struct Ca {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: CertificateDer<'static>,
}

/// A certificate with its private key.
pub(crate) struct TestCertificate {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        Self::until(name, 4000)
    }

    /// Creates a CA that is valid up to the first day of `year`.
    pub(crate) fn until(name: &str, year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    pub(crate) fn pool(&self) -> CaPool {
        CaPool::from_certificates(std::slice::from_ref(&self.certificate)).unwrap()
    }

    pub(crate) fn client(&self, name: &str, groups: &[&str]) -> TestCertificate {
        self.client_until(name, groups, 4000)
    }

    /// Issues a client certificate that is valid up to the first day of `year`.
    pub(crate) fn client_until(&self, name: &str, groups: &[&str], year: i32) -> TestCertificate {
        let mut params = CertificateParams::default();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.distinguished_name.push(DnType::CommonName, name);
        // rcgen keeps one value per type, so a second organization uses the type's number.
        for (group, r#type) in groups
            .iter()
            .zip([DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])])
        {
            params.distinguished_name.push(r#type, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params)
    }

    pub(crate) fn server(&self) -> TestCertificate {
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> TestCertificate {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        TestCertificate {
            certificate,
            key: key.into(),
        }
    }
}

/// The fixed time of the tests' clock.
pub(crate) fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock(now()))
}

/// Authorizer that calls a function of the attributes.
pub(crate) struct FunctionAuthorizer<F>(pub(crate) F);

#[async_trait]
impl<F> Authorizer for FunctionAuthorizer<F>
where
    F: Fn(&Attributes) -> Result<Access, String> + Send + Sync + 'static,
{
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        (self.0)(attributes).map_err(DelegationError::Other)
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// An API with one resource, `foos.g.io/v1`; the names of its objects determine its behaviour.
#[derive(Debug, Default)]
pub(crate) struct Toy {
    /// Gate that lets requests to `slow` continue.
    pub(crate) gate: tokio::sync::Notify,
    /// Number of requests to `slow` that have arrived, and of requests to `counting` in progress.
    pub(crate) waiting: std::sync::atomic::AtomicUsize,
}

#[async_trait]
impl Api for Toy {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        (info.group == "g.io"
            && info.version == "v1"
            && info.resource == "foos"
            && info.subresource.is_empty())
        .then_some(Route {
            group: "g.io",
            version: "v1",
            resource: "foos",
            subresource: "",
        })
    }

    fn changed_bytes(&self, _: &RequestInfo) -> usize {
        0
    }

    fn tree_size(&self, _: &http::HeaderMap, body: &[u8]) -> usize {
        crate::memory::tree_size(body)
    }

    fn effort(&self, info: &RequestInfo, _: &http::HeaderMap) -> usize {
        match info.name == "counting" {
            true => crate::heavy::UNKNOWN,
            false => 0,
        }
    }

    async fn tidy(&self) {}

    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body> {
        if self.route(&request.info).is_none() {
            return respond::status(&Status::no_such_path());
        }
        match (request.info.verb, request.info.name.as_str()) {
            ("watch", _) => {
                let mut response = Response::new(Body::from_stream(
                    futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(
                        b"{\"type\":\"ADDED\"}\n",
                    ))])
                    .chain(futures::stream::pending()),
                ));
                let progress = WatchProgress::default();
                progress.add_events(1);
                if request.info.query.first("sendInitialEvents") == Some("true") {
                    progress.set_listed();
                }
                response.extensions_mut().insert(progress);
                match Handshake::of(&request.method, &request.headers) {
                    Ok(Some(handshake)) => handshake.switch(&mut response),
                    Ok(None) => {}
                    Err(status) => return respond::status(&status),
                }
                response
            }
            (_, "panic") => panic!("told to"),
            (_, "panic-late") => {
                let first = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"x"))]);
                Response::new(Body::from_stream(first.chain(futures::stream::poll_fn(
                    |_| -> Poll<Option<_>> { panic!("told to, later") },
                ))))
            }
            (_, "slow") => {
                self.waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                self.gate.notified().await;
                respond::text(StatusCode::OK, "at last")
            }
            // This work ends only when the budget refuses to spend, and never yields.
            (_, "counting") => {
                self.waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let mut budget = berth_apimachinery::budget::Budget::new("counting", u64::MAX, 0);
                while budget.spend(1).is_ok() {}
                self.waiting.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                respond::text(StatusCode::OK, "counted")
            }
            (_, "warn") => {
                request.warnings.add("mind the gap");
                respond::text(StatusCode::OK, "warned")
            }
            _ => {
                let answer = format!("{} {}", request.user.name, request.body.len());
                respond::text(StatusCode::OK, answer)
            }
        }
    }
}

impl Toy {
    /// Waits until `count` requests to `slow` or `counting` have arrived.
    pub(crate) async fn arrived(&self, count: usize) {
        eventually(|| self.waiting.load(std::sync::atomic::Ordering::SeqCst) >= count).await;
    }
}

/// Waits until other tasks make `condition` true.
///
/// # Panics
/// After ten seconds.
pub(crate) async fn eventually(condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "waited too long");
        tokio::task::yield_now().await;
    }
}

/// Creates the configuration of a pipeline for `api` that trusts client certificates of `clients`, and front
/// proxies of `proxies` with the name `front-proxy`. Requests without credentials are anonymous. User `alice`
/// may do everything; other users may only use the paths that are always allowed.
pub(crate) fn chain_config(api: Arc<Toy>, clients: &Ca, proxies: &Ca) -> ChainConfig {
    let request_header = RequestHeaderTrust::new(proxies.pool(), vec!["front-proxy".to_owned()]);
    let authorizer = FunctionAuthorizer(|attributes: &Attributes| {
        Ok(if attributes.user.name == "alice" {
            Access::Allow("it is alice".to_owned())
        } else {
            Access::NoOpinion(String::new())
        })
    });
    ChainConfig {
        api,
        authentication: Authentication {
            trust: Arc::new(Trust::new(clients.pool(), Some(request_header))),
            tokens: None,
            anonymous: true,
        },
        authorizer: Arc::new(authorizer),
        always_allowed: crate::authz::ALWAYS_ALLOWED.map(str::to_owned).to_vec(),
        limits: Limits::default(),
        memory: crate::memory::ByteLimiter::new(1 << 28),
        audit: None,
        health: Arc::new(Health::new()),
        metrics: Arc::new(Metrics::new()),
        version: VersionInfo::new("1.2.3", None, None),
        documents: Documents::default(),
        clock: clock(),
    }
}
