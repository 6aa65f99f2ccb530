//! The history of decisions (docs/reference.md, "History"): records of bindings, drains and deletions, the
//! right to read them, their retention, and their durability across restarts.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::{Server, eventually, until};
use serde_json::{Value, json};

const API: &str = "/apis/scheduling.berth.dev/v1alpha1";

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

/// Creates two ready clusters in one set, which is bound to the namespace `team`.
fn fleet(server: &Server) {
    let cluster = |name: &str| {
        format!(
            "---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}, labels: \
             {{cluster.open-cluster-management.io/clusterset: fleet}}}}\nspec: {{hubAcceptsClient: true}}\nstatus:\n  \
             conditions:\n  - {{type: ManagedClusterConditionAvailable, status: \"True\", reason: R, message: m, \
             lastTransitionTime: \"2026-01-01T00:00:00Z\"}}\n"
        )
    };
    let text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: team}}\n---\napiVersion: \
         cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: fleet}}\n---\napiVersion: \
         cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{namespace: team, name: \
         fleet}}\nspec: {{clusterSet: fleet}}\n{}{}",
        cluster("one"),
        cluster("two")
    );
    server.load(&server.file("fleet.yaml", &text));
}

fn place(server: &Server, name: &str) {
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"namespace": "team", "name": name}, "spec": {"numberOfClusters": 1},
    });
    server
        .kubectl("create -f -")
        .input(placement.to_string())
        .succeeds();
}

fn taint(server: &Server, cluster: &str, taints: &Value) {
    let patch = json!({"spec": {"taints": taints}}).to_string();
    let words = ["patch", "managedcluster", cluster, "--type=merge", "-p", &patch];
    server.kubectl_args(&words).succeeds();
}

fn history(server: &Server, decision: &str) -> Value {
    server
        .kubectl(&format!(
            "get --raw {API}/namespaces/team/decisions/{decision}/history"
        ))
        .json()
}

fn records(server: &Server, decision: &str) -> Vec<Value> {
    let mut history = history(server, decision);
    match history["status"]["records"].take() {
        Value::Array(records) => records,
        other => panic!("no list of records: {other}"),
    }
}

