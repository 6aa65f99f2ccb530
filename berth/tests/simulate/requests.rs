//! Requests that are decided or compared, and requests that cannot be read.

use std::process::Command;

use serde_json::Value;

use super::{errors, file, json, simulate};

#[test]
fn the_requests_of_one_namespace_are_decided_and_those_of_others_are_input() {
    let folder = tempfile::tempdir().unwrap();
    let one = |namespace: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n\
             metadata: {{name: p, namespace: {namespace}}}\nspec: {{}}\n"
        )
    };
    let text = format!("{}---\n{}", one("team-a"), one("team-b"));
    let path = file(&folder, "two.yaml", &text);
    let path = path.to_str().unwrap();
    let namespaces = |more: &[&str]| -> Vec<String> {
        let list = json(&[&["-f", path], more].concat());
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["namespace"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(namespaces(&[]), ["team-a", "team-b"]);
    assert_eq!(namespaces(&["-n", "team-b"]), ["team-b"]);
    assert_eq!(
        namespaces(&["-n", "team-b", "--for", "placement/p"]),
        ["team-b"],
        "the name is of that namespace"
    );
    assert_eq!(
        namespaces(&["-n", "team-b", "--for", "placement/team-a/p"]),
        ["team-a"],
        "unless it says otherwise"
    );
}

#[test]
fn a_plan_of_one_namespace_tells_and_counts_the_decisions_of_that_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = |name: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\n\
             spec: {{hubAcceptsClient: true}}\n---\n"
        )
    };
    let one = |namespace: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\n\
             metadata: {{name: global, namespace: {namespace}}}\nspec: {{clusterSet: global}}\n---\n\
             apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n\
             metadata: {{name: p, namespace: {namespace}}}\nspec: {{numberOfClusters: 1}}\n---\n"
        )
    };
    let world = [cluster("a"), cluster("b"), one("team-a"), one("team-b")].concat();
    let world = file(&folder, "world.yaml", &world).display().to_string();
    let other = [cluster("b"), one("team-a"), one("team-b")].concat();
    let other = file(&folder, "other.yaml", &other).display().to_string();
    let dump = [cluster("a"), one("team-a"), one("team-b")].concat();
    let alone = file(&folder, "alone.yaml", &dump).display().to_string();
    let planned = |from: &str, more: &[&str]| -> (Vec<String>, u64) {
        let plan = json(&[&["-f", from], more].concat());
        let plan = &plan["status"]["plan"];
        let entries = plan["entries"].as_array().expect("entries").iter();
        let namespaces = entries.map(|entry| entry["namespace"].as_str().unwrap().to_owned());
        let counts = plan["counts"].as_object().expect("counts").values();
        (namespaces.collect(), counts.filter_map(Value::as_u64).sum())
    };
    let both = (vec!["team-a".to_owned(), "team-b".to_owned()], 2);
    let one = (vec!["team-b".to_owned()], 1);
    for change in [
        &["--drain", "a"][..],
        &["--delete", "managedcluster/a"],
        &["--against", &other],
    ] {
        assert_eq!(planned(&alone, change), both, "{change:?}");
        assert_eq!(
            planned(&alone, &[change, &["-n", "team-b"]].concat()),
            one,
            "{change:?}"
        );
    }
    let change = ["--change", &world, "-n", "team-b"];
    let changed = planned(&alone, &change);
    assert!(
        changed.0.iter().all(|namespace| namespace == "team-b"),
        "{changed:?}"
    );
    assert_eq!(
        planned(&alone, &["--drain", "a", "-n", "nobody"]),
        (Vec::new(), 0)
    );
}

#[test]
fn strict_refuses_in_the_files_of_a_change_what_it_refuses_in_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = |name: &str, more: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\n\
             spec: {{hubAcceptsClient: true{more}}}\n"
        )
    };
    let world = file(&folder, "world.yaml", &cluster("a", ""));
    let world = world.display().to_string();
    let change = file(&folder, "change.yaml", &cluster("b", ", taint: []"));
    let change = change.display().to_string();
    let planned = |more: &[&str]| simulate(&[&["-f", &world, "--change", &change][..], more].concat());
    let lenient = planned(&[]);
    assert_eq!(lenient.status.code(), Some(0), "{}", errors(&lenient));
    let strict = planned(&["--strict"]);
    assert_eq!(strict.status.code(), Some(2), "{}", errors(&strict));
    assert!(
        errors(&strict).contains("change.yaml: document 1: unknown field \"spec.taint\""),
        "{}",
        errors(&strict)
    );
}

#[test]
fn a_comparison_of_what_cannot_all_be_read_ends_with_3_and_names_no_flag_that_it_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n\
                  metadata: {name: p, namespace: team}\nspec: {numberOfClusters: many}\n";
    let output = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["compare", "-o", "json", "-f"])
        .arg(file(&folder, "broken.yaml", broken))
        .output()
        .expect("berth runs");
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let comparison: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    assert_eq!(comparison["counts"]["unknown"], 1);
    assert_eq!(comparison["items"][0]["verdict"], "Unknown");
    assert!(!errors(&output).contains("--strict"), "{}", errors(&output));
}
