//! The server: a port, connections, and an orderly end.
//!
//! The order of stopping loses no request (docs/reference.md, "Health, metrics, stopping"): readiness
//! fails while everything is still served, so that load balancers move on; then the port closes and
//! connections begin to finish (GOAWAY); watches end, so that clients open them elsewhere; requests in
//! flight complete; the audit log is written.

mod activity;
mod connection;
mod crowd;
mod stall;
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

/// Interval for freeing data of requests that did not come.
const TIDY: Duration = Duration::from_mins(1);

/// Bounds on connections. The defaults are kube-apiserver's for aggregated servers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// Requests at once on one HTTP/2 connection: an aggregator puts all of them on one.
    pub streams: u32,
    /// Time limit of the TLS handshake.
    pub handshake: Duration,
    /// Time limit of a request's head.
    pub header_read: Duration,
    /// Time limit of an idle connection.
    pub idle: Duration,
    /// Time limit of a peer that reads none of its data.
    pub stall: Duration,
    /// Bytes of a request's head.
    pub header_bytes: u32,
    /// Connections at once of peers that have not been identified, by certificate or by a request that
    /// authenticated; with one more the one that has been quiet for longest is closed. 0 is unbounded.
    pub strangers: usize,
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
            strangers: 1024,
        }
    }
}

/// Configuration of a server.
#[non_exhaustive]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// The serving certificate, asked for at each handshake, so that it can be exchanged at any time.
    pub certificate: Arc<dyn ResolvesServerCert>,
    /// The request pipeline.
    pub chain: ChainConfig,
    /// Routes of the program's own that do without authentication (`/admission/…`). They are in front of the
    /// API.
    pub open_routes: Router,
    /// Address at which `open_routes` are served instead, and nothing but them.
    pub open_address: Option<SocketAddr>,
    /// Bounds on connections.
    pub connections: ConnectionLimits,
    /// Time of further serving, unready, after the signal to stop.
    pub shutdown_delay: Duration,
    /// Time for requests in flight to complete after that.
    pub drain: Duration,
}

impl ServerConfig {
    /// A server at `address` with nothing but `chain`, which stops at once and drains for a minute.
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
    /// The port is taken, or not ours to take.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// Address to listen on.
        address: SocketAddr,
        /// Error of the system.
        problem: io::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The version cannot be rendered.
    #[error("the version document cannot be rendered: {0}")]
    Version(#[from] serde_json::Error),
}

/// A server whose port is open but whose requests are not answered yet.
pub struct Server {
    address: SocketAddr,
    open_address: Option<SocketAddr>,
    listener: TcpListener,
    open_listener: Option<TcpListener>,
    serving: ServeState,
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
    /// Cancelled when watches are to end.
    closing: CancellationToken,
}

/// A running server.
pub struct RunningServer {
    /// Address it listens on.
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    /// Opens the port.
    ///
    /// # Errors
    /// When the port cannot be opened or the configuration cannot be used.
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
        let (inside, apart) = if open_address.is_some() {
            (Router::new(), config.open_routes)
        } else {
            (config.open_routes, Router::new())
        };
        let limits = config.connections;
        let serving = ServeState {
            acceptor: TlsAcceptor::from(Arc::new(tls)),
            endpoint: Arc::new(connection::Endpoint::new(&chain, inside, limits, metrics.clone())),
            open_endpoint: Arc::new(connection::Endpoint::only_open(&chain, apart, limits, metrics)),
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
            serving,
        })
    }

    /// Address of the open routes, if not that of the rest.
    #[must_use]
    pub fn open_address(&self) -> Option<SocketAddr> {
        self.open_address
    }

    /// Address it listens on, with the port that was picked.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts answering.
    #[must_use]
    pub fn start(self) -> RunningServer {
        let stop = CancellationToken::new();
        let task = tokio::spawn(self.serving.run(self.listener, self.open_listener, stop.clone()));
        RunningServer {
            address: self.address,
            stop,
            task,
        }
    }
}

impl RunningServer {
    /// A handle that stops the server when cancelled, for signal handlers.
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

    /// Waits until the server has stopped, by its handle.
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
        let red = self.announced(&stop);
        tokio::pin!(red);
        let mut minutes = tokio::time::interval(TIDY);
        minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (accepted, endpoint) = tokio::select! {
                () = &mut red => break,
                accepted = listener.accept() => (accepted, &self.endpoint),
                accepted = accept(open_listener.as_ref()) => (accepted, &self.open_endpoint),
                Some(ended) = connections.join_next() => {
                    report(ended);
                    continue;
                }
                _ = minutes.tick() => {
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
        // They get the signal to finish their requests; if they do not, they are cut off.
        finish.cancel();
        self.closing.cancel();
        let drained = async {
            while let Some(ended) = connections.join_next().await {
                report(ended);
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

    /// Waits for the word to stop, turns readiness red, and lets load balancers notice.
    async fn announced(&self, stop: &CancellationToken) {
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
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// The next connection; pending for ever without a listener.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// A connection's task does not panic: requests that do are caught within it.
fn report(ended: Result<(), JoinError>) {
    if let Err(problem) = ended {
        tracing::error!(%problem, "the task of a connection panicked, and its requests got no answer; report it as a bug, with this line");
    }
}

/// Errors of `accept` are either about one connection that is already gone, or about a system out of file
/// descriptors, which only waiting helps.
async fn back_off(problem: &io::Error) {
    let gone = matches!(
        problem.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !gone {
        tracing::error!(%problem, "cannot accept connections; retrying");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Parts that the program's own routes share with the API when it builds metrics of its own.
impl ServerConfig {
    /// The metrics this server counts in.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.chain.metrics
    }
}

#[cfg(test)]
mod tests;
