//! Replicas: Berths with one CA behind one port.

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::hub::balancer::Balancer;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::hub::{FRONT_PROXY, Hub};
use berth_tests::raw::{Answer, send};
use berth_tests::systems;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

/// Two Berths behind one port.
pub(crate) struct Replicas {
    pub(crate) both: Vec<Berth>,
    _balancer: Balancer,
}

/// Starts two Berths with `arguments`, with a common registration.
pub(crate) fn start(hub: &Hub, arguments: &[&str], registered: &[&str]) -> Replicas {
    berth::apply_rights(hub);
    let first = Berth::start(hub, "one", arguments);
    // Replicas share one CA, as from one Secret.
    let data = hub.folder().join("two");
    std::fs::create_dir_all(&data).expect("the hub's folder is writable");
    for file in ["ca.crt", "ca.key"] {
        std::fs::copy(first.data_dir().join(file), data.join(file)).expect("berth wrote its CA");
    }
    let second = Berth::start(hub, "two", arguments);
    let balancer = Balancer::start(vec![first.port(), second.port()]);
    let ca = std::fs::read(data.join("ca.crt")).expect("berth wrote its CA");
    berth::register(hub, balancer.port(), &ca, registered);
    berth::available(hub);
    Replicas {
        both: vec![first, second],
        _balancer: balancer,
    }
}

/// Starts two replicas on a hub that stores the objects of all systems.
pub(crate) fn on_the_hub(arguments: &[&str]) -> (Hub, Replicas) {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    // The order of the files of rights does not matter, that of the definitions does.
    berth::apply(&hub, "hub-sources-rbac.yaml");
    let on_hub = systems::on_hub();
    let mut all = vec!["--storage", "memory"];
    all.extend(on_hub.iter().map(String::as_str));
    all.extend(arguments);
    let replicas = start(&hub, &all, &["apiservice.yaml"]);
    (hub, replicas)
}

/// A client of one Berth as an administrator, with the identity of the hub's front proxy.
pub(crate) async fn direct(hub: &Hub, berth: &Berth) -> Client {
    let issued = hub
        .front_proxy_ca()
        .issue_client(FRONT_PROXY, &[], SystemClock.now());
    berth
        .client(Some(&issued.expect("a certificate can be made")))
        .await
}

/// Sends `body` as that administrator.
pub(crate) async fn ask(client: &Client, method: Method, path: &str, body: &Value) -> Answer {
    let headers = [
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
        ("content-type", "application/json"),
    ];
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    send(client, method, path, &headers, &body).await
}

/// A Shoot for the example fleet of Gardener.
pub(crate) fn shoot(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"namespace": "garden-dev", "name": name},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "purpose": "evaluation", "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [
                {"name": "worker", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

/// The leader of the Lease on the hub, or empty.
pub(crate) fn holder(hub: &Hub) -> String {
    let words = format!("get lease berth-controllers -n {} -o json", berth::NAMESPACE);
    let output = hub.kubectl(&words).run();
    if !output.success {
        return String::new();
    }
    let lease: Value = serde_json::from_str(&output.out).expect("kubectl prints JSON");
    lease["spec"]["holderIdentity"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
