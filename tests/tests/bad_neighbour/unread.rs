//! Clients without a certificate that open as many streams as possible and read no answers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Over;

/// Opens several connections, each with hundreds of streams with a window of zero.
pub(super) async fn strangers(url: String, over: Over) -> String {
    let address = url.trim_start_matches("https://").to_owned();
    let connections = (0..4).map(|_| unread(address.clone(), over.clone()));
    let counts = futures::future::join_all(connections).await;
    let all: usize = counts.iter().sum();
    assert!(all > 1000, "{all} streams only: the attack did not happen");
    format!("strangers: {all} streams that read nothing")
}

/// A TLS client for `protocol`, with or without the certificate of a kubeconfig's user.
pub(super) fn connector(kubeconfig: Option<&Path>, protocol: &str) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)));
    let mut config = match kubeconfig {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let text = std::fs::read_to_string(file).expect("the kubeconfig can be read");
            let file: serde_json::Value = serde_saphyr::from_str(&text).expect("a kubeconfig");
            let of = |field: &str| {
                let data = file["users"][0]["user"][field].as_str();
                let data: String = data.expect("it has a certificate").split_whitespace().collect();
                STANDARD.decode(data).expect("base64")
            };
            let certificates = CertificateDer::pem_slice_iter(&of("client-certificate-data"))
                .collect::<Result<_, _>>()
                .expect("certificates");
            let key = PrivateKeyDer::from_pem_slice(&of("client-key-data")).expect("a key");
            builder
                .with_client_auth_cert(certificates, key)
                .expect("the key is of the certificate")
        }
    };
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// Opens a connection; `None` where the server refuses it.
pub(super) async fn connect(connector: &TlsConnector, address: &str) -> Option<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.expect("the server listens");
    let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
    connector.connect(name, stream).await.ok()
}

async fn unread(address: String, over: Over) -> usize {
    let connector = connector(None, "h2");
    let mut streams = 0;
    while !over.load(Ordering::Relaxed) {
        let Some(stream) = connect(&connector, &address).await else {
            continue;
        };
        let handshake = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(0)
            .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
            .await;
        let Ok((mut sender, connection)) = handshake else {
            continue;
        };
        let connection = tokio::spawn(connection);
        let mut answers = Vec::new();
        for turn in 0..600 {
            let uri = format!("https://{address}/api/v1/namespaces/default/secrets/s-{turn}");
            let request = Request::get(uri).body(Empty::new()).expect("a request");
            if sender.ready().await.is_err() {
                break;
            }
            answers.push(sender.send_request(request));
            streams += 1;
        }
        // The heads arrive; the bodies have no window. Then again, until the server closes this connection.
        let heads = futures::future::join_all(answers);
        let waiting = tokio::time::timeout(Duration::from_secs(2), heads).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(waiting);
        connection.abort();
    }
    streams
}

/// Accepts any server certificate: the server is on loopback and started by the test.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
