//! Body of the request that nominates clusters.
//!
//! When a cluster has the Workload, Kueue removes `status.nominatedClusterNames` by applying the rest of the
//! status as the field manager `kueue-admission`. Such an apply removes only fields that no other manager
//! owns, and Kueue never admits a Workload that still has nominated clusters. So Berth applies the names as
//! `kueue-admission`, too. An apply also removes all fields of the manager that are not in the body; so the
//! body has all fields that the manager applied before, with their present values, and the resourceVersion
//! that was read.

use serde_json::{Value, json};

use super::managed_fields;

/// The apiVersion of Kueue's last apply of `workload`, if there was one. The Workload has to be read and
/// written in this version, since the managed fields name fields of this version.
pub(super) fn applied_version(workload: &Value) -> Option<&str> {
    managed_fields::entry(workload)?["apiVersion"].as_str()
}

/// The apply configuration that nominates the clusters `names` for `workload`, in the version of `workload`
/// (see [`applied_version`]).
///
/// # Errors
/// When the managed fields of `workload` cannot be read.
pub(super) fn nomination(workload: &Value, names: &[String]) -> Result<Value, String> {
    let mut status = managed_fields::status(workload)?;
    status.insert("nominatedClusterNames".to_owned(), json!(names));
    let metadata = &workload["metadata"];
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
        let body = nomination(&workload(), &["b".to_owned(), "a".to_owned()]).unwrap();
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
        let body = nomination(&workload, &["a".to_owned()]).unwrap();
        assert_eq!(body["status"], json!({"nominatedClusterNames": ["a"]}));
    }
}
