//! A user without rights who sends bodies without end.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Request;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Over;
use super::unread::{connect, connector};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// More than the server's limit of parallel writes.
const CONNECTIONS: usize = 260;
const STREAMS: usize = 100;

/// Repeated writes over HTTP/1.1, each with its own connection.
pub(super) async fn one_by_one(url: String, kubeconfig: PathBuf, over: Over) -> String {
    let address = url.trim_start_matches("https://").to_owned();
    let connector = connector(Some(&kubeconfig), "http/1.1");
    let all = (0..CONNECTIONS).map(|_| {
        let (address, connector, over) = (address.clone(), connector.clone(), over.clone());
        tokio::spawn(async move {
            let head = format!(
                "POST {REVIEWS} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 3000\r\n\r\n{{"
            );
            let mut refused = 0;
            while !over.load(Ordering::Relaxed) {
                let Some(mut stream) = connect(&connector, &address).await else {
                    continue;
                };
                if stream.write_all(head.as_bytes()).await.is_err() {
                    continue;
                }
                let mut begin = [0; 12];
                let reading = stream.read_exact(&mut begin);
                let answered = tokio::select! {
                    answered = reading => answered.is_ok(),
                    () = is_over(&over) => false,
                };
                if answered {
                    assert!(
                        begin.ends_with(b"408") || begin.ends_with(b"429"),
                        "{}",
                        String::from_utf8_lossy(&begin)
                    );
                    refused += 1;
                }
            }
            refused
        })
    });
    let refused: Vec<_> = futures::future::join_all(all).await;
    let refused: usize = refused
        .into_iter()
        .map(|one| one.expect("each sees what it should"))
        .sum();
    format!("trickling, HTTP/1.1: {refused} refused")
}

/// Repeated writes as streams of a few HTTP/2 connections, with bodies that stop.
pub(super) async fn as_streams(url: String, kubeconfig: PathBuf, over: Over) -> String {
    let address = url.trim_start_matches("https://").to_owned();
    let connector = connector(Some(&kubeconfig), "h2");
    let mut begun = 0;
    while !over.load(Ordering::Relaxed) {
        let mut connections = Vec::new();
        for _ in 0..3 {
            let Some(stream) = connect(&connector, &address).await else {
                continue;
            };
            let shaken =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
            let Ok((mut sender, connection)) = shaken else {
                continue;
            };
            let connection = tokio::spawn(connection);
            let mut answers = Vec::new();
            for _ in 0..STREAMS {
                let first = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"{")))]);
                let body = StreamBody::new(first.chain(stream::pending()).boxed());
                let request = Request::post(format!("https://{address}{REVIEWS}"))
                    .header("content-type", "application/json")
                    .body(body)
                    .expect("a request");
                if sender.ready().await.is_err() {
                    break;
                }
                answers.push(tokio::spawn(sender.send_request(request)));
                begun += 1;
            }
            connections.push((connection, answers));
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(3)) => {}
            () = is_over(&over) => {}
        }
        for (connection, answers) in connections {
            connection.abort();
            answers.iter().for_each(tokio::task::JoinHandle::abort);
        }
    }
    assert!(
        begun >= STREAMS,
        "{begun} streams only: the attack did not happen"
    );
    format!("trickling, HTTP/2: {begun} streams")
}

async fn is_over(over: &Over) {
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
