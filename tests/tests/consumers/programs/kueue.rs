//! Kueue's own MultiKueue and Berth's dispatcher for it: `tests/consumers/kueue`, and
//! `deploy/consumers/kueue`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::{Server, eventually, go};
use serde_json::{Value, json};

use super::{Running, executable};

const NAMESPACE: &str = "story-1";
const VERSION: &str = "v1beta2";
const CHECK: &str = "multikueue";
const OURS: &str = "scheduling.berth.dev/dispatcher";
const DECISION: &str = "scheduling.berth.dev/decision";

fn deployed(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/consumers/kueue");
    folder.join(file).display().to_string()
}

/// Creates Kueue's own definitions, as in a cluster without objects of older versions, since no webhook
/// converts here; and its namespace with the configuration of `dispatcher`.
fn kueue_on(hub: &Hub, dispatcher: &str) {
    let folder = go::module("consumers/kueue", "sigs.k8s.io/kueue").join("config/components/crd/bases");
    let folder = folder.display().to_string();
    let read = ["create", "--dry-run=client", "-o", "json", "-f", &folder];
    let read = hub.kubectl_args(&read).succeeds();
    let mut all: Vec<Value> = serde_json::Deserializer::from_str(&read)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("definitions, one after the other");
    for definition in &mut all {
        let versions = definition["spec"]["versions"].as_array_mut().expect("versions");
        if versions.iter().any(|version| version["name"] == VERSION) {
            versions.retain(|version| version["name"] == VERSION);
            versions[0]["storage"] = true.into();
        }
    }
    let all = json!({"apiVersion": "v1", "kind": "List", "items": all});
    hub.kubectl("create -f -").input(all.to_string()).succeeds();
    hub.kubectl("wait --for=condition=Established crd --all --timeout=60s")
        .succeeds();
    hub.ensure(&["create", "namespace", "kueue-system"]);
    set_dispatcher(hub, dispatcher);
}

/// Sets the dispatcher in Kueue's configuration.
fn set_dispatcher(hub: &Hub, dispatcher: &str) {
    let text = format!(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue:\n  dispatcherName: {dispatcher}\n"
    );
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
        "data": {"controller_manager_config.yaml": text},
    });
    hub.kubectl("apply -f -").input(map.to_string()).succeeds();
}

fn kueue(kubeconfig: &Path, namespace: &str, further: &[&str]) -> Command {
    let mut command = Command::new(go::build("consumers/kueue", ".", "kueue"));
    command
        .arg("-kubeconfig")
        .arg(kubeconfig)
        .args(["-namespace", namespace])
        .args(further)
        .stdout(Stdio::piped());
    command
}

/// Reserves the quota of the Workload, as Kueue's scheduler does.
fn reserve(hub: &Hub, namespace: &str, name: &str, check: &str) {
    let mut reserving = kueue(
        &hub.admin(),
        namespace,
        &["-name", name, "-check", check, "reserve"],
    );
    let output = reserving.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Starts `berth dispatch multikueue` as the user of `kubeconfig`.
fn dispatcher(kubeconfig: &Path, further: &[&str]) -> Running {
    let mut command = Command::new(berth_tests::berth());
    command
        .args(["dispatch", "multikueue", "--kubeconfig"])
        .arg(kubeconfig)
        .args(further)
        .stdout(Stdio::piped());
    Running::start(command)
}

/// A Workload as Kueue creates it, with further `metadata`.
fn workload(namespace: &str, name: &str, metadata: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": metadata,
        "spec": {"queueName": "everything", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]}}}]},
    });
    object["metadata"]["name"] = name.into();
    object["metadata"]["namespace"] = namespace.into();
    object
}

fn get(hub: &Hub, what: &str, namespace: &str) -> Value {
    hub.kubectl(&format!(
        "get {what} -n {namespace} -o json --show-managed-fields"
    ))
    .json()
}

fn status(hub: &Hub, namespace: &str, name: &str) -> Value {
    get(hub, &format!("workloads.kueue.x-k8s.io {name}"), namespace)["status"].clone()
}

fn nominated(hub: &Hub, namespace: &str, name: &str) -> Value {
    status(hub, namespace, name)["nominatedClusterNames"].clone()
}

/// The note of the Workload's Event with this reason.
fn event_note(hub: &Hub, namespace: &str, name: &str, reason: &str) -> String {
    eventually(&format!("the Event {reason} about {name}"), || {
        let events = get(hub, "events.events.k8s.io", namespace);
        let mut all = events["items"].as_array()?.iter();
        let event = all.find(|event| event["regarding"]["name"] == name && event["reason"] == reason)?;
        event["note"].as_str().map(str::to_owned)
    })
}

