//! Metrics and runbooks of `deploy/observability`: a running server has the metrics, and every alert has a
//! runbook.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::raw::{self, get, write};
use berth_tests::{Server, eventually};
use http::Method;
use serde_json::{Value, json};

/// Metrics of Prometheus itself.
const NOT_OURS: [&str; 1] = ["up"];
/// Metrics of calls of a hub's webhooks, of verdicts of admission policies, or of expressions that do not
/// compile, which a new server without a hub does not have. The unit tests of their files check their names.
const NOT_AT_FIRST: [&str; 4] = [
    "apiserver_admission_webhook_",
    "apiserver_mutating_admission_policy_",
    "apiserver_validating_admission_policy_",
    "berth_admission_uncompiled_expressions",
];

fn file(path: &str) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|problem| panic!("{path}: {problem}"))
}

fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&file("deploy/observability/berth.rules.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    let all: Vec<Value> = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap().clone())
        .collect();
    assert!(all.len() > 10);
    all
}

/// `text` without the parts between `open` and `close`.
fn without(text: &str, open: char, close: char) -> String {
    let mut depth = 0;
    let mut left = String::new();
    for c in text.chars() {
        match c {
            c if c == open => depth += 1,
            c if c == close => depth -= 1,
            c if depth == 0 => left.push(c),
            _ => {}
        }
        assert!(depth >= 0, "{text}");
    }
    assert_eq!(depth, 0, "{text}");
    left
}

/// The metrics of a PromQL query.
fn metrics(query: &str) -> BTreeSet<String> {
    let query = without(&without(query, '{', '}'), '[', ']');
    let mut rest = String::new();
    let mut words = query.split("by (");
    rest.push_str(words.next().unwrap());
    for part in words {
        rest.push_str(part.split_once(')').unwrap().1);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(start) = rest[at..].find(is_name).map(|start| at + start) {
        let end = rest[start..]
            .find(|c| !is_name(c))
            .map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let is_function = rest[end..].trim_start().starts_with('(');
        if !is_number && !is_function && !["or", "and", "unless"].contains(&word) {
            found.insert(word.to_owned());
        }
        at = end;
    }
    found
}

#[test]
fn the_metrics_of_a_query_are_found() {
    let query = r#"histogram_quantile(0.99, sum by (le, name) (rate(a_bucket{job="x"}[10m]))) > 1 or b{c=~"d.*"} - time() < 5e+08"#;
    assert_eq!(
        metrics(query),
        BTreeSet::from(["a_bucket".to_owned(), "b".to_owned()])
    );
}

/// Whether the exposition has the metric: counters and histograms have suffixes after the names of their
/// families.
fn exposes(text: &str, metric: &str) -> bool {
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut families = families.filter_map(|line| line.split_once(' '));
    families.any(|(family, kind)| match kind {
        "counter" => metric.strip_suffix("_total") == Some(family),
        "histogram" => ["_bucket", "_count", "_sum"]
            .iter()
            .any(|suffix| metric.strip_suffix(suffix) == Some(family)),
        _ => metric == family,
    })
}

/// Sends a write that a guard refuses, and creates a Placement without a cluster, so that every metric has a
/// value.
async fn stir(server: &Server, client: &kube::Client) {
    assert_eq!(get(client, "/readyz?verbose").await.code, 200);
    let shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"cloudProfile": {"kind": "CloudProfile", "name": "none"}, "region": "r", "provider": {"type": "t"}},
    });
    let shoots = "/apis/core.gardener.cloud/v1beta1/namespaces/default/shoots";
    let made = write(client, Method::POST, shoots, &shoot).await;
    assert_eq!(made.code, 201, "{}", made.json());
    let mut seeded = shoot.clone();
    seeded["metadata"]["name"] = "y".into();
    seeded["spec"]["seedName"] = "nowhere".into();
    let refused = write(client, Method::POST, shoots, &seeded).await;
    assert!(refused.code == 403 || refused.code == 422, "{}", refused.json());
    assert!(server.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_alerts_and_the_dashboard_is_one_that_a_running_server_has() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    stir(&server, &client).await;
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for alert in alerts() {
        wanted.extend(metrics(alert["expr"].as_str().unwrap()));
    }
    let dashboard: Value = serde_json::from_str(&file("deploy/observability/dashboard.json")).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            wanted.extend(metrics(target["expr"].as_str().unwrap()));
        }
    }
    let later = |name: &str| NOT_AT_FIRST.iter().any(|prefix| name.starts_with(prefix));
    wanted.retain(|name| !NOT_OURS.contains(&&**name) && !later(name));
    assert!(wanted.len() > 12, "{wanted:?}");
    let deadline = std::time::Instant::now() + berth_tests::DEADLINE;
    loop {
        let answer = get(&client, "/metrics").await;
        let text = String::from_utf8(answer.body).unwrap();
        let missing: Vec<&String> = wanted.iter().filter(|name| !exposes(&text, name)).collect();
        if missing.is_empty() {
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{missing:?} are not in\n{text}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let page = file("docs/alerts.md");
    let described: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let mut named = BTreeSet::new();
    for alert in &alerts() {
        let name = alert["alert"].as_str().unwrap();
        let runbook = format!("docs/alerts.md#{}", name.to_lowercase());
        assert_eq!(alert["annotations"]["runbook"], runbook.as_str());
        assert!(alert["annotations"]["summary"].is_string(), "{name}");
        let severity = alert["labels"]["severity"].as_str().unwrap();
        assert!(["info", "warning", "critical"].contains(&severity), "{name}");
        named.insert(name.to_owned());
    }
    assert_eq!(
        named.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        described
    );
}

#[test]
fn panels_of_the_dashboard_do_not_lie_on_each_other() {
    let dashboard: Value = serde_json::from_str(&file("deploy/observability/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let at = |field: &str| panel["gridPos"][field].as_u64().unwrap();
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(x < 24 && taken.insert((x, y)), "{panel}");
            }
        }
    }
}

