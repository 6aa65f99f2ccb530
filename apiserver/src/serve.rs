//! The server: a port, connections, and a graceful shutdown.
//!
//! The order of stopping loses no request (docs/reference.md, "Health, metrics, stopping"): readiness fails
//! while everything is still served, so that load balancers move on; then the port closes and connections
//! begin to finish (GOAWAY); watches end, so that clients open them on another server; requests in flight
//! complete; the audit log is written.

mod activity;
mod connection;
mod stall;
mod unidentified;
mod websocket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::server::ResolvesServerCert;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::chain::{Chain, ChainConfig};
use crate::health::Health;
use crate::metrics::Metrics;
use crate::tls;

/// Interval at which expired cached data are freed.
const TIDY_INTERVAL: Duration = Duration::from_mins(1);

/// Limits of connections. The defaults of `streams`, `header_read`, `idle` and `header_bytes` are
/// kube-apiserver's for aggregated servers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// Concurrent requests on one HTTP/2 connection: an aggregator sends all its requests over one
    /// connection.
    pub streams: u32,
    /// Timeout of the TLS handshake.
    pub handshake: Duration,
    /// Timeout of reading a request's head.
    pub header_read: Duration,
    /// Timeout of an idle connection.
    pub idle: Duration,
    /// Timeout of a peer that reads none of its data.
    pub stall: Duration,
    /// Highest number of bytes of a request's head.
    pub header_bytes: u32,
    /// Highest number of connections of unidentified peers at each of the server's addresses. Such a peer has
    /// neither a trusted certificate nor an authenticated request yet. One more such connection closes the
    /// one with the longest idle time. 0 means unlimited.
    pub unidentified: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            streams: 1000,
            handshake: Duration::from_secs(10),
            header_read: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            stall: Duration::from_mins(1),
            header_bytes: 1024 * 1024,
            unidentified: 1024,
        }
    }
}

/// Configuration of a server.
#[non_exhaustive]
pub struct ServerConfig {
    /// Address of the server; port 0 selects a free port.
    pub address: SocketAddr,
    /// The serving certificate, which is resolved at each handshake, so that it can be replaced at any time.
    pub certificate: Arc<dyn ResolvesServerCert>,
    /// The request pipeline.
    pub chain: ChainConfig,
    /// The program's own routes without authentication (`/admission/…`). They take precedence over the API.
    pub open_routes: Router,
    /// Separate address, which serves only `open_routes`.
    pub open_address: Option<SocketAddr>,
    /// Limits of connections.
    pub connections: ConnectionLimits,
    /// Delay after the signal to stop, in which the server is unready but still serves.
    pub shutdown_delay: Duration,
    /// Time after the delay in which requests in flight can complete.
    pub drain: Duration,
}

impl ServerConfig {
    /// Creates the configuration of a server at `address` without routes of the program: it stops without
    /// delay, and requests in flight have a minute to complete.
    #[must_use]
    pub fn new(address: SocketAddr, certificate: Arc<dyn ResolvesServerCert>, chain: ChainConfig) -> Self {
        Self {
            address,
            certificate,
            chain,
            open_routes: Router::new(),
            open_address: None,
            connections: ConnectionLimits::default(),
            shutdown_delay: Duration::ZERO,
            drain: Duration::from_mins(1),
        }
    }
}

/// Reason why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The port is in use, or the process may not open it.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// Address of the listener.
        address: SocketAddr,
        /// Error of the system.
        problem: io::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The document at `/version` cannot be rendered.
    #[error("the version document cannot be rendered: {0}")]
    Version(#[from] serde_json::Error),
}

/// A server whose port is open but which does not answer requests yet.
pub struct Server {
    address: SocketAddr,
    open_address: Option<SocketAddr>,
    listener: TcpListener,
    open_listener: Option<TcpListener>,
    state: ServeState,
}

struct ServeState {
    acceptor: TlsAcceptor,
    endpoint: Arc<connection::Endpoint>,
    /// Endpoint of the separate listener of the open routes, if there is one.
    open_endpoint: Arc<connection::Endpoint>,
    health: Arc<Health>,
    audit: Option<Audit>,
    shutdown_delay: Duration,
    drain: Duration,
    /// Token that is cancelled when watches must end.
    closing: CancellationToken,
}

