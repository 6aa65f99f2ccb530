//! One connection: handshake, HTTP/2 or HTTP/1.1 by ALPN, requests, and its end.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use berth_apimachinery::Status;
use http::StatusCode;
use http::header::UPGRADE;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::ConnectionLimits;
use super::activity::Activity;
use super::stall::TimeoutStream;
use super::unidentified::{Registration, UnidentifiedConnections};
use super::websocket::SessionSlot;
use crate::authn::Connection;
use crate::chain::{BusyMarker, Chain};
use crate::metrics::Metrics;
use crate::respond;
use crate::signal::Signal;
use crate::unread::StreamExecutor;

/// Interval of pings to a silent HTTP/2 peer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Time limit of the peer's answer to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Time in which an idle peer must close the connection after the signal to do so.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Receive windows that are large enough to receive a body of usual size without waiting.
const WINDOWS: Windows = Windows {
    stream: 256 * 1024,
    connection: 16 * 1024 * 1024,
};

/// Receive windows for peers without a trusted certificate, whose requests wait in memory for authentication.
const SMALL_WINDOWS: Windows = Windows {
    stream: 64 * 1024,
    connection: 256 * 1024,
};

/// HTTP/2 receive windows: highest number of bytes that a peer sends before they are read, on one stream and
/// on the whole connection.
#[derive(Clone, Copy, Debug)]
struct Windows {
    stream: u32,
    connection: u32,
}

/// Routes, settings and limits that all connections of one listener share.
pub(super) struct Endpoint {
    router: Router,
    chain: Arc<Chain>,
    http1: http1::Builder,
    /// HTTP/2 settings for peers with a trusted certificate.
    http2: http2::Builder<StreamExecutor>,
    /// HTTP/2 settings for all other peers.
    http2_of_unidentified: http2::Builder<StreamExecutor>,
    limits: ConnectionLimits,
    unidentified: Arc<UnidentifiedConnections>,
    metrics: Arc<Metrics>,
}

/// Connection of one request, in the extensions of the request.
#[derive(Clone)]
struct RequestConnection {
    connection: Arc<Connection>,
    /// Marker that counts the request as in progress until it is dropped.
    busy: BusyMarker,
}

impl Endpoint {
    /// Creates the endpoint of the program's own routes and, for all other requests, the pipeline.
    pub(super) fn new(
        chain: &Arc<Chain>,
        open_routes: Router,
        limits: ConnectionLimits,
        metrics: Arc<Metrics>,
    ) -> Self {
        let router = open_router(Arc::clone(chain), open_routes).fallback(api_handler(Arc::clone(chain)));
        Self::of(chain, router, limits, metrics)
    }

    /// Creates the endpoint of only the program's own routes.
    pub(super) fn only_open(
        chain: &Arc<Chain>,
        open_routes: Router,
        limits: ConnectionLimits,
        metrics: Arc<Metrics>,
    ) -> Self {
        let refuse = || async { respond::status(&Status::no_such_path()) };
        Self::of(
            chain,
            open_router(Arc::clone(chain), open_routes).fallback(refuse),
            limits,
            metrics,
        )
    }

    /// Frees expired data that the API caches for later requests.
    pub(super) async fn tidy(&self) {
        self.chain.tidy().await;
    }

    fn of(chain: &Arc<Chain>, router: Router, limits: ConnectionLimits, metrics: Arc<Metrics>) -> Self {
        Self {
            router,
            chain: Arc::clone(chain),
            http1: http1_builder(limits),
            http2: http2_builder(limits, WINDOWS),
            http2_of_unidentified: http2_builder(limits, SMALL_WINDOWS),
            unidentified: UnidentifiedConnections::new(limits.unidentified),
            limits,
            metrics,
        }
    }
}

/// Router of the program's own routes. Their requests are tracked and limited like requests to the API.
/// Handlers find the [`Connection`] in the request's extensions.
fn open_router(chain: Arc<Chain>, routes: Router) -> Router {
    if !routes.has_routes() {
        return routes;
    }
    let layer = middleware::from_fn(
        move |Extension(origin): Extension<RequestConnection>, mut request: Request, next: Next| {
            let chain = chain.clone();
            async move {
                request.extensions_mut().insert(origin.connection.clone());
                let route = async |request| next.run(request).await;
                chain
                    .handle_open(&origin.connection, request, route, Some(origin.busy.clone()))
                    .await
            }
        },
    );
    let refuse = || async { respond::status(&Status::method_not_allowed()) };
    // `route_layer` applies only to requests that match one of these routes; all others belong to the
    // fallback.
    routes.method_not_allowed_fallback(refuse).route_layer(layer)
}

/// Handler that passes every request without a route of its own to the pipeline.
fn api_handler(
    chain: Arc<Chain>,
) -> impl Fn(Extension<RequestConnection>, Request) -> futures::future::BoxFuture<'static, Response> + Clone {
    move |Extension(origin): Extension<RequestConnection>, request: Request| {
        let chain = chain.clone();
        Box::pin(async move {
            chain
                .handle_busy(&origin.connection, request, Some(origin.busy))
                .await
        })
    }
}

fn http1_builder(limits: ConnectionLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        .max_buf_size(limits.header_bytes as usize);
    builder
}

fn http2_builder(limits: ConnectionLimits, windows: Windows) -> http2::Builder<StreamExecutor> {
    let mut builder = http2::Builder::new(StreamExecutor);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_bytes)
        .initial_stream_window_size(windows.stream)
        .initial_connection_window_size(windows.connection)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Serves one connection until it ends, is idle for too long, `finish` is cancelled and its requests are
