//! `kubectl berth`: the plugin as kubectl finds and runs it, with a standalone server (docs/terminal.md).

use std::path::{Path, PathBuf};
use std::process::Output;

use berth_tests::Server;
use serde_json::Value;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

/// A server with Gardener's example, and a folder of plugins.
struct Plugin {
    server: Server,
    folder: tempfile::TempDir,
}

impl Plugin {
    fn start() -> Self {
        let server = Server::start();
        server.bind_by_hand(&["gardener", "ocm"]);
        for file in ["fleet.yaml", "load.yaml", "same-region.yaml"] {
            server.load(&example("gardener").join(file));
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["kubectl-berth", "kubectl_complete-berth"] {
            std::os::unix::fs::symlink(berth_tests::berth(), folder.path().join(name)).unwrap();
        }
        Self { server, folder }
    }

    /// `kubectl` with `words`, the plugins on its PATH, and a kubeconfig in KUBECONFIG.
    fn kubectl(&self, kubeconfig: &Path, words: &[&str]) -> Output {
        let path = std::env::var("PATH").unwrap();
        berth_house::program("kubectl")
            .args(words)
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", self.folder.path())
            .output()
            .unwrap()
    }

    fn ok(&self, words: &[&str]) -> String {
        let output = self.kubectl(&self.server.kubeconfig(), words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "kubectl {words:?}:\n{out}{err}");
        out
    }

    fn fails(&self, words: &[&str]) -> String {
        let output = self.kubectl(&self.server.kubeconfig(), words);
        assert_eq!(output.status.code(), Some(1), "kubectl {words:?}");
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn advice_numbers_what_to_change_with_the_line_that_does_it() {
    let plugin = Plugin::start();
    let advice = ["berth", "advice", "shoot/web", "-n", "garden-dev"];
    let text = plugin.ok(&[&advice[..], &["--cluster", "aws-guarded"]].concat());
    assert!(
        text.starts_with("Shoot garden-dev/web (gardener): would be placed\n"),
        "{text}"
    );
    let first =
        "\n  1. tolerate the taint seed.gardener.cloud/protected\n     → aws-guarded would be picked\n";
    assert!(text.contains(first), "{text}");
    assert!(text.contains("off Seed aws-guarded\n"), "{text}");
    assert!(!text.contains("kubectl patch"), "{text}");
    let wide = plugin.ok(&[&advice[..], &["--cluster", "aws-guarded", "-o", "wide"]].concat());
    let line = "     kubectl patch shoots.core.gardener.cloud web -n garden-dev --type=json -p ";
    assert!(wide.contains(line), "{wide}");
    let json = plugin.ok(&[&advice[..], &["--limit", "1", "-o", "json"]].concat());
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["status"]["targets"].as_array().unwrap().len(), 1);
    assert!(
        found["status"]["remainingTargets"].as_u64().unwrap() > 0,
        "{json}"
    );
    let unknown = plugin.fails(&[&advice[..], &["--cluster", "nowhere"]].concat());
    assert!(unknown.contains("no cluster named \"nowhere\""), "{unknown}");
    let nobody = plugin.fails(&["berth", "advice", "shoot/nobody", "-n", "garden-dev"]);
    assert!(
        nobody.contains("there is no shoot \"nobody\" in namespace garden-dev: "),
        "{nobody}"
    );
}

#[test]
fn a_cluster_says_who_is_on_it_who_is_not_and_what_a_drain_moves() {
    let plugin = Plugin::start();
    let report = plugin.ok(&["berth", "why", "cluster/aws-eu1"]);
    for part in [
        "Seed aws-eu1 (gardener): ready\n",
        "\nOn it: 2 requests\n  garden-dev/running-1.gardener\n",
        "\nWhat draining it would move\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let wanted = report
        .lines()
        .find(|line| line.contains("garden-dev/web.gardener"));
    assert!(wanted.is_some_and(|line| line.contains("not picked")), "{report}");
    assert_eq!(plugin.ok(&["berth", "why", "seed", "aws-eu1.gardener"]), report);
    let unknown = plugin.fails(&["berth", "why", "seed/aws-eu11"]);
    assert!(
        unknown.contains("no cluster named \"aws-eu11\"; did you mean aws-eu1"),
        "{unknown}"
    );
}

#[test]
fn why_shows_every_cluster_with_its_reasons_however_the_object_is_named() {
    let plugin = Plugin::start();
    let first = plugin.ok(&["berth", "why", "web.gardener", "-n", "garden-dev"]);
    let mut lines = first.lines();
    assert_eq!(
        lines.next(),
        Some("Shoot garden-dev/web (gardener): would be placed on 1 of 1"),
        "{first}"
    );
    for (cluster, reason) in [
        ("aws-eu2", "would be placed"),
        ("aws-eu1", "not picked       Utilization: 2 shoots"),
        ("aws-us1", "Strategy/NotSameRegion: "),
        ("aws-guarded", "Taints/Untolerated: "),
        ("gcp-eu1", "Usable/NotReady: "),
    ] {
        let line = first.lines().find(|line| line.trim_start().starts_with(cluster));
        assert!(
            line.is_some_and(|line| line.contains(reason)),
            "{cluster}:\n{first}"
        );
    }
    for words in [
        &["shoot/web"][..],
        &["shoot", "web"],
        &["web"],
        &["decision/web.gardener"],
        &["garden-dev/web"],
    ] {
        let words = [&["berth", "-n", "garden-dev", "why"][..], words].concat();
        assert_eq!(plugin.ok(&words), first, "{words:?}");
    }
    let everywhere = plugin.ok(&["berth", "why", "web.gardener", "-A"]);
    assert_eq!(everywhere, first);
    let in_red = text(
        &plugin
            .kubectl(
                &plugin.server.kubeconfig(),
                &["berth", "why", "web", "-n", "garden-dev"],
            )
            .stdout,
    );
    assert!(!in_red.contains('\u{1b}'), "no colours where nobody sees them");
}

fn why<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["berth", "why", "shoot/web", "-n", "garden-dev"][..], more].concat()
}

#[test]
fn why_tells_of_one_cluster_and_prints_as_kubectl_does() {
    let plugin = Plugin::start();
    for cluster in ["aws-us1", "aws-us1.gardener"] {
        let one = plugin.ok(&why(&["--cluster", cluster]));
        assert!(
            one.contains("aws-us1 is refused:\n    Strategy/NotSameRegion: ") && !one.contains("aws-eu1"),
            "{one}"
        );
    }
    let one = plugin.ok(&why(&["--cluster", "aws-eu2"]));
    assert!(one.contains("aws-eu2 is picked, rank 1"), "{one}");
    let json: Value = serde_json::from_str(&plugin.ok(&why(&["-o", "json"]))).unwrap();
    assert_eq!(json["kind"], "Scheduling");
    assert_eq!(json["status"]["candidates"].as_array().unwrap().len(), 5);
    let yaml = plugin.ok(&why(&["-o", "yaml", "--cluster=gcp-eu1"]));
    let yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(yaml["status"]["candidates"].as_array().unwrap().len(), 1);
    assert_eq!(
        plugin.ok(&why(&["-o", "name"])),
        "decision.scheduling.berth.dev/web.gardener\n"
    );
    let unknown = plugin.fails(&why(&["--cluster", "mars"]));
    assert!(
        unknown.contains("no cluster named \"mars\"; there are ") && unknown.contains("aws-eu1.gardener"),
        "{unknown}"
    );
}

#[test]
fn what_is_not_there_or_not_allowed_is_said() {
    let plugin = Plugin::start();
    for command in ["why", "advice", "history"] {
        let elsewhere = plugin.fails(&["berth", command, "shoot/web"]);
        assert!(
            elsewhere.contains("there is no shoot \"web\" in namespace default")
                && elsewhere.contains(": it is in namespace garden-dev; pass -n garden-dev"),
            "{elsewhere}"
        );
        let near = plugin.fails(&["berth", command, "shoot/wev", "-n", "garden-dev"]);
        assert!(near.contains("did you mean web.gardener?"), "{near}");
        let absent = plugin.fails(&["berth", command, "shoot/nothing-like-it"]);
        assert!(absent.contains("pass -n for another namespace"), "{absent}");
        let unseen = absent.contains(", and none was seen in the last 168 hours: ");
        assert_eq!(unseen, command == "history", "{absent}");
        let namespace = plugin.fails(&["berth", command, "shoot/web2", "-n", "garden-dve"]);
        assert!(
            namespace.contains("there is no such namespace; did you mean garden-dev?"),
            "{namespace}"
        );
    }
    let seed = plugin.fails(&["berth", "advice", "seed/aws-eu1"]);
    assert!(
        seed.contains("\"seed\" is not a kind that is scheduled"),
        "{seed}"
    );
    let ann = plugin.server.kubeconfig_for("ann", &[]);
    let refused = plugin.kubectl(&ann, &["berth", "why", "shoot/web", "-n", "garden-dev"]);
    assert_eq!(refused.status.code(), Some(1));
    let refused = text(&refused.stderr);
    assert!(
        refused.contains(
            "you may not read the explanation of shoot \"web\" in namespace garden-dev: ask for a RoleBinding"
        ),
        "{refused}"
    );
    // The recommended command grants the right.
    let binding =
        "create rolebinding berth:explainer-ann -n garden-dev --clusterrole=berth:explainer --user='ann'";
    assert!(refused.contains(&format!("kubectl {binding}")), "{refused}");
    plugin.server.kubectl(&binding.replace('\'', "")).succeeds();
    let allowed = plugin.kubectl(&ann, &["berth", "why", "shoot/web", "-n", "garden-dev"]);
    assert!(allowed.status.success(), "{}", text(&allowed.stderr));
    let plan = plugin.kubectl(&ann, &["berth", "plan", "--drain", "aws-eu1"]);
    let plan = text(&plan.stderr);
    assert!(
        plan.contains("create clusterrolebinding berth:explainer-ann"),
        "{plan}"
    );
    let context = plugin.fails(&["berth", "why", "web", "--context", "mars"]);
    assert!(context.contains("mars"), "{context}");
    let usage = plugin.kubectl(&ann, &["berth", "fly"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(
        text(&usage.stderr).contains("kubectl berth"),
        "{}",
        text(&usage.stderr)
    );
}

#[test]
fn the_context_of_the_kubeconfig_says_where_and_a_flag_says_otherwise() {
    let plugin = Plugin::start();
    let config = plugin.server.file(
        "contexts.kubeconfig",
        &std::fs::read_to_string(plugin.server.kubeconfig()).unwrap(),
    );
    let file = config.display().to_string();
    for words in [
        "config set-context here --cluster=berth --user=berth --namespace=garden-dev",
        "config set-context there --cluster=nowhere --user=berth",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert!(plugin.kubectl(&config, &words).status.success());
    }
    let view = plugin.kubectl(&config, &["config", "view", "-o", "json"]);
    let view: Value = serde_json::from_slice(&view.stdout).unwrap();
    let user = view["contexts"][0]["context"]["user"]
        .as_str()
        .unwrap()
        .to_owned();
    let cluster = view["contexts"][0]["context"]["cluster"]
        .as_str()
        .unwrap()
        .to_owned();
    let set = [
        "config",
        "set-context",
        "here",
        "--cluster",
        &cluster,
        "--user",
        &user,
    ];
    assert!(plugin.kubectl(&config, &set).status.success());
    let shown = plugin.ok(&["berth", "--kubeconfig", &file, "--context", "here", "why", "web"]);
    assert!(shown.starts_with("Shoot garden-dev/web"), "{shown}");
    let gone = plugin.kubectl(&config, &["berth", "why", "web", "--context", "there"]);
    assert!(!gone.status.success());
}

#[test]
fn plans_are_asked_in_the_namespace_of_the_context() {
    let plugin = Plugin::start();
    let shoot = std::fs::read_to_string(example("gardener/same-region.yaml")).unwrap();
    let changed = shoot
        .replace("namespace: garden-dev", "")
        .replace("name: web", "name: other");
    let file = plugin.server.file("change.yaml", &changed);
    let words = [
        "berth",
        "plan",
        "-n",
        "garden-dev",
        "-f",
        &file.display().to_string(),
        "-o",
        "json",
    ];
    let plan: Value = serde_json::from_str(&plugin.ok(&words)).unwrap();
    let entry = &plan["status"]["plan"]["entries"][0];
    assert_eq!(entry["namespace"], "garden-dev", "{plan}");
    assert_eq!(entry["name"], "other.gardener", "{plan}");
    for (words, message) in [
        (
            &[][..],
            "nothing to plan: pass -f FILE, --drain CLUSTER or --delete KIND/[NAMESPACE/]NAME",
        ),
        (
            &["--drain", "aws-eu11"][..],
            "error: --drain: no cluster named \"aws-eu11\"; did you mean aws-eu1.gardener?",
        ),
    ] {
        let words = [&["berth", "plan"], words].concat();
        let wrong = plugin.kubectl(&plugin.server.kubeconfig(), &words);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(text(&wrong.stderr).contains(message), "{}", text(&wrong.stderr));
    }
    let broken = plugin
        .server
        .file("broken.yaml", &format!("{changed}\n---\na: [1\n"));
    let words = [
        "berth",
        "plan",
        "-n",
        "garden-dev",
        "-f",
        &broken.display().to_string(),
    ];
    let output = plugin.kubectl(&plugin.server.kubeconfig(), &words);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("broken.yaml: document "),
        "{}",
        text(&output.stderr)
    );
    assert!(
        text(&output.stdout).contains("garden-dev/other"),
        "{}",
        text(&output.stdout)
    );
    let drain = ["berth", "plan", "--drain", "aws-eu1", "--exit-code"];
    let output = plugin.kubectl(&plugin.server.kubeconfig(), &drain);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("aws-eu1"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn simulate_and_the_console_are_there_too() {
    let plugin = Plugin::start();
    let folder = example("ocm").display().to_string();
    let simulated = plugin.ok(&["berth", "simulate", "-f", &folder, "--at", "2021-10-28T09:00:00Z"]);
    assert!(simulated.contains("(ocm)"), "{simulated}");
    let help = plugin.ok(&["berth", "console", "--help"]);
    assert!(
        help.contains("--allow-writes") && help.contains("--context"),
        "{help}"
    );
    let help = plugin.ok(&["berth", "--help"]);
    for command in ["why", "history", "plan", "console", "check", "export", "simulate"] {
        assert!(help.contains(command), "{help}");
    }
    assert!(
        !help.contains("\n  serve ") && help.contains("kubectl berth"),
        "{help}"
    );
}

/// The completion scripts of kubectl run `kubectl __complete`, which runs the plugin's completion.
#[test]
fn kubectl_completes_commands_flags_and_what_the_server_has() {
    let plugin = Plugin::start();
    let proposed = |words: &[&str]| {
        let words = [&["__complete", "berth"][..], words].concat();
        plugin.ok(&words)
    };
    let commands = proposed(&[""]);
    assert!(
        commands.contains("why\tShow where an object is placed") && commands.contains("console\t"),
        "{commands}"
    );
    assert!(commands.ends_with(":4\n"), "no files: {commands}");
    assert!(proposed(&["wh"]).starts_with("why\t"));
    let decisions = proposed(&["why", "-n", "garden-dev", "we"]);
    assert!(decisions.contains("web.gardener\tPending"), "{decisions}");
    let clusters = proposed(&["why", "web", "--cluster", "aws-eu"]);
    assert!(
        clusters.contains("aws-eu1.gardener") && !clusters.contains("gcp-eu1"),
        "{clusters}"
    );
    let namespaces = proposed(&["why", "--namespace=gard"]);
    assert!(namespaces.contains("--namespace=garden-dev"), "{namespaces}");
    assert!(proposed(&["why", "-o", "w"]).starts_with("wide\t"));
    assert!(proposed(&["plan", "-f", ""]).ends_with(":0\n"));
}
