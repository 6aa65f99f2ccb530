//! Accessors of the fields of Kueue's objects that dispatching reads.

use serde_json::Value;

use super::problem::Problem;
use super::{DECISION, TARGET};

/// The controller name of MultiKueue's admission checks.
const CONTROLLER: &str = "kueue.x-k8s.io/multikueue";

/// The names of the pending admission checks of `workload`; empty unless the Workload waits for a cluster: it
/// has quota, is on no cluster, and is neither finished nor being deleted.
pub(super) fn pending_checks(workload: &Value) -> Vec<&str> {
    let status = &workload["status"];
    let is_over = workload["metadata"]["deletionTimestamp"].is_string() || is_true(status, "Finished");
    if is_over || !is_true(status, "QuotaReserved") || status["clusterName"].is_string() {
        return Vec::new();
    }
    let checks = status["admissionChecks"].as_array().into_iter().flatten();
    checks
        .filter(|check| check["state"] == "Pending")
        .filter_map(|check| check["name"].as_str())
        .collect()
}

fn is_true(status: &Value, condition: &str) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

/// The name of the MultiKueueConfig of the AdmissionCheck `check`; `None` for a check of another controller.
pub(super) fn configuration(check: &Value) -> Option<&str> {
    let spec = &check["spec"];
    let parameters = &spec["parameters"];
    let is_ours = spec["controllerName"] == CONTROLLER && parameters["kind"] == "MultiKueueConfig";
    is_ours.then(|| parameters["name"].as_str()).flatten()
}

/// The name of the decision in the label or annotation of `workload`.
///
/// # Errors
/// When `workload` names no decision, or two different ones.
pub(super) fn decision(workload: &Value) -> Result<&str, Problem> {
    let metadata = &workload["metadata"];
    let [label, annotation] = ["labels", "annotations"].map(|place| metadata[place][DECISION].as_str());
    match (label, annotation) {
        (Some(label), Some(annotation)) if label != annotation => Err(Problem::NamedTwice {
            label: label.to_owned(),
            annotation: annotation.to_owned(),
        }),
        (Some(name), _) | (None, Some(name)) => Ok(name),
        (None, None) => Err(Problem::NotNamed),
    }
}

/// Kueue's names of the clusters that are nominated for `workload`.
pub(super) fn nominated(workload: &Value) -> Vec<&str> {
    let names = workload["status"]["nominatedClusterNames"].as_array();
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The worker clusters of the MultiKueueConfig `config`, in the order of the list.
pub(super) fn workers(config: &Value) -> Vec<&str> {
    let names = config["spec"]["clusters"].as_array();
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A MultiKueueCluster, with the name that Berth compares with targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    /// The name of the MultiKueueCluster.
    pub(super) name: String,
    /// The name for the comparison with targets: the Target in the annotation, else the name of the
    /// ClusterProfile, else the name of the MultiKueueCluster.
    pub(super) known_as: String,
}

impl Worker {
    /// Parses the MultiKueueCluster `object`.
    pub(super) fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let known_as = metadata["annotations"][TARGET]
            .as_str()
            .or_else(|| object["spec"]["clusterSource"]["clusterProfileRef"]["name"].as_str());
        Self {
            name: name.to_owned(),
            known_as: known_as.unwrap_or(name).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(status: Value) -> Value {
        json!({"metadata": {"name": "w"}, "status": status})
    }

    #[test]
    fn only_a_workload_with_quota_and_without_a_cluster_waits() {
        let waiting = json!({
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
            "admissionChecks": [{"name": "mk", "state": "Pending"}, {"name": "other", "state": "Ready"}],
        });
        assert_eq!(pending_checks(&workload(waiting.clone())), ["mk"]);
        let with = |field: &str, value: Value| {
            let mut object = workload(waiting.clone());
            object["status"][field] = value;
            object
        };
        let not_waiting = [
            with("clusterName", json!("a")),
            with("conditions", json!([])),
            with(
                "conditions",
                json!([{"type": "QuotaReserved", "status": "False"}]),
            ),
            with(
                "conditions",
                json!([{"type": "QuotaReserved", "status": "True"}, {"type": "Finished", "status": "True"}]),
            ),
            with("admissionChecks", json!([{"name": "mk", "state": "Ready"}])),
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": waiting}),
            json!({}),
        ];
        for object in not_waiting {
            assert!(pending_checks(&object).is_empty(), "{object}");
        }
    }

    #[test]
    fn a_check_is_multikueues_by_its_controller() {
        let check = |controller: &str| {
            json!({"spec": {"controllerName": controller,
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "c"}}})
        };
        assert_eq!(configuration(&check(CONTROLLER)), Some("c"));
        assert_eq!(configuration(&check("kueue.x-k8s.io/provisioning-request")), None);
        assert_eq!(
            configuration(&json!({"spec": {"controllerName": CONTROLLER}})),
            None
        );
    }

    #[test]
    fn a_decision_is_named_by_label_or_annotation_but_not_by_two_that_differ() {
        let named = |label: Option<&str>, annotation: Option<&str>| {
            let object =
                json!({"metadata": {"labels": {DECISION: label}, "annotations": {DECISION: annotation}}});
            decision(&object).map(str::to_owned)
        };
        assert_eq!(named(Some("p.ocm"), None).unwrap(), "p.ocm");
        assert_eq!(named(None, Some("p.ocm")).unwrap(), "p.ocm");
        assert_eq!(named(Some("p.ocm"), Some("p.ocm")).unwrap(), "p.ocm");
        assert!(matches!(
            named(Some("p.ocm"), Some("q.ocm")),
            Err(Problem::NamedTwice { .. })
        ));
        assert!(matches!(named(None, None), Err(Problem::NotNamed)));
    }

    #[test]
    fn a_worker_is_known_by_its_target_then_by_its_profile_then_by_its_name() {
        let worker = |annotation: Option<&str>, profile: Option<&str>| {
            let object = json!({
                "metadata": {"name": "own", "annotations": {TARGET: annotation}},
                "spec": {"clusterSource": {"clusterProfileRef": {"name": profile}}},
            });
            Worker::of(&object).known_as
        };
        assert_eq!(worker(Some("t.ocm"), Some("p")), "t.ocm");
        assert_eq!(worker(None, Some("p")), "p");
        assert_eq!(worker(None, None), "own");
    }
}
