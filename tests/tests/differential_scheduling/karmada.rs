//! Karmada: the algorithm of its scheduler with an index of clusters, group by group.

mod generate;
mod known_differences;

use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};
use crate::world::World;

const CLUSTERS: &str = "cluster.karmada.io/v1alpha1";
const BINDINGS: &str = "work.karmada.io/v1alpha2";
/// Field of the status with the name of the group of clusters that received all replicas.
const OBSERVED: &str = "schedulerObservingAffinityName";

pub(crate) static KARMADA: System = System {
    name: "karmada",
    dialect: "karmada",
    program: "karmada",
    linked: &[],
    filters: 5,
    cluster: "Cluster",
    generate: generate::world,
    fits,
    report,
    known: known_differences::KNOWN_DIFFERENCES,
    planted: PLANTED,
};

/// Whether every binding has a placement that satisfies those rules of the webhooks that affect
/// decisions.
fn fits(world: &World) -> bool {
    let mut bindings = world
        .objects
        .iter()
        .filter(|object| object["kind"] == "ResourceBinding");
    bindings.all(|binding| {
        let placement = &binding["spec"]["placement"];
        let scheduling = &placement["replicaScheduling"];
        let groups = placement["clusterAffinities"].as_array();
        placement.is_object()
            && groups.is_none_or(|groups| {
                !groups.is_empty()
                    && placement["clusterAffinity"].is_null()
                    && groups.iter().all(|group| group["affinityName"].is_string())
            })
            && (scheduling.is_null() || scheduling["replicaSchedulingType"].is_string())
            && binding["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_string()
    })
}

fn report(decided: &Decided<'_>) -> Value {
    let decision = decided.decision;
    let after = &decided.after()[&decision.demand];
    let mut conditions = after["status"]["conditions"].as_array().into_iter().flatten();
    let scheduled = conditions.find(|condition| condition["type"] == "Scheduled");
    let problem = scheduled
        .and_then(|condition| condition["reason"].as_str())
        .filter(|reason| *reason != "Success");
    let targets = after["spec"]["clusters"].as_array();
    // Undecided clusters stay listed.
    let listed = targets.filter(|_| problem.is_none()).into_iter().flatten();
    let mut picked: Vec<String> = listed
        .map(|target| {
            let replicas = target["replicas"].as_i64().unwrap_or(0);
            format!("{}:{replicas}", target["name"].as_str().unwrap_or_default())
        })
        .collect();
    picked.sort();
    let mut refused = decided.refused(|filter, _| filter);
    for filters in refused
        .as_object_mut()
        .into_iter()
        .flat_map(serde_json::Map::values_mut)
    {
        if let Some(filters) = filters.as_array_mut() {
            filters.sort_by_key(ToString::to_string);
        }
    }
    let mut report = json!({"picked": picked, "refused": refused});
    match problem {
        Some(problem) => report["problem"] = problem.into(),
        // When all groups fail, none is observed.
        None => report["written"] = json!({"group": after["status"][OBSERVED].as_str().unwrap_or_default()}),
    }
    report
}

fn binding(object: &mut Value) -> Option<&mut Value> {
    let is_one = object["kind"] == "ResourceBinding";
    is_one.then(|| &mut object["spec"])
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "a replica more",
        change: |object| {
            if let Some(spec) = binding(object)
                && let Some(replicas @ 1..) = spec["replicas"].as_i64()
            {
                spec["replicas"] = json!(replicas + 1);
            }
        },
    },
    Planted {
        name: "no taints",
        change: |object| {
            if object["kind"] == "Cluster" {
                object["spec"]["taints"] = json!([]);
            }
        },
    },
    Planted {
        name: "half of the pods",
        change: |object| {
            let pods = object.pointer_mut("/status/resourceSummary/allocatable/pods");
            if let Some(pods) = pods
                && let Some(number) = pods.as_str().and_then(|text| text.parse::<i64>().ok())
            {
                *pods = (number / 2).to_string().into();
            }
        },
    },
    Planted {
        name: "another uid of the template",
        change: |object| {
            if let Some(spec) = binding(object) {
                spec["resource"]["uid"] = match spec["resource"]["uid"].as_str() {
                    Some("2") => "1".into(),
                    _ => "2".into(),
                };
            }
        },
    },
    Planted {
        name: "a group of clusters more",
        change: |object| {
            let constraints =
                binding(object).and_then(|spec| spec.pointer_mut("/placement/spreadConstraints"));
            for constraint in constraints.and_then(Value::as_array_mut).into_iter().flatten() {
                constraint["maxGroups"] = json!(constraint["maxGroups"].as_i64().unwrap_or(0) + 1);
            }
        },
    },
];
