//! The APIService of Berth's virtual group (CONTRACT.md section 1; facts/apiserver.md, APIService).

use berth::virtual_api::kinds::{GROUP, VERSION};
use serde_json::{Value, json};

/// How early the group is asked when short names collide: below the groups of the systems themselves.
const GROUP_PRIORITY: u32 = 1000;
/// The place of this version among the group's. It is the first and an alpha, so later ones go above it.
const VERSION_PRIORITY: u32 = 10;

/// The Service an aggregator sends requests to. Its certificate must be for `<name>.<namespace>.svc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its port.
    pub port: u16,
}

impl Default for Service {
    /// `berth` in `berth-system`, port 443.
    fn default() -> Self {
        Self {
            name: "berth".to_owned(),
            namespace: "berth-system".to_owned(),
            port: 443,
        }
    }
}

/// The APIService that registers `scheduling.berth.dev` at an aggregator.
///
/// It has no caBundle: whoever issues the serving certificate knows that, not the code. An aggregator then trusts its
/// system's roots only, and never a cluster's own authority, so the APIService is not Available until one is filled in.
#[must_use]
pub fn api_service(service: &Service) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": format!("{VERSION}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "groupPriorityMinimum": GROUP_PRIORITY,
            "service": {"name": service.name, "namespace": service.namespace, "port": service.port},
            "version": VERSION,
            "versionPriority": VERSION_PRIORITY,
        },
    })
}