/// A running server.
pub struct RunningServer {
    /// Address on which the server listens.
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    /// Opens the ports.
    ///
    /// # Errors
    /// When a port cannot be opened, or the configuration cannot be used.
    pub async fn bind(config: ServerConfig) -> Result<Self, BindError> {
        let tls = tls::server_config(config.certificate)?;
        let closing = CancellationToken::new();
        let health = config.chain.health.clone();
        let audit = config.chain.audit.clone();
        let metrics = config.chain.metrics.clone();
        let chain = Arc::new(Chain::new(config.chain, closing.clone())?);
        let (listener, address) = listen(config.address).await?;
        let (open_listener, open_address) = match config.open_address {
            Some(address) => {
                let (listener, address) = listen(address).await?;
                (Some(listener), Some(address))
            }
            None => (None, None),
        };
        let (routes, separate_routes) = if open_address.is_some() {
            (Router::new(), config.open_routes)
        } else {
            (config.open_routes, Router::new())
        };
        let limits = config.connections;
        let state = ServeState {
            acceptor: TlsAcceptor::from(Arc::new(tls)),
            endpoint: Arc::new(connection::Endpoint::new(&chain, routes, limits, metrics.clone())),
            open_endpoint: Arc::new(connection::Endpoint::only_open(
                &chain,
                separate_routes,
                limits,
                metrics,
            )),
            health,
            audit,
            shutdown_delay: config.shutdown_delay,
            drain: config.drain,
            closing,
        };
        Ok(Self {
            address,
            open_address,
            listener,
            open_listener,
            state,
        })
    }

    /// Address of the open routes, if they have a separate address.
    #[must_use]
    pub fn open_address(&self) -> Option<SocketAddr> {
        self.open_address
    }

    /// Address on which the server listens, with the actual port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to answer requests.
    #[must_use]
    pub fn start(self) -> RunningServer {
        let stop = CancellationToken::new();
        let task = tokio::spawn(self.state.run(self.listener, self.open_listener, stop.clone()));
        RunningServer {
            address: self.address,
            stop,
            task,
        }
    }
}

impl RunningServer {
    /// A token that stops the server when cancelled, for signal handlers.
    #[must_use]
    pub fn stop_handle(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops the server and waits for its end.
    ///
    /// # Errors
    /// When the server's task panicked.
    pub async fn stop(self) -> Result<(), JoinError> {
        self.stop.cancel();
        self.task.await
    }

    /// Waits until the server has been stopped by its token.
    ///
    /// # Errors
    /// When the server's task panicked.
    pub async fn wait(self) -> Result<(), JoinError> {
        self.task.await
    }
}

impl ServeState {
    async fn run(self, listener: TcpListener, open_listener: Option<TcpListener>, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        let finish = CancellationToken::new();
        let stop_signal = self.wait_for_stop(&stop);
        tokio::pin!(stop_signal);
        let mut tidy_interval = tokio::time::interval(TIDY_INTERVAL);
        tidy_interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (accepted, endpoint) = tokio::select! {
                () = &mut stop_signal => break,
                accepted = listener.accept() => (accepted, &self.endpoint),
                accepted = accept(open_listener.as_ref()) => (accepted, &self.open_endpoint),
                Some(ended) = connections.join_next() => {
                    log_panic(ended);
                    continue;
                }
                _ = tidy_interval.tick() => {
                    self.endpoint.tidy().await;
                    continue;
                }
            };
            match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(self.serve(endpoint, stream, peer, finish.clone()));
                }
                Err(problem) => back_off(&problem).await,
            }
        }
        drop((listener, open_listener));
        // The connections are signalled to finish their requests; connections that do not finish are aborted.
        finish.cancel();
        self.closing.cancel();
        let drained = async {
            while let Some(ended) = connections.join_next().await {
                log_panic(ended);
            }
        };
        if tokio::time::timeout(self.drain, drained).await.is_err() {
            tracing::warn!(
                left = connections.len(),
                "closing connections that did not finish within the grace period"
            );
            connections.shutdown().await;
        }
        if let Some(audit) = &self.audit {
            audit.flush().await;
        }
    }

    /// Waits for the signal to stop, makes readiness fail, and waits for the shutdown delay, in which load
    /// balancers notice this.
    async fn wait_for_stop(&self, stop: &CancellationToken) {
        stop.cancelled().await;
        self.health.stop();
        tracing::info!(delay = ?self.shutdown_delay, "shutting down: not ready any more, still serving during the shutdown delay");
        tokio::time::sleep(self.shutdown_delay).await;
    }

    fn serve(
        &self,
        endpoint: &Arc<connection::Endpoint>,
        stream: TcpStream,
        peer: SocketAddr,
        finish: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        connection::serve(endpoint.clone(), self.acceptor.clone(), stream, peer, finish)
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let failed = |problem| BindError::Listen { address, problem };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local_address = listener.local_addr().map_err(failed)?;
    Ok((listener, local_address))
}

/// Accepts the next connection; pending forever without a listener.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Logs a panic of a connection's task. Panics of requests do not get here: [`Chain`] catches them.
fn log_panic(ended: Result<(), JoinError>) {
    if let Err(problem) = ended {
        tracing::error!(%problem, "the task of a connection panicked, and its requests got no answer; report it as a bug, with this line");
    }
}

/// Waits after an error of `accept`, unless the error is about one connection that has already ended. Other
/// errors are about missing file descriptors, for which only waiting helps.
async fn back_off(problem: &io::Error) {
    let is_connection_error = matches!(
        problem.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !is_connection_error {
        tracing::error!(%problem, "cannot accept connections; retrying");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl ServerConfig {
    /// The metrics of this server, so that programs can register their own metrics before the start.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.chain.metrics
    }
}

#[cfg(test)]
mod tests;
