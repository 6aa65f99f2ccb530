//! `berth simulate` as a shell sees it: what it prints, where it complains, how it ends.

#[path = "simulate/requests.rs"]
mod requests;
#[path = "simulate/systems.rs"]
mod systems;

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
    assert_eq!(
        lines[0],
        "Shoot garden-dev/web (gardener): would be placed on 1 of 1"
    );
    assert_eq!(lines[1], "  2 of 5 seeds feasible; picked aws-eu1");
    assert_eq!(lines[2], "  CLUSTER      RANK  SCORE  RESULT           REASON");
    assert_eq!(lines[3], "  aws-eu1      1     0      would be placed");
    assert!(lines[4].starts_with("  aws-eu2      2     0      not picked       Utilization: "));
    assert!(text.contains("  would update shoots.core.gardener.cloud garden-dev/web (binding)\n"));
    assert!(text.ends_with("\n1 object: 1 would be placed\n"));
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
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
    );
    let path = path.display().to_string();
    assert_eq!(json(&["-f", &path])["items"], serde_json::json!([]));
    let output = simulate(&["-f", &path]);
    assert_eq!(out(&output), "No objects to schedule.\n");
    assert!(
        errors(&output).contains("no scheduler reads Secret"),
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

const BAD: &str = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shot\nmetadata: {name: a}\n\
     ---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p}\n\
     spec: {numberOfClusters: -1, decisionStrategy: 5}\n\
     ---\nkind: Seed\n\
     ---\na: [1\n\
     ---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: fine}\nspec: {}\n";

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_the_rest_is_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "bad.yaml", BAD).display().to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        out(&output).contains("Placement default/fine (ocm)"),
        "{}",
        out(&output)
    );
    let told = [
        "bad.yaml: document 2: spec.decisionStrategy",
        "bad.yaml: document 2: spec.numberOfClusters",
        "Placement is set aside: ",
        "bad.yaml: document 3: apiVersion: Required value",
        "bad.yaml: document 4: line ",
        "Shot.core.gardener.cloud: 1 ignored; did you mean Shoot of core.gardener.cloud?",
    ];
    for part in told {
        assert!(errors(&output).contains(part), "{part}\n{}", errors(&output));
    }
    let strict = simulate(&["-f", &path, "--strict"]);
    assert_eq!((strict.status.code(), out(&strict).as_str()), (Some(2), ""));
    for part in told {
        assert!(errors(&strict).contains(part), "{part}\n{}", errors(&strict));
    }
}

#[test]
fn what_is_to_be_placed_and_set_aside_is_invalid_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "bad.yaml", BAD).display().to_string();
    let table = out(&simulate(&["-f", &path]));
    let block = "\nPlacement default/p (ocm): not understood, SetAside\n  a server would refuse it (";
    assert!(table.contains(block), "{table}");
    assert!(
        table.contains("bad.yaml: document 2): [spec.decisionStrategy"),
        "{table}"
    );
    assert!(
        table.ends_with("\n2 objects: 1 not understood, 1 no place\n"),
        "{table}"
    );
    let output = simulate(&["-f", &path, "-o", "json", "--for", "placement/default/p"]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let list: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let item = &list["items"][0];
    assert_eq!(
        item["metadata"],
        serde_json::json!({"namespace": "default", "name": "p.ocm"})
    );
    assert_eq!(item["status"]["outcome"], "Invalid");
    assert_eq!(item["status"]["reason"], "SetAside");
}

#[test]
fn a_shoot_that_was_never_stored_is_judged_beside_the_others_as_a_create_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let shoot = std::fs::read_to_string(example("gardener/same-region.yaml")).expect("the example is there");
    let fleet = std::fs::read_to_string(example("gardener/fleet.yaml")).expect("the example is there");
    let fleet = fleet.replacen("type: aws\n", "type: aws\n  regions: [{name: eu-west-1}]\n", 1);
    let fleet = file(&folder, "fleet.yaml", &fleet).display().to_string();
    let typo = file(
        &folder,
        "shoot.yaml",
        &shoot.replace("region: eu-west-1", "region: eu-wset-1"),
    )
    .display()
    .to_string();
    let output = simulate(&["-f", &typo, &fleet, "--at", AT]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let said = "spec.region: Unsupported value: \"eu-wset-1\"";
    assert!(errors(&output).contains(said), "{}", errors(&output));
    assert!(
        out(&output).contains("Shoot garden-dev/web (gardener): not understood, SetAside"),
        "{}",
        out(&output)
    );
}