/// Kueue's names of the clusters of the decision in order of their rank, `None` while they are not two.
fn in_order(hub: &Hub) -> Option<Value> {
    let decision = get(hub, "decision placement.ocm", NAMESPACE);
    let mut places = decision["status"]["decisions"].as_array()?.clone();
    places.sort_by_key(|place| std::cmp::Reverse(place["score"].as_i64()));
    let name = |place: &Value| match place["clusterName"].as_str() {
        Some("cluster2") => "another",
        _ => "cluster1",
    };
    let names: Vec<&str> = places.iter().map(name).collect();
    (names.len() == 2).then(|| json!(names))
}

/// Starts a cluster that receives Workloads of Kueue.
fn worker() -> Hub {
    let hub = Hub::start();
    kueue_on(&hub, OURS);
    hub.ensure(&["create", "namespace", NAMESPACE]);
    hub
}

/// A credentials plugin with the administrator's certificate of `cluster`.
fn plugin(hub: &Hub, cluster: &Hub) -> PathBuf {
    let groups = ["system:masters".to_owned()];
    let issued = cluster.ca().issue_client("kueue", &groups, SystemClock.now());
    let issued = issued.expect("a client certificate can be made");
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"clientCertificateData": issued.certificate, "clientKeyData": issued.key},
    });
    executable(hub.file("plugin", &format!("#!/bin/sh\ncat <<'END'\n{credential}\nEND\n")))
}

fn merge(hub: &Hub, what: &[&str], patch: &Value) {
    let patch = patch.to_string();
    let mut arguments = vec!["patch"];
    arguments.extend(what);
    arguments.extend(["--type=merge", "-p", &patch]);
    hub.kubectl_args(&arguments).succeeds();
}

