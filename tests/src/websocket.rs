//! Watches by WebSocket, as browsers and fabric8's clients do.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_websockets::{ClientBuilder, WebSocketStream};

use crate::DEADLINE;

/// An open watch.
pub struct WebSocket(WebSocketStream<TlsStream<TcpStream>>);

impl WebSocket {
    /// Opens a watch with the identity of a kubeconfig.
    ///
    /// # Errors
    /// When the server does not switch protocols.
    pub async fn open(kubeconfig: &Path, path: &str) -> Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let host = config
            .cluster_url
            .host()
            .context("the URL has a host")?
            .to_owned();
        let port = config.cluster_url.port_u16().context("the URL has a port")?;
        let mut tls = config.rustls_client_config()?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        let name = ServerName::try_from(host.clone())?;
        let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await?;
        let client = ClientBuilder::new()
            .uri(&format!("wss://{host}:{port}{path}"))?
            // kube-apiserver refuses requests without it.
            .add_header(http::header::ORIGIN, "https://localhost".parse()?)?;
        let (socket, response) = client.connect_on(stream).await?;
        ensure!(response.status() == 101, "{response:?}");
        Ok(Self(socket))
    }

    /// The next event; `None` after the server has closed the watch.
    ///
    /// # Panics
    /// Without an event in time, or when the message is not one.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(DEADLINE, self.0.next()).await;
            let message = next.expect("an event or the end")?.expect("the connection lasts");
            if message.is_close() {
                return None;
            }
            if !message.is_ping() {
                let text = message.as_text().expect("events are text");
                return Some(serde_json::from_str(text).expect("a message is one event"));
            }
        }
    }
}
