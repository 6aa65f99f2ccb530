//! Clusters, bindings and choices for tests.

use std::fmt::Write as _;
use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision};
use serde_json::{Value, json};

use crate::choice::{Choice, Settings, choose};
use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::names::{BINDINGS, CLUSTERS};
use crate::question::{Neighbors, Question};
use crate::record::Record;

/// The API that every cluster of the tests serves.
const SERVED: &str = "apps/v1";

/// Returns `value` as a stored object.
pub(crate) fn object(value: &Value) -> Arc<Object> {
    Arc::new(Object::new(value, Revision(1)).expect("the test has written an object"))
}

/// A cluster named `name` with room for `pods` pods.
pub(crate) fn cluster_value(name: &str, pods: i64) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "uid": format!("uid-{name}")},
        "spec": {"syncMode": "Push"},
        "status": {
            "apiEnablements": [{"groupVersion": SERVED, "resources": [{"name": "deployments", "kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"pods": pods.to_string()}},
        },
    })
}

/// Parses `value`, which is a Cluster.
pub(crate) fn cluster(value: &Value) -> Arc<Cluster> {
    let name = value["metadata"]["name"].as_str().expect("a name");
    let read = Cluster::read(&Key::new(CLUSTERS, "", name), &object(value));
    Arc::new(read.expect("the test has written a cluster"))
}

/// The clusters of `text`, such as `a:10 b:6`; `eu/a:10` is in region eu.
pub(crate) fn clusters(text: &str) -> Vec<Arc<Cluster>> {
    let mut all: Vec<Arc<Cluster>> = text
        .split_whitespace()
        .map(|word| {
            let (name, pods) = word.split_once(':').expect("name:pods");
            let (region, name) = name.split_once('/').unwrap_or(("", name));
            let mut value = cluster_value(name, pods.parse().expect("a number"));
            value["spec"]["region"] = region.into();
            cluster(&value)
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// The value of `spec.clusters` for `text`, such as `a6 b3` or `a:6 b:3`: names of clusters with their
/// replicas.
fn targets(text: &str) -> Vec<Value> {
    let words = text.split_whitespace();
    words
        .map(|word| {
            let (name, replicas) = match word.split_once(':') {
                Some(parts) => parts,
                None => word.split_at(
                    word.find(|letter: char| letter.is_ascii_digit())
                        .expect("a number"),
                ),
            };
            json!({"name": name, "replicas": replicas.parse::<i64>().expect("a number")})
        })
        .collect()
}

/// A binding with `placement` that requests `replicas` and lists the clusters of `held`, such as `a6 b3`.
pub(crate) fn binding_value(placement: &Value, replicas: i64, held: &str) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "name": "web-deployment", "namespace": "team", "uid": "uid-binding", "generation": 1,
            "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
        },
        "spec": {
            "resource": {"apiVersion": SERVED, "kind": "Deployment", "namespace": "team", "name": "web"},
            "replicas": replicas, "clusters": targets(held), "placement": placement,
        },
    })
}

/// Parses `value`, which is a ResourceBinding.
pub(crate) fn record(value: &Value) -> Record {
    let read = Record::read(&Key::new(BINDINGS, "team", "web-deployment"), &object(value));
    read.expect("the test has written a binding")
}

/// The choice for `record` among `clusters`.
pub(crate) fn chosen(clusters: &[Arc<Cluster>], record: &Record) -> Choice {
    let compiled = record.placement.as_ref().expect("a placement");
    let (columns, neighbors) = (Columns::build(clusters.iter()), Neighbors::default());
    let question = Question::new(&columns, record, compiled, &neighbors);
    choose(&question, Settings::default())
}

/// The choice as text, such as `a:6 b:3`, or else the reason of Karmada's condition. If there are groups, the
/// text begins with the chosen group.
pub(crate) fn choice_text(clusters: &[Arc<Cluster>], record: &Record) -> String {
    let choice = chosen(clusters, record);
    let groups = record
        .placement
        .as_ref()
        .map_or(&[][..], |policy| policy.groups());
    let mut text = String::new();
    match (&choice.run.outcome, choice.group) {
        (Err(failure), _) => return failure.condition_reason().to_owned(),
        (Ok(_), Some(place)) => write!(text, "{}: ", groups[place].name).expect("memory"),
        (Ok(_), None) => {}
    }
    let shares = choice.run.outcome.expect("a failure was returned above");
    let words: Vec<String> = shares
        .iter()
        .map(|(candidate, share)| format!("{}:{share}", clusters[*candidate as usize].name))
        .collect();
    text + &words.join(" ")
}
