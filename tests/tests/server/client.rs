//! The `kube` crate's client with Berth: a reflector and a metadata watcher synchronise and follow.

mod apply;
mod tools;
mod websockets;

use std::time::Duration;

use berth_tests::{DEADLINE, Server, raw};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta, PostParams};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client};

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}, "data": {"a": "b"}})).unwrap()
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("waited {DEADLINE:?} for {what}"))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    within(what, async {
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        while !holds() {
            tick.tick().await;
        }
    })
    .await;
}

fn streaming() -> watcher::Config {
    watcher::Config::default().streaming_lists()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_syncs_by_list_and_by_streaming_list() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let created = maps.create(&PostParams::default(), &map("first")).await.unwrap();
    assert!(created.metadata.uid.is_some());
    for config in [watcher::Config::default(), streaming()] {
        let (store, writer) = reflector::store();
        let task = tokio::spawn(
            reflector(writer, watcher(maps.clone(), config))
                .applied_objects()
                .for_each(|_| std::future::ready(())),
        );
        within("the reflector to sync", store.wait_until_ready())
            .await
            .unwrap();
        assert!(
            store
                .state()
                .iter()
                .any(|map| map.metadata.name.as_deref() == Some("first"))
        );
        let name = format!("later-{}", store.len());
        maps.create(&PostParams::default(), &map(&name)).await.unwrap();
        until("the new object", || {
            store
                .state()
                .iter()
                .any(|map| map.metadata.name.as_ref() == Some(&name))
        })
        .await;
        maps.delete(&name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
        until("the delete", || {
            store
                .state()
                .iter()
                .all(|map| map.metadata.name.as_ref() != Some(&name))
        })
        .await;
        task.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metadata_watcher_follows_virtual_decisions() {
    let server = Server::start();
    server.bind_by_hand(&["gardener"]);
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gardener");
    server.load(&examples.join("fleet.yaml"));
    server.load(&examples.join("same-region.yaml"));
    let client: Client = raw::client(&server.kubeconfig()).await;
    let resource = ApiResource {
        group: "scheduling.berth.dev".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "scheduling.berth.dev/v1alpha1".to_owned(),
        kind: "Decision".to_owned(),
        plural: "decisions".to_owned(),
    };
    let decisions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let writer = reflector::store::Writer::new(resource.clone());
    let store = writer.as_reader();
    let stream = reflector(writer, watcher(decisions, streaming())).applied_objects();
    let task = tokio::spawn(stream.for_each(|_| std::future::ready(())));
    within("the decisions to sync", store.wait_until_ready())
        .await
        .unwrap();
    // The watcher starts with resourceVersion=0, from the cache, so objects that were just loaded may
    // follow later.
    until("the decision to be shown", || store.len() == 1).await;
    let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client);
    let (meta_store, meta_writer) = reflector::store();
    let meta = tokio::spawn(
        reflector(meta_writer, watcher(maps, streaming()))
            .applied_objects()
            .for_each(|_| std::future::ready(())),
    );
    within("the metadata to sync", meta_store.wait_until_ready())
        .await
        .unwrap();
    let binding = "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {name: web.gardener, namespace: garden-dev}\n";
    server.kubectl("create -f -").input(binding).succeeds();
    until("the decision to be bound", || {
        store
            .state()
            .iter()
            .any(|decision| decision.data["status"]["phase"] == "Bound")
    })
    .await;
    task.abort();
    meta.abort();
}

#[test]
fn many_objects_of_one_kind_are_loaded_side_by_side_and_told_in_their_order() {
    let server = Server::start();
    let document = |number: usize| {
        // One of them has an invalid name.
        let name = if number == 200 {
            "A_B".to_owned()
        } else {
            format!("map-{number}")
        };
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}, data: {{n: \"{number}\"}}}}\n"
        )
    };
    let file = server.file("maps.yaml", &(0..250).map(document).collect::<String>());
    let load = || {
        let mut command = std::process::Command::new(berth_tests::berth());
        command.args(["load", "--kubeconfig"]).arg(server.kubeconfig());
        command.arg("-f").arg(&file).output().unwrap()
    };
    for what in ["created", "unchanged"] {
        let output = load();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success(), "{stdout}");
        let expected: String = (0..250)
            .filter(|number| *number != 200)
            .map(|number| format!("configmap/map-{number} {what}\n"))
            .collect();
        assert_eq!(stdout, expected);
        assert!(stderr.contains("250 of 250 objects"), "{stderr}");
        assert!(
            stderr.contains("document 201") && stderr.contains("A_B"),
            "{stderr}"
        );
    }
    assert_eq!(
        server
            .kubectl("get configmaps -o name")
            .succeeds()
            .lines()
            .count(),
        249
    );
}