/// Starts a hub with OCM's fleet, the decision `placement.ocm` for cluster1, and Kueue's definitions;
/// cluster1 is `first`, and cluster2 is `second`, by a kubeconfig.
fn manager(first: &Hub, second: &Hub) -> (Hub, Berth) {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(&hub, "hub-sources-rbac.yaml");
    super::upstream_definitions(&hub);
    kueue_on(&hub, OURS);
    let running = Berth::install_hub(&hub, &["ocm"]);
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        berth::load_text(
            &hub,
            &file.replace('/', "-"),
            &berth_tests::example::example(file),
        );
    }
    let reached = json!({"spec": {"managedClusterClientConfigs": [{"url": first.url(),
        "caBundle": super::encoded(first.ca().certificate_pem().as_bytes())}]}});
    merge(&hub, &["managedcluster", "cluster1"], &reached);
    hub.kubectl("label managedcluster cluster1 jobs=yes").succeeds();
    let chosen = json!({"spec": {"numberOfClusters": null, "predicates": [{"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"jobs": "yes"}}}}]}});
    merge(
        &hub,
        &[
            "placements.cluster.open-cluster-management.io",
            "placement",
            "-n",
            NAMESPACE,
        ],
        &chosen,
    );
    let kubeconfig = second.admin();
    hub.kubectl_args(&[
        "create",
        "secret",
        "generic",
        "cluster2",
        "-n",
        "kueue-system",
        &format!("--from-file=kubeconfig={}", kubeconfig.display()),
    ])
    .succeeds();
    for file in ["workers.yaml", "dispatcher.yaml"] {
        hub.kubectl_args(&["apply", "-f", &deployed(file)]).succeeds();
    }
    (hub, running)
}

#[test]
#[ignore = "builds programs in Go and runs a real kube-apiserver: `make consumers`"]
fn kueue_sends_a_workload_to_the_clusters_of_its_decision_and_the_first_that_has_room_takes_it() {
    let (first, second) = (worker(), worker());
    let (hub, _berth) = manager(&first, &second);
    let access = "open-cluster-management";
    let plugin = plugin(&hub, &first);
    let with = [
        "-dispatcher",
        OURS,
        "-provider",
        access,
        "-plugin",
        plugin.to_str().unwrap(),
        "run",
    ];
    let mut multikueue = Running::start(kueue(&hub.admin(), "kueue-system", &with));
    assert_eq!(multikueue.next()["adapters"], 1);
    for cluster in ["cluster1", "another"] {
        hub.kubectl(&format!(
            "wait multikueuecluster/{cluster} --for=condition=Active --timeout=60s"
        ))
        .succeeds();
    }
    let job = get(&hub, "job sample", NAMESPACE);
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "sample", "controller": true,
        "uid": job["metadata"]["uid"]}]);
    let metadata = json!({"labels": {DECISION: "placement.ocm"}, "ownerReferences": owner});
    hub.kubectl("create -f -")
        .input(workload(NAMESPACE, "sample", &metadata).to_string())
        .succeeds();
    reserve(&hub, NAMESPACE, "sample", CHECK);
    let account = hub.kubeconfig_for_service_account("berth-system", "berth-multikueue");
    let _dispatcher = dispatcher(&account, &[]);

    let is_nominated = |names: Value| {
        eventually(&format!("{names} to be nominated"), || {
            (nominated(&hub, NAMESPACE, "sample") == names).then_some(())
        });
    };
    is_nominated(json!(["cluster1"]));
    let note = event_note(&hub, NAMESPACE, "sample", "ClustersNominated");
    assert!(
        note.starts_with("cluster1 nominated by decision placement.ocm: cluster1"),
        "{note}"
    );
    let copied = |cluster: &Hub| {
        let copies = get(cluster, "workloads.kueue.x-k8s.io", NAMESPACE);
        copies["items"].as_array().map_or(0, Vec::len)
    };
    eventually("a copy at the first worker", || {
        (copied(&first) == 1).then_some(())
    });
    assert_eq!(copied(&second), 0, "a cluster that is not nominated has a copy");

    // Another cluster joins the decision, and is nominated as well.
    hub.kubectl("label managedcluster cluster2 jobs=yes").succeeds();
    is_nominated(eventually("both to be decided", || in_order(&hub)));
    eventually("an Event about both", || {
        let events = get(&hub, "events.events.k8s.io", NAMESPACE);
        let mut notes = events["items"].as_array()?.iter().map(|event| &event["note"]);
        let is_of_both = |note: &Value| note.as_str().is_some_and(|note| note.contains("cluster2"));
        notes.any(is_of_both).then_some(())
    });
    eventually("a copy at the second worker", || {
        (copied(&second) == 1).then_some(())
    });
    // Kueue's other status of the Workload is unchanged.
    let now = status(&hub, NAMESPACE, "sample");
    assert_eq!(now["admission"]["clusterQueue"], "everything");
    assert_eq!(now["conditions"][0]["type"], "QuotaReserved");

    // The second cluster has room: Kueue admits the Workload there, and deletes the nominations.
    reserve(&second, NAMESPACE, "sample", "");
    let taken = eventually("the Workload to be taken", || {
        let status = status(&hub, NAMESPACE, "sample");
        status["clusterName"].is_string().then_some(status)
    });
    assert_eq!(taken["clusterName"], "another");
    assert!(taken["nominatedClusterNames"].is_null(), "{taken}");
    assert_eq!(taken["admissionChecks"][0]["state"], "Ready");
    eventually("the first worker's copy to go", || {
        (copied(&first) == 0).then_some(())
    });
    eventually("the Job at the second worker", || {
        let jobs = get(&second, "jobs", NAMESPACE);
        (jobs["items"].as_array()?.len() == 1).then_some(())
    });
}

/// Creates an AdmissionCheck, and a MultiKueueConfig with `clusters`, with the same name.
fn check(hub: &Hub, name: &str, clusters: &[&str]) {
    let kueue = |kind: &str, name: &str, spec: Value| {
        let object = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name},
            "spec": spec});
        hub.kubectl("apply -f -").input(object.to_string()).succeeds();
    };
    for cluster in clusters {
        let reached =
            json!({"clusterSource": {"kubeConfig": {"location": cluster, "locationType": "Secret"}}});
        kueue("MultiKueueCluster", cluster, reached);
    }
    kueue("MultiKueueConfig", name, json!({"clusters": clusters}));
    let parameters = json!({"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name});
    let spec = json!({"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters});
    kueue("AdmissionCheck", name, spec);
}

fn waiting(hub: &Hub, namespace: &str, name: &str, metadata: &Value, check: &str) {
    hub.kubectl("create -f -")
        .input(workload(namespace, name, metadata).to_string())
        .succeeds();
    reserve(hub, namespace, name, check);
}

#[test]
#[ignore = "builds programs in Go and runs a real kube-apiserver: `make consumers`"]
fn what_cannot_be_nominated_is_told_on_the_workload_and_nothing_is_written() {
    let server = Server::start();
    for file in ["gardener/fleet.yaml", "ocm/fleet.yaml", "ocm/story-1.yaml"] {
        server.load(&super::example(file));
    }
    let unplaced = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "nowhere", "namespace": NAMESPACE},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"no": "such"}}}}]},
    });
    server
        .kubectl("apply -f -")
        .input(unplaced.to_string())
        .succeeds();
    let shoot = super::example("gardener/same-region.yaml");
    server
        .kubectl_args(&["apply", "-f", shoot.to_str().unwrap()])
        .succeeds();

    let hub = Hub::start();
    kueue_on(&hub, "kueue.x-k8s.io/multikueue-dispatcher-incremental");
    for namespace in [NAMESPACE, "garden-dev"] {
        hub.ensure(&["create", "namespace", namespace]);
    }
    let all = ["cluster1", "cluster2", "cluster3", "cluster4", "cluster5"];
    check(&hub, "everything", &all);
    check(&hub, "one", &["cluster1"]);
    let seeds = ["aws-eu1.gardener", "aws-eu2.gardener", "gcp-eu1.gardener"];
    check(&hub, "seeds", &seeds);
    let decisions = server.kubeconfig();
    let _dispatcher = dispatcher(
        &hub.admin(),
        &["--decisions-kubeconfig", decisions.to_str().unwrap()],
    );

    let named = |name: &str| json!({"labels": {DECISION: name}});
    waiting(&hub, "garden-dev", "web", &named("web.gardener"), "seeds");
    let both = json!({"labels": {DECISION: "placement.ocm"}, "annotations": {DECISION: "nowhere.ocm"}});
    for (name, metadata, check) in [
        ("unnamed", json!({}), "everything"),
        ("twice", both, "everything"),
        ("no-name", named("placement"), "everything"),
        ("unknown", named("nothing.ocm"), "everything"),
        ("unplaced", named("nowhere.ocm"), "everything"),
        ("unreached", named("placement.ocm"), "one"),
    ] {
        waiting(&hub, NAMESPACE, name, &metadata, check);
    }
    // So far, Kueue dispatches by itself.
    assert!(nominated(&hub, "garden-dev", "web").is_null());
    set_dispatcher(&hub, OURS);
    let seed = eventually("the Shoot's seed to be nominated", || {
        let names = nominated(&hub, "garden-dev", "web");
        names.is_array().then_some(names)
    });
    let shoot = server.kubectl("get shoot web -n garden-dev -o json").json();
    let bound = shoot["spec"]["seedName"].as_str().expect("it has a seed");
    assert_eq!(seed, json!([format!("{bound}.gardener")]));

    for (name, reason, word) in [
        ("unnamed", "DecisionNotNamed", DECISION),
        ("twice", "DecisionAmbiguous", "nowhere.ocm"),
        ("no-name", "DecisionInvalid", "<object>.<system>"),
        ("unknown", "DecisionNotFound", "nothing.ocm"),
        ("unplaced", "DecisionNotBound", "nowhere.ocm"),
        ("unreached", "ClusterNotInMultiKueue", ".ocm"),
    ] {
        let note = event_note(&hub, NAMESPACE, name, reason);
        assert!(note.contains(word), "{note}");
        assert!(
            nominated(&hub, NAMESPACE, name).is_null(),
            "{name} has nominations"
        );
    }

    // A Kueue with a limit of two.
    let path = "/schema/openAPIV3Schema/properties/status/properties/nominatedClusterNames/maxItems";
    let path = format!("/spec/versions/0{path}");
    let patch = json!([{"op": "replace", "path": path, "value": 2}]).to_string();
    let definition = "workloads.kueue.x-k8s.io";
    hub.kubectl_args(&["patch", "crd", definition, "--type=json", "-p", &patch])
        .succeeds();
    let waits = || {
        waiting(&hub, NAMESPACE, "wide", &named("placement.ocm"), "everything");
        event_note(&hub, NAMESPACE, "wide", "TooManyClusters")
    };
    // Kueue's limit is read again after ten seconds.
    eventually("the new limit to be known", || {
        let crd = get(&hub, "crd workloads.kueue.x-k8s.io", "default");
        (crd.pointer(&path)? == &json!(2)).then_some(())
    });
    let note = waits();
    assert!(
        note.contains("has 3 clusters, and this Kueue takes at most 2"),
        "{note}"
    );
    assert!(nominated(&hub, NAMESPACE, "wide").is_null());
}