/// Waits until there are `count` records of `decision`, and returns them.
fn recorded(server: &Server, decision: &str, count: usize) -> Vec<Value> {
    let ask = || records(server, decision);
    until(&format!("{count} records of {decision}"), ask, |records| {
        records.len() == count
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
fn each_change_is_recorded_with_its_cause_and_what_the_scheduler_said() {
    let server = Server::start();
    fleet(&server);
    let mut watch = server
        .kubectl("-n team get decisionrecords --watch --no-headers")
        .spawn();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    place(&server, "p");
    recorded(&server, "p.ocm", 1);
    taint(&server, "one", &json!([{"key": "drain", "effect": "NoSelect"}]));
    recorded(&server, "p.ocm", 2);
    taint(&server, "two", &json!([{"key": "drain", "effect": "NoSelect"}]));
    recorded(&server, "p.ocm", 3);
    taint(&server, "one", &json!([]));
    recorded(&server, "p.ocm", 4);
    server.kubectl("-n team delete placement p").succeeds();
    let records = recorded(&server, "p.ocm", 5);

    let summary = |record: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let cause = &record["cause"];
        let moved = record["clusters"].as_array().unwrap().iter();
        let moved: Vec<String> = moved
            .map(|cluster| format!("{} {}", text(&cluster["change"]), text(&cluster["clusterName"])))
            .collect();
        [
            text(&record["change"]),
            text(&record["to"]["phase"]),
            moved.join(", "),
            format!(
                "{} {} {}",
                text(&cause["kind"]),
                text(&cause["name"]),
                text(&cause["verb"])
            ),
            text(&record["actor"]["user"]),
        ]
        .join(" | ")
    };
    let all: Vec<String> = records.iter().map(summary).collect();
    assert_eq!(
        all,
        [
            "Bound | Bound | Joined one | Placement p Created | berth:scheduler",
            "Moved | Bound | Joined two, Left one | ManagedCluster one Updated | berth:scheduler",
            "Lost | Unschedulable | Left two | ManagedCluster two Updated | berth:scheduler",
            "Fits | Bound | Joined one | ManagedCluster one Updated | berth:scheduler",
            "Removed | - | Left one | Placement p Deleted | -",
        ]
    );
    let moved = &records[1];
    assert_eq!(moved["cause"]["fieldManager"], "kubectl-patch");
    let version = server
        .kubectl("get managedcluster two -o jsonpath={.metadata.resourceVersion}")
        .succeeds();
    assert_eq!(records[2]["cause"]["resourceVersion"], version.trim());
    assert_eq!(moved["clusters"][1]["rejections"][0]["reason"], "Untolerated");
    assert_eq!(
        moved["reasons"],
        json!([{"plugin": "TaintToleration", "reason": "Untolerated", "from": 0, "to": 1}])
    );
    assert_eq!(records[2]["reasons"][0]["to"], 2);

    for selector in [
        "-l decision=p.ocm",
        "-l system=ocm",
        "--field-selector decision=p.ocm",
        "--field-selector system=ocm,spec.decision=p.ocm",
    ] {
        let table = server
            .kubectl(&format!("-n team get decisionrecords {selector} --no-headers"))
            .succeeds();
        assert_eq!(table.lines().count(), 5, "{selector}:\n{table}");
    }
    let table = server
        .kubectl(
            "-n team get decisionrecords --field-selector spec.change=Moved,spec.cause.name=one --no-headers",
        )
        .succeeds();
    let cells: Vec<&str> = table.split_whitespace().take(8).collect();
    assert_eq!(
        cells,
        [
            "p.ocm",
            "Moved",
            "Bound",
            "+two",
            "-one",
            "ManagedCluster",
            "one",
            "Updated"
        ]
    );
    for expected in ["Bound", "Moved", "Lost", "Fits", "Removed"] {
        let line = lines.next().unwrap().unwrap();
        assert!(
            line.starts_with("p.ocm") && line.contains(expected),
            "{expected}: {line}"
        );
    }
    watch.kill().unwrap();
    watch.wait().unwrap();

    let first = server
        .kubectl("-n team get decisionrecords -o name --field-selector spec.change=Bound")
        .succeeds();
    let refused = server
        .kubectl(&format!("-n team delete {}", first.trim()))
        .fails();
    assert!(refused.contains("MethodNotAllowed"), "{refused}");
}

#[test]
fn the_timeline_is_printed_and_history_of_nothing_is_empty() {
    let server = Server::start();
    fleet(&server);
    place(&server, "p");
    taint(&server, "one", &json!([{"key": "drain", "effect": "NoSelect"}]));
    recorded(&server, "p.ocm", 2);
    let timeline = berth(&server, &["history", "p.ocm", "-n", "team"]);
    for part in [
        "team/p.ocm (Placement p)\n",
        "Moved  ManagedCluster one was updated with kubectl-patch (resourceVersion ",
        "\n  + two",
        "\n  - one  TaintToleration/Untolerated: ",
        "\n  TaintToleration/Untolerated refuses 0 → 1 target\n",
        "\nThe last 20 changes, for 168 hours, in the server's database.\n",
    ] {
        assert!(timeline.contains(part), "{part:?}:\n{timeline}");
    }
    assert!(!timeline.contains('\u{1b}'), "no colours where nobody sees them");
    for words in [&["placement/p"][..], &["placement", "p"], &["p"]] {
        assert_eq!(
            berth(&server, &[&["history", "-n", "team"], words].concat()),
            timeline
        );
    }
    let newest: Value = serde_json::from_str(&berth(
        &server,
        &["history", "p", "-n", "team", "--limit=1", "-o", "json"],
    ))
    .unwrap();
    assert_eq!(newest["status"]["remainingRecords"], 1);
    assert_eq!(newest["status"]["records"][0]["change"], "Moved");
    let yaml = berth(&server, &["history", "p", "-n", "team", "-o", "yaml"]);
    assert!(yaml.contains("kind: DecisionHistory"), "{yaml}");
    let table = server
        .kubectl("-n team get decision p.ocm --subresource=history --no-headers")
        .succeeds();
    assert_eq!(table.lines().count(), 2, "{table}");

    assert_eq!(records(&server, "nothing.ocm"), Vec::<Value>::new());
    let refused = server
        .kubectl(&format!(
            "get --raw {API}/namespaces/team/decisions/p.ocm/history?limit=x"
        ))
        .fails();
    assert!(refused.contains("invalid limit"), "{refused}");
}

#[test]
fn who_bound_it_is_recorded_and_only_who_may_ask_why_reads_it() {
    let server = Server::start();
    server.bind_by_hand(&["ocm"]);
    fleet(&server);
    let alice = server.kubeconfig_for("alice", &["system:masters"]);
    place(&server, "p");
    recorded(&server, "p.ocm", 1);
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"namespace": "team", "name": "p.ocm"}, "spec": {},
    });
    server
        .kubectl_as(&alice, &["create", "-f", "-"])
        .input(binding.to_string())
        .succeeds();
    let records = recorded(&server, "p.ocm", 2);
    assert_eq!(records[0]["change"], "Unplaced");
    assert_eq!(records[0]["actor"]["user"], Value::Null, "nobody decided it");
    assert_eq!(records[1]["change"], "Fits");
    assert_eq!(records[1]["cause"], json!({"type": "Request"}));
    assert_eq!(records[1]["actor"], json!({"user": "alice"}));

    let bob = server.kubeconfig_for("bob", &[]);
    for role in ["view", "berth:explainer"] {
        let path = format!("{API}/namespaces/team/decisions/p.ocm/history");
        let commands = [
            vec!["-n", "team", "get", "decisionrecords"],
            vec!["get", "--raw", &path],
        ];
        let clusterrole = format!("--clusterrole={role}");
        let name = role.replace(':', "-");
        server
            .kubectl_args(&[
                "-n",
                "team",
                "create",
                "rolebinding",
                &name,
                &clusterrole,
                "--user=bob",
            ])
            .succeeds();
        let may = |words: &[&str]| server.kubectl_as(&bob, words).run().success;
        for words in commands {
            match role {
                "view" => assert!(!may(&words), "{words:?} with {role}"),
                _ => eventually("the role to be known", || may(&words).then_some(())),
            }
        }
    }
}

