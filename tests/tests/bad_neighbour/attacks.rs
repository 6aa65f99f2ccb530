//! Repeated requests of abusive users. Each checks that it is refused or answered as intended: an attack that
//! the server does not understand would prove nothing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use berth_tests::raw::{Answer, send, write};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::Over;

/// Number of answers by code.
#[derive(Default)]
pub(super) struct Answers {
    who: &'static str,
    codes: BTreeMap<u16, usize>,
}

impl Answers {
    pub(super) fn by(who: &'static str) -> Self {
        Self {
            who,
            ..Self::default()
        }
    }

    /// Counts `answer`, whose code must be one of `expected` or 429.
    pub(super) fn note(&mut self, answer: &Answer, expected: &[u16]) {
        let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(300)]).into_owned();
        assert!(
            expected.contains(&answer.code) || answer.code == 429,
            "{}: {} {text}",
            self.who,
            answer.code
        );
        *self.codes.entry(answer.code).or_default() += 1;
    }

    pub(super) fn shown(&self, needed: u16) -> String {
        assert!(self.codes.contains_key(&needed), "{}: {:?}", self.who, self.codes);
        format!("{}: {:?}", self.who, self.codes)
    }

    /// Describes the answers, any of which is right, but at least one request must have been processed.
    pub(super) fn shown_any(&self) -> String {
        let is_answered = self.codes.keys().any(|code| *code != 429);
        assert!(is_answered, "{}: {:?}", self.who, self.codes);
        format!("{}: {:?}", self.who, self.codes)
    }
}

/// Sends `body`; `None` where the server refuses it before its end and closes the connection, as
/// HTTP/1.1 requires.
async fn attempt(client: &Client, path: &'static str, body: &str) -> Option<Answer> {
    let (client, body) = (client.clone(), body.to_owned());
    let sent = tokio::spawn(async move { send(&client, Method::POST, path, &JSON, body.as_bytes()).await });
    sent.await.ok()
}

pub(super) const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// `edit` in a namespace: dry-run patches of a ConfigMap that move and copy long lists.
pub(super) async fn patches(client: Client, over: Over) -> String {
    let maps = "/api/v1/namespaces/team-ann/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}});
    assert_eq!(write(&client, Method::POST, maps, &map).await.code, 201);
    let path = format!("{maps}/target?dryRun=All");
    let mut moves = vec![json!({"op": "add", "path": "/list", "value": vec![0; 300_000]})];
    moves.extend(vec![
        json!({"op": "move", "from": "/list/9", "path": "/list/0"});
        9_000
    ]);
    let mut copies = vec![json!({"op": "add", "path": "/a", "value": ["x".repeat(1000)]})];
    copies.extend(vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 40]);
    let bombs = [moves, copies].map(|bomb| json!(bomb).to_string());
    let mut answers = Answers::by("patches");
    while !over.load(Ordering::Relaxed) {
        for bomb in &bombs {
            let headers = [("content-type", "application/json-patch+json")];
            let answer = send(&client, Method::PATCH, &path, &headers, bomb.as_bytes()).await;
            answers.note(&answer, &[422]);
        }
    }
    answers.shown(422)
}

/// Only the rights of every user: unknown fields, and a deeply nested body.
pub(super) async fn unknown_fields(client: Client, over: Over) -> String {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let mut review = serde_json::Map::new();
    review.insert("apiVersion".to_owned(), "authentication.k8s.io/v1".into());
    review.insert("kind".to_owned(), "SelfSubjectReview".into());
    review.extend((0..5_000).map(|number| (format!("x{number}"), Value::Null)));
    review.extend((0..5_000).map(|number| (format!("y{number}"), 1.into())));
    let fields = Value::Object(review).to_string();
    let dense = format!("[{}1]", "1,".repeat(1_400_000));
    let mut answers = Answers::by("unknown fields");
    while !over.load(Ordering::Relaxed) {
        if let Some(answer) = attempt(&client, path, &fields).await {
            let warnings = answer.headers.get_all("warning").iter().count();
            assert!(
                answer.code != 201 || (1..=81).contains(&warnings),
                "{warnings} warnings"
            );
            answers.note(&answer, &[201]);
        }
        if let Some(answer) = attempt(&client, path, &dense).await {
            answers.note(&answer, &[413]);
        }
    }
    answers.shown(201)
}

/// `admin` in a namespace: a Role of a few kilobytes with millions of rights.
pub(super) async fn roles(client: Client, over: Over) -> String {
    let words = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "all"},
        "rules": [{"verbs": words("v", 100), "apiGroups": words("g", 400), "resources": words("r", 400)}],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-cid/roles";
    let mut answers = Answers::by("roles");
    while !over.load(Ordering::Relaxed) {
        answers.note(&write(&client, Method::POST, path, &role).await, &[422]);
    }
    answers.shown(422)
}

/// `view` in a namespace: selectors of many values, and reviews of them.
pub(super) async fn selectors(client: Client, over: Over) -> String {
    let values = (0..6_000).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",");
    let list = format!("/api/v1/namespaces/team-dan/configmaps?labelSelector=a%20in%20({values})");
    let requirements: Vec<Value> = (0..20_000)
        .map(|n| json!({"key": format!("k{n}"), "operator": "In", "values": ["a", "b"]}))
        .collect();
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "configmaps", "labelSelector": {"requirements": requirements}}},
    });
    let body = review.to_string();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let mut answers = Answers::by("selectors");
    while !over.load(Ordering::Relaxed) {
        answers.note(&send(&client, Method::GET, &list, &[], b"").await, &[200, 414]);
        if let Some(answer) = attempt(&client, path, &body).await {
            answers.note(&answer, &[201, 400, 413, 422]);
        }
    }
    answers.shown_any()
}
