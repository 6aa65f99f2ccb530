//! `kill -9` under load: every acknowledged write survives, and the revision never decreases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_tests::{Server, raw};
use http::Method;
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn revision(value: &serde_json::Value) -> u64 {
    value["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kill_9_and_revisions_never_go_back() {
    let mut server = Server::start();
    let mut acknowledged: Vec<(String, u64)> = Vec::new();
    for round in 0..3 {
        let client = raw::client(&server.kubeconfig()).await;
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, mut acknowledgements) = tokio::sync::mpsc::unbounded_channel();
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (client, stop, sender) = (client.clone(), Arc::clone(&stop), sender.clone());
                tokio::spawn(async move {
                    for number in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let name = format!("r{round}-w{writer}-{number}");
                        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": name}});
                        let request = http::Request::post(MAPS)
                            .header("content-type", "application/json")
                            .body(serde_json::to_vec(&map).unwrap())
                            .unwrap();
                        match client.request::<serde_json::Value>(request).await {
                            Ok(stored) => sender.send((name, revision(&stored))).unwrap(),
                            // The server was killed; an unacknowledged write may survive or not.
                            Err(_) => return,
                        }
                    }
                })
            })
            .collect();
        drop(sender);
        for _ in 0..200 {
            acknowledged.push(
                acknowledgements
                    .recv()
                    .await
                    .expect("the server acknowledges writes"),
            );
        }
        server.crash();
        stop.store(true, Ordering::Relaxed);
        while let Some(late) = acknowledgements.recv().await {
            acknowledged.push(late);
        }
        for writer in writers {
            writer.await.unwrap();
        }
        server.restart();
        check(&server, &acknowledged).await;
    }
}

async fn check(server: &Server, acknowledged: &[(String, u64)]) {
    let client = raw::client(&server.kubeconfig()).await;
    let list = raw::get(&client, MAPS).await.json();
    let highest = acknowledged.iter().map(|(_, revision)| *revision).max().unwrap();
    assert!(revision(&list) >= highest, "the revision went back");
    let stored: std::collections::HashMap<&str, u64> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["metadata"]["name"].as_str().unwrap(), revision(item)))
        .collect();
    for (name, revision) in acknowledged {
        assert_eq!(
            stored.get(name.as_str()),
            Some(revision),
            "{name} was acknowledged"
        );
    }
    let next = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "next-"}});
    let created = raw::write(&client, Method::POST, MAPS, &next).await;
    assert_eq!(created.code, 201);
    assert!(revision(&created.json()) > highest);
}
