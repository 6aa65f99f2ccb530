//! Facts that a Cluster reports. `spec.apiEndpoint` is not a fact: Karmada reaches clusters with its own
//! credentials or through its `clusters/proxy`, and publishes no ClusterProfiles that would name an access
//! provider.

use berth_dialect_contract::Facts;
use serde_json::Value;

/// Name of the property with the sync mode of a cluster: Push or Pull.
const MODE: &str = "sync-mode.cluster.karmada.io";

/// The facts of `target`, a Cluster.
pub(crate) fn facts(target: &Value) -> Facts {
    let version = target["status"]["kubernetesVersion"].as_str();
    let mode = target["spec"]["syncMode"].as_str();
    Facts {
        version: version.unwrap_or_default().to_owned(),
        properties: mode
            .map(|mode| (MODE.to_owned(), mode.to_owned()))
            .into_iter()
            .collect(),
        ..Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_and_the_sync_mode_are_facts() {
        let result =
            facts(&json!({"spec": {"syncMode": "Pull"}, "status": {"kubernetesVersion": "v1.34.1"}}));
        assert_eq!(result.version, "v1.34.1");
        assert_eq!(result.properties["sync-mode.cluster.karmada.io"], "Pull");
        assert_eq!(facts(&json!({})), Facts::default());
    }
}
