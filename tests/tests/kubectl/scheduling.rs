//! Decisions through `kubectl`: reads, explanations, reviews, bindings and watches.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use berth_tests::Server;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

fn gardener() -> Server {
    let server = Server::start();
    server.bind_by_hand(&["gardener"]);
    server.load(&example("gardener/fleet.yaml"));
    server.load(&example("gardener/load.yaml"));
    server.load(&example("gardener/same-region.yaml"));
    server
}

#[test]
fn targets_and_decisions_are_listed_in_their_own_columns() {
    let server = gardener();
    let targets = server.kubectl("get targets").succeeds();
    assert!(
        targets.contains("aws-eu1.gardener") && targets.contains("gcp-eu1.gardener"),
        "{targets}"
    );
    assert!(
        server
            .kubectl("get btg aws-eu1.gardener -o wide")
            .succeeds()
            .contains("eu-west-1")
    );
    let decisions = server.kubectl("get decisions -A").succeeds();
    assert!(
        decisions.contains("web.gardener") && decisions.contains("running-1.gardener"),
        "{decisions}"
    );
    let decision = server
        .kubectl("-n garden-dev get decision web.gardener -o json")
        .json();
    assert_eq!(decision["status"]["phase"], "Pending");
    let running = server
        .kubectl("-n garden-dev get decision running-1.gardener -o json")
        .json();
    assert_eq!(running["status"]["phase"], "Bound");
    assert_eq!(running["status"]["decisions"][0]["clusterName"], "aws-eu1");
    assert!(
        server
            .kubectl("-n garden-dev describe decision web.gardener")
            .succeeds()
            .contains("Pending")
    );
}

#[test]
fn every_candidate_is_explained() {
    let server = gardener();
    let table = server
        .kubectl("-n garden-dev get decision web.gardener --subresource=scheduling")
        .succeeds();
    for (seed, why) in [
        ("aws-eu2", "yes"),
        ("aws-eu1", "Utilization"),
        ("aws-us1", "NotSameRegion"),
        ("aws-guarded", "Untolerated"),
        ("gcp-eu1", "NotReady"),
    ] {
        let line = table
            .lines()
            .find(|line| line.contains(seed))
            .unwrap_or_else(|| panic!("{seed}:\n{table}"));
        assert!(
            line.to_lowercase().contains(&why.to_lowercase()) || why == "yes",
            "{line}"
        );
    }
    let candidates = server
        .kubectl("-n garden-dev get candidates --field-selector decision=web.gardener")
        .succeeds();
    assert!(
        candidates.contains("NotReady") && candidates.contains("aws-eu2"),
        "{candidates}"
    );
    let report = server.kubectl("get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener/scheduling").json();
    assert_eq!(report["kind"], "Scheduling");
    assert_eq!(report["status"]["outcome"], "Scheduled");
    assert_eq!(report["status"]["picked"][0]["clusterName"], "aws-eu2");
    assert_eq!(report["status"]["writes"][0]["subresource"], "binding");
}

#[test]
fn a_binding_places_and_the_decision_says_so() {
    let server = gardener();
    let mut watch = server.kubectl("-n garden-dev get decisions -w").spawn();
    let mut lines = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    lines.next();
    let binding = "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {name: web.gardener, namespace: garden-dev}\n";
    let dry = server
        .kubectl("create -f - --dry-run=server")
        .input(binding)
        .succeeds();
    assert!(dry.contains("dry run"), "{dry}");
    assert_eq!(
        server
            .kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}")
            .succeeds(),
        ""
    );
    let created = server.kubectl("create -f -").input(binding).succeeds();
    assert_eq!(created, "binding.scheduling.berth.dev/web.gardener created\n");
    server
        .kubectl("-n garden-dev wait --for=condition=Bound decision/web.gardener --timeout=10s")
        .succeeds();
    assert_eq!(
        server
            .kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}")
            .succeeds(),
        "aws-eu2"
    );
    let line = lines
        .find(|line| line.starts_with("web.gardener") && line.contains("Bound"))
        .unwrap();
    assert!(line.contains("aws-eu2"), "{line}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let read = server.kubectl("get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener/binding").json();
    assert_eq!(read["kind"], "Binding");
}