#[test]
fn a_restart_keeps_history_and_adds_nothing_to_it() {
    let mut server = Server::start();
    fleet(&server);
    place(&server, "p");
    recorded(&server, "p.ocm", 1);
    taint(&server, "one", &json!([{"key": "drain", "effect": "NoSelect"}]));
    let before = recorded(&server, "p.ocm", 2);
    assert_eq!(history(&server, "p.ocm")["status"]["keptIn"], "Database");
    server.crash();
    server.restart();
    assert_eq!(records(&server, "p.ocm"), before);
    // The next records continue from there.
    taint(&server, "one", &json!([]));
    taint(&server, "two", &json!([{"key": "drain", "effect": "NoSelect"}]));
    let after = recorded(&server, "p.ocm", 3);
    assert_eq!(after[..2], before);
    assert_eq!(after[2]["from"]["clusters"], before[1]["to"]["clusters"]);
    assert_eq!(after[2]["reasons"][0]["from"], 1, "the counts go on, too");
}

#[test]
fn history_is_bounded_and_in_memory_it_says_so() {
    let server = Server::start_with(&["--history-per-decision=3", "--storage=memory"]);
    fleet(&server);
    place(&server, "p");
    recorded(&server, "p.ocm", 1);
    let mut newest = String::new();
    for round in 0..5 {
        let (full, free) = match round % 2 {
            0 => ("one", "two"),
            _ => ("two", "one"),
        };
        taint(&server, free, &json!([]));
        taint(&server, full, &json!([{"key": "drain", "effect": "NoSelect"}]));
        newest = eventually("the next record", || {
            let last = records(&server, "p.ocm").pop()?;
            let name = last["name"].as_str()?.to_owned();
            let is_there = last["to"]["clusters"][0]["clusterName"] == free;
            (is_there && name != newest).then_some(name)
        });
    }
    let kept = recorded(&server, "p.ocm", 3);
    assert_eq!(kept[2]["name"], newest.as_str());
    let status = &history(&server, "p.ocm")["status"];
    assert_eq!(
        (&status["keptIn"], &status["perDecision"]),
        (&json!("Memory"), &json!(3))
    );
    let timeline = berth(&server, &["history", "p", "-n", "team"]);
    assert!(
        timeline.contains("in memory, since the start of the server"),
        "{timeline}"
    );
    // The deletion of its namespace deletes it.
    server.kubectl("delete namespace team").succeeds();
    eventually("the records to go", || {
        records(&server, "p.ocm").is_empty().then_some(())
    });
}

#[test]
fn without_history_nothing_is_recorded() {
    let server = Server::start_with(&["--history-per-decision=0"]);
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let phase = "get decision -n story-1 placement.ocm -o jsonpath={.status.phase}";
    eventually("it to be bound", || {
        (server.kubectl(phase).succeeds() == "Bound").then_some(())
    });
    let status = server
        .kubectl(&format!(
            "get --raw {API}/namespaces/story-1/decisions/placement.ocm/history"
        ))
        .json();
    assert_eq!(status["status"]["perDecision"], 0);
    assert_eq!(status["status"]["records"], json!([]));
    let timeline = berth(&server, &["history", "placement", "-n", "story-1"]);
    assert!(timeline.contains("--history-per-decision is 0"), "{timeline}");
}
