//! The program on a real etcd: a store moves from the embedded database to etcd and back, two servers share
//! one, and a server killed under load has lost nothing.
#![cfg(feature = "etcd")]

mod program;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use etcd_process::Etcd;
use http::Method;
use program::{Program, berth};
use serde_json::{Value, json};

#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../../tests/src/etcd.rs"]
mod etcd_process;
#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../../tests/src/raw.rs"]
mod raw;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SEEDS: &str = "/apis/core.gardener.cloud/v1beta1/seeds";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": name}})
}

fn revision(value: &Value) -> u64 {
    let text = value["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok())
        .expect("it has a resourceVersion")
}

/// Name to uid of every object of a list, and the list's revision.
async fn listed(client: &kube::Client, path: &str) -> (BTreeMap<String, String>, u64) {
    let list = raw::get(client, path).await.json();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let items = list["items"].as_array().expect("a list").iter();
    let items = items.map(|item| (text(&item["metadata"]["name"]), text(&item["metadata"]["uid"])));
    (items.collect(), revision(&list))
}

async fn create(client: &kube::Client, name: &str) -> u64 {
    let created = raw::write(client, Method::POST, MAPS, &map(name)).await;
    assert_eq!(created.code, 201, "{}", String::from_utf8_lossy(&created.body));
    revision(&created.json())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_moves_to_etcd_and_back_without_losing_an_object() {
    let etcd = Etcd::start();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let (from, to) = (
        format!("embedded:{}", data.display()),
        format!("etcd:{}", etcd.url()),
    );
    let (first, before) = {
        let server = Program::serve(&data, &[]);
        let client = raw::client(&server.kubeconfig()).await;
        for index in 0..20 {
            create(&client, &format!("m{index}")).await;
        }
        let refused = berth(&["migrate", "--from", &from, "--to", &to]);
        assert!(refused.contains("is in use"), "while a server runs: {refused}");
        listed(&client, MAPS).await
    };
    let told = berth(&["migrate", "--from", &from, "--to", &to]);
    assert!(
        told.contains("copied") && told.contains("--storage etcd"),
        "{told}"
    );
    let url = etcd.url();
    let on_etcd = ["--storage", "etcd", "--etcd-servers", &url];
    let middle = {
        let server = Program::serve(&data, &on_etcd);
        let client = raw::client(&server.kubeconfig()).await;
        let (copy, after) = listed(&client, MAPS).await;
        assert_eq!(copy, first);
        assert!(after > before, "{after} after {before}");
        let old = format!("{MAPS}?watch=1&resourceVersion={before}");
        let expired = raw::get(&client, &old).await.json();
        assert_eq!(
            expired["object"]["code"], 410,
            "whoever watched the file lists again: {expired}"
        );
        let made = create(&client, "on-etcd").await;
        assert!(made > after);
        made
    };
    let again = berth(&["migrate", "--from", &from, "--to", &to]);
    assert!(again.contains("already"), "the target is not empty: {again}");
    let back = folder.path().join("back");
    std::fs::create_dir(&back).expect("a folder");
    let told = berth(&[
        "migrate",
        "--from",
        &to,
        "--to",
        &format!("embedded:{}", back.display()),
    ]);
    assert!(told.contains("copied"), "{told}");
    let server = Program::serve(&back, &[]);
    let client = raw::client(&server.kubeconfig()).await;
    let (copy, after) = listed(&client, MAPS).await;
    assert_eq!(copy.len(), first.len() + 1);
    assert!(first.iter().all(|(name, uid)| copy.get(name) == Some(uid)));
    assert!(after >= middle, "{after} after {middle}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_moves_to_another_prefix_and_to_another_etcd() {
    // Both wait for the disk, as for real.
    let (old, new) = (Etcd::start_with(&[]), Etcd::start_with(&[]));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (format!("etcd:{}", old.url()), format!("etcd:{}", new.url()));
    let serve = |name: &str, url: &str, prefix: &str| {
        let arguments = [
            "--storage",
            "etcd",
            "--etcd-servers",
            url,
            "--etcd-prefix",
            prefix,
        ];
        Program::serve(&folder.path().join(name), &arguments)
    };
    let (first, before) = {
        let server = serve("one", &old.url(), "/berth");
        let client = raw::client(&server.kubeconfig()).await;
        for index in 0..20 {
            create(&client, &format!("m{index}")).await;
        }
        listed(&client, MAPS).await
    };
    let itself = berth(&["migrate", "--from", &from, "--to", &from]);
    assert!(itself.contains("the same store"), "{itself}");
    let beside = ["--etcd-prefix", "/beside", "--from-etcd-prefix", "/berth"];
    let told = berth(&[&["migrate", "--from", &from, "--to", &from][..], &beside].concat());
    assert!(
        told.contains("copied") && told.contains("--etcd-prefix /beside"),
        "{told}"
    );
    let back = ["--from-etcd-prefix", "/beside"];
    let told = berth(&[&["migrate", "--from", &from, "--to", &to][..], &back].concat());
    assert!(told.contains("copied"), "{told}");
    for (name, url, prefix) in [("two", old.url(), "/beside"), ("three", new.url(), "/berth")] {
        let server = serve(name, &url, prefix);
        let client = raw::client(&server.kubeconfig()).await;
        let (copy, after) = listed(&client, MAPS).await;
        assert_eq!(copy, first, "{prefix}");
        assert!(after > before, "{prefix}: {after} after {before}");
    }
    let again = berth(&["migrate", "--from", &from, "--to", &to]);
    assert!(again.contains("already"), "the target is not empty: {again}");
    let file = format!("embedded:{}", folder.path().join("file").display());
    let meaningless = berth(&[&["migrate", "--from", &from, "--to", &file][..], &back].concat());
    assert!(meaningless.contains("when both stores are etcd"), "{meaningless}");
}

fn seed(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
        "spec": {
            "provider": {"type": "aws", "region": "eu-west-1"},
            "networks": {"nodes": "10.240.0.0/16", "pods": "10.241.0.0/16", "services": "10.242.0.0/16"},
            "dns": {"provider": {"type": "aws-route53", "secretRef": {"name": "dns", "namespace": "garden"}}},
            "ingress": {"domain": "ingress.example.com", "controller": {"kind": "nginx"}},
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_a_store_and_one_may_be_killed_under_load() {
    let etcd = Etcd::start_durable();
    let url = etcd.url();
    let arguments = ["--storage", "etcd", "--etcd-servers", &url];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut one = Program::serve(&folder.path().join("one"), &arguments);
    let two = Program::serve(&folder.path().join("two"), &arguments);
    let (client, other) = (
        raw::client(&one.kubeconfig()).await,
        raw::client(&two.kubeconfig()).await,
    );
    for index in 0..10 {
        let name = format!("seen-{index}");
        create(&client, &name).await;
        let read = raw::get(&other, &format!("{MAPS}/{name}")).await;
        assert_eq!(read.code, 200, "a write is read by another server at once");
    }
    // What the other server computes is read at once, too: not only when its watch of etcd has come so far.
    for index in 0..10 {
        let made = raw::write(&client, Method::POST, SEEDS, &seed(&format!("eu-{index}"))).await;
        assert_eq!(made.code, 201, "{}", String::from_utf8_lossy(&made.body));
        let target = format!("/apis/scheduling.berth.dev/v1alpha1/targets/eu-{index}.gardener");
        let seen = raw::get(&other, &target).await;
        let answer = String::from_utf8_lossy(&seen.body);
        assert_eq!(seen.code, 200, "and counted by its engine: {answer}");
    }

    let stop = Arc::new(AtomicBool::new(false));
    let (sender, mut acknowledgements) = tokio::sync::mpsc::unbounded_channel();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (client, stop, sender) = (client.clone(), Arc::clone(&stop), sender.clone());
            tokio::spawn(async move {
                for number in 0.. {
                    let name = format!("load-{writer}-{number}");
                    let request = http::Request::post(MAPS)
                        .header("content-type", "application/json")
                        .body(serde_json::to_vec(&map(&name)).expect("JSON"))
                        .expect("a request");
                    // Once the server is killed nothing is acknowledged any more.
                    match client.request::<Value>(request).await {
                        Ok(stored) if !stop.load(Ordering::Relaxed) => {
                            sender.send((name, revision(&stored))).expect("the test listens");
                        }
                        _ => return,
                    }
                }
            })
        })
        .collect();
    drop(sender);
    let mut acknowledged = Vec::new();
    while acknowledged.len() < 100 {
        acknowledged.push(acknowledgements.recv().await.expect("writes are acknowledged"));
    }
    one.crash();
    while let Some(late) = acknowledgements.recv().await {
        acknowledged.push(late);
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("the writer ends");
    }
    let (stored, reached) = listed(&other, MAPS).await;
    for (name, revision) in &acknowledged {
        assert!(stored.contains_key(name), "{name} was acknowledged");
        assert!(*revision <= reached, "{name}");
    }
    let one = Program::serve(&folder.path().join("one"), &arguments);
    let client = raw::client(&one.kubeconfig()).await;
    assert_eq!(listed(&client, MAPS).await.0, stored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_unready_while_etcd_is_away_and_goes_on_after() {
    let mut etcd = Etcd::start_durable();
    let url = etcd.url();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Program::serve(
        &folder.path().join("data"),
        &["--storage", "etcd", "--etcd-servers", &url],
    );
    let client = raw::client(&server.kubeconfig()).await;
    create(&client, "before").await;
    etcd.kill();
    program::eventually("readyz to fail", async || {
        raw::get(&client, "/readyz").await.code != 200
    })
    .await;
    let refused = raw::write(&client, Method::POST, MAPS, &map("meanwhile")).await;
    assert_eq!(refused.code, 503, "{}", String::from_utf8_lossy(&refused.body));
    etcd.restart();
    program::eventually("readyz to pass", async || {
        raw::get(&client, "/readyz").await.code == 200
    })
    .await;
    create(&client, "after").await;
    let (stored, _) = listed(&client, MAPS).await;
    assert!(stored.contains_key("before") && stored.contains_key("after"));
}