#[test]
fn a_user_who_may_only_bind_creates_bindings_that_kubectl_checks() {
    let server = gardener();
    server
        .kubectl("-n garden-dev create rolebinding bo --clusterrole=berth:binder --user=bo")
        .succeeds();
    let bo = server.kubeconfig_for("bo", &[]);
    let binding = |more: &str| {
        let text = "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {namespace: garden-dev, name: web.gardener}\n";
        server.file("binding.yaml", &format!("{text}{more}"))
    };
    let create = |file: &Path| server.kubectl_as(&bo, &["create", "-f", file.to_str().unwrap()]);
    let refused = create(&binding("spec: {targts: []}")).fails();
    assert!(refused.contains("unknown field \"spec.targts\""), "{refused}");
    let made = create(&binding("spec: {}")).succeeds();
    assert!(made.contains("web.gardener created"), "{made}");
    let decision = server
        .kubectl("-n garden-dev get decision web.gardener -o json")
        .json();
    assert_eq!(decision["status"]["phase"], "Bound");
}

#[test]
fn a_chosen_target_is_taken_or_refused_with_its_reasons() {
    let server = gardener();
    let binding = |target: &str| {
        format!(
            "apiVersion: scheduling.berth.dev/v1alpha1\nkind: Binding\nmetadata: {{name: web.gardener, namespace: garden-dev}}\nspec: {{targets: [{target}]}}\n"
        )
    };
    let refused = server
        .kubectl("create -f -")
        .input(binding("gcp-eu1.gardener"))
        .fails();
    assert!(
        refused.contains("invalid") && refused.contains("NotReady") && refused.contains("spec.targets[0]"),
        "{refused}"
    );
    let unknown = server
        .kubectl("create -f -")
        .input(binding("nowhere.gardener"))
        .fails();
    assert!(
        unknown.contains("spec.targets[0]") && unknown.contains("nowhere"),
        "{unknown}"
    );
    assert_eq!(
        server
            .kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}")
            .succeeds(),
        ""
    );
    server
        .kubectl("create -f -")
        .input(binding("aws-eu1.gardener"))
        .succeeds();
    assert_eq!(
        server
            .kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}")
            .succeeds(),
        "aws-eu1"
    );
}

#[test]
fn shoots_are_bound_in_gardeners_own_form() {
    let server = gardener();
    let patch = |arguments: &[&str]| {
        let change = r#"{"spec":{"seedName":"aws-eu1"}}"#;
        let fixed = [
            "-n",
            "garden-dev",
            "patch",
            "shoot",
            "web",
            "--type=merge",
            "-p",
            change,
        ];
        server.kubectl_args(&[&fixed[..], arguments].concat()).run()
    };
    let plain = patch(&[]);
    assert!(
        !plain.success && plain.err.contains("binding"),
        "{}{}",
        plain.out,
        plain.err
    );
    let raw = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/web/binding";
    let mut shoot = server.kubectl(&format!("get --raw {raw}")).json();
    shoot["spec"]["seedName"] = "aws-eu1".into();
    let file = server.file("shoot.json", &shoot.to_string());
    server
        .kubectl_args(&["replace", "--raw", raw, "-f", &file.display().to_string()])
        .succeeds();
    assert_eq!(
        server
            .kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}")
            .succeeds(),
        "aws-eu1"
    );
    let again = patch(&["--subresource=binding"]);
    assert!(
        !again.success && again.err.contains("bound to this seed already"),
        "{}{}",
        again.out,
        again.err
    );
    let row = server.kubectl("-n garden-dev get shoot web").succeeds();
    assert!(row.contains("aws") && row.contains("eu-west-1"), "{row}");
}

#[test]
fn a_review_answers_what_if() {
    let server = gardener();
    let review = r"
apiVersion: scheduling.berth.dev/v1alpha1
kind: SchedulingReview
metadata: {name: what-if}
spec:
  inventory: Live
  config: {schedulers: {shoot: {candidateDeterminationStrategy: MinimalDistance}}}
  object:
    apiVersion: core.gardener.cloud/v1beta1
    kind: Shoot
    metadata: {name: idea, namespace: garden-dev}
    spec:
      cloudProfile: {kind: CloudProfile, name: aws}
      region: eu-north-1
      provider: {type: aws}
      networking: {nodes: 10.250.0.0/16}
      kubernetes: {version: 1.34.1}
";
    let answer = server.kubectl("create -o json -f -").input(review).json();
    assert_eq!(answer["status"]["outcome"], "Scheduled", "{answer}");
    assert_eq!(answer["status"]["picked"][0]["clusterName"], "aws-eu2");
    assert!(
        server
            .kubectl("-n garden-dev get shoot idea")
            .fails()
            .contains("NotFound")
    );
    let yaml = server.kubectl("create -o yaml -f -").input(review).succeeds();
    assert!(yaml.contains("outcome: Scheduled"), "{yaml}");
}

