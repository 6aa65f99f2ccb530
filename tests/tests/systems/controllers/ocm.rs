//! OCM: decisions follow clusters, sets, bindings, scores and time.

mod time;

use std::path::{Path, PathBuf};

use berth_tests::{Server, eventually};

use super::{counted, decisions, event, events};

fn seed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/ocm").join(name)
}

/// Creates `clusters` in the set `all`, which is bound in the namespace `ns1`.
fn fleet(server: &Server, clusters: &[&str]) {
    let mut text = String::from(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns1}\n---\n\
         apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {name: all}\nspec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}\n---\n\
         apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {name: all, namespace: ns1}\nspec: {clusterSet: all}\n",
    );
    for cluster in clusters {
        text.push_str(&format!(
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {cluster}}}\n---\n\
             apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {cluster}}}\nspec: {{hubAcceptsClient: true}}\n"
        ));
    }
    server.kubectl("apply -f -").input(text).succeeds();
}

fn place(server: &Server, name: &str, spec: &str) {
    let text = format!(
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: ns1}}\nspec: {spec}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

fn decided(server: &Server, placement: &str) -> Vec<String> {
    let list = server
        .kubectl(&format!(
            "-n ns1 get placementdecisions -l cluster.open-cluster-management.io/placement={placement} -o json"
        ))
        .json();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .flat_map(|item| {
            item["status"]["decisions"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .filter_map(|decision| decision["clusterName"].as_str().map(str::to_owned))
        .collect()
}

fn becomes(server: &Server, placement: &str, clusters: &[&str]) {
    eventually(&format!("{placement} to be on {clusters:?}"), || {
        (decided(server, placement) == clusters).then_some(())
    });
}

fn patch(server: &Server, cluster: &str, patch: &str) {
    server
        .kubectl_args(&["patch", "managedcluster", cluster, "--type=merge", "-p", patch])
        .succeeds();
}

const TAINT: &str =
    r#"{"spec":{"taints":[{"key":"cluster.open-cluster-management.io/unavailable","effect":"NoSelect"}]}}"#;
const NO_TAINT: &str = r#"{"spec":{"taints":null}}"#;

#[test]
fn the_disaster_recovery_story_runs_by_itself() {
    let server = Server::start();
    fleet(&server, &["primary", "backup"]);
    server.load(&seed("score-primary.yaml"));
    server.load(&seed("score-backup.yaml"));
    let placement = seed("placement-recovery.yaml").display().to_string();
    server.kubectl_args(&["apply", "-f", &placement]).succeeds();
    becomes(&server, "placement", &["primary"]);
    patch(&server, "primary", TAINT);
    becomes(&server, "placement", &["backup"]);
    patch(&server, "primary", NO_TAINT);
    becomes(&server, "placement", &["primary"]);
    let made = event(&server, "ns1", "placement", "Normal DecisionCreate");
    assert_eq!(
        made,
        "PlacementDecision placement-decision-1 of placement placement was created: 1 cluster: primary"
    );
    let moved = eventually("both moves to be told", || {
        let recorded = events(&server, "ns1", "placement").into_iter();
        let moves: Vec<String> = recorded
            .filter(|(what, _)| what == "Normal DecisionUpdate")
            .map(|(_, note)| note)
            .collect();
        (moves.len() == 2).then_some(moves)
    });
    assert!(moved.iter().any(|note| note.ends_with(": backup")), "{moved:?}");
    let scores = event(&server, "ns1", "placement", "Normal ScoreUpdate");
    assert!(scores.contains("backup:"), "{scores}");
    let described = server.kubectl("-n ns1 describe placement placement").succeeds();
    assert!(described.contains("DecisionUpdate"), "{described}");
}

#[test]
fn every_change_that_matters_moves_decisions() {
    let server = Server::start();
    fleet(&server, &["a", "b"]);
    // No cluster is feasible yet: the condition and an event have the reason.
    place(
        &server,
        "p",
        "{numberOfClusters: 1, predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {tier: gold}}}}]}",
    );
    let why = event(&server, "ns1", "p", "Warning FailedScheduling");
    assert!(
        why.contains("NoManagedClusterMatched") && why.contains("No cluster fits: of 2 none has tier=gold"),
        "{why}"
    );
    // Labels of a cluster.
    patch(&server, "b", r#"{"metadata":{"labels":{"tier":"gold"}}}"#);
    becomes(&server, "p", &["b"]);
    // The placement itself.
    place(&server, "p", "{numberOfClusters: 2}");
    becomes(&server, "p", &["a", "b"]);
    // A new cluster.
    place(&server, "all", "{}");
    becomes(&server, "all", &["a", "b"]);
    fleet(&server, &["c"]);
    becomes(&server, "all", &["a", "b", "c"]);
    // A deleted cluster.
    server.kubectl("delete managedcluster c").succeeds();
    becomes(&server, "all", &["a", "b"]);
    // The set, and its binding.
    let set = r#"{"spec":{"clusterSelector":{"labelSelector":{"matchLabels":{"tier":"gold"}}}}}"#;
    server
        .kubectl_args(&["patch", "managedclusterset", "all", "--type=merge", "-p", set])
        .succeeds();
    becomes(&server, "all", &["b"]);
    server
        .kubectl("-n ns1 delete managedclustersetbinding all")
        .succeeds();
    becomes(&server, "all", &[]);
}

#[test]
fn a_score_moves_the_placements_that_use_it_and_no_others() {
    let server = Server::start();
    fleet(&server, &["a", "b"]);
    let by_score = "{numberOfClusters: 1, prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: free}}}]}}";
    place(&server, "scored", by_score);
    place(&server, "plain", "{numberOfClusters: 1}");
    becomes(&server, "scored", &["a"]);
    let score = |value: i64| {
        let text = format!(
            "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: b}}\nstatus: {{scores: [{{name: free, value: {value}}}]}}\n"
        );
        server.load(&server.file("score.yaml", &text));
    };
    score(50);
    becomes(&server, "scored", &["b"]);
    let before = decisions(&server, "ocm");
    score(60);
    // The barrier: when it is decided, all earlier work is done.
    place(&server, "barrier", "{numberOfClusters: 1}");
    eventually("the barrier to be decided", || {
        (!decided(&server, "barrier").is_empty()).then_some(())
    });
    eventually("the barrier to be counted", || {
        (decisions(&server, "ocm") >= before + 2).then_some(())
    });
    assert_eq!(
        decisions(&server, "ocm"),
        before + 2,
        "the scored one and the barrier"
    );
}

#[test]
fn heartbeats_and_own_writes_cost_no_decision() {
    let server = Server::start();
    fleet(&server, &["a", "b"]);
    place(&server, "p", "{}");
    becomes(&server, "p", &["a", "b"]);
    place(&server, "first", "{}");
    becomes(&server, "first", &["a", "b"]);
    let before = eventually("both to be counted", || {
        let count = decisions(&server, "ocm");
        (count >= 2).then_some(count)
    });
    for round in 0..5 {
        let status = format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: a}}\nspec: {{hubAcceptsClient: true}}\nstatus: {{conditions: [{{type: ManagedClusterConditionAvailable, status: \"True\", reason: Round{round}, message: alive, lastTransitionTime: \"2026-01-01T00:00:00Z\"}}]}}\n"
        );
        server.load(&server.file("heartbeat.yaml", &status));
    }
    place(&server, "barrier", "{}");
    becomes(&server, "barrier", &["a", "b"]);
    eventually("the barrier to be counted", || {
        (decisions(&server, "ocm") > before).then_some(())
    });
    assert_eq!(decisions(&server, "ocm"), before + 1);
}

#[test]
fn what_a_cluster_reports_moves_the_placements_that_go_by_it() {
    let server = Server::start();
    fleet(&server, &["a", "b"]);
    let by_cpu = "{numberOfClusters: 1, prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {builtIn: ResourceAllocatableCPU}}]}}";
    place(&server, "p", by_cpu);
    becomes(&server, "p", &["a"]);
    let report = |cluster: &str, cpu: u32| {
        let text = format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {cluster}}}\nspec: {{hubAcceptsClient: true}}\nstatus: {{allocatable: {{cpu: \"{cpu}\"}}, capacity: {{cpu: \"64\"}}}}\n"
        );
        server.load(&server.file("cluster.yaml", &text));
    };
    report("a", 8);
    report("b", 16);
    becomes(&server, "p", &["b"]);
    report("a", 32);
    becomes(&server, "p", &["a"]);
    // A claim that a predicate requires.
    place(
        &server,
        "claims",
        "{predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: zone, operator: In, values: [east]}]}}}]}",
    );
    becomes(&server, "claims", &[]);
    let text = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: b}\nspec: {hubAcceptsClient: true}\nstatus: {clusterClaims: [{name: zone, value: east}]}\n";
    server.load(&server.file("claims.yaml", text));
    becomes(&server, "claims", &["b"]);
}

#[test]
fn a_lost_decision_is_made_again_and_a_disabled_placement_left_alone() {
    let server = Server::start_with(&["--break-glass-group", "firefighters"]);
    fleet(&server, &["a", "b"]);
    place(&server, "p", "{numberOfClusters: 1}");
    place(&server, "q", "{numberOfClusters: 1}");
    becomes(&server, "p", &["a"]);
    let first = decided(&server, "q");
    let fred = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    server
        .kubectl_as(
            &fred,
            &["-n", "ns1", "delete", "placementdecision", "p-decision-1"],
        )
        .succeeds();
    becomes(&server, "p", &["a"]);
    let disable = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    server
        .kubectl(&format!("-n ns1 annotate placement q {disable}=true"))
        .succeeds();
    patch(&server, &first[0], TAINT);
    // The barrier: when it is decided, the other placement has been processed.
    place(&server, "barrier", "{numberOfClusters: 1}");
    eventually("the barrier to be decided", || {
        (decided(&server, "barrier").len() == 1).then_some(())
    });
    assert_eq!(decided(&server, "q"), first);
    server
        .kubectl(&format!("-n ns1 annotate placement q {disable}-"))
        .succeeds();
    eventually("it to move", || (decided(&server, "q") != first).then_some(()));
    // The deletion of a placement deletes its decisions.
    server.kubectl("-n ns1 delete placement q").succeeds();
    becomes(&server, "q", &[]);
    let left = server
        .kubectl("-n ns1 get placementdecisions -l cluster.open-cluster-management.io/placement=q -o name")
        .succeeds();
    assert_eq!(left, "");
}

#[test]
fn clusters_of_sets_that_nobody_binds_cost_no_decision() {
    let server = Server::start();
    fleet(&server, &["a"]);
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns2}\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: alone, namespace: ns2}\nspec: {}\n";
    server.kubectl("apply -f -").input(text).succeeds();
    let set = r#"{"spec":{"clusterSelector":{"labelSelector":{"matchLabels":{"fleet":"ns1"}}}}}"#;
    server
        .kubectl_args(&["patch", "managedclusterset", "all", "--type=merge", "-p", set])
        .succeeds();
    patch(&server, "a", r#"{"metadata":{"labels":{"fleet":"ns1"}}}"#);
    place(&server, "p", "{}");
    becomes(&server, "p", &["a"]);
    counted(&server, "ocm", 2);
    for change in [
        r#"{"metadata":{"labels":{"color":"blue"}}}"#,
        r#"{"metadata":{"labels":{"color":"red"}}}"#,
        TAINT,
    ] {
        fleet_cluster(&server, "outside");
        patch(&server, "outside", change);
    }
    place(&server, "barrier", "{}");
    becomes(&server, "barrier", &["a"]);
    counted(&server, "ocm", 3);
}

/// Creates another cluster, without a set.
fn fleet_cluster(server: &Server, name: &str) {
    let text = format!(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\nspec: {{hubAcceptsClient: true}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

#[test]
fn what_is_left_out_stays_and_is_mended_when_its_controller_runs_again() {
    let mut server = Server::start_with(&["--controllers=*,-ocm"]);
    fleet(&server, &["a", "b"]);
    place(&server, "p", "{numberOfClusters: 1}");
    assert_eq!(decided(&server, "p"), ["a"], "bound on create all the same");
    patch(&server, "a", TAINT);
    // The reviews show that the decision is out of date, and no controller updates it.
    let scheduling = server
        .kubectl(
            "-n ns1 get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/ns1/decisions/p.ocm/scheduling",
        )
        .json();
    assert_eq!(scheduling["status"]["picked"][0]["clusterName"], "b");
    assert_eq!(decided(&server, "p"), ["a"]);
    assert_eq!(decisions(&server, "ocm"), 0);
    server.crash();
    server.restart();
    becomes(&server, "p", &["b"]);
}

#[test]
fn an_unknown_controller_is_refused_by_name() {
    let output = std::process::Command::new(berth_tests::berth())
        .args([
            "serve",
            "--secure-port",
            "0",
            "--controllers=*,-nomad",
            "--data-dir",
        ])
        .arg(tempfile::tempdir().unwrap().path().join("data"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && text.contains("unknown controller \"-nomad\""),
        "{text}"
    );
}
