//! Facts that the status of a MemberCluster reports, for inventories that other tools read. Node counts and
//! costs are left out, since they change too often.

use berth_dialect_contract::Facts;
use serde_json::Value;

/// The name of the property with the version of Kubernetes.
const VERSION: &str = "k8s.io/k8s-version";

/// The facts of `target`, a MemberCluster.
pub(crate) fn facts(target: &Value) -> Facts {
    let version = target["status"]["properties"][VERSION]["value"].as_str();
    Facts {
        version: version.unwrap_or_default().to_owned(),
        ..Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_is_a_fact_and_counts_are_not() {
        let result = facts(&json!({"status": {"properties": {
            "k8s.io/k8s-version": {"value": "v1.33.1"},
            "kubernetes-fleet.io/node-count": {"value": "3"},
        }}}));
        assert_eq!(result.version, "v1.33.1");
        assert!(result.properties.is_empty());
    }
}
