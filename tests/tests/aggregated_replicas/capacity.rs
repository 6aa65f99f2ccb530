//! Capacity counted by two replicas at once over objects of the hub.

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tests::eventually;
use tests::hub::Hub;
use tests::hub::berth;

use crate::replica::{ask, direct, shoot, start};

const SHOOTS: usize = 16;
const ROOM: usize = 5;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn two_replicas_never_bind_more_than_a_seed_has_room_for() {
    let started = tokio::task::spawn_blocking(|| {
        let hub = Hub::start();
        berth::apply(&hub, "crds-systems.yaml");
        hub.ensure(&["create", "namespace", berth::NAMESPACE]);
        berth::apply(&hub, "hub-sources-rbac.yaml");
        // The order of the rights' files does not matter; the definitions' does.
        let on_hub =
            ["fleet", "gardener", "kcp", "ocm", "openmcp"].map(|system| format!("--source={system}=hub"));
        let mut arguments = vec!["--storage", "memory"];
        arguments.extend(on_hub.iter().map(String::as_str));
        let replicas = start(&hub, &arguments, &["apiservice.yaml"]);
        berth::auto_bind(&hub, &["gardener"], "Off");
        berth::load(&hub, "../examples/gardener/fleet.yaml");
        // One seed is left, and it has little room.
        let list = hub.kubectl("get seeds -o json").json();
        for seed in list["items"].as_array().expect("a list") {
            let name = seed["metadata"]["name"].as_str().expect("a name");
            if name != "aws-eu1" {
                hub.kubectl(&format!("delete seed {name}")).ok();
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
        .ok();
        for number in 0..SHOOTS {
            hub.kubectl("create -f -")
                .input(shoot(&format!("s{number}")).to_string())
                .ok();
        }
        (hub, replicas)
    });
    let (hub, replicas) = started.await.expect("it starts");
    let clients = [
        direct(&hub, &replicas.both[0]).await,
        direct(&hub, &replicas.both[1]).await,
    ];
    let path = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/bindings";
    for client in &clients {
        // Both know all of it.
        let deadline = tokio::time::Instant::now() + tests::DEADLINE;
        let all = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions";
        while ask(client, Method::GET, all, &Value::Null).await.json()["items"]
            .as_array()
            .is_none_or(|items| items.len() < SHOOTS)
        {
            assert!(
                tokio::time::Instant::now() < deadline,
                "not all decisions are shown"
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    let bind = async |number: usize| {
        let binding = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
            "metadata": {"name": format!("s{number}.gardener"), "namespace": "garden-dev"},
        });
        let client = &clients[number % 2];
        // A conflict says that somebody else was faster: try again, as it says.
        for _ in 0..50 {
            let answer = ask(client, Method::POST, path, &binding).await;
            if answer.code != 409 {
                return answer;
            }
        }
        panic!("s{number} never got an answer");
    };
    let answers = join_all((0..SHOOTS).map(bind)).await;
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
