//! kcp: namespaces are placed, adopted, drained and moved; their resources follow; locations and heartbeats
//! are reported.
//!
//! No syncer runs here: a client simulates it with its user.

mod clusters;
mod drained;
mod many;
mod moved;
mod placed;

use std::collections::BTreeMap;

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

use super::decisions;

/// The state label of the cluster with this identifier.
fn state_label(identifier: &str) -> String {
    format!("state.internal.workloads.kcp.dev/{identifier}")
}

fn deletion_annotation(identifier: &str) -> String {
    format!("deletion.internal.workloads.kcp.dev/{identifier}")
}

fn apply(server: &Server, objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    server.kubectl("apply -f -").input(list.to_string()).succeeds();
}

/// The location of the clusters of a region, with the region's name.
fn location(region: &str) -> Value {
    json!({
        "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location",
        "metadata": {"name": region, "labels": {"region": region, "cloud": "gcp"}},
        "spec": {
            "resource": {"group": "workloads.kcp.dev", "version": "v1alpha1", "resource": "workloadclusters"},
            "instanceSelector": {"matchLabels": {"region": region}},
        },
    })
}

/// Creates a ready cluster in `region`, and returns its identifier.
fn cluster(server: &Server, name: &str, region: &str) -> String {
    let object = json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": name, "labels": {"region": region}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    server.load(&server.file(&format!("{name}.yaml"), &object.to_string()));
    identifier(server, name)
}

fn identifier(server: &Server, name: &str) -> String {
    server
        .kubectl(&format!(
            "get workloadcluster {name} -o jsonpath={{.metadata.uid}}"
        ))
        .succeeds()
}

fn namespace(server: &Server, name: &str) {
    server.kubectl(&format!("create namespace {name}")).succeeds();
}

fn config_map(server: &Server, namespace: &str, name: &str) {
    server
        .kubectl(&format!(
            "-n {namespace} create configmap {name} --from-literal=a=b"
        ))
        .succeeds();
}

fn patch(server: &Server, what: &str, patch: &Value) {
    patch_as(server, &[], what, patch);
}

fn patch_as(server: &Server, who: &[&str], what: &str, patch: &Value) {
    let patch = patch.to_string();
    let mut arguments: Vec<&str> = who.to_vec();
    arguments.push("patch");
    arguments.extend(what.split_whitespace());
    arguments.extend(["--type=merge", "-p", &patch]);
    server.kubectl_args(&arguments).succeeds();
}

/// Patches `what` as the syncer of the cluster with this identifier.
fn as_syncer(server: &Server, identifier: &str, what: &str, change: &Value) {
    let user = format!("--as=berth:syncer:{identifier}");
    patch_as(server, &[&user, "--as-group=system:masters"], what, change);
}

/// Adds the syncer's finalizer to an object.
fn take(server: &Server, identifier: &str, what: &str) {
    let finalizer = format!("workloads.kcp.dev/syncer-{identifier}");
    as_syncer(
        server,
        identifier,
        what,
        &json!({"metadata": {"finalizers": [finalizer]}}),
    );
}

/// Removes the syncer's finalizer, state label and deletion annotation from an object, or from a
/// drained namespace.
fn let_go(server: &Server, identifier: &str, what: &str) {
    let change = json!({"metadata": {
        "finalizers": null,
        "labels": {state_label(identifier): null},
        "annotations": {deletion_annotation(identifier): null},
    }});
    as_syncer(server, identifier, what, &change);
}

fn get(server: &Server, what: &str) -> Value {
    server.kubectl(&format!("get {what} -o json")).json()
}

/// The states of a namespace's placement, by identifier.
fn placement(server: &Server, name: &str) -> BTreeMap<String, String> {
    let object = get(server, &format!("namespace {name}"));
    let text = object["metadata"]["annotations"]["scheduling.kcp.dev/placement"].as_str();
    let entries: BTreeMap<String, String> =
        serde_json::from_str(text.unwrap_or("{}")).expect("the placement is a JSON object of texts");
    let named = entries.into_iter().map(|(place, state)| {
        let identifier = place.rsplit('+').next().unwrap_or_default().to_owned();
        (identifier, state)
    });
    named.collect()
}

fn becomes(server: &Server, name: &str, states: &[(&str, &str)]) {
    let wanted: BTreeMap<String, String> = states
        .iter()
        .map(|(identifier, state)| ((*identifier).to_owned(), (*state).to_owned()))
        .collect();
    let mut seen = BTreeMap::new();
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually(&format!("{name} to be {wanted:?}"), || {
            seen = placement(server, name);
            (seen == wanted).then_some(())
        });
    }));
    if waited.is_err() {
        panic!("{name} is {seen:?}, not {wanted:?}");
    }
}

/// Waits until a namespace is bound, and returns its only cluster.
fn bound(server: &Server, name: &str) -> String {
    eventually(&format!("{name} to be bound"), || {
        let placed = placement(server, name);
        match placed.iter().next() {
            Some((identifier, state)) if placed.len() == 1 && state == "Bound" => Some(identifier.clone()),
            _ => None,
        }
    })
}

/// The state label of an object.
fn label(server: &Server, what: &str, identifier: &str) -> Option<String> {
    let object = get(server, what);
    object["metadata"]["labels"][state_label(identifier)]
        .as_str()
        .map(str::to_owned)
}

fn labelled(server: &Server, what: &str, identifier: &str, state: Option<&str>) {
    eventually(
        &format!("{what} to have the state {state:?} for {identifier}"),
        || (label(server, what, identifier).as_deref() == state).then_some(()),
    );
}

/// Waits until an object has a deletion annotation, and returns it.
fn stamped(server: &Server, what: &str, identifier: &str) -> String {
    eventually(&format!("{what} to be asked to leave {identifier}"), || {
        let object = get(server, what);
        object["metadata"]["annotations"][deletion_annotation(identifier)]
            .as_str()
            .map(str::to_owned)
    })
}

/// Number of steps of a reconciler so far, with any outcome.
fn steps(server: &Server, controller: &str) -> u64 {
    let series = format!("controller_reconciles_total{{dialect=\"kcp\",controller=\"{controller}\"");
    let text = server.kubectl("get --raw /metrics").succeeds();
    let lines = text.lines().filter(|line| line.starts_with(&series));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Creates a ConfigMap and waits until it has a label: all earlier work of its namespace has been done by
/// then.
fn barrier(server: &Server, namespace: &str, identifier: &str, name: &str) {
    config_map(server, namespace, name);
    labelled(
        server,
        &format!("configmap -n {namespace} {name}"),
        identifier,
        Some("Sync"),
    );
}

/// Creates a namespace and waits until it is bound: all earlier work has been decided by then.
fn namespace_barrier(server: &Server, name: &str) -> String {
    namespace(server, name);
    bound(server, name)
}

/// Sets kcp's part of the configuration to `spec`.
fn configure(server: &Server, spec: &Value) {
    let object = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
        "metadata": {"name": "kcp"}, "spec": {"kcp": spec},
    });
    apply(server, &[object]);
}

/// The condition of `type` of a workload cluster, as `<status> <reason>`.
fn condition(server: &Server, name: &str, kind: &str) -> String {
    let object = get(server, &format!("workloadcluster {name}"));
    let list = object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = list.iter().find(|condition| condition["type"] == kind);
    let text = |name: &str| {
        found
            .and_then(|found| found[name].as_str())
            .unwrap_or("-")
            .to_owned()
    };
    format!("{} {}", text("status"), text("reason"))
}
