//! One of the two compared servers.

use std::path::Path;

use berth_tests::raw::{self, Answer};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::differential::kinds::Kind;
use crate::differential::request::{ID, JSON, Memory, Request};

/// A change of a server's answers, which the comparison must find.
pub(crate) type Tamper = fn(&Request, &mut Answer);

/// A server with the client of its administrator.
#[derive(Clone)]
pub(crate) struct Side {
    client: Client,
    tamper: Option<Tamper>,
}

impl Side {
    /// A client of the server of a kubeconfig.
    pub(crate) async fn new(kubeconfig: &Path) -> Self {
        Self {
            client: raw::client(kubeconfig).await,
            tamper: None,
        }
    }

    /// The side with changed answers.
    pub(crate) fn tampered(&self, tamper: Tamper) -> Self {
        Self {
            client: self.client.clone(),
            tamper: Some(tamper),
        }
    }

    /// Waits until the server lists a kind: kube-apiserver answers 429 until it watches the objects of a new
    /// definition.
    pub(crate) async fn until_listed(&self, kind: &Kind) {
        let path = kind.path.replace(ID, "default");
        let end = tokio::time::Instant::now() + berth_tests::DEADLINE;
        while raw::get(&self.client, &path).await.code != 200 {
            assert!(tokio::time::Instant::now() < end, "{path} is not served");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Creates the namespace of a run.
    pub(crate) async fn prepare(&self, id: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": id}});
        let made = raw::write(&self.client, Method::POST, "/api/v1/namespaces", &namespace).await;
        assert_eq!(made.code, 201, "{}", String::from_utf8_lossy(&made.body));
    }

    /// Sends a request with this server's own values, and records those of the answer.
    pub(crate) async fn send(&self, request: &Request, memory: &mut Memory, id: &str) -> Answer {
        let path = memory.fill(&request.path, id);
        let body = memory.fill(&request.body, id);
        let mut headers = vec![("accept", request.accept)];
        if !body.is_empty() {
            headers.push(("content-type", request.content));
        }
        let mut answer = raw::send(
            &self.client,
            request.method.clone(),
            &path,
            &headers,
            body.as_bytes(),
        )
        .await;
        if let Some(tamper) = self.tamper {
            tamper(request, &mut answer);
        }
        remember(&answer, memory);
        answer
    }
}

fn remember(answer: &Answer, memory: &mut Memory) {
    let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
        return;
    };
    let text = |pointer: &str| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let uid = text("/metadata/uid");
    let revision = text("/metadata/resourceVersion");
    if memory.first.is_empty() {
        memory.first.clone_from(&revision);
    }
    if !uid.is_empty() && !revision.is_empty() {
        memory.uid = uid;
        memory.revision = revision;
    }
    let more = text("/metadata/continue");
    if !more.is_empty() {
        memory.more = more;
    }
}

/// Whether an answer is JSON: other answers are not parsed.
pub(crate) fn is_json(answer: &Answer) -> bool {
    answer.header("content-type").starts_with(JSON)
}