/// The checks of Grafana's dashboard linter that apply to a dashboard of one job.
#[test]
fn every_panel_of_the_dashboard_says_what_it_shows_and_of_which_source() {
    let dashboard: Value = serde_json::from_str(&file("deploy/observability/dashboard.json")).unwrap();
    for field in ["uid", "title"] {
        assert!(
            dashboard[field].as_str().is_some_and(|text| !text.is_empty()),
            "{field}"
        );
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let source = variables
        .iter()
        .find(|variable| variable["type"] == "datasource")
        .unwrap();
    let named = format!("${{{}}}", source["name"].as_str().unwrap());
    let mut titles = BTreeSet::new();
    let alerts = alerts();
    let known: BTreeSet<&str> = alerts
        .iter()
        .filter_map(|alert| alert["alert"].as_str())
        .collect();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(!title.is_empty() && titles.insert(title), "{title}");
        let description = panel["description"].as_str().unwrap_or_default();
        assert!(description.ends_with('.'), "{title} has no description");
        let words = description.split(|letter: char| !letter.is_alphanumeric());
        let is_alert = |word: &&str| word.len() > "Berth".len() && word.starts_with("Berth");
        for word in words.filter(is_alert) {
            assert!(
                known.contains(word),
                "{title} names an alert that is not there: {word}"
            );
        }
        assert_eq!(panel["datasource"]["uid"], named.as_str(), "{title}");
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{title} has no unit"
        );
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            let query = target["expr"].as_str().unwrap();
            let all = query.matches('{').count();
            assert!(
                all > 0 && all == query.matches("{job=\"berth\"").count(),
                "{title}: {query}"
            );
            assert!(
                !target["legendFormat"].as_str().unwrap_or_default().is_empty(),
                "{title}"
            );
            // Quantiles use the rate of a counter.
            assert!(
                !query.contains("_bucket{") || query.contains("rate("),
                "{title}: {query}"
            );
        }
    }
}

#[test]
fn logs_in_a_file_have_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut child = std::process::Command::new(berth_tests::berth())
        .args([
            "--log-level=info",
            "serve",
            "--secure-port=0",
            "--storage=memory",
            "--data-dir",
        ])
        .arg(folder.path())
        .env_remove("NO_COLOR")
        .stdout(std::process::Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let text = eventually("a line in the log", || {
        let text = std::fs::read_to_string(&log).unwrap();
        text.contains("INFO").then_some(text)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
#[ignore = "builds Prometheus' parser from its Go module: `make e2e` runs it"]
fn prometheus_takes_every_rule_and_every_query_of_the_dashboard() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observability");
    let program = berth_tests::go::build("promrules", ".", "promrules");
    let check = |files: &[PathBuf]| Command::new(&program).args(files).output().unwrap();
    let taken = check(&["berth.rules.yaml", "dashboard.json"].map(|file| folder.join(file)));
    let problems = String::from_utf8_lossy(&taken.stderr);
    assert!(taken.status.success(), "{problems}");

    // The check would find a problem.
    let broken = std::env::temp_dir().join(format!("berth-rules-{}.yaml", std::process::id()));
    let text = file("deploy/observability/berth.rules.yaml").replacen("expr: ", "expr: (", 1);
    std::fs::write(&broken, text).unwrap();
    let refused = check(std::slice::from_ref(&broken));
    std::fs::remove_file(&broken).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let problems = String::from_utf8_lossy(&refused.stderr);
    assert!(problems.contains("could not parse expression"), "{problems}");
}
