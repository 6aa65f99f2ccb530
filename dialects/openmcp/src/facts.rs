//! Facts about a Cluster: version, profile, purposes, tenancy, and the address of its API server.

use berth_dialect_contract::{Access, Facts};
use serde::Deserialize;
use serde_json::Value;

use crate::kind::cluster::Cluster;

/// The name of the endpoint of the API server for clients outside of the cluster.
const EXTERNAL: &str = "apiserver-external";

/// The facts of `target`, a Cluster.
pub(crate) fn facts(target: &Value) -> Facts {
    let Ok(cluster) = Cluster::deserialize(target) else {
        return Facts::default();
    };
    let spec = cluster.spec;
    let properties = [
        ("profile.clusters.openmcp.cloud", spec.profile),
        ("purposes.clusters.openmcp.cloud", spec.purposes.join(",")),
        ("tenancy.clusters.openmcp.cloud", spec.tenancy),
    ];
    let server = cluster.status.and_then(|status| {
        let mut endpoints = status.endpoints.into_iter();
        let external = endpoints.find(|endpoint| endpoint.name == EXTERNAL);
        external
            .map(|endpoint| endpoint.url)
            .or(Some(status.api_server))
            .filter(|url| !url.is_empty())
    });
    Facts {
        version: spec.kubernetes.version,
        properties: properties
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        access: server.map(|server| Access {
            provider: "openmcp",
            server,
            ca: String::new(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_external_endpoint_comes_before_the_older_field() {
        let cluster = |status| json!({"spec": {"profile": "p", "tenancy": "Shared", "purposes": ["a", "b"]}, "status": status});
        let server = |status| facts(&cluster(status)).access.map(|access| access.server);
        let both = json!({"apiServer": "https://old", "endpoints": [{"name": "apiserver-external", "url": "https://new"}]});
        assert_eq!(server(both).as_deref(), Some("https://new"));
        assert_eq!(
            server(json!({"apiServer": "https://old"})).as_deref(),
            Some("https://old")
        );
        assert_eq!(server(json!({})), None);
        let result = facts(&cluster(json!({})));
        assert_eq!(result.properties["purposes.clusters.openmcp.cloud"], "a,b");
    }
}
