//! Output of kubectl through the aggregator: discovery, documentation, tables, watches, writes.

use std::io::{BufRead, BufReader};

use berth_tests::eventually;
use berth_tests::hub::berth::{API_SERVICE, Berth, availability};
use berth_tests::websocket::WebSocket;
use serde_json::{Value, json};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn every_registered_version_passes_all_checks() {
    let (hub, _) = Berth::shared();
    let services = availability(hub);
    for wanted in [API_SERVICE, "v1beta1.core.gardener.cloud"] {
        let found = services.iter().find(|(name, _)| name == wanted);
        assert_eq!(
            found.map(|(_, message)| message.as_str()),
            Some("all checks passed"),
            "{services:?}"
        );
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn resources_are_listed_with_short_names_and_verbs() {
    let (hub, _) = Berth::shared();
    let table = hub
        .kubectl("api-resources --api-group=scheduling.berth.dev -o wide --no-headers")
        .succeeds();
    let line = |resource: &str| {
        let found = table.lines().find(|line| line.starts_with(resource));
        found
            .unwrap_or_else(|| panic!("{resource} is not in:\n{table}"))
            .to_owned()
    };
    assert!(line("targets ").contains("btg") && line("targets ").contains("get,list,watch"));
    assert!(line("decisions ").contains("bdec") && line("decisions ").contains("true"));
    assert!(line("schedulingreviews ").contains("create"));
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn schemas_are_merged_and_explained() {
    let (hub, _) = Berth::shared();
    eventually("OpenAPI v3 of the group", || {
        let index = hub.kubectl("get --raw /openapi/v3").json();
        index["paths"]
            .get("apis/scheduling.berth.dev/v1alpha1")
            .map(|_| ())
    });
    let explained = hub.kubectl("explain decisions.status --recursive").succeeds();
    assert!(explained.contains("clusterName"), "{explained}");
    let explained = hub.kubectl("explain shoots.spec").succeeds();
    assert!(
        explained.contains("seedName") && explained.contains("core.gardener.cloud"),
        "{explained}"
    );
    // The aggregator reads this document as a user without groups.
    eventually("OpenAPI v2 of the group", || {
        let merged = hub.kubectl("get --raw /openapi/v2").json();
        let paths = merged["paths"].as_object()?;
        paths
            .contains_key("/apis/scheduling.berth.dev/v1alpha1/targets")
            .then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn targets_are_shown_in_their_own_columns() {
    let (hub, _) = Berth::shared();
    let table = hub.kubectl("get targets").succeeds();
    let header = table.lines().next().unwrap_or_default();
    assert!(header.contains("READY") && header.contains("AGE"), "{table}");
    for target in ["aws-eu1.gardener", "gcp-eu1.gardener", "cluster1.ocm"] {
        assert!(table.contains(target), "{table}");
    }
    let wide = hub.kubectl("get btg aws-eu1.gardener -o wide").succeeds();
    assert_eq!(wide.lines().count(), 2, "{wide}");
    let list = hub.kubectl("get targets -o json --chunk-size=2").json();
    assert!(
        list["items"].as_array().is_some_and(|items| items.len() >= 10),
        "{list}"
    );
    let described = hub.kubectl("describe target aws-eu1.gardener").succeeds();
    assert!(described.contains("Kind:         Target"), "{described}");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_watch_goes_through_with_one_header() {
    let (hub, _) = Berth::shared();
    let seed = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": "watched"},
        "spec": {
            "provider": {"type": "aws", "region": "eu-west-1"},
            "networks": {"nodes": "10.3.0.0/16", "pods": "10.1.0.0/16", "services": "10.2.0.0/16"},
        },
    });
    let mut watch = hub
        .kubectl("get targets --watch --field-selector=metadata.name=watched.gardener")
        .spawn();
    let mut lines = BufReader::new(watch.stdout.take().expect("the output is piped")).lines();
    hub.kubectl("create -f -").input(seed.to_string()).succeeds();
    let mut next = || {
        let line = lines.next().expect("the watch goes on");
        line.expect("the watch is text")
    };
    assert!(next().starts_with("NAME"));
    assert!(next().starts_with("watched.gardener"));
    hub.kubectl("label seed watched tier=gold").succeeds();
    assert!(next().starts_with("watched.gardener"));
    hub.kubectl("delete seed watched").succeeds();
    assert!(next().starts_with("watched.gardener"));
    drop(watch.kill());
    drop(watch.wait());
}

/// A shoot for which aws-eu1 and aws-eu2 are feasible.
pub(crate) fn shoot(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "purpose": "evaluation", "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [
                {"name": "worker", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_namespace_and_a_shoot_come_in_one_apply_and_the_decision_can_be_read() {
    let (hub, _) = Berth::shared();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden-new"}});
    let all = json!({"apiVersion": "v1", "kind": "List", "items": [namespace, shoot("garden-new", "one")]});
    hub.kubectl("apply -f -").input(all.to_string()).succeeds();
    let decision = hub
        .kubectl("get decision one.gardener -n garden-new -o json")
        .json();
    assert_eq!(decision["spec"]["sourceRef"]["name"], "one");
    let why = hub
        .kubectl("get decision one.gardener -n garden-new --subresource=scheduling")
        .succeeds();
    assert!(why.contains("aws-eu1") && why.contains("gcp-eu1"), "{why}");
    let again = hub.kubectl("apply -f -").input(all.to_string()).succeeds();
    assert!(again.contains("unchanged"), "{again}");
    let patch = r#"{"metadata":{"labels":{"tier":"gold"}}}"#;
    hub.kubectl_args(&[
        "patch",
        "shoot",
        "one",
        "-n",
        "garden-new",
        "--type=merge",
        "-p",
        patch,
    ])
    .succeeds();
    hub.kubectl("apply --server-side --field-manager=platform -f -")
        .input(shoot("garden-new", "one").to_string())
        .succeeds();
    let managers =
        "get shoot one -n garden-new --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";
    let managers = hub.kubectl(managers).succeeds();
    assert!(
        managers.split(' ').any(|manager| manager == "platform"),
        "{managers}"
    );
    hub.kubectl("create -f - --dry-run=server")
        .input(shoot("garden-new", "two").to_string())
        .succeeds();
    let gone = hub.kubectl("get shoot two -n garden-new").fails();
    assert!(gone.contains("NotFound"), "{gone}");
    hub.kubectl("delete shoot one -n garden-new").succeeds();
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn bad_input_is_refused_in_kubernetes_words() {
    let (hub, _) = Berth::shared();
    let missing = hub
        .kubectl("create -f -")
        .input(shoot("nowhere", "x").to_string())
        .fails();
    assert!(missing.contains("namespaces \"nowhere\" not found"), "{missing}");
    let mut unknown = shoot("default", "x");
    unknown["metadata"]["labels"] = json!({"not a label": "x"});
    let refused = hub.kubectl("create -f -").input(unknown.to_string()).fails();
    assert!(
        refused.contains("Shoot") && refused.contains("metadata.labels"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn a_watch_by_websocket_passes_the_aggregator() {
    let (hub, _) = tokio::task::spawn_blocking(Berth::shared).await.unwrap();
    let path = "/apis/scheduling.berth.dev/v1alpha1/targets?watch=true&timeoutSeconds=2&allowWatchBookmarks=true&\
        sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut socket = WebSocket::open(&hub.admin(), path).await.unwrap();
    let mut types = Vec::new();
    while let Some(event) = socket.next().await {
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types.first().map(String::as_str), Some("ADDED"), "{types:?}");
    // The hub is shared: other tests may change objects before the watch ends.
    assert!(types.iter().any(|kind| kind == "BOOKMARK"), "{types:?}");
}