/// answered, or another connection of an unidentified peer takes its place.
///
/// The futures of the handshake and of the requests are boxed separately: the first is large and short-lived,
/// so during a watch of several hours only the second exists.
pub(super) async fn serve(
    endpoint: Arc<Endpoint>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    finish: CancellationToken,
) {
    let activity = Activity::new();
    let close = CancellationToken::new();
    let registration = endpoint.unidentified.add(Arc::clone(&activity), close.clone());
    let secure_connection = tokio::select! {
        secure_connection =
            Box::pin(secure(&endpoint, acceptor, stream, peer, registration)) => secure_connection,
        () = close.cancelled() => None,
    };
    let Some(secure_connection) = secure_connection else {
        return;
    };
    tokio::select! {
        () = Box::pin(serve_requests(&endpoint, secure_connection, activity, finish)) => {}
        () = close.cancelled() => {
            tracing::debug!(%peer, "connection closed: too many connections of peers that are not identified");
        }
    }
}

/// A connection after its handshake.
struct SecureConnection {
    stream: TlsStream<TcpStream>,
    connection: Arc<Connection>,
    http2: bool,
}

/// Performs the handshake; `None` when it fails, which is logged.
async fn secure(
    endpoint: &Endpoint,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    registration: Registration,
) -> Option<SecureConnection> {
    if let Err(problem) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %problem, "TCP_NODELAY cannot be set: small answers may be delayed");
    }
    let stream = match tokio::time::timeout(endpoint.limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(problem)) => {
            endpoint.metrics.tls_error();
            tracing::debug!(%peer, %problem, "TLS handshake failed");
            return None;
        }
        Err(_) => {
            endpoint.metrics.tls_error();
            tracing::debug!(%peer, "TLS handshake took too long");
            return None;
        }
    };
    let session = stream.get_ref().1;
    let certificates = session.peer_certificates().unwrap_or_default();
    let certificates = certificates
        .iter()
        .map(|certificate| certificate.clone().into_owned())
        .collect();
    Some(SecureConnection {
        connection: Arc::new(Connection::new(peer, certificates).with_unidentified_place(registration)),
        // The handshake has determined the protocol. Detecting it from the first bytes could wait forever.
        http2: session.alpn_protocol() == Some(b"h2"),
        stream,
    })
}

async fn serve_requests(
    endpoint: &Endpoint,
    secure_connection: SecureConnection,
    activity: Arc<Activity>,
    finish: CancellationToken,
) {
    let SecureConnection {
        stream,
        connection,
        http2,
    } = secure_connection;
    let is_known = endpoint.chain.trusts_peer(&connection);
    if is_known {
        connection.mark_identified();
    }
    let peer = connection.peer();
    let session_slot = SessionSlot::default();
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let origin = RequestConnection {
            connection: connection.clone(),
            busy: activity.begin(),
        };
        answer(endpoint.router.clone(), request, origin, session_slot.clone())
    });
    let stream = TokioIo::new(TimeoutStream::new(stream, endpoint.limits.stall));
    let idle = endpoint.limits.idle;
    let result = if http2 {
        let http = if is_known {
            &endpoint.http2
        } else {
            &endpoint.http2_of_unidentified
        };
        let http = http.serve_connection(stream, service);
        drive(http, |http| http.graceful_shutdown(), &activity, idle, finish).await
    } else {
        let http = endpoint.http1.serve_connection(stream, service).with_upgrades();
        drive(http, |http| http.graceful_shutdown(), &activity, idle, finish).await
    };
    if let Err(problem) = result {
        tracing::debug!(%peer, %problem, "connection ended");
        return;
    }
    if let Some(session) = session_slot.take()
        && let Err(problem) = Box::pin(session.run()).await
    {
        tracing::debug!(%peer, problem, "a WebSocket ended");
    }
}

/// Serves requests until the connection ends, is idle for too long, or `finish` is cancelled and its requests
/// are answered. `shut_down` makes `http` refuse further requests.
async fn drive<H: Future<Output = hyper::Result<()>>>(
    http: H,
    shut_down: impl Fn(Pin<&mut H>),
    activity: &Activity,
    idle: Duration,
    finish: CancellationToken,
) -> hyper::Result<()> {
    let mut http = pin!(http);
    let mut finish = Signal::of(&finish);
    let mut close_signalled = false;
    loop {
        // A request may have started or ended since the last check, so the delay is computed anew.
        let check_delay = if close_signalled {
            CLOSE_TIMEOUT
        } else {
            idle.saturating_sub(activity.quiet_for())
        };
        tokio::select! {
            result = http.as_mut() => return result,
            () = &mut finish, if !close_signalled => {
                close_signalled = true;
                shut_down(http.as_mut());
            }
            () = tokio::time::sleep(check_delay) => {
                let quiet = activity.quiet_for();
                if close_signalled && quiet >= CLOSE_TIMEOUT {
                    // The peer was signalled to close the connection and does not close it.
                    return Ok(());
                }
                if !close_signalled && quiet >= idle {
                    close_signalled = true;
                    shut_down(http.as_mut());
                }
            }
        }
    }
}

async fn answer(
    router: Router,
    request: hyper::Request<Incoming>,
    origin: RequestConnection,
    session_slot: SessionSlot,
) -> Result<Response, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(origin);
    if !request.headers().contains_key(UPGRADE) {
        return router.oneshot(request).await;
    }
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        // With HTTP/1.0 and HTTP/2, a connection cannot switch its protocol, so the request is an ordinary
        // request.
        request.headers_mut().remove(UPGRADE);
        return router.oneshot(request).await;
    };
    let response = router.oneshot(request).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    session_slot.set(upgrade, body);
    Ok(Response::from_parts(parts, Body::empty()))
}
