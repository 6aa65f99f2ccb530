//! `berth simulate` as a shell sees it: what it prints, where it complains, how it ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The instant the examples were written for.
const AT: &str = "2021-10-28T09:00:00Z";

fn example(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    root.join(path).display().to_string()
}

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("simulate")
        .args(arguments)
        .output()
        .expect("berth runs")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    let output = simulate(&[arguments, &["-o", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

/// A file with `text` in `folder`.
fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("files can be written");
    path
}

#[test]
fn a_table_is_aligned_and_plain_in_a_pipe_with_the_picked_first() {
    let output = simulate(&[
        "-f",
        &example("gardener/fleet.yaml"),
        &example("gardener/same-region.yaml"),
        "--at",
        AT,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = out(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Shoot garden-dev/web (gardener): Scheduled, Picked");
    assert_eq!(lines[1], "  2 of 5 seeds feasible; picked aws-eu1");
    assert_eq!(lines[2], "  CLUSTER      RANK  SCORE  RESULT     REASON");
    assert_eq!(lines[3], "  aws-eu1      1            Bind");
    assert!(lines[4].starts_with("  aws-eu2      2            NotPicked  Utilization: "));
    assert!(text.contains("  would update shoots.core.gardener.cloud garden-dev/web (binding)\n"));
    assert!(text.ends_with("\n1 object: 1 Scheduled\n"));
    assert!(!text.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn json_and_yaml_are_the_same_scheduling_list() {
    let from_json = json(&["-f", &example("ocm"), "--at", AT]);
    assert_eq!(from_json["apiVersion"], "scheduling.berth.dev/v1alpha1");
    assert_eq!(from_json["kind"], "SchedulingList");
    let names: Vec<String> = from_json["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| {
            let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text("namespace"), text("name"))
        })
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(names.contains(&"story-1/placement.ocm".to_owned()), "{names:?}");
    let output = simulate(&["-f", &example("ocm"), "--at", AT, "-o", "yaml"]);
    let from_yaml: Value = serde_saphyr::from_str(&out(&output)).expect("the output is YAML");
    assert_eq!(from_yaml, from_json);
}

#[test]
fn an_empty_world_gives_an_empty_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(
        &folder,
        "a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    let path = path.display().to_string();
    assert_eq!(json(&["-f", &path])["items"], serde_json::json!([]));
    let output = simulate(&["-f", &path]);
    assert_eq!(out(&output), "No objects to schedule.\n");
    assert!(
        errors(&output).contains("no system schedules by ConfigMap"),
        "{}",
        errors(&output)
    );
}

#[test]
fn decisions_see_the_writes_of_those_before_unless_independent() {
    // One seat left, two shoots.
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = std::fs::read_to_string(example("gardener/fleet.yaml")).expect("the example is there");
    let fleet = fleet
        .replace("shoots: \"3\"", "shoots: \"1\"")
        .replace("name: aws-eu2\n  labels:\n    environment: live", "name: aws-eu2");
    let shoot = std::fs::read_to_string(example("gardener/same-region.yaml")).expect("the example is there");
    let second = shoot.replace("name: web\n", "name: zweb\n");
    let fleet = file(&folder, "fleet.yaml", &fleet).display().to_string();
    let shoots = file(&folder, "shoots.yaml", &format!("{shoot}\n---\n{second}"))
        .display()
        .to_string();
    let outcomes = |arguments: &[&str]| -> Vec<String> {
        let list = json(&[&["-f", &fleet, &shoots, "--at", AT], arguments].concat());
        let items = list["items"].as_array().expect("a list").clone();
        items
            .iter()
            .map(|item| item["status"]["outcome"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(outcomes(&[]), ["Scheduled", "Unschedulable"]);
    assert_eq!(outcomes(&["--independent"]), ["Scheduled", "Scheduled"]);
    let only = json(&[
        "-f",
        &fleet,
        &shoots,
        "--at",
        AT,
        "--for",
        "shoot/garden-dev/zweb",
    ]);
    assert_eq!(only["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(only["items"][0]["status"]["outcome"], "Scheduled");
}

#[test]
fn exit_codes_tell_what_is_not_placed_when_asked() {
    let files = [
        "-f",
        &example("gardener/fleet.yaml"),
        &example("gardener/unschedulable.yaml"),
        "--at",
        AT,
    ];
    assert_eq!(simulate(&files).status.code(), Some(0));
    assert_eq!(
        simulate(&[&files[..], &["--exit-code"]].concat()).status.code(),
        Some(1)
    );
}

#[test]
fn every_problem_of_the_input_is_told_with_its_place_and_ends_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(
        &folder,
        "bad.yaml",
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shot\nmetadata: {name: a}\n\
         ---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p}\n\
         spec: {numberOfClusters: -1, decisionStrategy: 5}\n\
         ---\nkind: Seed\n",
    );
    let config = file(
        &folder,
        "config.yaml",
        "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
         spec: {gardener: {schedulers: {shoot: {candidateDeterminationStrategy: Nearest}}}}\n",
    );
    let output = simulate(&[
        "-f",
        &path.display().to_string(),
        "--config",
        &config.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(out(&output), "");
    let text = errors(&output);
    for part in [
        "bad.yaml: document 1: kind: Unsupported value: \"core.gardener.cloud/v1beta1 Shot\"",
        "bad.yaml: document 2: spec.decisionStrategy",
        "bad.yaml: document 2: spec.numberOfClusters",
        "bad.yaml: document 3: apiVersion: Required value",
        "config.yaml: spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"Nearest\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_namespace_of_the_kcp_seed_is_no_yaml_and_is_refused_by_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(
        &folder,
        "namespace.yaml",
        "apiVersion: v1\nkind: Namespace\n  name: default\n  annotations:\n    \
         scheduling.kcp.dev/placement: {\"root:compute+us-east1-gcp+a7fcajg8a-a9sf-a738\":\"Bound\"}\n",
    );
    let output = simulate(&["-f", &path.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("namespace.yaml: "),
        "{}",
        errors(&output)
    );
    assert_eq!(out(&output), "");
}

#[test]
fn one_object_twice_is_a_problem_that_names_both_places() {
    let fleet = example("gardener/fleet.yaml");
    let output = simulate(&["-f", &fleet, &fleet]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("the same object stands in"),
        "{}",
        errors(&output)
    );
}

#[test]
fn for_takes_the_names_kubectl_users_write_and_says_what_there_is() {
    let at = |only: &str| simulate(&["-f", &example("ocm"), "--at", AT, "--for", only]);
    for only in [
        "Placement/story-1/placement",
        "placements/story-1/placement",
        "placement/low-latency",
    ] {
        assert_eq!(at(only).status.code(), Some(0), "{only}");
    }
    for (only, part) in [
        ("placement/placement", "there are several"),
        ("placement/nowhere/placement", "there are story-1/placement.ocm"),
        ("placement", "KIND/NAMESPACE/NAME is expected"),
    ] {
        let output = at(only);
        assert_eq!(output.status.code(), Some(2), "{only}");
        assert!(errors(&output).contains(part), "{}", errors(&output));
    }
}

#[test]
fn standard_input_is_a_file_called_minus() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["simulate", "-f", "-", "--at", AT, "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("berth runs");
    let text = std::fs::read_to_string(example("gardener/fleet.yaml")).expect("the example is there");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(text.as_bytes())
        .expect("berth reads");
    let output = child.wait_with_output().expect("berth ends");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["simulate", "-f", &example("ocm"), "--at", AT, "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("berth runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("berth ends");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
}
