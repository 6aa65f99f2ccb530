//! openMCP: requests are granted, kept, repaired and released while clusters and configuration change.

mod release;
mod repair;

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

use super::{counted, decisions, event, patch};

/// Prefix of the finalizer on Clusters with the request that uses them.
const USE: &str = "request.clusters.openmcp.cloud/";

/// A SchedulerConfiguration with these `purposeMappings`, in YAML's flow form.
fn configure(server: &Server, purposes: &str) {
    let text = format!(
        "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: openmcp}}\n\
         spec:\n  autoBind: Controller\n  openmcp: {{scheduler: {{selectors: {{requests: {{matchExpressions: [{{key: hold, operator: DoesNotExist}}]}}}}, purposeMappings: {purposes}}}}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

const WORKLOAD: &str = "workload: {tenancyCount: 2, template: {spec: {profile: small, tenancy: Shared}}}";
const MCP: &str = "mcp: {template: {spec: {profile: small, tenancy: Exclusive}}}";
const PLATFORM: &str = "platform: {template: {spec: {profile: large, tenancy: Shared}}}";

/// Starts a server with the controllers on, a namespace `ns`, and these purposes; `fred` is in the
/// break-glass group.
fn server(purposes: &[&str]) -> Server {
    let server = Server::start_with(&["--break-glass-group", "firefighters"]);
    server.kubectl("create namespace ns").succeeds();
    configure(&server, &format!("{{{}}}", purposes.join(", ")));
    server
}

fn request_with(server: &Server, name: &str, metadata: &str, spec: &str) {
    let text = format!(
        "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\n\
         metadata: {{name: {name}, namespace: ns{metadata}}}\nspec: {{{spec}}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

fn request(server: &Server, name: &str, purpose: &str) {
    request_with(server, name, "", &format!("purpose: {purpose}"));
}

fn get(server: &Server, kind: &str, name: &str) -> Value {
    server.kubectl(&format!("-n ns get {kind} {name} -o json")).json()
}

/// The object, if it exists.
fn find(server: &Server, kind: &str, name: &str) -> Option<Value> {
    let text = server
        .kubectl(&format!("-n ns get {kind} {name} -o json --ignore-not-found"))
        .succeeds();
    (!text.trim().is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

/// The names of the Clusters in `ns`.
fn clusters(server: &Server) -> Vec<String> {
    let list = server.kubectl("-n ns get clusters -o json").json();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The name of the request's Cluster, if it is granted.
fn granted(server: &Server, name: &str) -> Option<String> {
    let request = get(server, "clusterrequest", name);
    let is_granted = request["status"]["phase"] == "Granted";
    let cluster = request["status"]["cluster"]["name"].as_str();
    is_granted.then(|| cluster.unwrap().to_owned())
}

/// Waits until the request is granted, and returns the name of its Cluster.
fn grant(server: &Server, name: &str) -> String {
    eventually(&format!("{name} to be granted"), || granted(server, name))
}

/// Waits until the request is Pending with `reason`, and returns the message of its condition.
fn pending(server: &Server, name: &str, reason: &str) -> String {
    eventually(&format!("{name} to be pending for {reason}"), || {
        let request = get(server, "clusterrequest", name);
        let conditions = request["status"]["conditions"].as_array()?;
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == "Scheduled")?;
        let is_so = request["status"]["phase"] == "Pending"
            && found["status"] == "False"
            && found["reason"] == reason;
        is_so.then(|| found["message"].as_str().unwrap().to_owned())
    })
}

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The finalizer of `request` on Clusters.
fn use_of(server: &Server, request: &str) -> String {
    let request = get(server, "clusterrequest", request);
    format!("{USE}{}", request["metadata"]["uid"].as_str().unwrap())
}

/// Creates a Cluster without a request.
fn cluster(server: &Server, name: &str, metadata: &str, purposes: &str) {
    let text = format!(
        "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}, namespace: ns{metadata}}}\n\
         spec: {{profile: small, tenancy: Shared, purposes: [{purposes}]}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

#[test]
fn requests_are_granted_clusters_that_are_made_and_filled() {
    let server = server(&[WORKLOAD]);
    request(&server, "one", "workload");
    let first = grant(&server, "one");
    assert!(first.starts_with("workload-"), "{first}");
    let made = get(&server, "cluster", &first);
    assert_eq!(finalizers(&made), [use_of(&server, "one")]);
    assert_eq!(made["spec"]["purposes"], json!(["workload"]));
    assert_eq!(
        made["metadata"]["labels"]["clusters.openmcp.cloud/delete-without-requests"],
        "true"
    );
    let one = get(&server, "clusterrequest", "one");
    assert_eq!(finalizers(&one), ["clusters.openmcp.cloud/request"]);
    assert_eq!(one["status"]["observedGeneration"], 1);
    let condition = &one["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"]),
        (&json!("Scheduled"), &json!("True"), &json!("Granted"))
    );
    let note = event(&server, "ns", "one", "Normal Scheduled");
    assert!(note.contains(&format!("ns/{first} is created")), "{note}");
    request(&server, "two", "workload");
    assert_eq!(grant(&server, "two"), first, "there is room for two");
    let note = event(&server, "ns", "two", "Normal Scheduled");
    assert!(note.ends_with(&format!("picked ns/{first}")), "{note}");
    request(&server, "three", "workload");
    let second = grant(&server, "three");
    assert_ne!(second, first);
    assert_eq!(clusters(&server).len(), 2);
    counted(&server, "openmcp", 3);
}

#[test]
fn a_pending_request_says_why_and_is_granted_when_the_configuration_allows_it() {
    let server = Server::start();
    server.kubectl("create namespace ns").succeeds();
    request(&server, "early", "workload");
    let note = event(&server, "ns", "early", "Warning FailedScheduling");
    assert!(note.starts_with("ConfigInvalid: "), "{note}");
    assert!(
        note.contains("create the SchedulerConfiguration"),
        "it says what to do: {note}"
    );
    configure(&server, &format!("{{{MCP}}}"));
    let why = pending(&server, "early", "UnknownPurpose");
    assert!(
        why.contains("\"workload\"") && why.contains("\"mcp\""),
        "the purposes there are: {why}"
    );
    let kind = eventually("the event to say so", || {
        let events = super::events(&server, "ns", "early");
        let found = events
            .into_iter()
            .find(|(_, note)| note.starts_with("UnknownPurpose: "));
        found.map(|(what, _)| what)
    });
    assert_eq!(kind, "Warning FailedScheduling");
    configure(&server, &format!("{{{MCP}, {WORKLOAD}}}"));
    let cluster = grant(&server, "early");
    assert!(cluster.starts_with("workload-"), "{cluster}");
    let request = get(&server, "clusterrequest", "early");
    assert_eq!(
        request["status"]["conditions"].as_array().unwrap().len(),
        1,
        "the condition is the same one: {request}"
    );
}

#[test]
fn a_request_in_conflict_is_granted_when_clusters_change() {
    let server = server(&[PLATFORM]);
    // A cluster with the name of a new one, and another purpose.
    cluster(&server, "platform", "", "other");
    request(&server, "waits", "platform");
    let why = pending(&server, "waits", "ClusterConflict");
    assert!(why.contains("ns/platform"), "{why}");
    let note = event(&server, "ns", "waits", "Warning FailedScheduling");
    assert!(note.starts_with("ClusterConflict: "), "{note}");
    // A feasible cluster is created.
    cluster(&server, "helps", "", "platform");
    assert_eq!(grant(&server, "waits"), "helps");
    // A cluster to which the purpose is added.
    let other = server.kubectl("create namespace far").run();
    assert!(other.success);
    let text = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: Cluster\nmetadata: {name: platform, namespace: far}\nspec: {profile: small, tenancy: Shared, purposes: [other]}\n---\n\
        apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: waits, namespace: far}\nspec: {purpose: platform}\n";
    server.kubectl("apply -f -").input(text).succeeds();
    eventually("the far one to be in conflict", || {
        let request = server.kubectl("-n far get clusterrequest waits -o json").json();
        (request["status"]["conditions"][0]["reason"] == "ClusterConflict").then_some(())
    });
    let purposes = r#"{"spec":{"purposes":["other","platform"]}}"#;
    patch(&server, "-n far cluster platform", purposes);
    eventually("the far one to be granted", || {
        let request = server.kubectl("-n far get clusterrequest waits -o json").json();
        (request["status"]["cluster"]["name"] == "platform").then_some(())
    });
    // And one whose name becomes available.
    let held = ", finalizers: [example.com/hold]";
    server.kubectl("create namespace last").succeeds();
    let text = format!(
        "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: Cluster\nmetadata: {{name: platform, namespace: last{held}}}\nspec: {{profile: small, tenancy: Shared, purposes: [platform]}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
    server
        .kubectl("-n last delete cluster platform --wait=false")
        .succeeds();
    let text = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: waits, namespace: last}\nspec: {purpose: platform}\n";
    server.kubectl("apply -f -").input(text).succeeds();
    eventually("the last one to be in conflict", || {
        let request = server.kubectl("-n last get clusterrequest waits -o json").json();
        (request["status"]["conditions"][0]["reason"] == "ClusterConflict").then_some(())
    });
    patch(
        &server,
        "-n last cluster platform",
        r#"{"metadata":{"finalizers":null}}"#,
    );
    eventually("the last one to be granted a new cluster", || {
        let request = server.kubectl("-n last get clusterrequest waits -o json").json();
        (request["status"]["cluster"]["name"] == "platform").then_some(())
    });
}

#[test]
fn what_concerns_no_waiting_request_costs_no_decision() {
    let server = server(&[WORKLOAD, MCP]);
    request(&server, "one", "workload");
    let cluster_name = grant(&server, "one");
    request_with(
        &server,
        "ignored",
        ", annotations: {openmcp.cloud/operation: ignore}",
        "purpose: workload",
    );
    request_with(&server, "held", ", labels: {hold: \"yes\"}", "purpose: workload");
    // A barrier: when it is granted, all of these have been processed.
    request(&server, "first", "mcp");
    grant(&server, "first");
    let before = eventually("the first ones to be counted", || {
        let count = decisions(&server, "openmcp");
        (count >= 4).then_some(count)
    });
    for name in ["ignored", "held"] {
        let request = get(&server, "clusterrequest", name);
        assert!(finalizers(&request).is_empty(), "{request}");
        assert!(request["status"]["phase"].is_null(), "{request}");
    }
    // A provider's status, an unused label, another cluster, a label of a request.
    for round in 0..3 {
        let status = format!(r#"{{"status":{{"observedGeneration":1,"phase":"Round{round}"}}}}"#);
        server
            .kubectl_args(&[
                "-n",
                "ns",
                "patch",
                "cluster",
                &cluster_name,
                "--subresource=status",
                "--type=merge",
                "-p",
                &status,
            ])
            .succeeds();
    }
    patch(
        &server,
        &format!("-n ns cluster {cluster_name}"),
        r#"{"metadata":{"labels":{"color":"blue"}}}"#,
    );
    patch(
        &server,
        "-n ns clusterrequest one",
        r#"{"metadata":{"labels":{"color":"blue"}}}"#,
    );
    cluster(&server, "spare", "", "workload");
    request(&server, "barrier", "mcp");
    grant(&server, "barrier");
    counted(&server, "openmcp", before + 1);
    // A request that was skipped is decided when it no longer is.
    server
        .kubectl("-n ns annotate clusterrequest ignored openmcp.cloud/operation-")
        .succeeds();
    assert!(grant(&server, "ignored").starts_with("spare"));
    server.kubectl("-n ns label clusterrequest held hold-").succeeds();
    grant(&server, "held");
    // And a manual trigger causes another decision of a granted request.
    let before = decisions(&server, "openmcp");
    server
        .kubectl("-n ns annotate clusterrequest one openmcp.cloud/operation=reconcile")
        .succeeds();
    eventually("the annotation to be taken off", || {
        let request = get(&server, "clusterrequest", "one");
        request["metadata"]["annotations"]["openmcp.cloud/operation"]
            .is_null()
            .then_some(())
    });
    counted(&server, "openmcp", before + 1);
}
