//! Body of the request that nominates clusters.
//!
//! When a cluster has the Workload, Kueue removes `status.nominatedClusterNames` by applying the rest of the
//! status as the field manager `kueue-admission`. Such an apply removes only fields that no other manager
//! owns, and Kueue never admits a Workload that still has nominated clusters. So Berth applies the names as
//! `kueue-admission`, too. An apply also removes all fields of the manager that are not in the body; so the
//! body has all fields that the manager applied before, with their present values, and the uid and the
//! resourceVersion of the state on which the nomination was decided.

use serde_json::{Value, json};

use super::managed_fields;

/// The apiVersion of Kueue's last apply of `workload`, if there was one. The Workload has to be read and
/// written in this version, since the managed fields name fields of this version.
pub(super) fn applied_version(workload: &Value) -> Option<&str> {
    managed_fields::entry(workload)?["apiVersion"].as_str()
}

/// The apply configuration that nominates the clusters `names` for `workload`, in the version of `workload`
/// (see [`applied_version`]). `decided` is the state of the Workload on which the nomination was decided: the
/// server refuses the configuration if the Workload has changed since then, also before `workload` was read.
///
/// # Errors
/// When the managed fields of `workload` cannot be read.
pub(super) fn nomination(decided: &Value, workload: &Value, names: &[String]) -> Result<Value, String> {
    let mut status = managed_fields::status(workload)?;
    status.insert("nominatedClusterNames".to_owned(), json!(names));
    let metadata = &decided["metadata"];
    Ok(json!({
        "apiVersion": workload["apiVersion"],
        "kind": "Workload",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
        "status": status,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Value {
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {
                "name": "w", "namespace": "team", "uid": "u", "resourceVersion": "7",
                "managedFields": [
                    {"manager": "kueue-admission", "operation": "Apply", "subresource": "status",
                     "apiVersion": "kueue.x-k8s.io/v1beta2", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {
                        "f:admission": {"f:clusterQueue": {}},
                        "f:conditions": {"k:{\"type\":\"QuotaReserved\"}": {".": {}, "f:type": {}, "f:status": {}}},
                        "f:nominatedClusterNames": {}}}},
                    {"manager": "kueue", "operation": "Update", "subresource": "status",
                     "apiVersion": "kueue.x-k8s.io/v1beta2", "fieldsType": "FieldsV1",
                     "fieldsV1": {"f:status": {"f:requeueState": {"f:count": {}}}}},
                ],
            },
            "status": {
                "admission": {"clusterQueue": "q"},
                "conditions": [{"type": "QuotaReserved", "status": "True"}, {"type": "PodsReady", "status": "False"}],
                "nominatedClusterNames": ["old"],
                "requeueState": {"count": 1},
            },
        })
    }

    #[test]
    fn what_kueue_applied_is_applied_again_with_the_names() {
        let body = nomination(&workload(), &workload(), &["b".to_owned(), "a".to_owned()]).unwrap();
        assert_eq!(
            body["status"],
            json!({
                "admission": {"clusterQueue": "q"},
                "conditions": [{"type": "QuotaReserved", "status": "True"}],
                "nominatedClusterNames": ["b", "a"],
            })
        );
        assert_eq!(
            body["metadata"],
            json!({"name": "w", "namespace": "team", "uid": "u", "resourceVersion": "7"})
        );
        assert_eq!(applied_version(&workload()), Some("kueue.x-k8s.io/v1beta2"));
    }

    #[test]
    fn where_kueue_merges_patches_there_is_nothing_to_keep() {
        let mut workload = workload();
        workload["metadata"]["managedFields"] = json!([]);
        assert_eq!(applied_version(&workload), None);
        let body = nomination(&workload, &workload, &["a".to_owned()]).unwrap();
        assert_eq!(body["status"], json!({"nominatedClusterNames": ["a"]}));
    }

    #[test]
    fn a_workload_that_was_changed_or_replaced_after_the_decision_is_not_nominated_for() {
        let mut later = workload();
        later["metadata"]["uid"] = "v".into();
        later["metadata"]["resourceVersion"] = "8".into();
        let body = nomination(&workload(), &later, &["a".to_owned()]).unwrap();
        assert_eq!(
            body["metadata"],
            json!({"name": "w", "namespace": "team", "uid": "u", "resourceVersion": "7"})
        );
    }
}
