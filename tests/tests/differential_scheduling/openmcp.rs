//! openMCP: its operator's scheduler with a fake client. Its filters are not separate functions: the
//! comparison is whether a Cluster is feasible, in a world in which it is the only one.

mod generate;
mod known_differences;

use std::collections::BTreeMap;

use berth_apimachinery::Key;
use serde_json::{Value, json};

use crate::ours::Decided;
use crate::system::{Planted, System};
use crate::world::World;

const API_VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
const REQUEST_OF: &str = "request.clusters.openmcp.cloud/";

pub(crate) static OPENMCP: System = System {
    name: "openmcp",
    dialect: "openmcp",
    program: "openmcp",
    linked: &[],
    filters: 1,
    cluster: "Cluster",
    generate: generate::world,
    fits,
    report,
    known: known_differences::KNOWN_DIFFERENCES,
    planted: PLANTED,
};

/// Whether no request has a Cluster that is being deleted: an API server does not accept a new finalizer on
/// it, and the fake client does.
fn fits(world: &World) -> bool {
    let all = |kind: &'static str| world.objects.iter().filter(move |object| object["kind"] == kind);
    all("ClusterRequest").all(|request| {
        let given = &request["status"]["cluster"];
        all("Cluster").all(|cluster| {
            let metadata = &cluster["metadata"];
            let same = metadata["name"] == given["name"] && metadata["namespace"] == given["namespace"];
            !same || metadata["deletionTimestamp"].is_null()
        })
    })
}

fn report(decided: &Decided<'_>) -> Value {
    let demand = &decided.decision.demand;
    let before = decided.stored.objects[demand].parse();
    let mut after = decided.after();
    // An object that is being deleted is removed with its last finalizer.
    after.retain(|_, object| {
        let held = object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|list| !list.is_empty());
        held || object["metadata"]["deletionTimestamp"].is_null()
    });
    let request = after.get(demand).cloned().unwrap_or_default();
    let place = |reference: &Value| {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        format!("{}/{}", text("namespace"), text("name"))
    };
    let given = &request["status"]["cluster"];
    let picked: Vec<String> = given.is_object().then(|| place(given)).into_iter().collect();
    let mut refused = json!({});
    if before["status"]["cluster"].is_null() && before["metadata"]["deletionTimestamp"].is_null() {
        refused = decided.refused(|_, _| "Refused");
    }
    json!({
        "picked": picked,
        "refused": refused,
        "written": {
            "clusters": clusters(&after),
            "request": {
                "finalizers": request["metadata"].get("finalizers").cloned().unwrap_or_else(|| json!([])),
                "phase": request["status"]["phase"].as_str().unwrap_or_default(),
            },
        },
    })
}

/// Every Cluster after the decision.
fn clusters(after: &BTreeMap<Key, Value>) -> Value {
    let mut all = json!({});
    for (key, cluster) in after.iter().filter(|(_, object)| object["kind"] == "Cluster") {
        let (metadata, spec) = (&cluster["metadata"], &cluster["spec"]);
        let listed = metadata["finalizers"].as_array().into_iter().flatten();
        let mut finalizers: Vec<&str> = listed.filter_map(Value::as_str).collect();
        finalizers.sort_unstable();
        all[format!("{}/{}", key.namespace, key.name)] = json!({
            "labels": metadata["labels"], "annotations": metadata["annotations"], "finalizers": finalizers,
            "purposes": spec["purposes"], "tenancy": spec["tenancy"], "profile": spec["profile"],
            "deleting": !metadata["deletionTimestamp"].is_null(),
        });
    }
    all
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "a request more on every Cluster",
        change: |object| {
            if object["kind"] == "Cluster"
                && let Some(list) = object["metadata"]["finalizers"].as_array_mut()
            {
                list.push(json!(format!("{REQUEST_OF}planted")));
            }
        },
    },
    Planted {
        name: "no purposes",
        change: |object| {
            if let Some(purposes) = object.pointer_mut("/spec/purposes") {
                *purposes = json!(["other"]);
            }
        },
    },
];
