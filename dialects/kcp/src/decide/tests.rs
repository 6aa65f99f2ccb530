//! Decisions: selection, stickiness, eviction, due times.

use serde_json::json;

use super::*;
use crate::testing::{ask, cluster, decide, fleet, location, namespace, now, put, with, written};

fn errors(answer: Result<Decision, ChoiceRefusal>) -> Vec<String> {
    answer
        .unwrap_err()
        .errors
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn evicting(name: &str, region: &str) -> serde_json::Value {
    with(
        cluster(name, region),
        "/spec/evictAfter",
        json!("2021-10-28T08:00:00Z"),
    )
}

#[test]
fn the_cluster_asked_for_is_bound() {
    let objects = [
        location("east"),
        cluster("a", "east"),
        cluster("b", "east"),
        cluster("c", "east"),
        namespace("app", None),
    ];
    let fleet = fleet(&objects);
    for name in ["a", "b", "c"] {
        let decision = ask(&fleet, "app", &[name]).unwrap();
        let expected = format!(r#"{{"root:compute+east+{name}":"Pending"}}"#);
        assert_eq!(written(&fleet, &decision), Some(expected));
        assert_eq!(decision.outcome, Outcome::Scheduled);
    }
}

#[test]
fn what_cannot_be_bound_is_told_target_by_target() {
    let cordoned = with(cluster("cordoned", "west"), "/spec/unschedulable", json!(true));
    let fleet = fleet(&[
        location("east"),
        cluster("a", "east"),
        cordoned,
        namespace("app", None),
    ]);
    assert_eq!(
        errors(ask(&fleet, "app", &["nowhere", "cordoned", "a", "a"])),
        [
            "spec.targets[0]: Invalid value: \"nowhere\": there is no WorkloadCluster with the identifier \"nowhere\"",
            "spec.targets[1]: Invalid value: \"cordoned\": NotInLocation: the labels match the instanceSelector of no \
             location; Cordoned: it takes no new namespaces (spec.unschedulable)",
            "spec.targets[3]: Duplicate value: \"a\"",
        ]
    );
}

#[test]
fn no_more_are_bound_than_are_wanted() {
    let fleet = fleet(&[cluster("a", "east"), cluster("b", "east"), namespace("app", None)]);
    assert_eq!(
        errors(ask(&fleet, "app", &["a", "b"])),
        ["spec.targets: Too many: 2: must have at most 1 items"]
    );
}

#[test]
fn a_placed_namespace_stays_where_it_is() {
    let bound = namespace("app", Some(r#"{"root:compute+default+a":"Bound"}"#));
    let fleet = fleet(&[cluster("a", "east"), cluster("b", "east"), bound]);
    assert_eq!(
        ask(&fleet, "app", &["a"]).unwrap().outcome,
        Outcome::Scheduled,
        "the condition is written"
    );
    assert_eq!(
        errors(ask(&fleet, "app", &["b"])),
        [
            "spec.targets[0]: Invalid value: \"b\": the namespace is on a and gets no second workload cluster; it moves \
          within its location when it must leave that cluster, for example at spec.evictAfter"
        ]
    );
}

#[test]
fn nothing_is_bound_by_hand_where_nothing_is_placed() {
    let disabled = with(
        namespace("app", None),
        "/metadata/labels/experimental.workloads.kcp.dev~1scheduling-disabled",
        json!("true"),
    );
    let going = with(
        namespace("app", None),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T08:00:00Z"),
    );
    for (namespace, problem) in [
        (disabled, "scheduling is disabled for the namespace by label"),
        (going, "the namespace is being deleted"),
    ] {
        let fleet = fleet(&[cluster("a", "east"), namespace]);
        let expected = format!("spec.targets[0]: Invalid value: \"a\": {problem}");
        assert_eq!(errors(ask(&fleet, "app", &["a"])), [expected]);
    }
}

#[test]
fn clusters_asked_for_are_seated_where_they_fit() {
    // The cluster `both` belongs to both locations, and `e` only to east: `both` must be assigned to west,
    // in whichever order they are named.
    let everywhere = with(
        location("west"),
        "/spec/instanceSelector",
        json!({"matchLabels": {"west": "yes"}}),
    );
    let labelled = |name: &str| with(cluster(name, "east"), "/metadata/labels/west", json!("yes"));
    let placed = namespace(
        "app",
        Some(r#"{"root:compute+east+x":"Removing","root:compute+west+y":"Removing"}"#),
    );
    let fleet = fleet(&[
        location("east"),
        everywhere,
        cluster("e", "east"),
        labelled("both"),
        labelled("other"),
        placed,
    ]);
    for names in [["e", "both"], ["both", "e"]] {
        let decision = ask(&fleet, "app", &names).unwrap();
        assert_eq!(
            written(&fleet, &decision).unwrap(),
            r#"{"root:compute+east+e":"Pending","root:compute+east+x":"Removing","root:compute+west+both":"Pending","root:compute+west+y":"Removing"}"#
        );
    }
    let decision = ask(&fleet, "app", &["other"]).unwrap();
    assert_eq!(decision.outcome, Outcome::Partial);
    assert_eq!(decision.reason, "Unschedulable");
}

#[test]
fn a_decision_is_due_when_time_may_change_it() {
    let minutes = |minutes: i64| now() + SignedDuration::from_mins(minutes);
    let later = with(
        cluster("a", "east"),
        "/spec/evictAfter",
        json!("2021-10-28T09:05:00Z"),
    );
    let mut world = fleet(&[later, namespace("app", None), namespace("other", Some("{}"))]);
    assert_eq!(
        decide(&world, "app").due_at,
        Some(minutes(5)),
        "the chosen cluster will be evicted"
    );
    let bound = namespace("app", Some(r#"{"root:compute+default+a":"Bound"}"#));
    put(&mut world, &bound);
    assert_eq!(decide(&world, "app").due_at, Some(minutes(5)));
    put(&mut world, &evicting("a", "east"));
    let decision = decide(&world, "app");
    assert_eq!(decision.due_at, Some(minutes(2)), "no replacement: tried again");
    assert_eq!(decide(&world, "other").due_at, Some(minutes(2)));
    put(&mut world, &cluster("a", "east"));
    assert_eq!(decide(&world, "app").due_at, None);
}

#[test]
fn a_write_touches_its_field_alone() {
    let mut object = namespace("app", None);
    object["metadata"]["annotations"] = json!({"note": "kept"});
    object["spec"] = json!({"finalizers": ["kubernetes"], "unknown": [1]});
    let fleet = fleet(&[cluster("a", "east"), object.clone()]);
    let writes = berth_dialect_contract::Inventory::writes(&fleet, &decide(&fleet, "app"));
    let [annotation, status] = &writes[..] else {
        panic!("two writes: {writes:?}")
    };
    assert_eq!(
        (annotation.subresource, annotation.base),
        ("", Some(berth_apimachinery::Revision(7)))
    );
    assert_eq!((status.subresource, status.base), ("status", None));
    object["metadata"]["annotations"]["scheduling.kcp.dev/placement"] =
        r#"{"root:compute+default+a":"Pending"}"#.into();
    assert_eq!(annotation.object, object);
    object["status"] = json!({"conditions": [
        {"type": "NamespaceScheduled", "status": "True", "lastTransitionTime": "2021-10-28T09:00:00Z"},
    ]});
    assert_eq!(status.object, object);
}
