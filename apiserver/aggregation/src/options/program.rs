//! Description of a program, for [`Options::run`](super::Options::run): name, version, API groups, and
//! admission plugins.

use std::collections::BTreeSet;

use berth_admission::Chain;
use berth_apiserver::{Group, VersionInfo};
use serde_json::{Value, json};

use crate::registration::Service;

/// `groupPriorityMinimum` of the APIServices, as in k8s.io/sample-apiserver.
const GROUP_PRIORITY: i32 = 1000;
/// `versionPriority` of the first version of a group; each further version has one less, but at least 1.
const VERSION_PRIORITY: usize = 20;

/// A program that serves API groups: name, version, groups, and admission plugins.
pub struct Program {
    pub(super) name: String,
    pub(super) groups: Vec<Group>,
    pub(super) version: VersionInfo,
    pub(super) plugins: Chain,
}

impl Program {
    /// Creates a program that serves `groups`. `name` is also the field manager of the program's writes, and
    /// the default name of its Service.
    #[must_use]
    pub fn new(name: impl Into<String>, groups: Vec<Group>) -> Self {
        Self {
            name: name.into(),
            groups,
            version: VersionInfo::new("0.0.0", None, None),
            plugins: Chain::default(),
        }
    }

    /// Sets the version that `/version` returns.
    #[must_use]
    pub fn version(mut self, version: VersionInfo) -> Self {
        self.version = version;
        self
    }

    /// Sets the admission plugins.
    #[must_use]
    pub fn plugins(mut self, plugins: Chain) -> Self {
        self.plugins = plugins;
        self
    }

    /// Returns the APIServices of all groups and versions, with `service` as the Service.
    #[must_use]
    pub fn api_services(&self, service: &Service) -> Vec<Value> {
        let mut known = BTreeSet::new();
        let mut objects = Vec::new();
        for group in &self.groups {
            let versions = group
                .resources
                .iter()
                .flat_map(|resource| resource.kind.info().versions);
            for version in versions {
                if known.insert((group.name, *version)) {
                    let before = known.iter().filter(|(name, _)| *name == group.name).count() - 1;
                    objects.push(api_service(
                        group.name,
                        version,
                        VERSION_PRIORITY.saturating_sub(before).max(1),
                        service,
                    ));
                }
            }
        }
        objects
    }
}

fn api_service(group: &str, version: &str, priority: usize, service: &Service) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}")},
        "spec": {
            "group": group, "version": version,
            "groupPriorityMinimum": GROUP_PRIORITY, "versionPriority": priority,
            "service": {"name": service.name, "namespace": service.namespace, "port": service.port},
        },
    })
}