#[test]
fn the_configuration_changes_live_and_bad_ones_are_refused_with_every_error() {
    let server = gardener();
    server.load(&example("gardener/minimal-distance.yaml"));
    let outcome = || {
        let report = server.kubectl("get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/edge.gardener/scheduling").json();
        report["status"]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(), "Unschedulable");
    assert_eq!(
        server
            .kubectl("-n garden-dev get decision edge.gardener -o jsonpath={.status.phase}")
            .succeeds(),
        "Unschedulable"
    );
    let bad = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\nspec: {gardener: {schedulers: {shoot: {candidateDeterminationStrategy: Nearest, retrySyncPeriod: -1s}}}}\n";
    let refused = server.kubectl("apply -f -").input(bad).fails();
    assert!(
        refused.contains("candidateDeterminationStrategy") && refused.contains("retrySyncPeriod"),
        "{refused}"
    );
    // Patched, so that binding stays manual and the decision can be read.
    let change = r#"{"spec":{"gardener":{"schedulers":{"shoot":{"candidateDeterminationStrategy":"MinimalDistance"}}}}}"#;
    server
        .kubectl_args(&[
            "patch",
            "schedulerconfiguration",
            "gardener",
            "--type=merge",
            "-p",
            change,
        ])
        .succeeds();
    assert_eq!(outcome(), "Scheduled");
}

#[test]
fn every_field_of_a_configuration_is_explained_and_no_other_is_taken() {
    let server = Server::start();
    let explain = |path: &str| {
        server
            .kubectl(&format!("explain schedulerconfiguration.spec.{path}"))
            .succeeds()
    };
    let openmcp = explain("openmcp");
    assert!(
        openmcp.contains("scheduler\t<Object> -required-")
            && openmcp.contains("Settings of the scheduler, by which requests get"),
        "{openmcp}"
    );
    let shoot = explain("gardener.schedulers.shoot");
    for part in [
        "candidateDeterminationStrategy\t<string>",
        "enum: SameRegion, MinimalDistance",
        "Default: SameRegion.",
        "concurrentSyncs\t<integer>",
    ] {
        assert!(shoot.contains(part), "{part}: {shoot}");
    }
    let with = |field: &str| {
        format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: kcp}}\nspec: {{kcp: {{{field}: 2m}}}}\n"
        )
    };
    let refused = server
        .kubectl("apply -f -")
        .input(with("heartbeatTreshold"))
        .fails();
    assert!(
        refused.contains("unknown field \"spec.kcp.heartbeatTreshold\""),
        "{refused}"
    );
    let refused = server
        .kubectl("apply --validate=false -f -")
        .input(with("heartbeatTreshold"))
        .fails();
    assert!(
        refused.contains("spec.kcp.heartbeatTreshold: Forbidden: unknown field"),
        "{refused}"
    );
    server
        .kubectl("apply -f -")
        .input(with("heartbeatThreshold"))
        .succeeds();
    let stored = server
        .kubectl("get schedulerconfiguration kcp -o jsonpath={.spec}")
        .succeeds();
    assert_eq!(
        stored, r#"{"kcp":{"heartbeatThreshold":"2m"}}"#,
        "no default is stored"
    );
}

#[test]
fn every_subresource_can_be_read_raw() {
    let server = gardener();
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let ours = "/apis/scheduling.berth.dev/v1alpha1/namespaces";
    let ocm = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/story-1/placements/placement";
    let shoot = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/web";
    for (path, kind) in [
        (
            format!("{ours}/garden-dev/decisions/web.gardener/scheduling"),
            "Scheduling",
        ),
        (
            format!("{ours}/garden-dev/decisions/web.gardener/binding"),
            "Binding",
        ),
        (
            format!("{ours}/story-1/decisions/placement.ocm/scheduling"),
            "Scheduling",
        ),
        (format!("{ocm}/scheduling"), "Scheduling"),
        (format!("{ocm}/binding"), "Binding"),
        (format!("{ocm}/status"), "Placement"),
        (format!("{shoot}/scheduling"), "Scheduling"),
        (format!("{shoot}/binding"), "Shoot"),
        (format!("{shoot}/status"), "Shoot"),
    ] {
        assert_eq!(
            server.kubectl(&format!("get --raw {path}")).json()["kind"],
            kind,
            "{path}"
        );
    }
}