#[test]
fn the_built_in_sets_of_ocm_are_there_in_a_folder_without_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let group = "apiVersion: cluster.open-cluster-management.io";
    let bound = |set: &str| {
        format!(
            "{group}/v1\nkind: ManagedCluster\nmetadata: {{name: c1}}\nspec: {{hubAcceptsClient: true}}\n---\n\
             {group}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: {set}, namespace: team}}\nspec: {{clusterSet: {set}}}\n---\n\
             {group}/v1beta1\nkind: Placement\nmetadata: {{name: web, namespace: team}}\nspec: {{}}\n"
        )
    };
    for set in ["default", "global"] {
        let path = file(&folder, "all.yaml", &bound(set)).display().to_string();
        let output = simulate(&["-f", &path]);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        let text = out(&output);
        assert!(
            text.contains("Placement team/web (ocm): would be placed on 1 cluster"),
            "{set}: {text}"
        );
    }
    let path = file(&folder, "all.yaml", &bound("other")).display().to_string();
    let text = out(&simulate(&["-f", &path]));
    assert!(!text.contains("Scheduled"), "{text}");
}

#[test]
fn configuration_files_of_schedulers_in_a_folder_are_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\n";
    let path = file(&folder, "config.yaml", text).display().to_string();
    for more in [&[][..], &["--strict"]] {
        let output = simulate(&[&["-f", &path][..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        assert!(
            errors(&output).contains("note: ") && errors(&output).contains("--config"),
            "{}",
            errors(&output)
        );
    }
}

#[test]
fn a_malformed_configuration_or_a_file_that_is_not_there_ends_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "bad.yaml", BAD).display().to_string();
    let config = file(
        &folder,
        "config.yaml",
        "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
         spec: {gardener: {schedulers: {shoot: {candidateDeterminationStrategy: Nearest}}}}\n",
    );
    let map = file(
        &folder,
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gardener-scheduler}\ndata: {config.yaml: x}\n",
    );
    for (arguments, part) in [
        (
            ["--config", &config.display().to_string()],
            "config.yaml: spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"Nearest\"",
        ),
        (
            ["--config", &map.display().to_string()],
            "it is a ConfigMap, and the file is the text below one of its keys (config.yaml)",
        ),
        (["-f", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
    ] {
        let output = simulate(&[&["-f", &path][..], &arguments].concat());
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""));
        assert!(errors(&output).contains(part), "{part}\n{}", errors(&output));
    }
}

#[test]
fn fields_that_nobody_knows_are_told_also_within_items_and_strict_ends_at_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: NAME}\n\
         spec:\n  numberOfClusters: 1\n  numberOfClusters: 2\n  predicates:\n  - requiredClusterSelector: {}\n    \
         matchExpressions:\n    - {key: env, operator: In, values: [dev]}\n---\n";
    let both = format!("{}{}", text.replace("NAME", "one"), text.replace("NAME", "two"));
    let path = file(&folder, "placements.yaml", &both).display().to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let told = [
        "placements.yaml: document 1: Placement: unknown field \"spec.predicates[0].matchExpressions\", and in another object",
        "placements.yaml: document 1: Placement: duplicate field \"spec.numberOfClusters\", and in another object",
    ];
    for part in told {
        assert!(errors(&output).contains(part), "{part}\n{}", errors(&output));
    }
    assert_eq!(simulate(&["-f", &path, "--strict"]).status.code(), Some(2));
}

#[test]
fn kinds_that_no_scheduler_looks_at_are_counted_whatever_their_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = |api_version: &str, kind: &str| {
        format!("---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x, namespace: there}}\n")
    };
    let foreign = [
        ("apps/v1", "Deployment"),
        ("core.gardener.cloud/v1beta1", "BackupBucket"),
        ("placement.kubernetes-fleet.io/v1beta1", "ClusterStagedUpdateRun"),
        ("clusters.openmcp.cloud/v1alpha1", "SomethingElse"),
        ("v1", "PersistentVolumeClaim"),
    ];
    let text: String = foreign
        .iter()
        .map(|(api_version, kind)| object(api_version, kind))
        .collect();
    let spelling = object("cluster.open-cluster-managment.io/v1", "ManagedCluster");
    let path = file(&folder, "all.yaml", &format!("{text}{spelling}"))
        .display()
        .to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    for (_, kind) in foreign {
        assert!(
            errors(&output).contains(&format!("no scheduler reads {kind}")),
            "{kind}\n{}",
            errors(&output)
        );
    }
    let hint = "ManagedCluster.cluster.open-cluster-managment.io: 1 ignored; did you mean ManagedCluster of \
                cluster.open-cluster-management.io?";
    assert!(errors(&output).contains(hint), "{}", errors(&output));
    let apps = ["Deployment", "DaemonSet"].map(|kind| object("apps/v1", kind));
    let path = file(&folder, "apps.yaml", &apps.concat()).display().to_string();
    assert_eq!(simulate(&["-f", &path, "--strict"]).status.code(), Some(0));
}

