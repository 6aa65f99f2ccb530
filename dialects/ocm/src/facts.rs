//! Facts that a ManagedCluster reports: version, claims, and the address of its API server.

use berth_dialect_contract::{Access, Facts};
use serde::Deserialize;
use serde_json::Value;

use crate::kind::ManagedCluster;

/// The name of the access provider that OCM's own add-ons use.
const PROVIDER: &str = "open-cluster-management";

/// The facts of `target`, a ManagedCluster.
pub(crate) fn facts(target: &Value) -> Facts {
    let Ok(cluster) = ManagedCluster::deserialize(target) else {
        return Facts::default();
    };
    let claims = cluster.status.cluster_claims.into_iter();
    let config = cluster.spec.managed_cluster_client_configs.into_iter().next();
    Facts {
        version: cluster.status.version.kubernetes.unwrap_or_default(),
        properties: claims.map(|claim| (claim.name, claim.value)).collect(),
        access: config
            .filter(|config| !config.url.is_empty())
            .map(|config| Access {
                provider: PROVIDER,
                server: config.url,
                ca: config.ca_bundle.unwrap_or_default(),
            }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_the_claims_and_the_first_address_are_facts() {
        let result = facts(&json!({
            "spec": {"managedClusterClientConfigs": [{"url": "https://a:6443", "caBundle": "Q0E="}, {"url": "https://b"}]},
            "status": {"version": {"kubernetes": "v1.34.2"}, "clusterClaims": [{"name": "id", "value": "x"}]},
        }));
        assert_eq!(result.version, "v1.34.2");
        assert_eq!(result.properties["id"], "x");
        let access = result.access.unwrap();
        assert_eq!(
            (access.server.as_str(), access.ca.as_str()),
            ("https://a:6443", "Q0E=")
        );
        assert_eq!(facts(&json!({})), Facts::default());
    }
}
