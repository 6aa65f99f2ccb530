//! A system that another scheduler decides (docs/beside.md), with kubectl: Berth's agreement, the actors, and
//! the metrics. The test simulates the other scheduler by writes of PlacementDecisions.

use std::process::Command;

use berth_tests::{Server, eventually, until};
use serde_json::{Value, json};

/// Starts a server with two clusters, the second with a taint, and a Placement that the other scheduler has
/// decided to be on the second.
fn hub() -> Server {
    let server = Server::start_with(&["--agreement-grace-period=2s"]);
    let configuration = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "ocm"},
        "spec": {"mode": "Observe"},
    });
    server
        .kubectl("create -f -")
        .input(configuration.to_string())
        .succeeds();
    let cluster = |name: &str, taints: &str| {
        format!(
            "---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}, labels: \
             {{cluster.open-cluster-management.io/clusterset: fleet}}}}\nspec: {{hubAcceptsClient: true, taints: {taints}}}\n"
        )
    };
    let text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: team}}\n---\napiVersion: \
         cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: fleet}}\n---\napiVersion: \
         cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{namespace: team, name: \
         fleet}}\nspec: {{clusterSet: fleet}}\n{}{}---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: \
         Placement\nmetadata: {{namespace: team, name: web}}\nspec: {{numberOfClusters: 1}}\n",
        cluster("good", "[]"),
        cluster("bad", "[{key: drain, effect: NoSelect}]"),
    );
    server.load(&server.file("hub.yaml", &text));
    server
}

/// Writes the other scheduler's decision of the Placement for `cluster`.
fn decide(server: &Server, cluster: &str) {
    let decision = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": "web-decision-1", "namespace": "team",
            "labels": {"cluster.open-cluster-management.io/placement": "web",
                       "cluster.open-cluster-management.io/decision-group-index": "0"}},
        "status": {"decisions": [{"clusterName": cluster, "reason": ""}]},
    });
    server
        .kubectl("apply --server-side --field-manager=placement -f -")
        .input(decision.to_string())
        .succeeds();
    server
        .kubectl("apply --server-side --field-manager=placement --subresource=status -f -")
        .input(decision.to_string())
        .succeeds();
}

fn decision(server: &Server) -> Value {
    server.kubectl("-n team get decision web.ocm -o json").json()
}

/// Status and reason of the condition Agrees.
fn agrees(decision: &Value) -> String {
    let conditions = decision["status"]["conditions"].as_array().unwrap();
    let condition = conditions.iter().find(|condition| condition["type"] == "Agrees");
    condition.map_or_else(String::new, |condition| {
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        format!("{} {}", text("status"), text("reason"))
    })
}

fn berth(server: &Server, words: &[&str]) -> String {
    let output = Command::new(berth_tests::berth())
        .args(words)
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "berth {words:?}: {err}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_another_scheduler_decided_is_told_with_what_berth_would_change_and_who_did_it() {
    let server = hub();
    decide(&server, "bad");
    let differs = until(
        "the two to differ",
        || decision(&server),
        |decision| agrees(decision) == "False Moved",
    );
    assert_eq!(
        differs["status"]["wouldChange"]["losses"][0]["clusterName"],
        "bad"
    );
    let list = |selector: &str| {
        let words =
            format!("-n team get decisions -o wide --no-headers --field-selector status.agrees={selector}");
        server.kubectl(&words).succeeds()
    };
    let listed = list("False");
    assert!(
        listed.contains("web.ocm") && listed.contains(" False "),
        "{listed}"
    );
    assert_eq!(list("True"), "");
    let metrics = server.kubectl("get --raw /metrics").succeeds();
    let counted = r#"berth_decisions{system="ocm",phase="Bound",agrees="False"} 1.0"#;
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    let compared = berth(&server, &["compare", "--agreement-grace-period=0s"]);
    assert!(
        compared.contains("0 decided the same, 1 differently"),
        "{compared}"
    );

    decide(&server, "good");
    server
        .kubectl("-n team wait --for=condition=Agrees decision/web.ocm --timeout=30s")
        .succeeds();
    let timeline = eventually("both decisions to be remembered", || {
        let timeline = berth(&server, &["history", "placement/web", "-n", "team"]);
        timeline.contains("Berth agrees").then_some(timeline)
    });
    for part in [
        "PlacementDecision team/web-decision-1 was updated with placement",
        "Berth would leave bad (TaintToleration/Untolerated: the taint drain:NoSelect is not tolerated) and take good",
    ] {
        assert!(timeline.contains(part), "{part}: {timeline}");
    }
    let records = "-n team get decisionrecords -o name --field-selector spec.agreement.status=False";
    assert_eq!(
        server.kubectl(records).succeeds().lines().count(),
        1,
        "{timeline}"
    );

    let mode = r#"{"spec":{"mode":"Decide"}}"#;
    server
        .kubectl_args(&[
            "patch",
            "schedulerconfiguration",
            "ocm",
            "--type=merge",
            "-p",
            mode,
        ])
        .succeeds();
    until(
        "nothing to be said of agreement",
        || decision(&server),
        |decision| agrees(decision).is_empty(),
    );
}
