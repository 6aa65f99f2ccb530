//! Requests of an aggregator and its users to an extension API server: the front proxy's requests for
//! discovery and documents, and users' requests through it. The same probes of a standalone server are in
//! `probes.rs` of these tests.

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::eventually;
use berth_tests::hub::berth::Berth;
use berth_tests::hub::{FRONT_PROXY, Hub};
use berth_tests::raw::{self, Answer, send};
use futures::future::join_all;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::basics::kubectl::shoot;

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn shared() -> (&'static Hub, &'static Berth) {
    tokio::task::spawn_blocking(Berth::shared)
        .await
        .expect("it starts")
}

/// A client as the hub's front proxy.
async fn front_proxy(hub: &Hub, berth: &Berth) -> Client {
    let issued = hub
        .front_proxy_ca()
        .issue_client(FRONT_PROXY, &[], SystemClock.now());
    berth
        .client(Some(&issued.expect("a certificate can be made")))
        .await
}

/// Sends a request as the aggregator requests documents: as its own user, without groups.
async fn document_of(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
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
    let answer = document_of(&client, "/apis", &[("accept", DISCOVERY)]).await;
    assert_eq!(answer.header("content-type"), DISCOVERY);
    assert_eq!(answer.json()["kind"], "APIGroupDiscoveryList");
    assert!(answer.header("vary").contains("Accept"));
    let etag = answer.header("etag").to_owned();
    let again = document_of(
        &client,
        "/apis",
        &[("accept", DISCOVERY), ("if-none-match", &etag)],
    )
    .await;
    assert_eq!((again.code, again.body.len()), (304, 0));
    let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let fallen = document_of(&client, "/apis", &[("accept", old)]).await;
    assert_eq!(fallen.json()["kind"], "APIGroupList");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_aggregator_reads_documents_without_being_in_any_group() {
    let (hub, berth) = shared().await;
    let client = front_proxy(hub, berth).await;
    let index = document_of(&client, "/openapi/v3", &[]).await;
    let path = "apis/scheduling.berth.dev/v1alpha1";
    let url = index.json()["paths"][path]["serverRelativeURL"]
        .as_str()
        .expect("the group is in the index")
        .to_owned();
    let document = document_of(&client, &url, &[]).await;
    assert!(document.code == 200 && document.header("cache-control").contains("immutable"));
    let stale = document_of(&client, &format!("/openapi/v3/{path}?hash=00"), &[]).await;
    assert_eq!((stale.code, stale.header("location")), (301, &*url));
    let merged = document_of(&client, "/openapi/v2", &[]).await;
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
            .succeeds();
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
    hub.kubectl("create namespace going").succeeds();
    // Its deletion is never completed here.
    hub.kubectl("delete namespace going --wait=false").succeeds();
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

/// An unused name.
fn uuid() -> String {
    let now = SystemClock.now();
    now.as_microsecond().to_string()
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn subresources_are_resources_of_their_own_with_rights_of_their_own() {
    let (hub, _) = Berth::shared();
    let name = "parted";
    // Another scheduler is responsible, so its seed does not change.
    let mut made = shoot("garden-dev", name);
    made["spec"]["schedulerName"] = json!("by-hand");
    hub.kubectl("create -f -").input(made.to_string()).succeeds();
    let get = || hub.kubectl("get shoot parted -n garden-dev -o json").json();
    // A status can only be written through its subresource.
    let mut object = get();
    object["status"] = json!({"technicalID": "through the front door"});
    object["metadata"]["labels"]["seen"] = json!("yes");
    hub.kubectl("replace -f -").input(object.to_string()).succeeds();
    let stored = get();
    assert_eq!(stored["metadata"]["labels"]["seen"], "yes");
    assert!(stored["status"]["technicalID"].is_null(), "{}", stored["status"]);
    let patch = r#"{"status":{"technicalID":"shoot--dev--parted"},"metadata":{"labels":{"seen":"no"}}}"#;
    let words = ["patch", "shoot", name, "-n", "garden-dev"];
    let merge = ["--subresource=status", "--type=merge", "-p", patch];
    hub.kubectl_args(&[&words[..], &merge].concat()).succeeds();
    let shown = hub
        .kubectl("get shoot parted -n garden-dev --subresource=status -o json")
        .json();
    assert_eq!(shown["status"]["technicalID"], "shoot--dev--parted");
    assert_eq!(shown["metadata"]["labels"]["seen"], "yes");

    // Binding is Gardener's own subresource: the right to update shoots does not include it.
    for (user, resources) in [
        ("paula", "shoots.core.gardener.cloud"),
        ("bert", "shoots.core.gardener.cloud/binding"),
    ] {
        let role = format!("--resource={resources}");
        hub.ensure(&["create", "clusterrole", user, "--verb=get,update,patch", &role]);
        let (role, subject) = (format!("--clusterrole={user}"), format!("--user={user}"));
        hub.ensure(&["create", "clusterrolebinding", user, &role, &subject]);
    }
    let can = |user: &str| {
        let kubeconfig = hub.kubeconfig_for(user, &[]);
        let words = ["auth", "can-i", "update", "shoots.core.gardener.cloud"];
        let answer = hub.kubectl_as(&kubeconfig, &[&words[..], &["--subresource=binding"]].concat());
        answer.run().out.trim().to_owned()
    };
    assert_eq!((&*can("paula"), &*can("bert")), ("no", "yes"));
    let mut bound = get();
    assert!(bound["spec"]["seedName"].is_null(), "{}", bound["spec"]);
    bound["spec"]["seedName"] = json!("aws-eu1");
    let file = hub.file("bound.json", &bound.to_string());
    let file = file.display().to_string();
    let put = |user: &str| {
        let kubeconfig = hub.kubeconfig_for(user, &[]);
        let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/parted/binding";
        hub.kubectl_as(&kubeconfig, &["replace", "--raw", path, "-f", &file])
            .run()
    };
    let refused = put("paula");
    assert!(
        !refused.success && refused.err.contains("cannot update resource \"shoots/binding\""),
        "{}",
        refused.err
    );
    let put_there = put("bert");
    assert!(put_there.success, "{}", put_there.err);
    assert_eq!(get()["spec"]["seedName"], "aws-eu1");
}
