//! Reads of a hub without Berth's server: the client decides as a server does (docs/try-on-your-hub.md). The
//! standalone server replaces the hub: it serves the same objects, and its own answers are the reference.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use berth_tests::example::example;
use berth_tests::looking::Looking;
use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, eventually};
use serde_json::Value;

/// All objects are new.
const NO_GRACE: &str = "--agreement-grace-period=0s";

fn berth(kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(berth_tests::berth())
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Output of `berth`, which must succeed.
fn out(kubeconfig: &Path, arguments: &[&str]) -> String {
    let output = berth(kubeconfig, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn six_systems() -> Server {
    let server = Server::start();
    server.bind_by_hand(&SYSTEMS);
    for path in [
        "gardener/fleet.yaml",
        "gardener/load.yaml",
        "gardener/same-region.yaml",
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "fleet/fleet.yaml",
        "fleet/pick-n.yaml",
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
        "openmcp/shared.yaml",
        "kcp/fleet.yaml",
        "karmada/fleet.yaml",
        "karmada/divided.yaml",
    ] {
        server.load(&server.file("example.yaml", &example(path)));
    }
    eventually("the binding of the Deployment", || {
        let made = "-n retail get decision web-deployment.karmada -o name --ignore-not-found";
        (!server.kubectl(made).succeeds().is_empty()).then_some(())
    });
    server
}

#[test]
fn what_is_read_of_a_hub_is_answered_as_its_server_answers() {
    let server = six_systems();
    // A hub's objects follow the current rules; a server's own objects follow its configuration.
    for system in ["gardener", "openmcp"] {
        let patch = [
            "patch",
            "schedulerconfiguration",
            system,
            "--type=merge",
            "-p",
            r#"{"spec": {"rules": "Current"}}"#,
        ];
        server.kubectl_args(&patch).succeeds();
    }
    let kubeconfig = server.kubeconfig();
    for question in [
        "why shoot/web -n garden-dev",
        "why shoot/web -n garden-dev -o wide --all",
        "why web -n garden-dev --cluster aws-us1",
        "why clusterresourceplacement/two-regions",
        "why placement/placement -n story-1",
        "why clusterrequest/batch -n project-a",
        "why deployment/web -n retail",
        "advice deployment/web -n retail",
        "advice shoot/web -n garden-dev",
        "advice placement/placement -n story-1",
        "plan --drain aws-eu1.gardener",
        "plan --delete shoot/garden-dev/web",
    ] {
        let words: Vec<&str> = question.split(' ').collect();
        let from = |origin: &str| berth(&kubeconfig, &[&words[..], &[origin]].concat());
        let (of_server, read) = (from("--from=server"), from("--from=hub"));
        assert!(
            of_server.status.success(),
            "{question}: {}",
            text(&of_server.stderr)
        );
        assert_eq!(
            text(&read.stdout),
            text(&of_server.stdout),
            "{question}: {}",
            text(&read.stderr)
        );
        assert_eq!(read.status.code(), of_server.status.code(), "{question}");
        let first = text(&read.stderr).lines().next().unwrap_or_default().to_owned();
        assert!(
            first.starts_with("read ")
                && first.contains(server.url().trim_end_matches('/'))
                && first.ends_with("decided in this process, nothing is written"),
            "{question}: {first}"
        );
        assert!(
            text(&of_server.stderr).is_empty(),
            "{question}: {}",
            text(&of_server.stderr)
        );
    }
    // A question about one system reads only this system.
    let one = berth(
        &kubeconfig,
        &["why", "shoot/web", "-n", "garden-dev", "--from=hub"],
    );
    assert!(
        text(&one.stderr).contains(" kinds of gardener at "),
        "{}",
        text(&one.stderr)
    );
}

#[test]
fn exported_files_answer_as_the_server_they_are_of() {
    let server = six_systems();
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("hub").display().to_string();
    out(&server.kubeconfig(), &["export", &files]);
    let origin = format!("--from={files}");
    for words in [
        ["why", "shoot/web", "-n", "garden-dev"],
        ["advice", "placement/placement", "-n", "story-1"],
        ["why", "deployment/web", "-n", "retail"],
    ] {
        let of_server = out(&server.kubeconfig(), &words);
        let read = out(Path::new("/nowhere"), &[&words[..], &[origin.as_str()]].concat());
        assert_eq!(read, of_server, "{words:?}");
    }
}

#[test]
fn who_may_only_list_is_answered_and_told_what_could_not_be_read() {
    let server = six_systems();
    let ann = server.kubeconfig_for("ann", &[]);
    let question = ["why", "placement/placement", "-n", "story-1", "--from=hub"];
    let resources = "placements.cluster.open-cluster-management.io,managedclusters,managedclustersets,\
                     managedclustersetbindings,placementdecisions.cluster.open-cluster-management.io";
    server
        .kubectl(&format!(
            "create clusterrole look --verb=list --resource={resources}"
        ))
        .succeeds();
    server
        .kubectl("create clusterrolebinding look --clusterrole=look --user=ann")
        .succeeds();
    let output = berth(&ann, &question);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Except for the warnings about scores, which are only of readable objects.
    let without_warnings = |answer: &str| {
        let lines = answer.lines().filter(|line| !line.contains("Warning:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        without_warnings(&text(&output.stdout)),
        without_warnings(&out(&server.kubeconfig(), &question[..4]))
    );
    let errors = text(&output.stderr);
    assert!(
        errors.contains(" as ann;")
            && errors.contains("addonplacementscores")
            && errors.contains("; without them prioritizers of add-ons score nothing"),
        "{errors}"
    );
    // Without the clusters, the answer differs, and reports that.
    server.kubectl("delete clusterrolebinding look").succeeds();
    server
        .kubectl("create role look -n story-1 --verb=list --resource=placements.cluster.open-cluster-management.io")
        .succeeds();
    server
        .kubectl("create rolebinding look -n story-1 --role=look --user=ann")
        .succeeds();
    let output = berth(&ann, &question);
    assert!(
        text(&output.stderr).contains("without them no cluster can be chosen"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_comparison_counts_what_is_placed_as_it_would_be_and_names_the_rest() {
    let server = six_systems();
    let kubeconfig = server.kubeconfig();
    let list = |arguments: &[&str]| -> Value {
        let words = [&["compare", "-o", "json", NO_GRACE], arguments].concat();
        serde_json::from_str(&out(&kubeconfig, &words)).unwrap()
    };
    let all = list(&[]);
    let fits = |name: &str| {
        let items = all["items"].as_array().unwrap().iter();
        let found = items.clone().find(|item| item["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {all:#}")).clone()
    };
    let web = fits("web.gardener");
    assert_eq!(web["verdict"], "Fits", "it is not bound: {web:#}");
    assert_eq!(web["gains"][0]["clusterName"], "aws-eu2", "{web:#}");
    // Bindings as the server decides are in agreement.
    let binding = r#"{"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding", "metadata": {"name": "web.gardener", "namespace": "garden-dev"}}"#;
    server
        .kubectl("create --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener/binding -f -")
        .input(binding)
        .succeeds();
    let after = list(&["-n", "garden-dev", "--only-different"]);
    let named = after["items"].as_array().unwrap().iter();
    assert!(
        !named.clone().any(|item| item["name"] == "web.gardener"),
        "{after:#}"
    );
    assert!(named.clone().all(|item| item["verdict"] != "Same"), "{after:#}");
    assert!(
        after["systems"]["gardener"]["same"].as_u64() > Some(0),
        "{after:#}"
    );
    let differs = berth(&kubeconfig, &["compare", "--exit-code", NO_GRACE]);
    assert_eq!(differs.status.code(), Some(1), "{}", text(&differs.stderr));
    assert!(
        text(&differs.stdout).contains(" decided the same, "),
        "{}",
        text(&differs.stdout)
    );
}

#[test]
fn reasons_are_counted_where_there_are_too_many_pairs() {
    let server = six_systems();
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("hub").display().to_string();
    out(&server.kubeconfig(), &["export", &files]);
    let of = |reasons: &str| -> Value {
        let words = ["simulate", "-f", &files, "--independent", "-o", "json", reasons];
        serde_json::from_str(&out(Path::new("/nowhere"), &words)).unwrap()
    };
    let web = |list: &Value| {
        let items = list["items"].as_array().unwrap();
        let found = items
            .iter()
            .find(|item| item["metadata"]["name"] == "web.gardener");
        found.unwrap()["status"].clone()
    };
    let (all, counts, none) = (of("--reasons=all"), of("--reasons=counts"), of("--reasons=none"));
    let (all, counts, none) = (web(&all), web(&counts), web(&none));
    assert!(!all["candidates"].as_array().unwrap().is_empty());
    assert_eq!(counts["candidates"], serde_json::json!([]));
    assert_eq!(
        counts["remainingCandidates"].as_u64(),
        Some(all["candidates"].as_array().unwrap().len() as u64)
    );
    assert_eq!(counts["picked"], all["picked"]);
    assert!(!counts["reasonCounts"].as_array().unwrap().is_empty());
    assert!(none["reasonCounts"].is_null());
}

#[test]
fn a_hub_is_simulated_without_files() {
    let server = six_systems();
    let output = berth(
        &server.kubeconfig(),
        &["simulate", "--for", "shoot/garden-dev/web"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("Shoot garden-dev/web"),
        "{}",
        text(&output.stdout)
    );
    assert!(
        text(&output.stderr).starts_with("read "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_console_of_a_hub_shows_what_changes_there() {
    let server = six_systems();
    let console = Looking::start(&server.kubeconfig(), &[]);
    let is_there = |name: &str| {
        let all = console.items("namespaces/story-1/decisions");
        all.iter().any(|one| one["metadata"]["name"] == name)
    };
    assert!(is_there("placement.ocm") && !is_there("later.ocm"));
    let all = console.items("targets");
    assert!(all.len() > 5, "{all:?}");
    let later = r#"{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "later", "namespace": "story-1"}, "spec": {}}"#;
    server.kubectl("create -f -").input(later).succeeds();
    eventually("the new request to be shown", || {
        is_there("later.ocm").then_some(())
    });
    server.kubectl("delete placement later -n story-1").succeeds();
    eventually("it to be gone", || (!is_there("later.ocm")).then_some(()));
    // On a hub without Berth, another scheduler decides.
    let decision = console.get("namespaces/story-1/decisions/placement.ocm");
    let conditions = decision["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions.iter().any(|condition| condition["type"] == "Agrees"),
        "{decision:#}"
    );
}

#[test]
fn whoever_looks_may_choose_the_rules() {
    let server = six_systems();
    let kubeconfig = server.kubeconfig();
    let folder = tempfile::tempdir().unwrap();
    let files = format!("--from={}", folder.path().join("hub").display());
    out(&kubeconfig, &["export", &files["--from=".len()..]]);
    for rules in ["Documented", "Current"] {
        let chosen = format!("--rules={rules}");
        for origin in ["--from=hub", files.as_str()] {
            let words = [
                "why",
                "shoot/web",
                "-n",
                "garden-dev",
                "-o",
                "json",
                origin,
                chosen.as_str(),
            ];
            let report: Value = serde_json::from_str(&out(&kubeconfig, &words)).unwrap();
            assert_eq!(report["status"]["rules"]["name"], rules, "{origin}");
        }
        let console = Looking::start(&kubeconfig, &[chosen.as_str()]);
        let report = console.get("namespaces/garden-dev/decisions/web.gardener/scheduling");
        assert_eq!(report["status"]["rules"]["name"], rules);
    }
    let refused = berth(
        &kubeconfig,
        &[
            "why",
            "shoot/web",
            "-n",
            "garden-dev",
            "--from=server",
            "--rules=Current",
        ],
    );
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("a server decides by spec.rules"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn a_server_under_another_name_is_found_by_its_label_before_it_is_to_decide() {
    let server = six_systems();
    server.kubectl("create namespace berth-system").succeeds();
    let deployment = r#"{"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "looks", "namespace": "berth-system", "labels": {"app.kubernetes.io/name": "berth"}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "berth", "image": "berth", "args": ["serve", "--mode=observe", "--source=ocm=hub", "--source=fleet=off"]}]}}}}"#;
    server.kubectl("create -f -").input(deployment).succeeds();
    for (system, command) in [
        ("ocm", "Berth is installed there to observe"),
        ("fleet", "Berth is installed there without this system"),
    ] {
        let output = out(&server.kubeconfig(), &["takeover", system]);
        assert!(
            output.contains(command) && output.contains("Nothing was changed"),
            "{output}"
        );
    }
}

#[test]
fn nobody_who_reads_ends_no_command() {
    let server = six_systems();
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("hub").display().to_string();
    for words in [
        &["export", files.as_str()][..],
        &["check"],
        &["compare"],
        &["simulate"],
        &["takeover", "ocm"],
    ] {
        let mut child = Command::new(berth_tests::berth())
            .args(words)
            .env("KUBECONFIG", server.kubeconfig())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let errors = text(&output.stderr);
        assert!(!errors.contains("panicked"), "{words:?}: {errors}");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    }
}

#[test]
fn a_standalone_server_has_nothing_to_uninstall() {
    let server = Server::start();
    let output = berth(&server.kubeconfig(), &["uninstall", "--dry-run"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert!(
        errors.starts_with("error: this is a standalone Berth server") && errors.lines().count() == 1,
        "{errors}"
    );
}
