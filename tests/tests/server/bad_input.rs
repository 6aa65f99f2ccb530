//! Bad input: a 4xx `Status` with the problem, its place and a remedy; no change of the store; never a
//! 5xx.

use berth_tests::{Server, raw};
use http::Method;
use serde_json::{Value, json};

const OCM: &str = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements";
const SCORES: &str =
    "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/default/addonplacementscores";
const SEEDS: &str = "/apis/core.gardener.cloud/v1beta1/seeds";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn placement(spec: Value) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "metadata": {"name": "p"}, "spec": spec})
}

fn prioritizer(weight: i64) -> Value {
    json!({"prioritizerPolicy": {"configurations": [{"weight": weight, "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mistake_is_told_with_its_field_and_stores_nothing() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let strict = format!("{OCM}?fieldValidation=Strict");
    let cases: Vec<(&str, &str, Value, u16, &str)> = vec![
        (
            "numberOfClusters below 0",
            OCM,
            placement(json!({"numberOfClusters": -1})),
            422,
            "spec.numberOfClusters",
        ),
        (
            "weight 11",
            OCM,
            placement(prioritizer(11)),
            422,
            "spec.prioritizerPolicy.configurations[0].weight",
        ),
        (
            "a word for a number",
            OCM,
            placement(json!({"numberOfClusters": "three"})),
            422,
            "spec.numberOfClusters",
        ),
        (
            "an unknown field",
            &strict,
            placement(json!({"numberOfCluster": 3})),
            400,
            "unknown field \"spec.numberOfCluster\"",
        ),
        (
            "a bad selector",
            OCM,
            placement(
                json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x"]}]}}}]}),
            ),
            422,
            "spec.predicates[0]",
        ),
        (
            "a name out of charset",
            MAPS,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A_b"}}),
            422,
            "metadata.name",
        ),
        (
            "another kind",
            MAPS,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
            400,
            "Secret",
        ),
        (
            "another namespace",
            MAPS,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}),
            400,
            "does not match the namespace",
        ),
        (
            "a revision on create",
            MAPS,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}),
            400,
            "resourceVersion should not be set",
        ),
        (
            "a CIDR that is none",
            SEEDS,
            json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": "s"}, "spec": {"provider": {"type": "aws", "region": "eu"}, "networks": {"pods": "10.0.0.0/33", "services": "10.1.0.0/16"}}}),
            422,
            "spec.networks.pods",
        ),
        (
            "an unknown strategy",
            "/apis/config.berth.dev/v1alpha1/schedulerconfigurations",
            json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "gardener"}, "spec": {"gardener": {"schedulers": {"shoot": {"candidateDeterminationStrategy": "Nearest"}}}}}),
            422,
            "candidateDeterminationStrategy",
        ),
    ];
    for (what, path, body, code, names) in cases {
        let answer = raw::write(&client, Method::POST, path, &body).await;
        let status = answer.json();
        assert_eq!(answer.code, code, "{what}: {status}");
        assert_eq!(status["kind"], "Status", "{what}: {status}");
        assert!(
            status["message"].as_str().unwrap().contains(names),
            "{what}: {status}"
        );
        let list = raw::get(&client, path.split('?').next().unwrap()).await.json();
        let stored = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["metadata"]["name"] != "kube-root-ca.crt");
        assert_eq!(stored.count(), 0, "{what}: something was stored");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_out_of_range_and_a_stale_revision_are_refused_on_update() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let score = json!({"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore", "metadata": {"name": "default"}});
    let mut stored = raw::write(&client, Method::POST, SCORES, &score).await.json();
    stored["status"] = json!({"scores": [{"name": "cpu", "value": 101}]});
    let answer = raw::write(&client, Method::PUT, &format!("{SCORES}/default/status"), &stored).await;
    assert_eq!(answer.code, 422);
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("status.scores[0].value")
    );
    stored["metadata"]["resourceVersion"] = "1".into();
    stored["status"] = json!({"scores": [{"name": "cpu", "value": 99}]});
    let answer = raw::write(&client, Method::PUT, &format!("{SCORES}/default/status"), &stored).await;
    assert_eq!(
        (answer.code, answer.json()["reason"].as_str()),
        (409, Some("Conflict"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_object_are_told_so() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    for (kind, body, code) in [
        ("application/json", &b"{\"apiVersion\": "[..], 400),
        ("application/json", b"", 400),
        ("application/json", b"[]", 400),
        ("application/yaml", b"a: [1, 2", 400),
        ("application/xml", b"<a/>", 415),
        ("application/vnd.kubernetes.protobuf", b"k8s\0garbage", 400),
        ("application/json", &vec![b' '; 4 << 20], 413),
    ] {
        let answer = raw::send(&client, Method::POST, MAPS, &[("content-type", kind)], body).await;
        assert_eq!(
            answer.code,
            code,
            "{kind}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        assert_eq!(answer.json()["kind"], "Status");
    }
}

/// Mutates a valid request at every byte with a fixed seed, and also sends random bytes.
#[tokio::test(flavor = "multi_thread")]
async fn random_and_mutated_requests_never_make_the_server_fail() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let mut random = berth_scheduling::Random::new(20_211_028);
    let good = serde_json::to_vec(&placement(prioritizer(3))).unwrap();
    let kinds = [
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/vnd.kubernetes.protobuf",
    ];
    let methods = [
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::GET,
    ];
    let queries = [
        "",
        "?limit=x",
        "?limit=-1",
        "?continue=%ff",
        "?resourceVersion=abc",
        "?labelSelector=a%20b",
        "?fieldSelector==",
        "?dryRun=Some",
        "?timeout=banana",
        "?watch=1&timeoutSeconds=0&resourceVersion=99999999999999999999",
        "?fieldValidation=Maybe",
    ];
    for round in 0..400 {
        let mut body = good.clone();
        if round % 4 == 0 {
            body = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
        } else {
            for _ in 0..=random.below(6) {
                let at = random.below(body.len() as u64) as usize;
                match random.below(3) {
                    0 => body[at] = random.below(256) as u8,
                    1 => drop(body.remove(at)),
                    _ => body.insert(at, random.below(256) as u8),
                }
            }
        }
        let method = methods[random.below(5) as usize].clone();
        let kind = kinds[random.below(5) as usize];
        let query = queries[random.below(queries.len() as u64) as usize];
        let path = if method == Method::POST {
            OCM.to_owned()
        } else {
            format!("{OCM}/p")
        };
        let answer = raw::send(
            &client,
            method.clone(),
            &format!("{path}{query}"),
            &[("content-type", kind)],
            &body,
        )
        .await;
        assert!(
            answer.code < 500,
            "{method} {path}{query} {kind}: {} {}",
            answer.code,
            String::from_utf8_lossy(&answer.body)
        );
    }
    assert_eq!(raw::get(&client, "/readyz").await.code, 200);
}

#[test]
fn load_refuses_tells_or_takes_fields_that_a_kind_has_not_as_it_is_asked() {
    let server = Server::start();
    let object = |name: &str, more: &str| {
        format!(
            "---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\n\
             spec: {{hubAcceptsClient: true{more}}}\n"
        )
    };
    let load = |name: &str, more: &[&str]| {
        let text = [
            object(&format!("{name}-unknown"), ", hubAcceptsClnt: true"),
            object(
                &format!("{name}-twice"),
                ", leaseDurationSeconds: 60, leaseDurationSeconds: 90",
            ),
            object(&format!("{name}-sound"), ""),
        ];
        let file = server.file(&format!("{name}.yaml"), &text.concat());
        let output = std::process::Command::new(berth_tests::berth())
            .args(["load", "--kubeconfig"])
            .arg(server.kubeconfig())
            .arg("-f")
            .arg(file)
            .args(more)
            .output()
            .expect("berth runs");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let there = |name: &str| {
        let all = server.kubectl("get managedclusters -o name").succeeds();
        let all = all.lines().filter_map(|line| line.rsplit('/').next());
        let own: Vec<String> = all
            .filter_map(|one| one.strip_prefix(&format!("{name}-")))
            .map(str::to_owned)
            .collect();
        own
    };
    // As kubectl, it is strict by default; a refused object does not prevent the others from being
    // written.
    for (name, more) in [("plain", &[][..]), ("strict", &["--validate=strict"])] {
        let (success, output) = load(name, more);
        assert!(!success, "{output}");
        assert!(
            output.contains("hubAcceptsClnt")
                && output.contains("duplicate field \"spec.leaseDurationSeconds\""),
            "{output}"
        );
        assert_eq!(there(name), ["sound"], "{output}");
    }
    let (success, output) = load("warn", &["--validate=warn"]);
    assert!(success, "{output}");
    assert!(
        output.contains("hubAcceptsClnt") && output.contains("duplicate field \"spec.leaseDurationSeconds\""),
        "{output}"
    );
    assert_eq!(there("warn"), ["sound", "twice", "unknown"]);
    let (success, output) = load("ignore", &["--validate=ignore"]);
    assert!(
        success && !output.contains("hubAcceptsClnt") && !output.contains("duplicate"),
        "{output}"
    );
    assert_eq!(there("ignore"), ["sound", "twice", "unknown"]);
    let lease = server
        .kubectl("get managedcluster ignore-twice -o jsonpath={.spec.leaseDurationSeconds}")
        .succeeds();
    assert_eq!(lease.trim(), "90", "the last one counts");
}
