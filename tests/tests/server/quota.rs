//! ResourceQuota on a standalone server: no excess with parallel creates, and correct numbers after a crash.

use std::sync::Arc;

use berth_tests::raw::{self, get, write};
use berth_tests::{Server, eventually};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Barrier;

const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/default/shoots";
const COUNT: &str = "count/shoots.core.gardener.cloud";

fn shoot(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"cloudProfile": {"kind": "CloudProfile", "name": "none"}, "region": "r", "provider": {"type": "t"}},
    })
}

/// Waits until the quota has `used` Shoots.
fn wait_for_usage(server: &Server, used: &str) {
    eventually(&format!("{used} used"), || {
        let quota = server.kubectl("get resourcequota shoots -o json").json();
        (quota["status"]["used"][COUNT] == used && quota["status"]["hard"][COUNT] == "10").then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_creates_at_once_as_many_are_stored_as_the_quota_has_room_for_and_a_crash_changes_nothing() {
    let mut server = Server::start();
    server
        .kubectl(&format!("create quota shoots --hard={COUNT}=10"))
        .succeeds();
    wait_for_usage(&server, "0");
    let client = raw::client(&server.kubeconfig()).await;
    let barrier = Arc::new(Barrier::new(64));
    let creates = (0..64).map(|number| {
        let (client, barrier) = (client.clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            let answer = write(&client, Method::POST, SHOOTS, &shoot(&format!("s{number}"))).await;
            (answer.code, answer.json())
        })
    });
    let creates: Vec<_> = creates.collect();
    let mut made = 0;
    for create in creates {
        match create.await.unwrap() {
            (201, _) => made += 1,
            (code, status) => {
                assert_eq!(code, 403, "{status}");
                let message = status["message"].as_str().unwrap();
                let words = format!(
                    "exceeded quota: shoots, requested: {COUNT}=1, used: {COUNT}=10, limited: {COUNT}=10"
                );
                assert!(message.ends_with(&words), "{message}");
            }
        }
    }
    assert_eq!(made, 10);
    server.crash();
    server.restart();
    let client = raw::client(&server.kubeconfig()).await;
    let stored = get(&client, SHOOTS).await.json();
    assert_eq!(stored["items"].as_array().unwrap().len(), 10);
    assert_eq!(
        write(&client, Method::POST, SHOOTS, &shoot("more")).await.code,
        403
    );
    wait_for_usage(&server, "10");
    let first = stored["items"][0]["metadata"]["name"].as_str().unwrap();
    // An object with finalizers counts until it is deleted.
    server
        .kubectl(&format!("delete shoot {first} --wait=true"))
        .succeeds();
    wait_for_usage(&server, "9");
    assert_eq!(
        write(&client, Method::POST, SHOOTS, &shoot("more")).await.code,
        201
    );
    wait_for_usage(&server, "10");
    let shown = server.kubectl("get resourcequota shoots").succeeds();
    assert!(shown.contains(&format!("{COUNT}: 10/10")), "{shown}");
}

#[test]
fn a_quota_that_cannot_be_counted_is_refused_with_every_error() {
    let server = Server::start();
    let text = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec:\n  hard: {count/-shoots: 1, count/shoots: 1.5}\n  scopes: [Terminating]\n";
    let refused = server.kubectl("create -f -").input(text).run();
    assert!(!refused.success);
    for part in [
        "spec.hard[count/-shoots]",
        "must be an integer",
        "spec.scopes: Forbidden",
    ] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }
}
