//! Capacity of the hub's objects, which two replicas count at the same time.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth;
use berth_tests::raw::Answer;
use futures::future::join_all;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::replicas::replica::{Replicas, ask, direct, on_the_hub, shoot};

const SHOOTS: usize = 16;
const ROOM: usize = 5;
const REQUESTS: usize = 12;
const TENANTS: usize = 4;

/// A client of each replica, after both have all `count` decisions of `namespace`.
async fn clients(hub: &Hub, replicas: &Replicas, namespace: &str, count: usize) -> [Client; 2] {
    let clients = [
        direct(hub, &replicas.both[0]).await,
        direct(hub, &replicas.both[1]).await,
    ];
    let all = format!("/apis/scheduling.berth.dev/v1alpha1/namespaces/{namespace}/decisions");
    for client in &clients {
        let deadline = tokio::time::Instant::now() + berth_tests::DEADLINE;
        while ask(client, Method::GET, &all, &Value::Null).await.json()["items"]
            .as_array()
            .is_none_or(|items| items.len() < count)
        {
            assert!(
                tokio::time::Instant::now() < deadline,
                "not all decisions are shown"
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    clients
}

/// Binds the decision `name`. After a conflict, it tries again, as the message advises.
async fn bind(client: &Client, namespace: &str, name: &str) -> Answer {
    let path = format!("/apis/scheduling.berth.dev/v1alpha1/namespaces/{namespace}/bindings");
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
    });
    for _ in 0..50 {
        let answer = ask(client, Method::POST, &path, &binding).await;
        if answer.code != 409 {
            return answer;
        }
    }
    panic!("{name} never got an answer");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn two_replicas_never_bind_more_than_a_seed_has_room_for() {
    let started = tokio::task::spawn_blocking(|| {
        let (hub, replicas) = on_the_hub(&[]);
        berth::auto_bind(&hub, &["gardener"], "Off");
        berth::load(&hub, "../examples/gardener/fleet.yaml");
        // Only one seed remains, and it has little room.
        let list = hub.kubectl("get seeds -o json").json();
        for seed in list["items"].as_array().expect("a list") {
            let name = seed["metadata"]["name"].as_str().expect("a name");
            if name != "aws-eu1" {
                hub.kubectl(&format!("delete seed {name}")).succeeds();
            }
        }
        let room = json!({"status": {"allocatable": {"shoots": ROOM.to_string()}}});
        hub.kubectl_args(&[
            "patch",
            "seed",
            "aws-eu1",
            "--subresource=status",
            "--type=merge",
            "-p",
            &room.to_string(),
        ])
        .succeeds();
        for number in 0..SHOOTS {
            hub.kubectl("create -f -")
                .input(shoot(&format!("s{number}")).to_string())
                .succeeds();
        }
        (hub, replicas)
    });
    let (hub, replicas) = started.await.expect("it starts");
    let clients = clients(&hub, &replicas, "garden-dev", SHOOTS).await;
    let names: Vec<String> = (0..SHOOTS).map(|number| format!("s{number}.gardener")).collect();
    let binds = names.iter().zip(clients.iter().cycle());
    let answers = join_all(binds.map(|(name, client)| bind(client, "garden-dev", name))).await;
    let codes: Vec<u16> = answers.iter().map(|answer| answer.code).collect();
    let bound = codes.iter().filter(|code| **code == 201).count();
    let texts: Vec<String> = answers
        .iter()
        .filter(|answer| answer.code != 201)
        .map(|answer| answer.json()["message"].to_string())
        .collect();
    assert_eq!(bound, ROOM, "{codes:?} {texts:?}");
    assert!(
        codes.iter().all(|code| [201, 422].contains(code)),
        "{codes:?} {texts:?}"
    );
    let placed = tokio::task::spawn_blocking(move || {
        let placed = eventually("the hub to say the same", || {
            let list = hub.kubectl("get shoots -n garden-dev -o json").json();
            let placed = list["items"].as_array()?.iter();
            let placed = placed.filter(|shoot| shoot["spec"]["seedName"] == "aws-eu1");
            Some(placed.count())
        });
        drop(replicas);
        placed
    });
    assert_eq!(placed.await.expect("it is asked"), ROOM);
}

/// A request without room creates a cluster. The request is updated before the cluster is created, so the
/// other replica could see only the first write.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn two_replicas_make_no_more_clusters_than_the_requests_need() {
    let started = tokio::task::spawn_blocking(|| {
        let (hub, replicas) = on_the_hub(&[]);
        let template = json!({"spec": {"profile": "small", "tenancy": "Shared"}});
        let workload = json!({"tenancyCount": TENANTS, "template": template});
        let configuration = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "openmcp"},
            "spec": {
                "autoBind": "Off", "openmcp": {"scheduler": {"purposeMappings": {"workload": workload}}},
            },
        });
        hub.kubectl("apply --server-side -f -")
            .input(configuration.to_string())
            .succeeds();
        hub.kubectl("create namespace project-a").succeeds();
        for number in 0..REQUESTS {
            let request = json!({
                "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest",
                "metadata": {"name": format!("r{number}"), "namespace": "project-a"},
                "spec": {"purpose": "workload"},
            });
            hub.kubectl("create -f -").input(request.to_string()).succeeds();
        }
        (hub, replicas)
    });
    let (hub, replicas) = started.await.expect("it starts");
    let clients = clients(&hub, &replicas, "project-a", REQUESTS).await;
    let names: Vec<String> = (0..REQUESTS).map(|number| format!("r{number}.openmcp")).collect();
    let binds = names.iter().zip(clients.iter().cycle());
    let answers = join_all(binds.map(|(name, client)| bind(client, "project-a", name))).await;
    for answer in &answers {
        assert_eq!(answer.code, 201, "{}", String::from_utf8_lossy(&answer.body));
    }
    let uses = tokio::task::spawn_blocking(move || {
        let list = hub
            .kubectl("get clusters.clusters.openmcp.cloud -n project-a -o json")
            .json();
        drop(replicas);
        let clusters = list["items"].as_array().expect("a list").iter();
        let uses = clusters.map(|cluster| cluster["metadata"]["finalizers"].as_array().map_or(0, Vec::len));
        uses.collect::<Vec<usize>>()
    });
    let uses = uses.await.expect("it is asked");
    assert_eq!(uses, [TENANTS; REQUESTS / TENANTS], "each use is a finalizer");
}
