//! The server over real TLS connections.

mod websockets;

use std::sync::atomic::Ordering;

use axum::routing::post;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::testing::{Ca, TestCertificate, Toy, chain_config, eventually};

const FOOS: &str = "/apis/g.io/v1/namespaces/ns/foos";

struct Site {
    running: RunningServer,
    open: Option<SocketAddr>,
    api: Arc<Toy>,
    serving: Ca,
    clients: Ca,
    proxies: Ca,
}

/// A running server on its own port.
async fn site(adjust: impl FnOnce(&mut ServerConfig)) -> Site {
    let (serving, clients, proxies) = (Ca::new("serving"), Ca::new("clients"), Ca::new("proxies"));
    let api = Arc::new(Toy::default());
    let mut config = ServerConfig {
        address: "127.0.0.1:0".parse().unwrap(),
        certificate: Arc::new(FixedCertificate(certified(serving.server()))),
        chain: chain_config(api.clone(), &clients, &proxies),
        open_routes: Router::new(),
        open_address: None,
        connections: ConnectionLimits::default(),
        shutdown_delay: Duration::ZERO,
        drain: Duration::from_secs(10),
    };
    adjust(&mut config);
    let server = Server::bind(config).await.unwrap();
    let open = server.open_address();
    Site {
        running: server.start(),
        open,
        api,
        serving,
        clients,
        proxies,
    }
}

