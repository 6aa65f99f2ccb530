//! The hub's own controllers with Berth's objects: the garbage collector and the namespace controller.

use std::time::Duration;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::raw;
use futures::StreamExt;
use kube::Api;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event, InitialListStrategy, watcher};
use serde_json::json;

use crate::basics::kubectl::shoot;

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_hubs_controllers_delete_what_they_would_delete_of_its_own() {
    let mut hub = Hub::start();
    let _berth = Berth::install(&hub, &[]);
    berth::load(&hub, "../examples/gardener/fleet.yaml");
    hub.start_controllers();

    // One of Berth's roles is part of `view`.
    eventually("view to hold Berth's rule", || {
        let view = hub.kubectl("get clusterrole view -o json").json();
        view["rules"]
            .to_string()
            .contains("scheduling.berth.dev")
            .then_some(())
    });

    // Dependents of a shoot are deleted with it.
    hub.kubectl("create -f -")
        .input(shoot("garden-dev", "owner").to_string())
        .succeeds();
    let owner = hub.kubectl("get shoot owner -n garden-dev -o json").json();
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "child", "namespace": "garden-dev", "ownerReferences": [{
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "name": "owner",
            "uid": owner["metadata"]["uid"]}]},
    });
    hub.kubectl("create -f -").input(child.to_string()).succeeds();
    hub.kubectl("delete shoot owner -n garden-dev").succeeds();
    eventually("the child to be collected", || {
        let gone = hub.kubectl("get configmap child -n garden-dev").run();
        gone.err.contains("NotFound").then_some(())
    });

    orphaned_and_foreground(&hub);

    // The deletion of a namespace deletes its shoots, and new ones are refused meanwhile.
    hub.kubectl("create -f -")
        .input(shoot("garden-dev", "inside").to_string())
        .succeeds();
    hub.kubectl("delete namespace garden-dev --timeout=25s")
        .succeeds();
    let refused = hub
        .kubectl("create -f -")
        .input(shoot("garden-dev", "late").to_string())
        .fails();
    assert!(
        refused.contains("namespaces \"garden-dev\" not found"),
        "{refused}"
    );
    let log = std::fs::read_to_string(hub.folder().join("kube-controller-manager.log")).expect("a log");
    assert!(
        !log.contains("hasn't received required bookmark"),
        "an informer waits in vain"
    );
}

/// Checks that an orphaned object is kept without its owner, and that a foreground deletion deletes the
/// dependent before its owner.
fn orphaned_and_foreground(hub: &Hub) {
    let child = |owner: &str, name: &str, blocks: bool| {
        hub.kubectl("create -f -")
            .input(shoot("garden-dev", owner).to_string())
            .succeeds();
        let uid = hub
            .kubectl(&format!("get shoot {owner} -n garden-dev -o json"))
            .json();
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "garden-dev", "ownerReferences": [{
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "name": owner,
                "uid": uid["metadata"]["uid"], "blockOwnerDeletion": blocks}]},
        });
        hub.kubectl("create -f -").input(child.to_string()).succeeds();
    };
    child("leaver", "orphan", false);
    hub.kubectl("delete shoot leaver -n garden-dev --cascade=orphan --timeout=25s")
        .succeeds();
    let orphan = hub.kubectl("get configmap orphan -n garden-dev -o json").json();
    assert!(orphan["metadata"]["ownerReferences"].is_null(), "{orphan}");

    child("last", "first", true);
    // A finalizer of another controller delays the child, and so its owner.
    let hold = r#"{"metadata":{"finalizers":["example.com/hold"]}}"#;
    let patch = |patch: &str| {
        let words = [
            "patch",
            "configmap",
            "first",
            "-n",
            "garden-dev",
            "--type=merge",
            "-p",
        ];
        hub.kubectl_args(&[&words[..], &[patch]].concat()).succeeds();
    };
    patch(hold);
    hub.kubectl("delete shoot last -n garden-dev --cascade=foreground --wait=false")
        .succeeds();
    eventually("the child to be going", || {
        let child = hub.kubectl("get configmap first -n garden-dev -o json").json();
        child["metadata"]["deletionTimestamp"].is_string().then_some(())
    });
    let owner = hub.kubectl("get shoot last -n garden-dev -o json").json();
    assert_eq!(owner["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    patch(r#"{"metadata":{"finalizers":null}}"#);
    eventually("the owner to be gone", || {
        let gone = hub.kubectl("get shoot last -n garden-dev").run();
        gone.err.contains("NotFound").then_some(())
    });
    hub.kubectl("get configmap first -n garden-dev").fails();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn an_informer_that_streams_its_list_is_in_sync_within_seconds() {
    let shared = tokio::task::spawn_blocking(Berth::shared).await;
    let (hub, _) = shared.expect("it starts");
    let client = raw::client(&hub.admin()).await;
    let targets = ApiResource {
        group: "scheduling.berth.dev".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "scheduling.berth.dev/v1alpha1".to_owned(),
        kind: "Target".to_owned(),
        plural: "targets".to_owned(),
    };
    let api: Api<DynamicObject> = Api::all_with(client, &targets);
    let config = watcher::Config {
        initial_list_strategy: InitialListStrategy::StreamingList,
        ..watcher::Config::default()
    };
    let mut events = watcher(api, config).boxed();
    let synced = async {
        let mut count = 0;
        loop {
            match events.next().await.expect("an informer never ends") {
                Ok(Event::InitApply(_)) => count += 1,
                Ok(Event::InitDone) => return count,
                Ok(_) => {}
                Err(problem) => panic!("{problem}"),
            }
        }
    };
    let count = tokio::time::timeout(Duration::from_secs(10), synced).await;
    assert!(count.expect("in sync within ten seconds") >= 10);
}
