//! Open Cluster Management: its placement controller with fake listers.

mod expressions;
mod generate;
mod known_differences;

use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};

const GROUP: &str = "cluster.open-cluster-management.io";

pub(crate) static OCM: System = System {
    name: "ocm",
    dialect: "ocm",
    program: "ocm",
    linked: &[],
    filters: 3,
    cluster: "ManagedCluster",
    generate: generate::world,
    fits: |_| true,
    report,
    known: known_differences::KNOWN_DIFFERENCES,
    planted: PLANTED,
};

/// The original's controller selects the candidates of the filters in one step.
fn report(decided: &Decided<'_>) -> Value {
    let outcome = decided.decision.outcome.as_str();
    let problem = match outcome {
        "Ignored" | "Released" => "Ignored",
        "Invalid" => "Misconfigured",
        _ => "",
    };
    if problem == "Ignored" {
        return json!({"problem": problem, "picked": [], "refused": {}});
    }
    let mut report = json!({
        "picked": decided.picked(),
        "refused": decided.refused(|filter, _| match filter {
            "ClusterSet" | "Lifecycle" => "Candidates",
            other => other,
        }),
        "written": written(decided),
    });
    if !problem.is_empty() {
        report["problem"] = json!(problem);
        return report;
    }
    for (name, value) in [("totals", decided.totals()), ("scores", decided.scores())] {
        if value != json!({}) {
            report[name] = value;
        }
    }
    report
}

/// The status and the PlacementDecisions after the decision.
fn written(decided: &Decided<'_>) -> Value {
    let after = decided.after();
    let demand = &decided.decision.demand;
    let placement = &after[demand];
    let mut decisions = json!({});
    for (key, object) in &after {
        let metadata = &object["metadata"];
        let own = metadata["labels"][format!("{GROUP}/placement")] == *demand.name;
        if object["kind"] == "PlacementDecision" && key.namespace == demand.namespace && own {
            let listed = object["status"]["decisions"].as_array();
            let clusters: Vec<&Value> = listed
                .into_iter()
                .flatten()
                .map(|one| &one["clusterName"])
                .collect();
            decisions[&*key.name] = json!({"labels": metadata["labels"], "clusters": clusters});
        }
    }
    let status = &placement["status"];
    let mut conditions = json!({});
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        conditions[text("type")] = json!(format!("{} {}", text("status"), text("reason")));
    }
    json!({
        "decisions": decisions,
        "selected": status["numberOfSelectedClusters"].as_u64().unwrap_or_default(),
        "groups": status["decisionGroups"],
        "conditions": conditions,
    })
}

/// The spec, if `object` is a placement.
fn spec(object: &mut Value) -> Option<&mut Value> {
    (object["kind"] == "Placement").then(|| &mut object["spec"])
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "a cluster more",
        change: |object| {
            if let Some(spec) = spec(object)
                && let Some(number) = spec["numberOfClusters"].as_u64()
            {
                spec["numberOfClusters"] = json!(number + 1);
            }
        },
    },
    Planted {
        name: "no taints",
        change: |object| {
            if object["kind"] == "ManagedCluster" {
                object["spec"]["taints"] = json!([]);
            }
        },
    },
    Planted {
        name: "weights that are one more",
        change: |object| {
            let listed = spec(object).and_then(|spec| {
                spec.pointer_mut("/prioritizerPolicy/configurations")?
                    .as_array_mut()
            });
            for one in listed.into_iter().flatten() {
                if let Some(weight) = one["weight"].as_i64().filter(|weight| *weight < 10) {
                    one["weight"] = json!(weight + 1);
                }
            }
        },
    },
    Planted {
        name: "a label that is lost",
        change: |object| {
            if object["kind"] == "ManagedCluster"
                && let Some(labels) = object["metadata"]["labels"].as_object_mut()
            {
                labels.remove("tier");
            }
        },
    },
    Planted {
        name: "scores that never expire",
        change: |object| {
            if object["kind"] == "AddOnPlacementScore"
                && let Some(status) = object["status"].as_object_mut()
            {
                status.remove("validUntil");
            }
        },
    },
    Planted {
        name: "groups of another size",
        change: |object| {
            if let Some(size) = spec(object)
                .and_then(|spec| spec.pointer_mut("/decisionStrategy/groupStrategy/clustersPerDecisionGroup"))
            {
                *size = json!(1);
            }
        },
    },
];
