//! Watches by WebSocket.

use std::path::PathBuf;

use berth_tests::websocket::WebSocket;
use berth_tests::{Server, raw};
use serde_json::{Value, json};

/// A streaming list, and the events of three seconds.
const QUERY: &str = "watch=true&timeoutSeconds=3&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_watch_has_the_events_of_a_plain_one_and_closes_at_its_end() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}});
    raw::write(&client, http::Method::POST, maps, &body).await;
    let path = format!("{maps}?{QUERY}");
    let mut socket = WebSocket::open(&server.kubeconfig(), &path).await.unwrap();
    let plain = raw::get(&client, &path).await;
    let mut events = Vec::new();
    while let Some(event) = socket.next().await {
        events.push(event);
    }
    let types = |events: &[Value]| -> Vec<String> {
        let types = events.iter();
        types
            .map(|event| format!("{} {}", event["type"], event["object"]["metadata"]["name"]))
            .collect()
    };
    assert!(
        types(&events).contains(&"\"ADDED\" \"first\"".to_owned()),
        "{events:?}"
    );
    assert!(
        types(&events)
            .iter()
            .filter(|event| event.starts_with("\"BOOKMARK\""))
            .count()
            > 1,
        "{events:?}"
    );
    assert_eq!(types(&events), types(&plain.lines()));
    // An error after the start of the watch is its last event.
    let path = format!("{maps}?watch=true&resourceVersion=999999999");
    let mut socket = WebSocket::open(&server.kubeconfig(), &path).await.unwrap();
    let error = socket.next().await.unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(504))
    );
    assert_eq!(socket.next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_watchable_kind_is_watched_by_websocket() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let mut paths = vec!["/api/v1".to_owned()];
    for group in raw::get(&client, "/apis").await.json()["groups"]
        .as_array()
        .unwrap()
    {
        let versions = group["versions"].as_array().unwrap().iter();
        paths.extend(versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap())));
    }
    let mut watches = Vec::new();
    for path in paths {
        for resource in raw::get(&client, &path).await.json()["resources"]
            .as_array()
            .unwrap()
        {
            if resource["verbs"].as_array().unwrap().contains(&json!("watch")) {
                let resource = resource["name"].as_str().unwrap();
                watches.push(last(server.kubeconfig(), format!("{path}/{resource}")));
            }
        }
    }
    assert!(watches.len() > 40, "{}", watches.len());
    for (path, last) in futures::future::join_all(watches).await {
        assert_eq!(last.unwrap()["type"], "BOOKMARK", "{path}");
    }
}

/// The path, and the last event of a short watch there.
async fn last(kubeconfig: PathBuf, path: String) -> (String, Option<Value>) {
    let path = format!("{path}?{QUERY}");
    let opened = WebSocket::open(&kubeconfig, &path).await;
    let mut socket = opened.unwrap_or_else(|problem| panic!("{path}: {problem:#}"));
    let mut last = None;
    while let Some(event) = socket.next().await {
        last = Some(event);
    }
    (path, last)
}
