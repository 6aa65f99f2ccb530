//! One of two replicas is killed under load: nobody notices more than a retry, and the other one takes the office.

use std::time::{Duration, Instant};

use tests::eventually;
use tests::hub::Hub;
use tests::hub::berth;
use tests::raw;

use crate::load::Load;
use crate::replica::{Replicas, holder, shoot, start};

/// Two replicas with every system on the hub, and the example fleet of Gardener.
fn on_the_hub(arguments: &[&str]) -> (Hub, Replicas) {
    let hub = Hub::start();
    berth::apply(&hub, "crds-systems.yaml");
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(&hub, "hub-sources-rbac.yaml");
    let on_hub =
        ["fleet", "gardener", "kcp", "ocm", "openmcp"].map(|system| format!("--source={system}=hub"));
    let mut all = vec!["--storage", "memory"];
    all.extend(on_hub.iter().map(String::as_str));
    all.extend(arguments);
    let replicas = start(&hub, &all, &["apiservice.yaml"]);
    berth::load(&hub, "../examples/gardener/fleet.yaml");
    (hub, replicas)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_leader_killed_under_load_costs_a_retry_and_the_other_goes_on() {
    let started = tokio::task::spawn_blocking(|| {
        let (hub, replicas) = on_the_hub(&[]);
        let leader = eventually("a leader", || {
            Some(holder(&hub)).filter(|holder| !holder.is_empty())
        });
        (hub, replicas, leader)
    });
    let (hub, mut replicas, leader) = started.await.expect("it starts");
    let load = Load::start(&raw::client(&hub.admin()).await, 4);
    let first_leads = leader.starts_with("one_");
    let worked = tokio::task::spawn_blocking(move || {
        let dead = usize::from(!first_leads);
        replicas.both[dead].kill();
        let next = if first_leads { "two_" } else { "one_" };
        let start = Instant::now();
        while !holder(&hub).starts_with(next) {
            assert!(
                start.elapsed() < Duration::from_secs(90),
                "the office stays with the dead"
            );
            std::thread::park_timeout(Duration::from_millis(200));
        }
        hub.kubectl("create -f -").input(shoot("later").to_string()).ok();
        eventually("the other one to place a shoot", || {
            let shoot = hub.kubectl("get shoot later -n garden-dev -o json").json();
            shoot["spec"]["seedName"].as_str().map(drop)
        });
        (hub, replicas)
    });
    let _alive = worked.await.expect("the other one takes over");
    let (count, retries) = load.stop().await;
    println!("{count} requests, {retries} retries");
    assert!(count > 20, "{count}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn a_replica_that_is_told_to_end_ends_without_anybody_noticing() {
    let started = tokio::task::spawn_blocking(|| on_the_hub(&["--shutdown-delay-duration", "3s"]));
    let (hub, mut replicas) = started.await.expect("it starts");
    let client = replicas.both[0].client(None).await;
    let ready = raw::send(&client, http::Method::GET, "/readyz?verbose", &[], b"").await;
    let text = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.code == 200 && text.contains("dialect-gardener"), "{text}");
    let load = Load::start(&raw::client(&hub.admin()).await, 4);
    let ended = tokio::task::spawn_blocking(move || {
        let code = replicas.both[0].terminate();
        (hub, replicas, code)
    });
    // Unready first, and serving on.
    let start = Instant::now();
    loop {
        let ready = raw::send(&client, http::Method::GET, "/readyz", &[], b"").await;
        if ready.code == 500 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it stays ready");
    }
    drop(client);
    let (_hub, _replicas, code) = ended.await.expect("it ends");
    assert_eq!(code, Some(0));
    let (count, retries) = load.stop().await;
    assert!(count > 20, "{count}");
    assert_eq!(retries, 0, "of {count} requests");
}
