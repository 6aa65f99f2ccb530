//! Server-side apply with the real `kubectl`, as users, pipelines and GitOps tools use it.

mod load;
mod prune;

use berth_tests::{Output, Server};
use serde_json::{Value, json};

fn manifest(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default}}\ndata: {{{data}}}\n")
}

fn apply(server: &Server, flags: &str, data: &str) -> Output {
    let command = format!("apply --server-side {flags} -f -");
    server.kubectl(&command).input(manifest(data)).run()
}

fn managers(server: &Server) -> Vec<Value> {
    let map = server.kubectl("get cm a -o json --show-managed-fields").json();
    let list = map["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter()
        .map(|entry| json!([entry["manager"], entry["operation"], entry["fieldsV1"]["f:data"]]))
        .collect()
}

#[test]
fn two_managers_apply_conflict_and_force() {
    let server = Server::start();
    let first = apply(&server, "--field-manager=platform", "color: blue, size: \"1\"");
    assert_eq!(
        (first.out.as_str(), first.success),
        ("configmap/a serverside-applied\n", true),
        "{}",
        first.err
    );
    let shared = apply(&server, "--field-manager=team", "color: blue, shape: round");
    assert!(shared.success, "{}", shared.err);
    let revision = || {
        server
            .kubectl("get cm a -o jsonpath={.metadata.resourceVersion}")
            .succeeds()
    };
    let before = revision();
    assert!(apply(&server, "--field-manager=team", "color: blue, shape: round").success);
    assert_eq!(revision(), before, "applying the same again writes nothing");
    let refused = apply(&server, "--field-manager=team", "color: red, shape: round");
    assert!(!refused.success);
    assert!(
        refused
            .err
            .contains("Apply failed with 1 conflict: conflict with \"platform\": .data.color")
            && refused
                .err
                .contains("Please review the fields above--they currently have other managers"),
        "{}",
        refused.err
    );
    let forced = apply(
        &server,
        "--field-manager=team --force-conflicts",
        "color: red, shape: round",
    );
    assert!(forced.success, "{}", forced.err);
    assert_eq!(
        managers(&server),
        [
            json!(["platform", "Apply", {"f:size": {}}]),
            json!(["team", "Apply", {"f:color": {}, "f:shape": {}}]),
        ]
    );
    // Fields that a manager leaves out are removed, and others' fields are kept.
    assert!(apply(&server, "--field-manager=team", "color: red").success);
    let map = server.kubectl("get cm a -o json").json();
    assert_eq!(map["data"], json!({"color": "red", "size": "1"}));
    assert!(map["metadata"].get("managedFields").is_none(), "get hides them");
}

#[test]
fn going_over_from_the_client_to_the_server_takes_everything_along() {
    let server = Server::start();
    let from_client = |data: &str| server.kubectl("apply -f -").input(manifest(data)).succeeds();
    assert_eq!(
        from_client("color: blue, size: \"1\", note: old"),
        "configmap/a created\n"
    );
    assert_eq!(managers(&server)[0][0], "kubectl-client-side-apply");
    // The missing field is removed by the migration, since it was kubectl's own.
    let over = apply(&server, "", "color: red, size: \"1\"");
    assert!(over.success, "{}", over.err);
    let map = server.kubectl("get cm a -o json").json();
    assert_eq!(map["data"], json!({"color": "red", "size": "1"}), "{}", over.err);
    assert_eq!(
        managers(&server),
        [
            // The annotation, for which kubectl has a separate manager.
            json!(["kubectl-last-applied", "Apply", null]),
            json!(["kubectl", "Apply", {"f:color": {}, "f:size": {}}]),
        ]
    );
    let last = server.kubectl("apply view-last-applied cm a -o json").json();
    assert_eq!(last["data"], json!({"color": "red", "size": "1"}));
    // And back: the annotation is up to date, so client-side apply knows which fields it may remove.
    assert_eq!(from_client("color: red"), "configmap/a configured\n");
    let map = server.kubectl("get cm a -o json").json();
    assert_eq!(map["data"], json!({"color": "red"}));
}

#[test]
fn a_server_side_diff_shows_what_an_apply_would_change_and_changes_nothing() {
    let server = Server::start();
    assert!(apply(&server, "", "color: blue, size: \"1\"").success);
    let before = server.kubectl("get cm a -o json --show-managed-fields").json();
    let diff = |flags: &str, data: &str| {
        let command = format!("diff --server-side {flags} -f -");
        server.kubectl(&command).input(manifest(data)).run()
    };
    let same = diff("", "color: blue, size: \"1\"");
    assert!(same.success && same.out.is_empty(), "{}{}", same.out, same.err);
    let other = diff("", "color: red, size: \"1\"");
    assert!(
        !other.success && other.out.contains("-  color: blue") && other.out.contains("+  color: red"),
        "{}{}",
        other.out,
        other.err
    );
    let foreign = diff("--field-manager=team", "color: red");
    assert!(
        foreign.err.contains("conflict with \"kubectl\""),
        "{}",
        foreign.err
    );
    assert_eq!(
        server.kubectl("get cm a -o json --show-managed-fields").json(),
        before
    );
}

#[test]
fn kubectls_other_writers_are_named_and_what_they_set_is_theirs() {
    let server = Server::start();
    server
        .kubectl("create configmap a --from-literal=color=blue")
        .succeeds();
    server.kubectl("label cm a tier=front").succeeds();
    let map = server.kubectl("get cm a -o json --show-managed-fields").json();
    let list = map["metadata"]["managedFields"].as_array().unwrap();
    let of = |name: &str| {
        let found = list.iter().find(|entry| entry["manager"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {list:?}"))["fieldsV1"].clone()
    };
    assert_eq!(of("kubectl-create"), json!({"f:data": {".": {}, "f:color": {}}}));
    assert_eq!(
        of("kubectl-label"),
        json!({"f:metadata": {"f:labels": {".": {}, "f:tier": {}}}})
    );
    let refused = apply(&server, "", "color: red");
    assert!(
        refused
            .err
            .contains("conflict with \"kubectl-create\" using v1: .data.color"),
        "{}",
        refused.err
    );
}

#[test]
fn an_unknown_field_and_a_wrong_type_are_refused_with_their_place() {
    let server = Server::start();
    let run = |text: &str| {
        server
            .kubectl("apply --server-side -f -")
            .input(text.to_owned())
            .run()
    };
    let unknown = run("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndate: {}\n");
    assert!(
        !unknown.success && unknown.err.contains(".date: field not declared in schema"),
        "{}",
        unknown.err
    );
    let typed =
        run("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {a: 1}\n");
    assert!(
        !typed.success && typed.err.contains(".data.a: expected string, got 1"),
        "{}",
        typed.err
    );
    assert!(server.kubectl("get cm a").fails().contains("NotFound"));
}

#[test]
fn the_systems_own_kinds_are_applied_and_schedulers_own_what_they_decide() {
    let server = Server::start();
    let seed = |taints: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: east, labels: {{tier: gold}}}}\n\
             spec: {{hubAcceptsClient: true{taints}}}\n"
        )
    };
    let run = |flags: &str, text: String| {
        let command = format!("apply --server-side {flags} -f -");
        server.kubectl(&command).input(text).run()
    };
    let made = run("--field-manager=git", seed(""));
    assert!(made.success, "{}", made.err);
    let tainted = run(
        "--field-manager=ops",
        seed(", taints: [{key: a, effect: NoSelect}]"),
    );
    assert!(tainted.success, "{}", tainted.err);
    assert!(run("--field-manager=git", seed("")).success);
    let cluster = server
        .kubectl("get managedcluster east -o json --show-managed-fields")
        .json();
    assert_eq!(cluster["spec"]["taints"][0]["key"], "a");
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p, namespace: default}\nspec: {numberOfClusters: 1}\n";
    let placed = run("--field-manager=git", placement.to_owned());
    assert!(placed.success, "{}", placed.err);
    berth_tests::eventually("the scheduler writes the status of the placement", || {
        let placement = server
            .kubectl("-n default get placements.cluster.open-cluster-management.io p -o json --show-managed-fields")
            .json();
        let list = placement["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut entries = list.iter();
        entries
            .any(|entry| entry["manager"] == "berth-ocm-scheduler" && entry["subresource"] == "status")
            .then_some(())
    });
    let again = run("--field-manager=git", placement.to_owned());
    assert!(again.success, "{}", again.err);
}
