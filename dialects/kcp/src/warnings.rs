//! Warnings about problems after placement: objects that are not synced to a workload cluster, and
//! clusters that do not release a namespace (docs/systems/kcp.md, "What is not synced").

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Decision;

use crate::condition::find;
use crate::fleet::{Fleet, Row};
use crate::placement::State;
use crate::readiness::SYNCED;
use crate::words::readiness_text;

/// Warnings about the workload cluster in `row`, other than about its readiness.
pub(crate) fn of_cluster(fleet: &Fleet, row: &Row, now: Timestamp) -> Vec<String> {
    let mut warnings: Vec<String> = not_synced(row).into_iter().collect();
    let leaving = fleet.leaving_count(&row.identifier);
    if leaving > 0 && !row.facts.is_ready(now) {
        let reason = readiness_text(row, now).1;
        warnings.push(format!(
            "it has not released {leaving} namespaces that must leave it: {reason}"
        ));
    }
    warnings
}

/// Warnings about the workload clusters that have the namespace of `decision`, including clusters that have
/// not released the namespace.
pub(crate) fn of_namespace(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let Some(record) = fleet.namespace(&decision.demand) else {
        return Vec::new();
    };
    let entries = record.reading.placement.0.iter();
    entries
        .filter_map(|(place, &state)| of_entry(fleet, &place.identifier, state, decision.now))
        .collect()
}

fn of_entry(fleet: &Fleet, identifier: &Arc<str>, state: State, now: Timestamp) -> Option<String> {
    let found = fleet.find_row(identifier).map(|(_, row)| row);
    match (state, found) {
        (State::Pending | State::Bound, Some(row)) => {
            Some(format!("WorkloadCluster {}: {}", row.name, not_synced(row)?))
        }
        (State::Removing, Some(row)) if row.facts.is_ready(now) => Some(format!(
            "WorkloadCluster {} has not released the namespace: its syncer removes the copies once their soft finalizers \
             (annotations finalizers.workloads.kcp.dev/{identifier}) are gone",
            row.name
        )),
        (State::Removing, Some(row)) => Some(format!(
            "WorkloadCluster {} has not released the namespace: {}; the namespace waits for its syncer, or for the \
             WorkloadCluster to be deleted",
            row.name,
            readiness_text(row, now).1
        )),
        _ => None,
    }
}

/// The sentence about objects that a cluster's syncer could not sync; `None` if there are no such objects.
fn not_synced(row: &Row) -> Option<String> {
    let condition = find(&row.record.view.status.conditions, SYNCED)?;
    let detail = match condition.message.as_str() {
        "" => &condition.reason,
        message => message,
    };
    (condition.status == "False").then(|| format!("not everything is synced: {detail}"))
}

#[cfg(test)]
mod tests {
    use berth_dialect_contract::{Inventory, Targets, Words};
    use serde_json::{Value, json};

    use crate::testing::{cluster, decide, fleet, namespace, now, with};

    const ON_A: &str = r#"{"root:compute+default+a":"Bound"}"#;
    const LEAVING: &str = r#"{"root:compute+default+a":"Removing","root:compute+default+b":"Bound"}"#;

    fn conditions(list: &Value) -> Value {
        with(cluster("a", "east"), "/status/conditions", list.clone())
    }

    #[test]
    fn unsynced_objects_are_warned_of_for_the_cluster_and_its_namespaces() {
        let failing = conditions(&json!([
            {"type": "Ready", "status": "True"},
            {"type": "Synced", "status": "False", "reason": "ObjectsNotSynced", "message": "1 of 7 objects: x"},
        ]));
        let world = fleet(&[failing, cluster("b", "east"), namespace("app", Some(ON_A))]);
        let warned = world.target(0, now()).warnings;
        assert_eq!(warned, ["not everything is synced: 1 of 7 objects: x"]);
        assert!(world.target(1, now()).warnings.is_empty());
        let expected = ["WorkloadCluster a: not everything is synced: 1 of 7 objects: x"];
        assert_eq!(world.warnings(&decide(&world, "app")), expected);
        let fine =
            conditions(&json!([{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}]));
        let world = fleet(&[fine, namespace("app", Some(ON_A))]);
        assert!(world.warnings(&decide(&world, "app")).is_empty());
        assert!(world.target(0, now()).warnings.is_empty());
    }

    #[test]
    fn a_cluster_that_does_not_release_a_namespace_is_warned_of() {
        let ready = cluster("a", "east");
        let world = fleet(&[ready, cluster("b", "east"), namespace("app", Some(LEAVING))]);
        let warned = world.warnings(&decide(&world, "app"));
        assert!(
            warned[0].contains("a has not released the namespace: its syncer removes"),
            "{warned:?}"
        );
        assert!(world.target(0, now()).warnings.is_empty(), "it is at work");

        let silent = conditions(&json!([{"type": "Ready", "status": "False", "message": "it is away"}]));
        let mut world = fleet(&[silent, cluster("b", "east"), namespace("app", Some(LEAVING))]);
        let warned = world.warnings(&decide(&world, "app"));
        assert!(
            warned[0].contains("it is away") && warned[0].contains("waits for its syncer"),
            "{warned:?}"
        );
        assert_eq!(
            world.target(0, now()).warnings,
            ["it has not released 1 namespaces that must leave it: condition Ready is False: it is away"]
        );
        // Without a Removing entry, there is no warning.
        crate::testing::put(
            &mut world,
            &namespace("app", Some(r#"{"root:compute+default+b":"Bound"}"#)),
        );
        assert!(world.target(0, now()).warnings.is_empty());

        let deleted = with(
            namespace("app", Some(LEAVING)),
            "/metadata/deletionTimestamp",
            json!("2021-10-28T08:00:00Z"),
        );
        let world = fleet(&[cluster("a", "east"), cluster("b", "east"), deleted]);
        let decision = decide(&world, "app");
        assert_eq!(
            world.message(&decision),
            "the namespace is being deleted; a, b must release it"
        );
        assert_eq!(Inventory::demands(&world).len(), 1);
    }
}
