//! Stores of several replicas: one etcd, or none.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use http::Method;
use serde_json::{Value, json};

use crate::replicas::replica::{ask, direct, shoot, start};

const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots";
const TARGETS: &str = "/apis/scheduling.berth.dev/v1alpha1/targets";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn replicas_on_etcd_are_one_server_and_watches_move_between_them() {
    let started = tokio::task::spawn_blocking(|| {
        let hub = Hub::start();
        let servers = hub.etcd().to_owned();
        // kcp's namespaces and synced objects are read on the hub, and a list of all targets waits for them.
        let encryption = berth::encryption(&hub);
        let arguments = [
            "--storage",
            "etcd",
            "--etcd-servers",
            &servers,
            "--etcd-prefix",
            "/of-berth",
            "--encryption-provider-config",
            &encryption,
        ];
        berth::apply(&hub, "owned-sources-rbac.yaml");
        let replicas = start(&hub, &arguments, &["apiservice.yaml", "apiservices-owned.yaml"]);
        berth::load(&hub, "../examples/gardener/fleet.yaml");
        (hub, replicas)
    });
    let (hub, replicas) = started.await.expect("it starts");
    let one = direct(&hub, &replicas.both[0]).await;
    let two = direct(&hub, &replicas.both[1]).await;
    let created = ask(&one, Method::POST, SHOOTS, &shoot("first")).await;
    assert_eq!(created.code, 201, "{}", created.json());
    let first = created.json();
    assert!(first["spec"]["seedName"].is_string(), "bound on create: {first}");

    // Writes through one replica are read through the other, and a watch of the first continues there.
    let read = ask(&two, Method::GET, &format!("{SHOOTS}/first"), &Value::Null).await;
    assert_eq!(
        read.json()["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let from = first["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
        .to_owned();
    let second = ask(&two, Method::POST, SHOOTS, &shoot("second")).await;
    assert_eq!(second.code, 201, "{}", second.json());
    for client in [&one, &two] {
        let path = format!("{SHOOTS}?watch=1&resourceVersion={from}&timeoutSeconds=3");
        let events = ask(client, Method::GET, &path, &Value::Null).await.lines();
        let names: Vec<&Value> = events
            .iter()
            .map(|event| &event["object"]["metadata"]["name"])
            .collect();
        assert_eq!(names.first(), Some(&&json!("second")), "{events:?}");
    }

    // Computed objects have different versions on each replica.
    let list = ask(&one, Method::GET, TARGETS, &Value::Null).await;
    assert_eq!(list.code, 200, "{}", list.json());
    let list = list.json();
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
        .to_owned();
    let path = format!("{TARGETS}?watch=1&resourceVersion={version}&timeoutSeconds=3");
    let events = ask(&two, Method::GET, &path, &Value::Null).await.lines();
    assert_eq!(
        (&events[0]["type"], &events[0]["object"]["code"]),
        (&json!("ERROR"), &json!(410)),
        "{events:?}"
    );
    drop(replicas);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_second_store_of_its_own_is_refused_with_the_way_out() {
    let hub = Hub::start();
    let first = Berth::install(&hub, &[]);
    let kubeconfig = hub.kubeconfig_for_service_account(berth::NAMESPACE, "berth");
    let output = berth::serve(&kubeconfig, &hub.folder().join("second"), &[])
        .output()
        .expect("berth runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    for wanted in [
        "another Berth keeps objects in a store of its own behind this hub",
        "the Lease berth-system/berth-store is held by",
        "--storage etcd",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
    }
    drop(first);
    // A new server has the same store immediately.
    let again = Berth::start(&hub, "berth", &[]);
    eventually("the store to be served again", || {
        (again.port() > 0).then_some(())
    });
}
