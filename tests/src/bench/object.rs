//! The stored object, of equal size and form in every store: labels, annotations, a description of a cluster.

use anyhow::{Context, Result};
use http::Method;
use serde_json::{Value, json};

use crate::bench::http::{Call, Connection, Target};

/// The annotation that pads an object to its size.
const PADDING: &str = "bench.berth.dev/padding";
/// The annotation that a patch changes.
pub const ROUND: &str = "bench.berth.dev/round";
/// The label that selects one object of all.
pub const SERIAL: &str = "bench.berth.dev/serial";

/// Objects to store, with their resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// A ManagedCluster, of the group and version given.
    Cluster(&'static str),
    /// A Flunder of sample-apiserver: the same metadata, and the cluster's description as one text.
    Flunder,
    /// A ConfigMap: the same metadata, and the cluster's description as one text.
    ConfigMap,
}

/// Template of the objects of one store.
#[derive(Clone, Debug)]
pub struct Template {
    make: Make,
    padding: usize,
}

impl Template {
    /// The path of the objects.
    pub fn path(make: Make) -> String {
        match make {
            Make::Cluster(version) => format!("/apis/{version}/managedclusters"),
            Make::ConfigMap => "/api/v1/namespaces/default/configmaps".to_owned(),
            Make::Flunder => "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders".to_owned(),
        }
    }

    /// A template whose objects have `bytes` bytes in their served form. One object is created, read
    /// and deleted to find this out.
    pub async fn fitted(make: Make, target: &Target, bytes: usize) -> Result<Self> {
        let path = Self::path(make);
        let mut template = Self { make, padding: 1 };
        let mut connection = Connection::open(target, crate::bench::http::Protocol::One).await?;
        let body = template.body("serial-00000", 0);
        connection
            .drained(&Call::new(Method::POST, path.clone(), body))
            .await?;
        let one = format!("{path}/serial-00000");
        let served = connection.drained(&Call::get(one.clone())).await?;
        connection.drained(&Call::new(Method::DELETE, one, "")).await?;
        template.padding = (bytes + 1).checked_sub(served).with_context(|| {
            format!("an object without padding has {served} bytes, more than the {bytes} wanted")
        })?;
        Ok(template)
    }

    /// The object named `name`, in the form of a request.
    pub fn body(&self, name: &str, serial: usize) -> String {
        let metadata = json!({
            "name": name,
            "labels": {
                SERIAL: format!("s{serial:05}"),
                "cloud": "Amazon", "vendor": "OpenShift", "env": if serial.is_multiple_of(2) { "prod" } else { "dev" },
                "region": format!("region-{}", serial % 7), "topology.example.com/zone": format!("zone-{}", serial % 21),
                "feature.open-cluster-management.io/addon-work-manager": "available",
            },
            "annotations": {
                ROUND: "000000000000000000",
                "example.com/owner": "platform-team@example.com",
                "example.com/change": "CHG0012345: enlarge the pool of workers",
                PADDING: "x".repeat(self.padding),
            },
        });
        let ca = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t".repeat(12);
        let spec = json!({
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": format!("https://{name}.example.com:6443"), "caBundle": ca}],
            "taints": [
                {"key": "maintenance.example.com/window", "value": "sunday", "effect": "NoSelect",
                 "timeAdded": "2021-10-28T09:00:00Z"},
                {"key": "gpu", "value": "a100", "effect": "PreferNoSelect", "timeAdded": "2021-10-28T09:00:00Z"},
            ],
        });
        let object: Value = match self.make {
            Make::Cluster(version) => {
                json!({"apiVersion": version, "kind": "ManagedCluster", "metadata": metadata, "spec": spec})
            }
            Make::ConfigMap => json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"cluster": spec.to_string()},
            }),
            Make::Flunder => json!({
                "apiVersion": "wardle.example.com/v1alpha1", "kind": "Flunder", "metadata": metadata,
                "spec": {"reference": spec.to_string()},
            }),
        };
        object.to_string()
    }

    /// A merge patch that changes one annotation.
    pub fn patch(value: u128) -> String {
        json!({"metadata": {"annotations": {ROUND: format!("{value:018}")}}}).to_string()
    }
}

/// The name of a standing object.
pub fn standing(serial: usize) -> String {
    format!("serial-{serial:05}")
}
