//! One of two replicas is killed under load: clients notice at most a retry, and the other one takes over.

use std::time::{Duration, Instant};

use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::raw;
use berth_tests::systems;
use berth_tests::{DEADLINE, eventually};
use futures::StreamExt as _;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};

use crate::replicas::load::Load;
use crate::replicas::replica::{Replicas, holder, on_the_hub, shoot};

/// Starts two replicas with every system on the hub, and the example fleet of Gardener.
fn with_seeds(arguments: &[&str]) -> (Hub, Replicas) {
    let (hub, replicas) = on_the_hub(arguments);
    berth::load(&hub, "../examples/gardener/fleet.yaml");
    (hub, replicas)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_leader_killed_under_load_costs_a_retry_and_the_other_goes_on() {
    let started = tokio::task::spawn_blocking(|| {
        let (hub, replicas) = with_seeds(&[]);
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
                "the lease stays with the dead"
            );
            std::thread::park_timeout(Duration::from_millis(200));
        }
        hub.kubectl("create -f -")
            .input(shoot("later").to_string())
            .succeeds();
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
    let started = tokio::task::spawn_blocking(|| with_seeds(&["--shutdown-delay-duration", "3s"]));
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
    // First unready, and still serving.
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

/// Watches targets until one named `name` appears, and returns the number of new lists meanwhile.
async fn until_seen(
    events: &mut (impl futures::Stream<Item = watcher::Result<Event<DynamicObject>>> + Unpin),
    name: &str,
) -> usize {
    let mut lists = 0;
    loop {
        // The informer reports a lost server as an error, and continues by itself.
        let Ok(event) = events.next().await.expect("an informer never ends") else {
            continue;
        };
        match event {
            Event::Init => lists += 1,
            Event::InitApply(object) | Event::Apply(object)
                if object.metadata.name.as_deref() == Some(name) =>
            {
                return lists;
            }
            _ => {}
        }
    }
}

/// Creates a Seed, which becomes a target.
fn seed(hub: &Hub, name: &str) {
    let seed = serde_json::json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
        "spec": {
            "provider": {"type": "aws", "region": "eu-west-1"},
            "networks": {"nodes": "10.3.0.0/16", "pods": "10.1.0.0/16", "services": "10.2.0.0/16"},
        },
    });
    hub.kubectl("create -f -").input(seed.to_string()).succeeds();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn an_informer_of_computed_kinds_lists_anew_at_the_other_replica_by_itself() {
    let started = tokio::task::spawn_blocking(|| with_seeds(&[]));
    let (hub, mut replicas) = started.await.expect("it starts");
    let targets = GroupVersionKind::gvk("scheduling.berth.dev", "v1alpha1", "Target");
    let targets = ApiResource::from_gvk_with_plural(&targets, "targets");
    let api: Api<DynamicObject> = Api::all_with(raw::client(&hub.admin()).await, &targets);
    let mut events = watcher(api, watcher::Config::default()).boxed();
    let first = tokio::time::timeout(DEADLINE, until_seen(&mut events, "aws-eu1.gardener"));
    assert_eq!(first.await.expect("the fleet is seen"), 1);

    // For a watch of either replica: each is down once, while the other one runs.
    let killing = tokio::task::spawn_blocking(move || {
        let port = replicas.both[0].port().to_string();
        replicas.both[0].kill();
        let on_hub = systems::on_hub();
        let mut arguments = vec!["--storage", "memory", "--secure-port", &port];
        arguments.extend(on_hub.iter().map(String::as_str));
        replicas.both[0] = Berth::start(&hub, "one", &arguments);
        replicas.both[1].kill();
        berth::available(&hub);
        seed(&hub, "new");
        (hub, replicas)
    });
    let lists = tokio::time::timeout(DEADLINE * 2, until_seen(&mut events, "new.gardener"));
    let lists = lists.await.expect("the new target is seen");
    assert!(lists >= 1, "what one replica counts means nothing to another");
    drop(killing.await.expect("the replicas are killed"));
}
