//! Probes of what an aggregator and its users ask an extension API server for: as the front proxy asks for discovery and
//! documents, and as users do through it. The same probes of a server that stands alone are in `probes.rs` of these tests.

use futures::future::join_all;
use http::Method;
use kube::Client;
use meta::Clock as _;
use serde_json::{Value, json};
use tests::eventually;
use tests::hub::berth::Berth;
use tests::hub::{FRONT_PROXY, Hub};
use tests::raw::{self, Answer, send};

use ::berth::clock::SystemClock;

use crate::kubectl::shoot;

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn shared() -> (&'static Hub, &'static Berth) {
    tokio::task::spawn_blocking(Berth::shared)
        .await
        .expect("it starts")
}

/// What the hub's front proxy is.
async fn front_proxy(hub: &Hub, berth: &Berth) -> Client {
    let issued = hub
        .front_proxy_ca()
        .issue_client(FRONT_PROXY, &[], SystemClock.now());
    berth
        .client(Some(&issued.expect("a certificate can be made")))
        .await
}

/// Asks as the aggregator asks for documents: its own user, and no groups at all.
async fn asked(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    let aggregator = [("x-remote-user", "system:kube-aggregator")];
    send(
        client,
        Method::GET,
        path,
        &[&aggregator[..], headers].concat(),
        b"",
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_aggregator_reads_discovery_in_either_form_and_only_when_it_changed() {
    let (hub, berth) = shared().await;
    let client = front_proxy(hub, berth).await;
    let answer = asked(&client, "/apis", &[("accept", DISCOVERY)]).await;
    assert_eq!(answer.header("content-type"), DISCOVERY);
    assert_eq!(answer.json()["kind"], "APIGroupDiscoveryList");
    assert!(answer.header("vary").contains("Accept"));
    let etag = answer.header("etag").to_owned();
    let again = asked(
        &client,
        "/apis",
        &[("accept", DISCOVERY), ("if-none-match", &etag)],
    )
    .await;
    assert_eq!((again.code, again.body.len()), (304, 0));
    let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let fallen = asked(&client, "/apis", &[("accept", old)]).await;
    assert_eq!(fallen.json()["kind"], "APIGroupList");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_aggregator_reads_documents_without_being_in_any_group() {
    let (hub, berth) = shared().await;
    let client = front_proxy(hub, berth).await;
    let index = asked(&client, "/openapi/v3", &[]).await;
    let path = "apis/scheduling.berth.dev/v1alpha1";
    let url = index.json()["paths"][path]["serverRelativeURL"]
        .as_str()
        .expect("the group is in the index")
        .to_owned();
    let document = asked(&client, &url, &[]).await;
    assert!(document.code == 200 && document.header("cache-control").contains("immutable"));
    let stale = asked(&client, &format!("/openapi/v3/{path}?hash=00"), &[]).await;
    assert_eq!((stale.code, stale.header("location")), (301, &*url));
    let merged = asked(&client, "/openapi/v2", &[]).await;
    assert_eq!(
        (merged.code, &merged.json()["swagger"]),
        (200, &Value::from("2.0"))
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn twenty_at_once_label_one_object_and_all_succeed() {
    let (hub, _) = shared().await;
    let made = tokio::task::spawn_blocking(|| {
        let (hub, _) = Berth::shared();
        hub.kubectl("create -f -")
            .input(shoot("garden-dev", "labelled").to_string())
            .ok();
    });
    made.await.expect("it is made");
    let client = raw::client(&hub.admin()).await;
    let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/labelled";
    let labels = (0..20).map(|number| {
        let client = client.clone();
        async move {
            let body = json!({"metadata": {"labels": {format!("l{number}"): "x"}}}).to_string();
            let merge = [("content-type", "application/merge-patch+json")];
            send(&client, Method::PATCH, path, &merge, body.as_bytes()).await
        }
    });
    for answer in join_all(labels).await {
        assert_eq!(answer.code, 200, "{}", answer.json());
    }
    let object = send(&client, Method::GET, path, &[], b"").await.json();
    let labels = object["metadata"]["labels"].as_object().expect("it has labels");
    let ours = labels.keys().filter(|key| key.starts_with('l'));
    assert_eq!(ours.count(), 20, "{labels:?}");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_namespace_that_goes_takes_nothing_new() {
    let (hub, _) = Berth::shared();
    hub.kubectl("create namespace going").ok();
    // Nobody here finishes its deletion.
    hub.kubectl("delete namespace going --wait=false").ok();
    let refused = eventually("the namespace to be known to go", || {
        let refused = hub
            .kubectl("create -o name -f -")
            .input(shoot("going", &format!("late-{}", uuid())).to_string())
            .run();
        (!refused.success).then_some(refused.err)
    });
    assert!(
        refused.contains("is forbidden") && refused.contains("because it is being terminated"),
        "{refused}"
    );
}

/// A name nobody has.
fn uuid() -> String {
    let now = SystemClock.now();
    now.as_microsecond().to_string()
}
