//! Comparisons of what is placed with what would be decided.

use serde_json::{Value, json};

use berth_engine::plan::Verdict;
use berth_engine::simulate::Input;

use super::*;
use crate::simulate::{LoadOptions, load};

const GROUP: &str = "cluster.open-cluster-management.io";

fn cluster(name: &str, taints: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": "all"}},
        "spec": {"hubAcceptsClient": true, "taints": taints},
        "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Up",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    })
}

/// Two clusters, one with a taint, in a set that is bound to `team`, and a Placement there that is decided to
/// `on`.
fn hub(on: &[&str]) -> Vec<Value> {
    let decisions: Vec<Value> = on
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    vec![
        cluster("good", &json!([])),
        cluster(
            "tainted",
            &json!([{"key": "drain", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}]),
        ),
        json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "all"},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "all", "namespace": "team"}, "spec": {"clusterSet": "all"}}),
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "web", "namespace": "team", "uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, "spec": {}}),
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": "web-decision-1", "namespace": "team",
                "labels": {"cluster.open-cluster-management.io/placement": "web",
                           "cluster.open-cluster-management.io/decision-group-index": "0"},
                "ownerReferences": [{"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement", "name": "web",
                    "uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "controller": true}]},
            "status": {"decisions": decisions}}),
    ]
}

fn compared(objects: Vec<Value>) -> Comparison {
    selected(objects, "")
}

fn selected(objects: Vec<Value>, selector: &str) -> Comparison {
    let now = berth_apimachinery::time::parse("2026-01-02T00:00:00Z").unwrap();
    let inputs = objects.into_iter().enumerate().map(|(number, value)| Input {
        at: number.to_string(),
        value,
        duplicates: Vec::new(),
    });
    let by = LoadOptions {
        config: &[],
        rules: None,
        now,
    };
    let mut simulation = load(&[], &by, false, inputs)
        .map_err(|problems| problems.join("; "))
        .unwrap()
        .simulation;
    let subject = Subject {
        filter: DemandFilter::Within(None),
        selector: &Selector::parse(selector).unwrap(),
        grace: GRACE,
    };
    Comparison::of(&mut simulation, &subject, false, now).unwrap()
}

#[test]
fn requests_with_other_labels_than_are_selected_are_not_compared() {
    let of = |selector: &str| {
        let mut objects = hub(&["good"]);
        objects[4]["metadata"]["labels"] = json!({"canary": "yes"});
        selected(objects, selector).counts.same
    };
    assert_eq!((of("canary=yes"), of("canary!=yes")), (1, 0));
}

#[test]
fn what_is_placed_as_it_would_be_decided_is_the_same() {
    let comparison = compared(hub(&["good"]));
    assert_eq!(
        comparison.counts,
        Counts {
            same: 1,
            different: 0,
            unknown: 0
        }
    );
    assert_eq!(
        print::summary(comparison.counts),
        "1 request: 1 decided the same, 0 differently"
    );
}

#[test]
fn a_difference_names_gains_and_losses_with_the_reason_against_each() {
    let comparison = compared(hub(&["tainted", "gone"]));
    let [entry] = comparison.items.as_slice() else {
        panic!("{comparison:?}")
    };
    assert_eq!(entry.agreement, Agreement::Different(Verdict::Moved));
    let names = |sides: &[ContestedCluster]| {
        sides
            .iter()
            .map(|side| side.cluster_name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&entry.losses), ["gone", "tainted"]);
    assert_eq!(names(&entry.gains), ["good"]);
    let tainted = &entry.losses[1];
    assert!(
        tainted.reasons[0].starts_with("TaintToleration/Untolerated: "),
        "{tainted:?}"
    );
    assert!(
        entry.losses[0].reasons[0].contains("does not consider a cluster"),
        "{entry:?}"
    );
    assert_eq!(entry.gains[0].rank, Some(1));
    let mut text = Vec::new();
    print::print(&mut text, &comparison, crate::args::CompareOutput::Markdown, None).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with("**1 request: 0 decided the same, 1 differently.**"),
        "{text}"
    );
    assert!(
        text.contains("| team/web.ocm | Placement | Moved | gone, tainted | good |"),
        "{text}"
    );
}

#[test]
fn every_line_fits_the_terminal() {
    let comparison = compared(hub(&["gone", "tainted"]));
    for width in [80, 120, 200] {
        let mut out = Vec::new();
        let form = crate::args::CompareOutput::Table;
        print::print(&mut out, &comparison, form, Some(width)).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("team/web.ocm"), "{text}");
    }
}

#[test]
fn what_is_not_placed_yet_would_fit() {
    let comparison = compared(hub(&[]));
    assert_eq!(comparison.items[0].agreement, Agreement::Different(Verdict::Fits));
    let mut only = Comparison::default();
    for entry in compared(hub(&["good"])).items {
        only.add(entry, true);
    }
    assert!(
        only.items.is_empty() && only.counts.same == 1,
        "what agrees is counted alone"
    );
}

#[test]
fn what_was_created_a_moment_ago_is_left_to_the_other_scheduler_for_the_grace_period() {
    let mut objects = hub(&[]);
    objects[4]["metadata"]["creationTimestamp"] = json!("2026-01-01T23:59:45Z");
    let comparison = compared(objects);
    let entry = &comparison.items[0];
    assert_eq!((comparison.counts.unknown, entry.verdict), (1, "Unknown"));
    assert_eq!(
        entry.message,
        "the other scheduler may not have processed the request yet: Berth would take good (rank 1, score 100)"
    );
}

#[test]
fn a_request_that_cannot_be_read_is_unknown_with_the_reason_and_the_rest_compared() {
    let mut objects = hub(&["good"]);
    objects.push(
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "broken", "namespace": "team"}, "spec": {"numberOfClusters": "many"}}),
    );
    let comparison = compared(objects);
    let Counts {
        same,
        different,
        unknown,
    } = comparison.counts;
    assert_eq!((same, different, unknown), (1, 0, 1));
    let broken = &comparison.items[0];
    assert_eq!((broken.name.as_str(), broken.verdict), ("broken.ocm", "Unknown"));
    assert!(
        broken.message.contains("spec.numberOfClusters"),
        "{}",
        broken.message
    );
}
