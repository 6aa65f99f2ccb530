//! Facts that a Cluster reports. `spec.apiEndpoint` is left out: Karmada reaches clusters by credentials of
//! its own, or through its `clusters/proxy`, and publishes no ClusterProfiles that would name a provider.

use berth_dialect_contract::Facts;
use serde_json::Value;

/// Property with the way a cluster is reached: Push or Pull.
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
    fn the_version_is_told_and_how_it_is_reached() {
        let told = facts(&json!({"spec": {"syncMode": "Pull"}, "status": {"kubernetesVersion": "v1.34.1"}}));
        assert_eq!(told.version, "v1.34.1");
        assert_eq!(told.properties["sync-mode.cluster.karmada.io"], "Pull");
        assert_eq!(facts(&json!({})), Facts::default());
    }
}