#[test]
fn a_full_upstream_manifest_applies_and_keeps_every_field() {
    let server = gardener();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/shoot.yaml");
    let manifest = manifest.display().to_string();
    let applied = server.kubectl_args(&["apply", "-f", &manifest]).succeeds();
    assert_eq!(applied, "shoot.core.gardener.cloud/crazy-botany created\n");
    let again = server.kubectl_args(&["apply", "-f", &manifest]).succeeds();
    assert_eq!(again, "shoot.core.gardener.cloud/crazy-botany unchanged\n");
    let shoot = server
        .kubectl("-n garden-dev get shoot crazy-botany -o json")
        .json();
    assert_eq!(shoot["spec"]["maintenance"]["timeWindow"]["begin"], "220000+0100");
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["volume"]["type"], "gp3");
    let report = server
        .kubectl("get --raw /apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/crazy-botany/scheduling")
        .json();
    assert_eq!(report["status"]["picked"][0]["clusterName"], "aws-eu2");
}

#[test]
fn a_systems_own_configuration_file_is_taken_unmodified() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gardener.yaml");
    let text = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\nleaderElection: {leaderElect: true}\nschedulers:\n  shoot: {candidateDeterminationStrategy: MinimalDistance}\n";
    std::fs::write(&file, text).unwrap();
    let server = Server::start_with(&["--config", &file.display().to_string()]);
    server.load(&example("gardener/fleet.yaml"));
    server.load(&example("gardener/minimal-distance.yaml"));
    let decision = server
        .kubectl("-n garden-dev get decision edge.gardener -o jsonpath={.status.decisions[*].clusterName}")
        .succeeds();
    assert_eq!(decision, "aws-eu1");
}

/// `berth plan` with these arguments: exit code, standard output and standard error.
fn plan(server: &Server, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = std::process::Command::new(berth_tests::berth());
    command.args(["plan", "--kubeconfig"]).arg(server.kubeconfig());
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn berth_plan_tells_what_a_change_would_do_on_the_running_server() {
    let server = Server::start();
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let decision = server
        .kubectl("get decision placement.ocm -n story-1 -o json")
        .json();
    let cluster = decision["status"]["decisions"][0]["clusterName"]
        .as_str()
        .unwrap();

    let (code, table, _) = plan(&server, &["--drain", cluster, "--exit-code"]);
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("Moved") && table.contains(cluster), "{table}");
    let (code, markdown, _) = plan(&server, &["--drain", cluster, "-o", "markdown"]);
    assert_eq!(code, Some(0), "{markdown}");
    assert!(markdown.contains("| "), "{markdown}");

    // A file with plain objects, as for kubectl diff.
    let label = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:\n  name: new\n  labels: {cluster.open-cluster-management.io/clusterset: fleet}\nspec: {hubAcceptsClient: true}\n";
    let file = server.file("change.yaml", label);
    let (code, json, stderr) = plan(
        &server,
        &["-f", file.to_str().unwrap(), "--exit-code", "-o", "json"],
    );
    let answer: serde_json::Value =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json} {stderr}"));
    let changed = answer["status"]["plan"]["counts"]["moved"] != 0;
    assert_eq!(code, Some(i32::from(changed)), "{json}");

    let bad = server.file(
        "bad.yaml",
        &label.replace("hubAcceptsClient: true", "hubAcceptsClient: 7"),
    );
    let (code, _, stderr) = plan(&server, &["-f", bad.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("bad.yaml: document 1: spec.hubAcceptsClient"),
        "{stderr}"
    );
    let (code, _, stderr) = plan(&server, &["--drain", "nowhere"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("--drain") && stderr.contains("nowhere"),
        "{stderr}"
    );

    // The same with a review through kubectl, which stores nothing.
    let review = format!(
        "apiVersion: scheduling.berth.dev/v1alpha1\nkind: SchedulingReview\nmetadata: {{name: drain}}\nspec: {{changes: [{{drain: {cluster}}}]}}\n"
    );
    let answer = server.kubectl("create -o json -f -").input(review.clone()).json();
    assert_eq!(answer["status"]["plan"]["counts"]["moved"], 1, "{answer}");
    let both = review.replace("spec: {", "spec: {inventory: Overlay, objects: [{}], ");
    let refused = server.kubectl("create -f -").input(both).fails();
    assert!(
        refused.contains("spec.objects") && refused.contains("spec.inventory"),
        "{refused}"
    );
    let local = review
        .replace("SchedulingReview", "LocalSchedulingReview")
        .replace("{name: drain}", "{name: drain, namespace: story-1}");
    let refused = server.kubectl("create -f -").input(local).fails();
    assert!(refused.contains("create a SchedulingReview"), "{refused}");
    let after = server
        .kubectl("get decision placement.ocm -n story-1 -o json")
        .json();
    assert_eq!(after["status"]["decisions"], decision["status"]["decisions"]);
}
