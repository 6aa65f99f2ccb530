//! OCM's user stories 1 to 4, with the proposal's own YAML, through `kubectl` and `berth load`.

use std::path::{Path, PathBuf};

use berth_tests::{Server, eventually};

fn seed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/ocm").join(name)
}

/// Starts a server with `clusters`, all in the set `all`, which is bound in namespace `ns1`; one namespace
/// per cluster.
fn fleet(clusters: &[&str]) -> Server {
    let server = Server::start();
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
    let applied = server.kubectl("apply -f -").input(text).succeeds();
    assert!(
        applied.contains("managedclusterset.cluster.open-cluster-management.io/all created"),
        "{applied}"
    );
    server
}

fn score(server: &Server, cluster: &str, name: &str, value: i32, valid_until: Option<&str>) {
    let until = valid_until
        .map(|at| format!("  validUntil: \"{at}\"\n"))
        .unwrap_or_default();
    let text = format!(
        "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: {cluster}}}\nstatus:\n{until}  scores:\n  - {{name: {name}, value: {value}}}\n"
    );
    server.load(&server.file("score.yaml", &text));
}

/// Binds `ns1/placement`, and returns the clusters of its PlacementDecisions.
fn bind(server: &Server) -> Vec<String> {
    let binding = "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {name: placement.ocm, namespace: ns1}\n";
    server.kubectl("create -f -").input(binding).succeeds();
    decided(server)
}

