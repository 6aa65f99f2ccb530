//! Published objects for other tools: ClusterProfiles and PlacementDecisions.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

const PROFILES: &str = "clusterprofiles.multicluster.x-k8s.io";
const DECISIONS: &str = "placementdecisions.multicluster.x-k8s.io";

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

/// Starts a server with decisions of two systems, published in namespace `argocd`.
fn published() -> Server {
    let server = Server::start();
    for file in [
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "gardener/fleet.yaml",
        "gardener/load.yaml",
        "consumers/publication.yaml",
    ] {
        server.load(&example(file));
    }
    server
        .kubectl("wait publication/everything --for=condition=Published --timeout=20s")
        .succeeds();
    server
}

fn items(server: &Server, what: &str) -> Vec<Value> {
    let list = server.kubectl(&format!("get {what} -n argocd -o json")).json();
    list["items"].as_array().unwrap().clone()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// The clusters of all slices of the decision with this key.
fn clusters(server: &Server, key: &str) -> BTreeSet<String> {
    let slices = items(
        server,
        &format!("{DECISIONS} -l multicluster.x-k8s.io/decision-key={key}"),
    );
    let entries = slices
        .iter()
        .flat_map(|slice| slice["decisions"].as_array().unwrap().clone());
    entries
        .map(|entry| entry["clusterProfileRef"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_publication_shows_the_clusters_and_decisions_of_all_systems() {
    let server = published();
    let profiles = items(&server, PROFILES);
    let names: BTreeSet<String> = profiles.iter().map(name).collect();
    assert!(
        names.contains("cluster1.ocm") && names.contains("aws-eu1.gardener"),
        "{names:?}"
    );
    for profile in &profiles {
        assert_eq!(profile["spec"]["clusterManager"]["name"], "berth");
        assert_eq!(profile["metadata"]["labels"]["x-k8s.io/cluster-manager"], "berth");
        assert_eq!(profile["status"]["conditions"][0]["type"], "ControlPlaneHealthy");
    }
    let decisions = items(&server, DECISIONS);
    let references = decisions
        .iter()
        .flat_map(|slice| slice["decisions"].as_array().unwrap());
    let mut count = 0;
    for reference in references {
        let cluster = reference["clusterProfileRef"]["name"].as_str().unwrap();
        assert!(names.contains(cluster), "{cluster} has no profile");
        count += 1;
    }
    assert!(count > 2, "{decisions:?}");
    let running = decisions
        .iter()
        .find(|slice| name(slice) == "garden-dev.running-1.gardener-0")
        .unwrap();
    assert_eq!(
        running["decisions"][0]["clusterProfileRef"],
        json!({"name": "aws-eu1.gardener", "namespace": "argocd"})
    );
    assert_eq!(running["schedulerName"], "berth-gardener");
    let table = server.kubectl(&format!("get {DECISIONS} -A")).succeeds();
    assert!(
        table.contains("SCHEDULER") && table.contains("berth-ocm"),
        "{table}"
    );
    let selected = items(
        &server,
        &format!("{PROFILES} -l scheduling.berth.dev/system=gardener"),
    );
    assert!(
        !selected.is_empty()
            && selected
                .iter()
                .all(|profile| name(profile).ends_with(".gardener"))
    );
    server
        .kubectl("wait publication/everything --for=condition=Valid --timeout=10s")
        .succeeds();
}

#[test]
fn a_decision_follows_its_clusters_and_a_watcher_sees_it() {
    let server = published();
    let key = "story-1.placement.ocm";
    let before = clusters(&server, key);
    assert!(!before.is_empty());
    let left = before.first().unwrap().clone();
    let cluster = left.strip_suffix(".ocm").unwrap();
    let mut watch = server
        .kubectl(&format!(
            "get {DECISIONS} -n argocd --watch --output-watch-events"
        ))
        .spawn();
    let mut lines = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    // The listed events come first, and the watch starts at this list.
    let listed = lines.find(|line| line.contains(key)).unwrap();
    assert!(listed.starts_with("ADDED"), "{listed}");
    let patch = json!({"spec": {"taints": [{"key": "gone", "effect": "NoSelect"}]}}).to_string();
    server
        .kubectl_args(&["patch", "managedcluster", cluster, "--type=merge", "-p", &patch])
        .succeeds();
    let changed = lines.find(|line| line.contains(key)).unwrap();
    assert!(changed.starts_with("MODIFIED"), "{changed}");
    eventually("the cluster to be taken out", || {
        (!clusters(&server, key).contains(&left)).then_some(())
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn after_a_crash_the_very_first_list_is_complete() {
    let mut server = published();
    let shown = |server: &Server| -> Vec<(String, Value)> {
        // As informers list: from the cache.
        let path = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/argocd";
        ["clusterprofiles", "placementdecisions"]
            .into_iter()
            .flat_map(|resource| {
                let raw = server
                    .kubectl(&format!("get --raw {path}/{resource}?resourceVersion=0"))
                    .json();
                raw["items"].as_array().unwrap().clone()
            })
            .map(|mut object| {
                object["metadata"]["resourceVersion"] = Value::Null;
                (name(&object), object)
            })
            .collect()
    };
    let before = eventually("everything to be published", || {
        let all = shown(&server);
        let running = all
            .iter()
            .any(|(name, _)| name == "garden-dev.running-1.gardener-0");
        running.then_some(all)
    });
    server.crash();
    server.restart();
    assert_eq!(shown(&server), before);
}

#[test]
fn an_invalid_publication_is_refused_with_every_error_at_once() {
    let server = Server::start();
    let bad = "apiVersion: config.berth.dev/v1alpha1\nkind: Publication\nmetadata: {name: bad}\n\
               spec: {namespace: Bad_, systems: [nope], names: Bare, shapes: [PlacementDecision], labels: {x-k8s.io/cluster-manager: me}}\n";
    let refused = server.kubectl("create -f -").input(bad).fails();
    for path in [
        "spec.namespace",
        "spec.systems[0]",
        "spec.names",
        "spec.shapes",
        "spec.labels[x-k8s.io/cluster-manager]",
    ] {
        assert!(refused.contains(path), "{path}: {refused}");
    }
    let moved = "[{\"op\": \"replace\", \"path\": \"/spec/namespace\", \"value\": \"other\"}]";
    server.load(&example("consumers/publication.yaml"));
    let refused = server
        .kubectl_args(&["patch", "publication", "everything", "--type=json", "-p", moved])
        .fails();
    assert!(
        refused.contains("spec.namespace") && refused.contains("immutable"),
        "{refused}"
    );
}

#[test]
fn of_two_publications_into_one_namespace_the_older_is_in_force_until_it_goes() {
    let server = published();
    let second = "apiVersion: config.berth.dev/v1alpha1\nkind: Publication\nmetadata: {name: second}\n\
                  spec: {namespace: argocd, systems: [ocm], names: Bare, clusterManager: mine, clusterSet: blue}\n";
    server.kubectl("create -f -").input(second).succeeds();
    let condition = |field: &str| {
        server
            .kubectl(&format!(
                "get publication second -o jsonpath={{.status.conditions[0].{field}}}"
            ))
            .succeeds()
    };
    eventually("the second to be told off", || {
        (condition("reason") == "NamespaceTaken").then_some(())
    });
    assert!(
        condition("message").contains("everything"),
        "{}",
        condition("message")
    );
    server.kubectl("delete publication everything").succeeds();
    server
        .kubectl("wait publication/second --for=condition=Valid --timeout=20s")
        .succeeds();
    server
        .kubectl("wait publication/second --for=condition=Published --timeout=20s")
        .succeeds();
    let profiles = items(&server, PROFILES);
    let names: BTreeSet<String> = profiles.iter().map(name).collect();
    assert!(
        names.contains("cluster1") && !names.contains("cluster1.ocm"),
        "{names:?}"
    );
    let labels = &profiles[0]["metadata"]["labels"];
    assert_eq!(labels["multicluster.x-k8s.io/clusterset"], "blue");
    assert_eq!(labels["x-k8s.io/cluster-manager"], "mine");
    server.kubectl("delete publication second").succeeds();
    eventually("nothing to be published", || {
        let all = [PROFILES, DECISIONS].map(|what| items(&server, what));
        all.iter().all(Vec::is_empty).then_some(())
    });
}

#[test]
fn a_selector_of_targets_leaves_no_reference_without_a_profile() {
    let server = Server::start();
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    server.kubectl("create namespace kueue-system").succeeds();
    let none = "apiVersion: config.berth.dev/v1alpha1\nkind: Publication\nmetadata: {name: chosen}\n\
                spec: {namespace: kueue-system, targetSelector: {matchLabels: {published: \"yes\"}}}\n";
    server.kubectl("create -f -").input(none).succeeds();
    server
        .kubectl("wait publication/chosen --for=condition=Published --timeout=20s")
        .succeeds();
    let names = |what: &str| -> Vec<Value> {
        let list = server
            .kubectl(&format!("get {what} -n kueue-system -o json"))
            .json();
        list["items"].as_array().unwrap().clone()
    };
    assert_eq!(names(PROFILES), Vec::<Value>::new());
    let slices = names(DECISIONS);
    assert!(
        !slices.is_empty() && slices.iter().all(|slice| slice["decisions"] == json!([])),
        "{slices:?}"
    );
    let decided = server
        .kubectl("get decision placement.ocm -n story-1 -o jsonpath={.status.decisions[0].clusterName}")
        .succeeds();
    server
        .kubectl(&format!("label managedcluster {decided} published=yes"))
        .succeeds();
    let referred = eventually("the decision to show it", || {
        let slices = names(DECISIONS);
        let entries = slices
            .iter()
            .flat_map(|slice| slice["decisions"].as_array().unwrap().clone());
        let referred: Vec<Value> = entries.collect();
        (referred.len() == 1).then_some(referred)
    });
    assert_eq!(
        referred[0]["clusterProfileRef"]["name"].as_str().unwrap(),
        format!("{decided}.ocm")
    );
    assert_eq!(names(PROFILES).len(), 1);
}

/// The current profile of cluster1.
fn profile(server: &Server) -> Value {
    server
        .kubectl(&format!("get {PROFILES} cluster1.ocm -n argocd -o json"))
        .json()
}

fn patched(server: &Server, subresource: &str, patch: &Value) -> String {
    let patch = patch.to_string();
    let mut arguments = vec![
        "patch",
        PROFILES,
        "cluster1.ocm",
        "-n",
        "argocd",
        "--type=merge",
        "-p",
        &patch,
    ];
    if !subresource.is_empty() {
        arguments.push(subresource);
    }
    server.kubectl_args(&arguments).succeeds()
}

#[test]
fn what_others_write_stays_beside_what_berth_computes() {
    let mut server = published();
    let computed = profile(&server);
    patched(
        &server,
        "",
        &json!({"metadata": {
            "finalizers": ["consumer.example/finalizer"], "labels": {"team": "a"}, "annotations": {"seen": "yes"}}}),
    );
    let theirs = json!({"type": "Joined", "status": "True", "reason": "Accepted", "message": "",
                        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let access = json!({"name": "argo-cd-builtin-gcp", "cluster": {"server": "https://c1", "extensions": [
        {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "c1"}}]}});
    // As controllers write a status: completely, with their own fields and those that they read.
    let mut status = profile(&server)["status"].clone();
    status["conditions"].as_array_mut().unwrap().push(theirs.clone());
    match status["accessProviders"].as_array_mut() {
        Some(list) => list.push(access.clone()),
        None => status["accessProviders"] = json!([access]),
    }
    status["conditions"][0]["status"] = "Unknown".into();
    patched(&server, "--subresource=status", &json!({"status": status}));
    let check = |server: &Server| {
        let now = profile(server);
        assert_eq!(
            now["metadata"]["finalizers"],
            json!(["consumer.example/finalizer"])
        );
        assert_eq!(now["metadata"]["labels"]["team"], "a");
        assert_eq!(now["metadata"]["annotations"]["seen"], "yes");
        let conditions = now["status"]["conditions"].as_array().unwrap().clone();
        assert!(conditions.contains(&theirs), "{conditions:?}");
        assert!(
            conditions.contains(&computed["status"]["conditions"][0]),
            "{conditions:?} lacks what Berth said"
        );
        let providers = now["status"]["accessProviders"].as_array().unwrap().clone();
        assert!(providers.contains(&access), "{providers:?}");
        now
    };
    check(&server);
    // Berth continues to write its own fields.
    server
        .kubectl("label managedcluster cluster1 extra=yes")
        .succeeds();
    eventually("the cluster's new label", || {
        (profile(&server)["metadata"]["labels"]["extra"] == "yes").then_some(())
    });
    let before = check(&server);
    server.crash();
    server.restart();
    let after = check(&server);
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    let selected = server
        .kubectl(&format!("get {PROFILES} -n argocd -l team=a -o name"))
        .succeeds();
    assert_eq!(selected.lines().count(), 1, "{selected}");
}

#[test]
fn what_berth_computes_is_not_changed_by_others_and_no_write_of_theirs_makes_an_event() {
    let server = published();
    let before = profile(&server);
    let warned = server
        .kubectl_args(&[
            "patch", PROFILES, "cluster1.ocm", "-n", "argocd", "--type=merge", "-p",
            r#"{"spec": {"displayName": "mine"}, "metadata": {"labels": {"x-k8s.io/cluster-manager": "me"}}}"#,
        ])
        .run();
    assert!(
        warned.err.contains("changes to them are ignored"),
        "{}",
        warned.err
    );
    // A replacement of the whole status by another controller.
    patched(
        &server,
        "--subresource=status",
        &json!({"status": {"conditions": null, "properties": []}}),
    );
    assert_eq!(profile(&server), before, "nothing was written");
    let config = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": "cluster1.ocm", "namespace": "argocd"},
        "spec": {"displayName": "mine", "clusterManager": {"name": "berth"}},
    })
    .to_string();
    for force in ["--force-conflicts=false", "--force-conflicts"] {
        let refused = server
            .kubectl_args(&["apply", "--server-side", force, "-f", "-"])
            .input(&config)
            .fails();
        assert!(
            refused.contains("conflict with \"berth-publications\""),
            "{refused}"
        );
    }
    let refused = server
        .kubectl_args(&[
            "apply",
            "--server-side",
            "--field-manager=berth-publications",
            "-f",
            "-",
        ])
        .input(&config)
        .fails();
    assert!(
        refused.contains("only the user berth:scheduler may use the field manager"),
        "{refused}"
    );
    for write in [
        format!("delete {PROFILES} cluster1.ocm -n argocd"),
        format!("delete {DECISIONS} --all -n argocd"),
    ] {
        let refused = server.kubectl(&write).fails();
        assert!(
            refused.contains("MethodNotAllowed") || refused.contains("does not allow this method"),
            "{refused}"
        );
    }
    let new = config.replace("cluster1.ocm", "another");
    let refused = server
        .kubectl_args(&["apply", "--server-side", "-f", "-"])
        .input(&new)
        .fails();
    assert!(
        refused.contains("NotFound") || refused.contains("not found"),
        "{refused}"
    );
}

#[test]
fn no_object_that_is_not_berths_can_stand_where_one_is_published() {
    let server = Server::start();
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        server.load(&example(file));
    }
    server.kubectl("create namespace argocd").succeeds();
    let theirs = [
        json!({"kind": "ClusterProfile", "metadata": {"name": "cluster1.ocm", "namespace": "argocd"},
               "spec": {"displayName": "theirs", "clusterManager": {"name": "somebody"}}}),
        json!({"kind": "PlacementDecision", "metadata": {"name": "story-1.placement.ocm-0", "namespace": "argocd"},
               "decisions": [], "schedulerName": "somebody"}),
    ];
    for mut object in theirs {
        object["apiVersion"] = "multicluster.x-k8s.io/v1alpha1".into();
        let refused = server.kubectl("create -f -").input(object.to_string()).fails();
        assert!(
            refused.contains("MethodNotAllowed") || refused.contains("does not allow this method"),
            "{refused}"
        );
        let apply = server.kubectl("apply --server-side -f -");
        let refused = apply.input(object.to_string()).fails();
        assert!(refused.contains("not found"), "{refused}");
    }
    server.load(&example("consumers/publication.yaml"));
    server
        .kubectl("wait publication/everything --for=condition=Published --timeout=20s")
        .succeeds();
    // Berth's objects cannot become another's: their mark cannot be removed.
    for object in [
        format!("{PROFILES}/cluster1.ocm"),
        format!("{DECISIONS}/story-1.placement.ocm-0"),
    ] {
        let patch = r#"{"metadata": {"annotations": {"config.berth.dev/publication": null}}}"#;
        server
            .kubectl_args(&["patch", &object, "-n", "argocd", "--type=merge", "-p", patch])
            .succeeds();
        let now = server.kubectl(&format!("get {object} -n argocd -o json")).json();
        let mark = &now["metadata"]["annotations"]["config.berth.dev/publication"];
        assert_eq!(mark, "everything");
    }
}

#[test]
fn a_profile_whose_cluster_is_gone_waits_for_the_finalizers_of_others() {
    let server = published();
    patched(
        &server,
        "",
        &json!({"metadata": {"finalizers": ["consumer.example/finalizer"]}}),
    );
    let uid = profile(&server)["metadata"]["uid"].clone();
    server
        .kubectl("delete managedcluster cluster1 --wait=false")
        .succeeds();
    eventually("the profile to be on its way out", || {
        profile(&server)["metadata"]["deletionTimestamp"]
            .is_string()
            .then_some(())
    });
    // The cluster and its profile are created again, as another object after the first is deleted.
    server.load(&example("ocm/fleet.yaml"));
    let still = profile(&server);
    assert_eq!(still["metadata"]["uid"], uid);
    patched(&server, "", &json!({"metadata": {"finalizers": null}}));
    eventually("a new profile", || {
        let list = items(&server, PROFILES);
        let found = list.iter().find(|profile| name(profile) == "cluster1.ocm")?;
        (found["metadata"]["uid"] != uid).then_some(())
    });
}