#[test]
fn what_another_server_stored_and_we_would_refuse_leaves_out_only_what_depends_on_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let group = "apiVersion: cluster.open-cluster-management.io";
    let text = format!(
        "{group}/v1beta1\nkind: Placement\nmetadata: {{name: {}, namespace: team}}\nspec: {{}}\n---\n\
         {group}/v1beta1\nkind: Placement\nmetadata: {{name: web, namespace: team}}\nspec: {{}}\n---\n\
         {group}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: odd}}\n\
         spec: {{clusterSelector: {{selectorType: LabelSelector, labelSelector: {{matchExpressions: [{{key: a, operator: Like, values: [b]}}]}}}}}}\n---\n\
         {group}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: even}}\n\
         spec: {{clusterSelector: {{selectorType: LabelSelector, labelSelector: {{}}}}}}\n---\n\
         {group}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: even, namespace: team}}\nspec: {{clusterSet: even}}\n---\n\
         {group}/v1\nkind: ManagedCluster\nmetadata: {{name: c1}}\nspec: {{hubAcceptsClient: true}}\n",
        "a".repeat(64)
    );
    let path = file(&folder, "hub.yaml", &text).display().to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let text = errors(&output);
    assert!(text.contains("hub.yaml: document 1: metadata.name"), "{text}");
    assert!(text.contains("hub.yaml: document 3: "), "{text}");
    assert!(
        out(&output).contains("Placement team/web (ocm): would be placed on 1 cluster"),
        "{}",
        out(&output)
    );
}

#[test]
fn ranges_of_a_shoot_that_overlap_are_refused_as_a_server_does_until_one_has_stored_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let shoot = |metadata: &str| {
        format!(
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {{name: web, namespace: garden-dev{metadata}}}\n\
             spec:\n  cloudProfile: {{name: aws}}\n  region: eu-west-1\n  provider: {{type: aws}}\n  \
             networking: {{type: calico, nodes: 10.250.0.0/16, pods: 10.250.128.0/17, services: 100.64.0.0/13}}\n"
        )
    };
    let path = file(&folder, "new.yaml", &shoot("")).display().to_string();
    let output = simulate(&["-f", &path, &example("gardener/fleet.yaml"), "--at", AT]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(
        errors(&output).contains("spec.networking.pods: Invalid value"),
        "{}",
        errors(&output)
    );
    let path = file(
        &folder,
        "old.yaml",
        &shoot(", uid: 2f4b7bfc-0000-4000-8000-000000000001"),
    )
    .display()
    .to_string();
    let output = simulate(&["-f", &path, &example("gardener/fleet.yaml"), "--at", AT]);
    assert!(
        !errors(&output).contains("must not overlap"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_stored_configuration_wins_over_a_file_as_on_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let configured = |strategy: &str| {
        format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: gardener}}\n\
             spec: {{gardener: {{schedulers: {{shoot: {{candidateDeterminationStrategy: {strategy}}}}}}}}}\n"
        )
    };
    let stored = file(&folder, "stored.yaml", &configured("MinimalDistance"))
        .display()
        .to_string();
    let given = file(&folder, "given.yaml", &configured("SameRegion"))
        .display()
        .to_string();
    let files = [
        example("gardener/fleet.yaml"),
        example("gardener/unschedulable.yaml"),
    ];
    let ask = |more: &[&str]| simulate(&[&["-f", &files[0], &files[1], "--at", AT], more].concat());
    let alone = out(&ask(&["--config", &stored]));
    assert_ne!(
        alone,
        out(&ask(&["--config", &given])),
        "the strategies decide differently"
    );
    let both = ask(&["-f", &stored, "--config", &given]);
    assert_eq!(out(&both), alone);
    assert!(
        errors(&both).contains("--config of gardener has no effect"),
        "{}",
        errors(&both)
    );
}

#[test]
fn an_export_of_earlier_is_told_to_be_one() {
    let files = example("fleet");
    let output = simulate(&["-f", &files]);
    assert!(
        errors(&output).contains("--at decides for another instant, such as --at 2021-10-"),
        "{}",
        errors(&output)
    );
    let then = simulate(&["-f", &files, "--at", AT]);
    assert!(!errors(&then).contains("--at"), "{}", errors(&then));
}

#[test]
fn any_number_of_comments_and_the_words_of_yaml_1_1_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: c1}}\nspec:\n{}  hubAcceptsClient: on\n",
        "  # a comment\n".repeat(500)
    );
    let path = file(&folder, "long.yaml", &text).display().to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!((output.status.code(), errors(&output).as_str()), (Some(0), ""));
}

#[test]
fn the_namespace_of_the_kcp_seed_is_no_yaml_and_is_told_by_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(
        &folder,
        "namespace.yaml",
        "apiVersion: v1\nkind: Namespace\n  name: default\n  annotations:\n    \
         scheduling.kcp.dev/placement: {\"root:compute+us-east1-gcp+a7fcajg8a-a9sf-a738\":\"Bound\"}\n",
    );
    let output = simulate(&["-f", &path.display().to_string()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        errors(&output).contains("namespace.yaml: document 1: line 3, column "),
        "{}",
        errors(&output)
    );
}

#[test]
fn one_object_twice_is_a_problem_that_names_both_places() {
    let fleet = example("gardener/fleet.yaml");
    let output = simulate(&["-f", &fleet, &fleet]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        errors(&output).contains("the same object is in"),
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
        (
            "placement/nowhere/placement",
            "the objects are: story-1/placement.ocm",
        ),
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
