//! KubeFleet: its scheduling framework, cycle by cycle, with a fake client.

mod generate;
mod known_differences;
mod policy;

use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};
use crate::world::World;

const MEMBERS: &str = "cluster.kubernetes-fleet.io/v1beta1";
const PLACEMENTS: &str = "placement.kubernetes-fleet.io/v1beta1";
const PARENT: &str = "kubernetes-fleet.io/parent-CRP";
const LATEST: &str = "kubernetes-fleet.io/is-latest-snapshot";
const NUMBER: &str = "kubernetes-fleet.io/number-of-clusters";

pub(crate) static FLEET: System = System {
    name: "fleet",
    dialect: "fleet",
    program: "fleet",
    linked: &[],
    filters: 4,
    cluster: "MemberCluster",
    generate: generate::world,
    fits,
    report,
    known: known_differences::KNOWN_DIFFERENCES,
    planted: PLANTED,
};

/// Whether each placement has one latest snapshot, of its own policy, and the bindings of a fixed list are
/// only of listed clusters and without scores.
fn fits(world: &World) -> bool {
    let all = |kind: &'static str| world.objects.iter().filter(move |object| object["kind"] == kind);
    all("ClusterResourcePlacement").all(|placement| {
        let name = &placement["metadata"]["name"];
        let own = |object: &&Value| object["metadata"]["labels"][PARENT] == *name;
        let mut latest = all("ClusterSchedulingPolicySnapshot")
            .filter(own)
            .filter(|snapshot| snapshot["metadata"]["labels"][LATEST] == "true");
        let (Some(snapshot), None) = (latest.next(), latest.next()) else {
            return false;
        };
        let (policy, metadata) = (&placement["spec"]["policy"], &snapshot["metadata"]);
        let listed = policy["clusterNames"].as_array();
        let mut bindings = all("ClusterResourceBinding")
            .filter(own)
            .map(|binding| &binding["spec"]);
        let named = listed.is_some_and(|listed| !listed.is_empty());
        (named || policy["placementType"] != "PickFixed")
            && snapshot["spec"]["policy"] == *policy
            && policy["numberOfClusters"]
                .as_u64()
                .map(|number| number.to_string())
                .as_deref()
                == metadata["annotations"][NUMBER].as_str()
            && bindings.all(|binding| {
                policy["placementType"] != "PickFixed"
                    || binding["schedulingPolicySnapshotName"] != metadata["name"]
                    || binding["state"] == "Unscheduled"
                    || (listed.is_some_and(|listed| listed.contains(&binding["targetCluster"]))
                        && binding["clusterDecision"]["clusterScore"].is_null())
            })
    })
}

fn report(decided: &Decided<'_>) -> Value {
    if decided.decision.outcome.as_str() == "Invalid" {
        return json!({"problem": "Invalid", "picked": [], "refused": {}});
    }
    let mut picked = decided.picked();
    picked.sort();
    let fixed = decided.after()[&decided.decision.demand]["spec"]["policy"]["placementType"] == "PickFixed";
    // The original does not filter a fixed list.
    let refused = if fixed {
        json!({})
    } else {
        decided.refused(|filter, _| filter)
    };
    json!({"picked": picked, "refused": refused, "written": written(decided)})
}

/// The bindings and the status of the policy after the decision.
fn written(decided: &Decided<'_>) -> Value {
    let name = &*decided.decision.demand.name;
    let after = decided.after();
    let own = |kind: &'static str| {
        let own = after.values().filter(move |object| object["kind"] == kind);
        own.filter(move |object| object["metadata"]["labels"][PARENT] == *name)
    };
    let mut bindings = json!({});
    for binding in own("ClusterResourceBinding") {
        if !binding["metadata"]["deletionTimestamp"].is_null() {
            continue;
        }
        let spec = &binding["spec"];
        let scores = match spec["state"] == "Unscheduled" {
            true => String::new(),
            false => scores(&spec["clusterDecision"]),
        };
        let cluster = spec["targetCluster"].as_str().unwrap_or_default();
        bindings[cluster] = json!({
            "state": spec["state"], "snapshot": spec["schedulingPolicySnapshotName"], "scores": scores,
        });
    }
    let mut latest = own("ClusterSchedulingPolicySnapshot")
        .filter(|snapshot| snapshot["metadata"]["labels"][LATEST] == "true");
    let status = latest
        .next()
        .map_or(Value::Null, |snapshot| snapshot["status"].clone());
    let listed = status["targetClusters"].as_array().into_iter().flatten();
    let selected = listed.filter(|one| one["selected"] == true);
    let mut selected: Vec<String> = selected
        .map(|one| {
            format!(
                "{} {}",
                one["clusterName"].as_str().unwrap_or_default(),
                scores(one)
            )
        })
        .collect();
    selected.sort();
    let mut conditions = json!({});
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        conditions[text("type")] = json!(format!("{} {}", text("status"), text("reason")));
    }
    json!({"bindings": bindings, "selected": selected, "conditions": conditions})
}

/// The recorded scores of spread and affinity of a decision.
fn scores(decision: &Value) -> String {
    let of = &decision["clusterScore"];
    let number = |name: &str| of[name].as_i64().unwrap_or_default();
    format!("{} {}", number("priorityScore"), number("affinityScore"))
}

/// The policy of a placement or of a snapshot.
fn policy(object: &mut Value) -> Option<&mut Value> {
    let has =
        object["kind"] == "ClusterResourcePlacement" || object["kind"] == "ClusterSchedulingPolicySnapshot";
    if has {
        object.pointer_mut("/spec/policy")
    } else {
        None
    }
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "a cluster more",
        change: |object| {
            let number = object
                .pointer("/metadata/annotations")
                .and_then(|all| all[NUMBER].as_str())
                .and_then(|text| text.parse::<u32>().ok());
            if let Some(number) = number {
                object["metadata"]["annotations"][NUMBER] = json!((number + 1).to_string());
            }
            if let Some(policy) = policy(object)
                && let Some(number) = policy["numberOfClusters"].as_u64()
            {
                policy["numberOfClusters"] = json!(number + 1);
            }
        },
    },
    Planted {
        name: "no taints",
        change: |object| {
            if object["kind"] == "MemberCluster" {
                object["spec"]["taints"] = json!([]);
            }
        },
    },
    Planted {
        name: "a skew more",
        change: |object| {
            let constraints =
                policy(object).and_then(|policy| policy["topologySpreadConstraints"].as_array_mut());
            for constraint in constraints.into_iter().flatten() {
                constraint["maxSkew"] = json!(constraint["maxSkew"].as_u64().unwrap_or(1) + 1);
            }
        },
    },
    Planted {
        name: "sorters the other way round",
        change: |object| {
            let preferred = policy(object).and_then(|policy| {
                let list = policy.pointer_mut(
                    "/affinity/clusterAffinity/preferredDuringSchedulingIgnoredDuringExecution",
                )?;
                list.as_array_mut()
            });
            for term in preferred.into_iter().flatten() {
                if let Some(order) = term.pointer_mut("/preference/propertySorter/sortOrder") {
                    *order = json!(if *order == "Ascending" {
                        "Descending"
                    } else {
                        "Ascending"
                    });
                }
            }
        },
    },
    Planted {
        name: "agents that beat now",
        change: |object| {
            let agents = object
                .pointer_mut("/status/agentStatus")
                .and_then(Value::as_array_mut);
            for agent in agents.into_iter().flatten() {
                agent["lastReceivedHeartbeat"] = json!(crate::world::NOW);
            }
        },
    },
];