#[derive(Debug)]
struct FixedCertificate(Arc<rustls::sign::CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn certified(pair: TestCertificate) -> Arc<rustls::sign::CertifiedKey> {
    let key = rustls::crypto::ring::sign::any_supported_type(&pair.key).unwrap();
    Arc::new(rustls::sign::CertifiedKey::new(vec![pair.certificate], key))
}

impl Site {
    async fn tls(&self, protocol: &[u8], pair: Option<TestCertificate>) -> TlsStream<TcpStream> {
        self.tls_at(self.running.address, protocol, pair).await
    }

    async fn tls_at(
        &self,
        address: SocketAddr,
        protocol: &[u8],
        pair: Option<TestCertificate>,
    ) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.serving.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match pair {
            Some(pair) => builder
                .with_client_auth_cert(vec![pair.certificate], pair.key)
                .unwrap(),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap()
    }

    async fn http1(&self, pair: Option<TestCertificate>) -> http1::SendRequest<Empty<Bytes>> {
        let stream = TokioIo::new(self.tls(b"http/1.1", pair).await);
        let (sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    async fn http2(&self, pair: Option<TestCertificate>) -> http2::SendRequest<Empty<Bytes>> {
        self.http2_at(self.running.address, pair).await
    }

    async fn http2_at(
        &self,
        address: SocketAddr,
        pair: Option<TestCertificate>,
    ) -> http2::SendRequest<Empty<Bytes>> {
        let stream = TokioIo::new(self.tls_at(address, b"h2", pair).await);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    fn alice(&self) -> Option<TestCertificate> {
        Some(self.clients.client("alice", &[]))
    }
}

fn get(target: &str) -> Request<Empty<Bytes>> {
    Request::get(target)
        .header("host", "localhost")
        .body(Empty::new())
        .unwrap()
}

/// For HTTP/2 the target carries scheme and authority.
fn get2(target: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("https://localhost{target}"))
        .body(Empty::new())
        .unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn both_protocols_answer_and_know_the_certificate() {
    let site = site(|_| {}).await;
    let first = site
        .http1(site.alice())
        .await
        .send_request(get(FOOS))
        .await
        .unwrap();
    assert_eq!(
        (first.version(), text(first).await),
        (http::Version::HTTP_11, "alice 0".to_owned())
    );
    let second = site
        .http2(site.alice())
        .await
        .send_request(get2(FOOS))
        .await
        .unwrap();
    assert_eq!(
        (second.version(), text(second).await),
        (http::Version::HTTP_2, "alice 0".to_owned())
    );
    let anonymous = site
        .http2(None)
        .await
        .send_request(get2("/readyz"))
        .await
        .unwrap();
    assert_eq!(text(anonymous).await, "ok");
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn remote_user_counts_only_from_the_front_proxy() {
    let site = site(|_| {}).await;
    let strangers = Ca::new("strangers");
    for (pair, code) in [
        (site.proxies.client("front-proxy", &[]), 200),
        (site.proxies.client("someone", &[]), 401),
        (strangers.client("front-proxy", &[]), 401),
        (site.clients.client("bob", &[]), 403),
        (site.clients.client("front-proxy", &["system:nobody"]), 403),
    ] {
        let mut request = get(FOOS);
        request
            .headers_mut()
            .insert("x-remote-user", "alice".parse().unwrap());
        request
            .headers_mut()
            .insert("x-remote-group", "system:masters".parse().unwrap());
        let response = site.http1(Some(pair)).await.send_request(request).await.unwrap();
        assert_eq!(response.status(), code);
        let body = text(response).await;
        assert!(code == 200 || body.contains("\"kind\":\"Status\""), "{body}");
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn one_connection_carries_a_thousand_requests_at_once() {
    let site = site(|config| config.chain.limits.reads = 0).await;
    let sender = site.http2(site.alice()).await;
    let requests: Vec<_> = (0..1000)
        .map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move {
                sender
                    .send_request(get2(&format!("{FOOS}/slow")))
                    .await
                    .unwrap()
                    .status()
            })
        })
        .collect();
    site.api.arrived(1000).await;
    site.api.gate.notify_waiters();
    for request in requests {
        assert_eq!(request.await.unwrap(), StatusCode::OK);
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_head_that_does_not_arrive_ends_the_connection() {
    let site = site(|config| config.connections.header_read = Duration::from_millis(100)).await;
    let mut stream = site.tls(b"http/1.1", None).await;
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: local")
        .await
        .unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest))
        .await
        .unwrap()
        .ok();
    assert!(
        !String::from_utf8_lossy(&rest).contains("200"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn idle_and_silent_connections_are_closed() {
    let site = site(|config| {
        config.connections.idle = Duration::from_millis(100);
        config.connections.handshake = Duration::from_millis(100);
    })
    .await;
    let mut silent = TcpStream::connect(site.running.address).await.unwrap();
    let mut idle = site.http2(None).await;
    idle.send_request(get2("/readyz")).await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), silent.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    eventually(|| idle.is_closed()).await;
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn too_many_connections_of_strangers_close_the_quietest_and_no_others() {
    let site = site(|config| config.connections.unidentified = 2).await;
    let mut known = site.http2(site.alice()).await;
    known.send_request(get2("/readyz")).await.unwrap();
    let mut first = site.http2(None).await;
    first.send_request(get2("/readyz")).await.unwrap();
    let mut second = site.http2(None).await;
    second.send_request(get2("/readyz")).await.unwrap();
    let mut third = site.http2(None).await;
    third.send_request(get2("/readyz")).await.unwrap();
    eventually(|| first.is_closed()).await;
    for sender in [&mut known, &mut second, &mut third] {
        let response = sender.send_request(get2("/readyz")).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn garbage_never_takes_the_server_down() {
    let site = site(|_| {}).await;
    let mut state: u64 = 42;
    for round in 0..100 {
        let garbage: Vec<u8> = (0..round * 7 + 1)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                state.to_le_bytes()[7]
            })
            .collect();
        let mut raw = TcpStream::connect(site.running.address).await.unwrap();
        raw.write_all(&garbage).await.ok();
        drop(raw);
        if round % 10 == 0 {
            for protocol in [&b"h2"[..], b"http/1.1"] {
                let mut stream = site.tls(protocol, None).await;
                stream.write_all(&garbage).await.ok();
                stream.shutdown().await.ok();
            }
        }
    }
    let response = site.http1(None).await.send_request(get("/readyz")).await.unwrap();
    assert_eq!(text(response).await, "ok");
    let page = site
        .http1(site.alice())
        .await
        .send_request(get("/metrics"))
        .await
        .unwrap();
    let page = text(page).await;
    let errors = page
        .lines()
        .find_map(|line| line.strip_prefix("apiserver_tls_handshake_errors_total "));
    assert!(errors.unwrap().parse::<u64>().unwrap() > 0);
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_panic_leaves_the_connection_in_use() {
    let site = site(|_| {}).await;
    let mut sender = site.http2(site.alice()).await;
    let panicked = sender.send_request(get2(&format!("{FOOS}/panic"))).await.unwrap();
    assert_eq!(panicked.status(), 500);
    let next = sender.send_request(get2(FOOS)).await.unwrap();
    assert_eq!(next.status(), 200);
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn refusals_arrive_while_the_body_is_still_being_sent() {
    let site = site(|config| {
        let never_reads = post(async || StatusCode::IM_A_TEAPOT);
        config.open_routes = Router::new().route("/admission/mutate", never_reads);
    })
    .await;
    let large = || Full::new(Bytes::from(vec![b' '; 4 * 1024 * 1024]));
    for (pair, target, code) in [
        (site.alice(), FOOS, 413),
        (None, FOOS, 403),
        (site.alice(), "/version", 405),
        (None, "/admission/mutate", 418),
    ] {
        let stream = TokioIo::new(site.tls(b"h2", pair).await);
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post(format!("https://localhost{target}"))
            .body(large())
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), code, "{target}");
        let body = text(response).await;
        assert!(
            code == 418 || body.contains("\"kind\":\"Status\""),
            "{target}: {body}"
        );
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let site = site(|_| {}).await;
    let mut request = get("/readyz");
    request
        .headers_mut()
        .insert("x-long", "a".repeat(2 * 1024 * 1024).parse().unwrap());
    let answer = site.http1(None).await.send_request(request).await;
    assert!(answer.map_or(true, |response| response.status() == 431));
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn open_routes_need_no_credentials_and_answer_with_statuses() {
    let site = site(|config| {
        let echo = post(|body: String| async move { format!("got {body}") });
        let panics = post(async || -> String { panic!("told to") });
        config.open_routes = Router::new()
            .route("/admission/mutate", echo)
            .route("/admission/panic", panics);
    })
    .await;
    let stranger = Ca::new("strangers").client("x", &[]);
    let mut sender = site.http2(Some(stranger)).await;
    let call = |method: &str, path: &str| {
        Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .body(Empty::<Bytes>::new())
            .unwrap()
    };
    let taken = sender
        .send_request(call("POST", "/admission/mutate"))
        .await
        .unwrap();
    assert!(taken.headers().contains_key("audit-id"));
    assert_eq!(text(taken).await, "got ");
    for (method, path, code) in [
        ("GET", "/admission/mutate", 405),
        ("POST", "/admission/panic", 500),
        ("POST", "/admission/other", 401),
    ] {
        let refused = sender.send_request(call(method, path)).await.unwrap();
        assert_eq!(refused.status(), code, "{method} {path}");
        assert!(text(refused).await.contains("\"kind\":\"Status\""));
    }
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn open_routes_can_have_a_port_of_their_own() {
    let site = site(|config| {
        config.open_address = Some("127.0.0.1:0".parse().unwrap());
        // The pipeline evaluates trust elsewhere; here the route requires it.
        let pool = config.chain.authentication.trust.current().client.clone();
        let now = config.chain.clock.now();
        let route = move |axum::Extension(peer): axum::Extension<Arc<crate::authn::Connection>>| async move {
            let certified = peer.certified_by(&pool, now);
            assert_eq!(
                certified,
                peer.certified_by(&pool, now),
                "the same when asked again"
            );
            let other = peer.certified_by(&crate::authn::CaPool::default(), now);
            assert!(other.is_err(), "of another CA it is asked anew");
            assert_eq!(certified, peer.certified_by(&pool, now));
            certified.map_or_else(|problem| problem.to_string(), |()| "certified".to_owned())
        };
        config.open_routes = Router::new().route("/admission/mutate", post(route));
    })
    .await;
    let open = site.open.unwrap();
    assert_ne!(open, site.running.address);
    let call = |path: &str| {
        Request::post(format!("https://localhost{path}"))
            .body(Empty::<Bytes>::new())
            .unwrap()
    };
    let stranger = Ca::new("strangers").client("x", &[]);
    for (pair, expected) in [
        (None, "a client certificate is required"),
        (Some(stranger), "verifying the client certificate failed"),
        (site.alice(), "certified"),
    ] {
        let mut sender = site.http2_at(open, pair).await;
        let answer = sender.send_request(call("/admission/mutate")).await.unwrap();
        assert_eq!(answer.status(), 200);
        let said = text(answer).await;
        assert!(said.contains(expected), "{said}");
        let nothing_else = sender.send_request(call(FOOS)).await.unwrap();
        assert_eq!(nothing_else.status(), 404);
        assert!(text(nothing_else).await.contains("\"kind\":\"Status\""));
    }
    let mut sender = site.http2(Some(Ca::new("others").client("x", &[]))).await;
    let answer = sender.send_request(call("/admission/mutate")).await.unwrap();
    assert_eq!(answer.status(), 401, "the API's own port has no open routes then");
    site.running.stop().await.unwrap();
}

#[tokio::test]
async fn stopping_completes_what_is_in_flight_and_ends_watches() {
    let site = site(|_| {}).await;
    let mut sender = site.http2(site.alice()).await;
    let mut other = site.http1(site.alice()).await;
    let watch = sender
        .send_request(get2(&format!("{FOOS}?watch=1")))
        .await
        .unwrap();
    let slow = tokio::spawn(sender.send_request(get2(&format!("{FOOS}/slow"))));
    let slow_too = tokio::spawn(other.send_request(get(&format!("{FOOS}/slow"))));
    site.api.arrived(2).await;
    let address = site.running.address;
    let stop = site.running.stop_handle();
    stop.cancel();
    // The watch ends cleanly, with the requests still in flight.
    let events = watch.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(events.as_ref(), b"{\"type\":\"ADDED\"}\n");
    assert!(TcpStream::connect(address).await.is_err());
    site.api.gate.notify_waiters();
    assert_eq!(text(slow.await.unwrap().unwrap()).await, "at last");
    assert_eq!(text(slow_too.await.unwrap().unwrap()).await, "at last");
    tokio::time::timeout(Duration::from_secs(10), site.running.wait())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn readiness_turns_red_while_requests_are_still_served() {
    let site = site(|config| config.shutdown_delay = Duration::from_secs(2)).await;
    let mut sender = site.http2(site.alice()).await;
    assert_eq!(sender.send_request(get2("/readyz")).await.unwrap().status(), 200);
    site.running.stop_handle().cancel();
    let mut code = StatusCode::OK;
    while code == StatusCode::OK {
        code = sender.send_request(get2("/readyz")).await.unwrap().status();
    }
    assert_eq!(code, 500);
    let mut late = site.http1(site.alice()).await;
    assert_eq!(late.send_request(get(FOOS)).await.unwrap().status(), 200);
    site.running.wait().await.unwrap();
}

#[tokio::test]
async fn what_does_not_complete_in_time_is_cut_off() {
    let site = site(|config| config.drain = Duration::from_millis(100)).await;
    let mut sender = site.http2(site.alice()).await;
    let stuck = tokio::spawn(sender.send_request(get2(&format!("{FOOS}/slow"))));
    site.api.arrived(1).await;
    tokio::time::timeout(Duration::from_secs(10), site.running.stop())
        .await
        .unwrap()
        .unwrap();
    assert!(stuck.await.unwrap().is_err());
    assert_eq!(site.api.waiting.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let site = site(|_| {}).await;
    let (clients, proxies) = (Ca::new("clients"), Ca::new("proxies"));
    let config = ServerConfig {
        address: site.running.address,
        certificate: Arc::new(FixedCertificate(certified(site.serving.server()))),
        chain: chain_config(Arc::new(Toy::default()), &clients, &proxies),
        open_routes: Router::new(),
        open_address: None,
        connections: ConnectionLimits::default(),
        shutdown_delay: Duration::ZERO,
        drain: Duration::ZERO,
    };
    let problem = Server::bind(config).await.err().unwrap().to_string();
    assert!(
        problem.starts_with(&format!("cannot listen on {}", site.running.address)),
        "{problem}"
    );
    site.running.stop().await.unwrap();
}
