//! Raw requests as the admin, with any method, path, headers and body, and their raw answers.

use std::path::Path;

use http::{HeaderMap, Method, Request};
use kube::Client;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

/// A client with the identity of a kubeconfig.
///
/// # Panics
/// When the file makes no client.
pub async fn client(kubeconfig: &Path) -> Client {
    client_of(Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read")).await
}

/// Client of another server, at `url`, with a certificate of `ca`.
///
/// # Panics
/// When the file makes no client.
pub async fn client_at(kubeconfig: &Path, url: &str, ca: &Path) -> Client {
    let mut file = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
    for cluster in file
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        cluster.server = Some(url.to_owned());
        cluster.certificate_authority_data = None;
        cluster.certificate_authority = Some(ca.display().to_string());
    }
    client_of(file).await
}

async fn client_of(file: Kubeconfig) -> Client {
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig makes a configuration");
    // The tests check refusals.
    config.default_retry = false;
    Client::try_from(config).expect("the configuration makes a client")
}

/// An answer with any code.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The lines of the body, each as JSON, for watches.
    #[must_use]
    pub fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        text.lines()
            .map(|line| serde_json::from_str(line).expect("each line is an event"))
            .collect()
    }

    /// The value of a header, or empty.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// Sends one request and reads the whole answer.
///
/// # Panics
/// When no answer comes.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    attempt(client, method.clone(), path, headers, body)
        .await
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// Sends a request to a server that may be killed: a broken connection is an error.
///
/// # Errors
/// Without a complete answer.
pub async fn attempt(
    client: &Client,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> kube::Result<Answer> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Body::from(body.to_vec()))
        .expect("the test's request is well formed");
    let (parts, body) = client.send(request).await?.into_parts();
    Ok(Answer {
        code: parts.status.as_u16(),
        headers: parts.headers,
        body: body.collect_bytes().await?.to_vec(),
    })
}

/// Reads `path`.
pub async fn get(client: &Client, path: &str) -> Answer {
    send(client, Method::GET, path, &[], b"").await
}

/// Sends `value` as JSON.
pub async fn write(client: &Client, method: Method, path: &str, value: &Value) -> Answer {
    let body = serde_json::to_vec(value).expect("a JSON value can be written");
    send(
        client,
        method,
        path,
        &[("content-type", "application/json")],
        &body,
    )
    .await
}

/// Reads `path` of a server on loopback without TLS, such as a console at `http://127.0.0.1:<port>`, and
/// returns code and JSON.
///
/// # Panics
/// When no answer comes.
#[must_use]
pub fn plain(address: &str, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    use std::io::{Read as _, Write as _};
    let host = address.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(host).expect("somebody listens");
    // In this version, the body ends with the connection.
    let mut request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream
        .write_all(format!("{request}\r\n").as_bytes())
        .expect("the request is taken");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("the answer comes, and is text");
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .expect("an answer has a head and a body");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    (code.expect("an answer has a code"), body)
}
