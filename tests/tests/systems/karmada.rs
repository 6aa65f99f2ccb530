//! Karmada with kubectl: bindings and replicas from templates and policies; explanations, the guard, and
//! simulated changes.

use std::process::Command;

use berth_tests::example::example;
use berth_tests::{Server, eventually};
use serde_json::{Value, json};

/// Starts a server with the example's clusters, without automatic binding.
fn server(files: &[&str]) -> Server {
    let server = Server::start();
    server.bind_by_hand(&["karmada"]);
    for file in ["fleet.yaml"].iter().chain(files) {
        let path = format!("karmada/{file}");
        server.load(&server.file(&path.replace('/', "-"), &example(&path)));
    }
    server
}

/// Waits until the detector has created the binding of the Deployment `template`, and returns it.
fn binding(server: &Server, template: &str) -> Value {
    eventually(&format!("the binding of {template}"), || {
        let words =
            format!("-n retail get rb.work.karmada.io {template}-deployment -o json --ignore-not-found");
        let text = server.kubectl(&words).succeeds();
        (!text.trim().is_empty()).then(|| serde_json::from_str(&text).expect("kubectl prints JSON"))
    })
}

/// Binds the decision of the Deployment `template`.
fn bind(server: &Server, template: &str) {
    binding(server, template);
    let text = format!(
        "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {{namespace: retail, name: \
         {template}-deployment.karmada}}\n"
    );
    server.kubectl("create -f -").input(text).succeeds();
}

/// `name:replicas` of every cluster of the Deployment `template`.
fn divided(server: &Server, template: &str) -> Vec<String> {
    let binding = binding(server, template);
    let clusters = binding["spec"]["clusters"].as_array().into_iter().flatten();
    clusters
        .map(|cluster| {
            format!(
                "{}:{}",
                cluster["name"].as_str().expect("a name"),
                cluster["replicas"]
            )
        })
        .collect()
}

