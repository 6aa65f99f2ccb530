//! Users with the right to reviews and explanations send the most expensive ones: endless expressions,
//! reviews with many objects, and explanations of a large fleet.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use berth_tests::Server;
use berth_tests::raw::{get, send, write};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::Over;
use super::attacks::{Answers, JSON};

const CLUSTERS: usize = 1_500;
const SET: &str = "cluster.open-cluster-management.io/clusterset";
const V1: &str = "cluster.open-cluster-management.io/v1";
const V1BETA2: &str = "cluster.open-cluster-management.io/v1beta2";
const V1BETA1: &str = "cluster.open-cluster-management.io/v1beta1";
const REVIEWS: &str = "/apis/scheduling.berth.dev/v1alpha1/schedulingreviews";

fn set() -> Value {
    json!({"apiVersion": V1BETA2, "kind": "ManagedClusterSet", "metadata": {"name": "fleet"}})
}

fn bound(namespace: &str) -> Value {
    json!({
        "apiVersion": V1BETA2, "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "fleet", "namespace": namespace}, "spec": {"clusterSet": "fleet"},
    })
}

fn cluster(number: usize) -> Value {
    json!({
        "apiVersion": V1, "kind": "ManagedCluster",
        "metadata": {"name": format!("c{number}"), "labels": {SET: "fleet", "n": number.to_string()}},
        "spec": {"hubAcceptsClient": true},
    })
}

fn placement(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": V1BETA1, "kind": "Placement",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

/// An expression that exhausts the cost limit on a cluster; all are different, so that no result is cached.
fn bomb(number: usize) -> Value {
    let list = format!("[{}]", vec!["1"; 100].join(","));
    let source = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a + {number} > b))))");
    json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}}]})
}

/// Loads a fleet and two Placements: one that selects the whole fleet, and one without a feasible
/// cluster.
pub(super) fn fleet(server: &Server) {
    let mut all = set().to_string();
    for number in 0..CLUSTERS {
        write!(all, "\n---\n{}", cluster(number)).expect("text grows");
    }
    for namespace in ["team-gil", "team-hal"] {
        write!(all, "\n---\n{}", bound(namespace)).expect("text grows");
    }
    let nowhere = json!({"predicates": [{"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"zone": "nowhere", "tier": "none"}}}}]});
    for (name, spec) in [("wide", json!({})), ("narrow", nowhere)] {
        write!(all, "\n---\n{}", placement("team-gil", name, &spec)).expect("text grows");
    }
    server.load(&server.file("fleet.yaml", &all));
}

/// `berth:explainer`: reviews with their own objects, and an endless expression about them.
pub(super) async fn reviews(client: Client, over: Over) -> String {
    let mut objects = vec![set(), bound("team-fay")];
    objects.extend((0..200).map(cluster));
    let mut answers = Answers::by("reviews");
    let mut round = 0;
    while !over.load(Ordering::Relaxed) {
        round += 1;
        let review = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "SchedulingReview", "metadata": {"name": "bomb"},
            "spec": {"inventory": "Provided", "objects": objects, "object": placement("team-fay", "bomb", &bomb(round))},
        });
        let path = format!("{REVIEWS}?timeout=10s");
        let answer = write(&client, Method::POST, &path, &review).await;
        if answer.code == 201 {
            let status = &answer.json()["status"];
            assert_eq!(status["outcome"], "Invalid", "{status}");
        }
        answers.note(&answer, &[201, 504]);
    }
    answers.shown_any()
}

/// `berth:explainer`: all reasons of a large fleet in every form, and simulated drains.
pub(super) async fn explanations(client: Client, over: Over) -> String {
    let decision = "/apis/scheduling.berth.dev/v1alpha1/namespaces/team-gil/decisions/wide.ocm";
    let candidates = "/apis/scheduling.berth.dev/v1alpha1/namespaces/team-gil/candidates?limit=500";
    let plan = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "SchedulingReview", "metadata": {"name": "drain"},
        "spec": {"changes": (0..500).map(|n| json!({"drain": format!("c{n}")})).collect::<Vec<_>>()},
    });
    let mut answers = Answers::by("explanations");
    while !over.load(Ordering::Relaxed) {
        for path in [format!("{decision}/scheduling").as_str(), candidates] {
            let answer = get(&client, path).await;
            if answer.code == 200 {
                assert!(answer.body.len() > 100_000, "{path}: {}", answer.body.len());
            }
            answers.note(&answer, &[200]);
        }
        answers.note(&write(&client, Method::POST, REVIEWS, &plan).await, &[201, 504]);
    }
    answers.shown(200)
}

/// `edit` in a namespace: Placements with endless expressions.
pub(super) async fn expressions(client: Client, over: Over) -> String {
    let path = format!("/apis/{V1BETA1}/namespaces/team-hal/placements?dryRun=All&timeout=10s");
    let mut answers = Answers::by("expressions");
    let mut round = 1_000_000;
    while !over.load(Ordering::Relaxed) {
        round += 1;
        let body = placement("team-hal", "bomb", &bomb(round)).to_string();
        let answer = send(&client, Method::POST, &path, &JSON, body.as_bytes()).await;
        answers.note(&answer, &[201, 504]);
    }
    answers.shown_any()
}