fn decided(server: &Server) -> Vec<String> {
    let list = server
        .kubectl(
            "-n ns1 get placementdecisions -l cluster.open-cluster-management.io/placement=placement -o json",
        )
        .json();
    let items = list["items"].as_array().unwrap().clone();
    items
        .iter()
        .flat_map(|item| {
            item["status"]["decisions"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .map(|decision| decision["clusterName"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn story_1_data_pushed_from_each_cluster_selects_clusters() {
    let server = fleet(&["cluster1", "cluster2", "cluster3", "cluster4"]);
    for (cluster, value) in [
        ("cluster1", 10),
        ("cluster2", 80),
        ("cluster3", 60),
        ("cluster4", 70),
    ] {
        score(&server, cluster, "cpuratio", value, None);
    }
    server
        .kubectl_args(&[
            "apply",
            "-f",
            &seed("placement-steady.yaml").display().to_string(),
        ])
        .succeeds();
    assert_eq!(bind(&server), ["cluster2", "cluster3", "cluster4"]);
    let placement = server.kubectl("-n ns1 get placement placement -o json").json();
    assert_eq!(placement["status"]["numberOfSelectedClusters"], 3);
    let conditions = placement["status"]["conditions"].as_array().unwrap();
    let satisfied = conditions
        .iter()
        .find(|condition| condition["type"] == "PlacementSatisfied")
        .unwrap();
    assert_eq!(satisfied["reason"], "AllDecisionsScheduled");
    assert!(
        server
            .kubectl("-n ns1 get placements")
            .succeeds()
            .contains("AllDecisionsScheduled")
    );
    // A better score on another cluster does not outweigh Steady at weight 3.
    score(&server, "cluster1", "cpuratio", 100, None);
    assert_eq!(bind(&server), ["cluster2", "cluster3", "cluster4"]);
}

#[test]
fn story_2_metrics_on_the_hub_select_the_best_and_the_worst() {
    let server = fleet(&["cluster1", "cluster2", "cluster3", "cluster4", "cluster5"]);
    server.load(&seed("score-cluster1.yaml"));
    for (cluster, value) in [
        ("cluster2", -5),
        ("cluster3", 60),
        ("cluster4", 70),
        ("cluster5", 12),
    ] {
        score(&server, cluster, "cpuratio", value, None);
    }
    server
        .kubectl_args(&["apply", "-f", &seed("placement-most.yaml").display().to_string()])
        .succeeds();
    // The seed's score for cluster1 (88) is from 2021 and has expired: it counts 0.
    assert_eq!(bind(&server), ["cluster3", "cluster4", "cluster5"]);
    server
        .kubectl_args(&["apply", "-f", &seed("placement-least.yaml").display().to_string()])
        .succeeds();
    assert_eq!(bind(&server), ["cluster2"]);
}

#[test]
fn story_3_a_tainted_primary_hands_over_to_the_backup_and_back() {
    let server = fleet(&["primary", "backup"]);
    server.load(&seed("score-primary.yaml"));
    server.load(&seed("score-backup.yaml"));
    server
        .kubectl_args(&[
            "apply",
            "-f",
            &seed("placement-recovery.yaml").display().to_string(),
        ])
        .succeeds();
    assert_eq!(bind(&server), ["primary"]);
    let taint = r#"{"spec":{"taints":[{"key":"cluster.open-cluster-management.io/unavailable","effect":"NoSelect"}]}}"#;
    server
        .kubectl_args(&["patch", "managedcluster", "primary", "--type=merge", "-p", taint])
        .succeeds();
    assert_eq!(bind(&server), ["backup"]);
    server
        .kubectl_args(&[
            "patch",
            "managedcluster",
            "primary",
            "--type=merge",
            "-p",
            r#"{"spec":{"taints":null}}"#,
        ])
        .succeeds();
    assert_eq!(bind(&server), ["primary"]);
}

#[test]
fn story_4_scores_of_a_third_party_select_among_the_clusters_that_have_them() {
    let server = fleet(&["cluster1", "cluster2", "cluster3", "cluster4"]);
    score(&server, "cluster2", "cpuratio", 40, Some("2999-01-01T00:00:00Z"));
    score(&server, "cluster3", "cpuratio", -1, None);
    server
        .kubectl_args(&["apply", "-f", &seed("placement-most.yaml").display().to_string()])
        .succeeds();
    // A missing score is 0, which is above -1, and ties are resolved by name.
    assert_eq!(bind(&server), ["cluster1", "cluster2", "cluster4"]);
    server.kubectl("-n ns1 delete placement placement").succeeds();
    berth_tests::eventually("the decisions to go with their placement", || {
        decided(&server).is_empty().then_some(())
    });
}

#[test]
fn the_seeds_template_with_a_wrong_field_is_refused() {
    let server = fleet(&["cluster1"]);
    let text = std::fs::read_to_string(seed("score-template-invalid.yaml")).unwrap();
    let refused = server
        .kubectl("apply -f -")
        .input(text.replace("{managed cluster namespace}", "cluster1"))
        .fails();
    assert!(
        refused.contains("unknown field \"status.scores[1].prioritizer\""),
        "{refused}"
    );
}

#[test]
fn the_sets_default_and_global_are_there_on_a_server_that_nobody_gave_them() {
    let server = Server::start();
    let sets = server.kubectl("get managedclustersets -o name").succeeds();
    for set in ["default", "global"] {
        let name = format!("managedclusterset.cluster.open-cluster-management.io/{set}\n");
        assert!(sets.contains(&name), "{sets}");
    }
    let group = "apiVersion: cluster.open-cluster-management.io";
    let mut text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: ns1}}\n---\n\
         {group}/v1\nkind: ManagedCluster\nmetadata: {{name: cluster1}}\nspec: {{hubAcceptsClient: true}}\n"
    );
    for set in ["default", "global"] {
        text.push_str(&format!(
            "---\n{group}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: {set}, namespace: ns1}}\nspec: {{clusterSet: {set}}}\n\
             ---\n{group}/v1beta1\nkind: Placement\nmetadata: {{name: by-{set}, namespace: ns1}}\nspec: {{clusterSets: [{set}]}}\n"
        ));
    }
    server.kubectl("apply -f -").input(text).succeeds();
    for set in ["default", "global"] {
        let path = format!("-n ns1 get placement by-{set} -o jsonpath={{.status.numberOfSelectedClusters}}");
        eventually("the cluster is selected", || {
            (server.kubectl(&path).succeeds().trim() == "1").then_some(())
        });
    }
    // A deleted one is created again at a restart.
    server.kubectl("delete managedclusterset global").succeeds();
    let mut server = server;
    server.crash();
    server.restart();
    server.kubectl("get managedclusterset global").succeeds();
}

#[test]
fn a_placement_whose_expression_never_ends_stops_no_start_and_can_be_deleted() {
    let mut server = fleet(&["cluster1"]);
    let a = "a".repeat(100);
    let poison = format!("'{a}'{}.size() > 0", format!(".replace('a','{a}')").repeat(5));
    let placement = |name: &str, expression: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: ns1}}\n\
             spec: {{predicates: [{{requiredClusterSelector: {{celSelector: {{celExpressions: [\"{expression}\"]}}}}}}]}}\n"
        )
    };
    server
        .kubectl("apply -f -")
        .input(placement("poison", &poison))
        .succeeds();
    server
        .kubectl("apply -f -")
        .input(placement("placement", "true"))
        .succeeds();
    let condition = |server: &Server| {
        eventually(
            "the placement to be decided, with what its expression costs",
            || {
                let shown = server.kubectl("-n ns1 get placement poison -o json").json();
                let text = shown["status"]["conditions"].to_string();
                let why = server
                    .kubectl("-n ns1 get decision poison.ocm --subresource=scheduling -o json")
                    .succeeds();
                (text.contains("PlacementSatisfied") && why.contains("actual cost limit exceeded"))
                    .then_some(())
            },
        );
    };
    condition(&server);

    server.crash();
    server.restart();
    condition(&server);
    assert_eq!(bind(&server), ["cluster1"], "others are decided");
    server.kubectl("-n ns1 delete placement poison").succeeds();
    let left = server.kubectl("-n ns1 get placements -o name").succeeds();
    assert!(!left.contains("poison"), "{left}");
}
