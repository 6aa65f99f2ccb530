//! Known differences from KubeFleet's scheduler: docs/systems/fleet.md, "Differences from upstream".

use serde_json::Value;

use crate::known_differences::{Case, KnownDifference};

pub(super) const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        why: "with spread constraints, that a cluster was bound before counts for every pick; KubeFleet knows it in its first cycle",
        settle: |case, theirs, ours| {
            let patient = theirs
                .as_object_mut()
                .and_then(|verdict| verdict.remove("patient"));
            let policy = &case.object("ClusterResourcePlacement")["spec"]["policy"];
            if let (Some(patient), Some(_)) = (patient, policy["topologySpreadConstraints"].as_array()) {
                // The original picks the same clusters as Berth if it removes bindings at the end.
                if *theirs != *ours {
                    *theirs = patient;
                }
            }
        },
    },
    KnownDifference {
        why: "a listed cluster that is ineligible for the moment keeps its binding after a change of the list; KubeFleet lets it go",
        settle: |case, theirs, ours| {
            if case.object("ClusterResourcePlacement")["spec"]["policy"]["placementType"] == "PickFixed" {
                for cluster in kept_clusters(case, theirs, ours) {
                    *theirs = without(theirs, &cluster);
                    *ours = without(ours, &cluster);
                }
            }
        },
    },
    KnownDifference {
        why: "a listed cluster that is ineligible for the moment and bound is reported as selected; KubeFleet reports that it is not",
        settle: |case, theirs, ours| {
            let fixed =
                case.object("ClusterResourcePlacement")["spec"]["policy"]["placementType"] == "PickFixed";
            if fixed && theirs["picked"] == ours["picked"] {
                let bound = ours["picked"].clone();
                theirs["written"]["selected"] = bound.clone();
                ours["written"]["selected"] = bound;
                for side in [theirs, ours] {
                    side["written"]["conditions"]["Scheduled"].take();
                }
            }
        },
    },
];

/// The listed clusters with an active binding by an older policy, which Berth keeps and the original
/// does not.
fn kept_clusters(case: &Case<'_>, theirs: &Value, ours: &Value) -> Vec<String> {
    let policy = &case.object("ClusterResourcePlacement")["spec"]["policy"];
    let listed = policy["clusterNames"].as_array().into_iter().flatten();
    let names = listed.filter_map(Value::as_str).map(str::to_owned);
    names
        .filter(|name| {
            theirs["written"]["bindings"][name]["state"] == "Unscheduled"
                && ours["written"]["bindings"][name]["state"] != "Unscheduled"
        })
        .collect()
}

/// A verdict without its part about a cluster, and without whether all listed clusters exist.
fn without(verdict: &Value, cluster: &str) -> Value {
    let mut verdict = verdict.clone();
    let about = |one: &Value| {
        one.as_str()
            .is_some_and(|text| text.split(' ').next() == Some(cluster))
    };
    for list in ["/picked", "/written/selected"] {
        if let Some(Value::Array(list)) = verdict.pointer_mut(list) {
            list.retain(|one| !about(one));
        }
    }
    for (map, key) in [
        ("/written/bindings", cluster),
        ("/written/conditions", "Scheduled"),
    ] {
        if let Some(Value::Object(map)) = verdict.pointer_mut(map) {
            map.remove(key);
        }
    }
    verdict
}
