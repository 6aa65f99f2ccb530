//! A temporary outage of the hub: reads of copied objects continue, errors of writes name the hub as the
//! reason, and all work continues afterwards.

use std::process::Command;

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::DEADLINE;
use berth_tests::eventually;
use berth_tests::hub::berth;
use berth_tests::hub::{FRONT_PROXY, Hub};
use berth_tests::raw::send;
use http::Method;
use serde_json::json;

use crate::systems::install;

const DECISION: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/lonely.gardener";
const BINDINGS: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/bindings";

/// Stops or continues kube-apiserver.
fn signal(hub: &Hub, signal: &str) {
    let process = hub.process_id("kube-apiserver").expect("it runs");
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(
        sent.is_ok_and(|status| status.success()),
        "kill {signal} {process}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn reads_go_on_without_the_hub_and_writes_wait_for_it() {
    let started = tokio::task::spawn_blocking(|| {
        let hub = Hub::start();
        berth::apply_definitions(&hub);
        let berth = install(&hub);
        berth::auto_bind(&hub, &["gardener"], "Off");
        berth::load(&hub, "../examples/gardener/fleet.yaml");
        hub.kubectl("create -f -")
            .input(crate::systems::by_themselves::shoot("lonely").to_string())
            .succeeds();
        eventually("the decision to be shown", || {
            let shown = hub.kubectl("get decision lonely.gardener -n garden-dev").run();
            shown.success.then_some(())
        });
        (hub, berth)
    });
    let (hub, berth) = started.await.expect("it starts");
    let proxy = hub
        .front_proxy_ca()
        .issue_client(FRONT_PROXY, &[], SystemClock.now());
    let client = berth
        .client(Some(&proxy.expect("a certificate can be made")))
        .await;
    let root = [
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
        ("content-type", "application/json"),
    ];
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"name": "lonely.gardener", "namespace": "garden-dev"},
    })
    .to_string();

    signal(&hub, "-STOP");
    for path in [DECISION, &format!("{DECISION}/scheduling"), "/readyz"] {
        let answer = send(&client, Method::GET, path, &root, b"").await;
        assert_eq!(
            answer.code,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    let refused = send(&client, Method::POST, BINDINGS, &root, binding.as_bytes()).await;
    signal(&hub, "-CONT");
    assert_eq!(refused.code, 503, "{}", refused.json());
    let message = refused.json()["message"].to_string();
    assert!(message.contains("the hub"), "{message}");
    assert!(!refused.header("retry-after").is_empty());

    // The watches continue where they were.
    let start = std::time::Instant::now();
    loop {
        let bound = send(&client, Method::POST, BINDINGS, &root, binding.as_bytes()).await;
        if bound.code == 201 {
            break;
        }
        assert!(start.elapsed() < DEADLINE, "{}", bound.json());
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let decision = send(&client, Method::GET, DECISION, &root, b"").await.json();
    assert_eq!(decision["status"]["phase"], "Bound", "{decision}");
}
