//! The client: one connection over TLS, HTTP/1.1 or HTTP/2, with as little work of its own as possible, since
//! it shares the processors with the measured server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::ServerName;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_websockets::{ClientBuilder, WebSocketStream};

/// Highest number of bytes of one read from the socket: lists are megabytes.
const READ: usize = 256 * 1024;

/// The version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
}

/// Address of a server, and the user there.
#[derive(Clone)]
pub struct Target {
    address: SocketAddr,
    host: String,
    one: Arc<rustls::ClientConfig>,
    two: Arc<rustls::ClientConfig>,
}

impl Target {
    /// The server and the user of a kubeconfig.
    pub async fn of(kubeconfig: &Path) -> Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig).with_context(|| kubeconfig.display().to_string())?;
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let port = config.cluster_url.port_u16().context("the URL has a port")?;
        let tls = |protocol: &[u8]| -> Result<Arc<rustls::ClientConfig>> {
            let mut tls = config.rustls_client_config()?;
            tls.alpn_protocols = vec![protocol.to_vec()];
            Ok(Arc::new(tls))
        };
        Ok(Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            host: format!("127.0.0.1:{port}"),
            one: tls(b"http/1.1")?,
            two: tls(b"h2")?,
        })
    }

    /// Returns the target at another port.
    pub fn at_port(&self, port: u16) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            host: format!("127.0.0.1:{port}"),
            ..self.clone()
        }
    }
}

/// A connection that has switched to a WebSocket.
pub type Socket = WebSocketStream<TlsStream<BufReader<TcpStream>>>;

impl Target {
    /// Opens a WebSocket by a request for `path`.
    pub async fn socket(&self, path: &str) -> Result<Socket> {
        let client = ClientBuilder::new()
            .uri(&format!("wss://{}{path}", self.host))?
            // kube-apiserver requires this header.
            .add_header(ORIGIN, "https://localhost".parse()?)?;
        let stream = connect(self.address, &self.one).await?;
        let (socket, response) = client.connect_on(stream).await?;
        ensure!(response.status() == 101, "{path}: {response:?}");
        Ok(socket)
    }
}

/// Opens a connection over TLS.
async fn connect(
    address: SocketAddr,
    tls: &Arc<rustls::ClientConfig>,
) -> Result<TlsStream<BufReader<TcpStream>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::IpAddress(address.ip().into());
    let stream = BufReader::with_capacity(READ, stream);
    Ok(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?)
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The verb.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The body, empty for none.
    pub body: Bytes,
    /// The body's media type.
    pub media: &'static str,
    /// Whether the answer may be compressed.
    pub gzip: bool,
    /// Media type of the answer; `None` is JSON.
    pub accept: Option<&'static str>,
}

impl Call {
    /// Reads `path`.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, Bytes::new())
    }

    /// Sends `body` as JSON.
    pub fn new(method: Method, path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let media = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        Self {
            method,
            path: path.into(),
            body: body.into(),
            media,
            gzip: false,
            accept: None,
        }
    }
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// An open connection.
pub struct Connection {
    sender: Sender,
    host: String,
}

impl Connection {
    /// Opens a connection.
    pub async fn open(target: &Target, protocol: Protocol) -> Result<Self> {
        let tls = match protocol {
            Protocol::One => &target.one,
            Protocol::Two => &target.two,
        };
        let stream = TokioIo::new(connect(target.address, tls).await?);
        let sender = match protocol {
            Protocol::One => {
                let (sender, connection) = http1::Builder::new().handshake(stream).await?;
                // The end of the connection shows in the requests.
                tokio::spawn(async move { connection.await.unwrap_or_default() });
                Sender::One(sender)
            }
            Protocol::Two => {
                // The window sizes of Go's client.
                let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .initial_stream_window_size(4 << 20)
                    .initial_connection_window_size(1 << 30)
                    .handshake(stream)
                    .await?;
                tokio::spawn(async move { connection.await.unwrap_or_default() });
                Sender::Two(sender)
            }
        };
        Ok(Self {
            sender,
            host: target.host.clone(),
        })
    }

    /// Opens several connections, one after the other.
    pub async fn several(target: &Target, count: usize) -> Result<Vec<Self>> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Self::open(target, Protocol::One).await?);
        }
        Ok(connections)
    }

    /// Sends a request, and returns the answer when its head has arrived.
    pub async fn send(&mut self, call: &Call) -> Result<Response<Incoming>> {
        let mut request = Request::builder().method(call.method.clone());
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, call.media);
        }
        if call.gzip {
            request = request.header(ACCEPT_ENCODING, "gzip");
        }
        if let Some(media) = call.accept {
            request = request.header(ACCEPT, media);
        }
        let body = Full::new(call.body.clone());
        let response = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await?;
                let request = request.uri(&call.path).header(HOST, &self.host).body(body)?;
                sender.send_request(request).await?
            }
            Sender::Two(sender) => {
                sender.ready().await?;
                let request = request
                    .uri(format!("https://{}{}", self.host, call.path))
                    .body(body)?;
                sender.send_request(request).await?
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        bail!(
            "{} {}: {status}: {}",
            call.method,
            call.path,
            String::from_utf8_lossy(&body)
        )
    }

    /// Sends a request, reads the answer to its end, and returns its size in bytes.
    pub async fn drained(&mut self, call: &Call) -> Result<usize> {
        let mut body = self.send(call).await?.into_body();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            size += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(size)
    }

    /// Sends a request, and returns the whole answer.
    pub async fn read(&mut self, call: &Call) -> Result<Bytes> {
        Ok(self.send(call).await?.into_body().collect().await?.to_bytes())
    }
}
