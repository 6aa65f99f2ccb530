//! Callers without any certificate that open as many streams as they may and read none of the answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Over;

/// Several connections, each with hundreds of streams whose windows stay shut.
pub(super) async fn strangers(url: String, over: Over) -> String {
    let address = url.trim_start_matches("https://").to_owned();
    let connections = (0..4).map(|_| unread(address.clone(), over.clone()));
    let counts = futures::future::join_all(connections).await;
    let all: usize = counts.iter().sum();
    assert!(all > 1000, "{all} streams only: the attack did not happen");
    format!("strangers: {all} streams that read nothing")
}

async fn unread(address: String, over: Over) -> usize {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = TlsConnector::from(Arc::new(config));
    let mut streams = 0;
    while !over.load(Ordering::Relaxed) {
        let stream = TcpStream::connect(&address).await.expect("the server listens");
        let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
        let Ok(stream) = connector.connect(name, stream).await else {
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
        // The heads come; the bodies have no window. Then again, until the server has had enough of this connection.
        let heads = futures::future::join_all(answers);
        let waiting = tokio::time::timeout(Duration::from_secs(2), heads).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(waiting);
        connection.abort();
    }
    streams
}

/// Takes any server for the right one: it is on loopback, and started by the test.
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
