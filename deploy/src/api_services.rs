//! The APIServices of Berth's virtual group and of the systems' groups that Berth serves itself
//! (docs/reference.md, "Resources"; docs/concepts.md, "Where objects are").

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::{Value, json};

use super::Service;

/// Priority of Berth's group when short names collide: below [`OWNED_PRIORITY`].
const GROUP_PRIORITY: u32 = 1000;
/// Lowest priority of a version within its group: of the only version of Berth's group, and of the least
/// preferred version of each system's group.
const VERSION_PRIORITY: u32 = 10;
/// Priority of the systems' groups that Berth serves.
const OWNED_PRIORITY: u32 = 2000;

/// The APIService that registers `scheduling.berth.dev` at an aggregator.
///
/// The APIService has no caBundle: Berth or cert-manager sets it later. Until then, an aggregator trusts only
/// the root CAs of its operating system, and never a cluster's own CA, so that the APIService is not
/// Available.
#[must_use]
pub fn api_service(service: &Service) -> Value {
    registration(service, GROUP, VERSION, GROUP_PRIORITY, VERSION_PRIORITY)
}

/// The APIServices that register the groups of systems whose objects Berth stores itself. The hub must have
/// neither a CustomResourceDefinition nor another server's APIService of the same group.
#[must_use]
pub fn owned_api_services<'a>(
    service: &Service,
    dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>,
) -> Vec<Value> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in dialects.into_iter().flat_map(|dialect| dialect.kinds()) {
        let known = versions.entry(kind.info().group).or_default();
        for version in kind.info().versions {
            if !known.contains(version) {
                known.push(version);
            }
        }
    }
    let mut services = Vec::new();
    for (group, versions) in versions {
        // The preferred version is the first of the kind, and gets the highest priority.
        for (priority, version) in (VERSION_PRIORITY..).step_by(10).zip(versions.iter().rev()) {
            services.push(registration(service, group, version, OWNED_PRIORITY, priority));
        }
    }
    services
}

fn registration(service: &Service, group: &str, version: &str, group_priority: u32, priority: u32) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}")},
        "spec": {
            "group": group,
            "groupPriorityMinimum": group_priority,
            "service": {"name": service.name, "namespace": service.namespace, "port": service.port},
            "version": version,
            "versionPriority": priority,
        },
    })
}