/// Output of `berth` as the administrator.
fn berth(server: &Server, arguments: &str) -> String {
    let output = Command::new(berth_tests::berth())
        .args(arguments.split_whitespace())
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .expect("berth runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{arguments}: {errors}"
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_policy_and_a_deployment_become_a_binding_whose_replicas_are_divided_and_explained() {
    let server = server(&["divided.yaml"]);
    let made = binding(&server, "web");
    assert_eq!(made["spec"]["replicas"], 12);
    assert_eq!(
        made["spec"]["replicaRequirements"],
        json!({"resourceRequest": {"cpu": "500m"}})
    );
    let report = "-n retail get decision web-deployment.karmada --subresource=scheduling -o json";
    let status = server.kubectl(report).json()["status"].clone();
    assert_eq!(status["outcome"], "Scheduled");
    assert_eq!(
        status["amount"],
        json!({"name": "replicas", "wanted": 12, "placed": 12})
    );
    bind(&server, "web");
    assert_eq!(
        divided(&server, "web"),
        ["frankfurt:5", "oregon:5", "singapore:2"]
    );
    let decisions = server.kubectl("-n retail get decisions -o wide").succeeds();
    assert!(
        decisions.contains("12 of 12 replicas: frankfurt:5"),
        "{decisions}"
    );
    let candidates = server
        .kubectl("-n retail get candidates -o wide --field-selector decision=web-deployment.karmada")
        .succeeds();
    assert!(
        candidates.lines().next().expect("a heading").contains("AMOUNT"),
        "{candidates}"
    );
    let why = berth(&server, "why deployment/web -n retail");
    assert!(why.contains("REPLICAS") && why.contains("frankfurt"), "{why}");
    // The deletion of the Deployment deletes its binding.
    server.kubectl("-n retail delete deployment web").succeeds();
    eventually("the binding to go", || {
        let gone = "-n retail get rb.work.karmada.io -o name";
        server.kubectl(gone).succeeds().trim().is_empty().then_some(())
    });
}

#[test]
fn a_group_that_is_full_gives_way_and_a_cordoned_cluster_keeps_what_it_has() {
    let server = server(&["groups.yaml", "ledger.yaml"]);
    binding(&server, "orders");
    let report = "-n retail get decision orders-deployment.karmada --subresource=scheduling -o json";
    let message = server.kubectl(report).json()["status"]["message"].to_string();
    assert!(
        message.contains("group \\\"europe\\\": 10 replicas are wanted"),
        "{message}"
    );
    bind(&server, "orders");
    assert_eq!(divided(&server, "orders"), ["oregon:7", "singapore:3"]);
    bind(&server, "ledger");
    assert_eq!(divided(&server, "ledger"), ["frankfurt:6"]);
    let cordon = r#"{"spec":{"taints":[{"key":"cluster.karmada.io/unschedulable","effect":"NoSchedule"}]}}"#;
    let words = [
        "patch",
        "cluster.cluster.karmada.io",
        "frankfurt",
        "--type=merge",
        "-p",
        cordon,
    ];
    server.kubectl_args(&words).succeeds();
    let report = "-n retail get decision ledger-deployment.karmada --subresource=scheduling -o json";
    let status = eventually("the taint to be seen", || {
        let status = server.kubectl(report).json()["status"].clone();
        let message = status["message"].as_str().unwrap_or_default();
        message
            .contains("nothing makes Karmada decide again")
            .then_some(status)
    });
    assert_eq!(status["outcome"], "Unchanged");
    assert_eq!(status["writes"], json!([]));
}

#[test]
fn a_plan_says_what_more_replicas_and_another_policy_would_do() {
    let server = server(&["divided.yaml"]);
    bind(&server, "web");
    let scaled = example("karmada/divided.yaml").replace("replicas: 12", "replicas: 16");
    let scaled = scaled.split("---\n").nth(1).expect("the Deployment");
    let file = server.file("scaled.yaml", scaled);
    let plan = berth(&server, &format!("plan -f {}", file.display()));
    // The uid of the Deployment selects which of two clusters with equal room gets the last replica.
    assert!(
        plan.contains("web-deployment.karmada") && plan.contains("5 → 7") && plan.contains("singapore 2 → 3"),
        "{plan}"
    );
    let edited = example("karmada/divided.yaml").replace(
        "  placement:\n",
        "  placement:\n    clusterAffinity: {exclude: [singapore]}\n",
    );
    let edited = edited.split("---\n").next().expect("the policy");
    let file = server.file("policy.yaml", edited);
    let plan = berth(&server, &format!("plan -f {}", file.display()));
    let line = plan.lines().find(|line| line.contains("web-deployment.karmada"));
    assert!(line.is_some_and(|line| line.contains("singapore")), "{plan}");
    // It had no effect.
    assert_eq!(
        divided(&server, "web"),
        ["frankfurt:5", "oregon:5", "singapore:2"]
    );
    // The same with files, without a server.
    let simulated = Command::new(berth_tests::berth())
        .args(["simulate", "-f"])
        .arg(server.file("fleet.yaml", &example("karmada/fleet.yaml")))
        .arg("-f")
        .arg(server.file("divided.yaml", &example("karmada/divided.yaml")))
        .output()
        .expect("berth runs");
    let table = String::from_utf8_lossy(&simulated.stdout);
    assert!(
        table.contains("web-deployment") && table.contains("REPLICAS"),
        "{table}"
    );
}

#[test]
fn nobody_but_the_scheduler_writes_where_a_template_goes() {
    let server = server(&["divided.yaml"]);
    bind(&server, "web");
    let patch = |text: &str| {
        let words = [
            "-n",
            "retail",
            "patch",
            "rb.work.karmada.io",
            "web-deployment",
            "--type=merge",
            "-p",
            text,
        ];
        server.kubectl_args(&words)
    };
    let refused = patch(r#"{"spec":{"clusters":[{"name":"oregon","replicas":12}]}}"#).fails();
    assert!(
        refused.contains(
            "spec.clusters: Forbidden: it holds the scheduler's decision, which only berth:scheduler writes"
        ),
        "{refused}"
    );
    let noted = r#"{"metadata":{"annotations":{"policy.karmada.io/applied-placement":"{}"}}}"#;
    assert!(
        patch(noted).fails().contains("applied-placement"),
        "the note is the scheduler's, too"
    );
    patch(r#"{"spec":{"suspension":{"scheduling":true}}}"#).succeeds();
    let short = server.kubectl("get pp,cpp -A -o name").succeeds();
    assert!(
        short.contains("propagationpolicy.policy.karmada.io/web"),
        "{short}"
    );
}

#[test]
fn a_stateful_set_and_a_job_are_divided_too() {
    let server = server(&[]);
    let text = r#"
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: StatefulSet}
  - {apiVersion: batch/v1, kind: Job}
  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: retail}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "db:1"}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sum, namespace: retail}
spec:
  completions: 4
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: sum, image: "sum:1"}]}}
"#;
    server.kubectl("apply -f -").input(text).succeeds();
    for (name, replicas) in [("db-statefulset", 3), ("sum-job", 2)] {
        let words = format!("-n retail get rb.work.karmada.io {name} -o json --ignore-not-found");
        let made = eventually(name, || {
            serde_json::from_str::<Value>(&server.kubectl(&words).succeeds()).ok()
        });
        assert_eq!(made["spec"]["replicas"], replicas, "{made}");
    }
    let table = server.kubectl("-n retail get statefulsets,jobs").succeeds();
    assert!(table.contains("0/3") && table.contains("0/4"), "{table}");
}
