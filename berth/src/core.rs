//! Kubernetes' own kinds, as a standalone server serves them (CONTRACT.md section 4): namespaces, configmaps, secrets,
//! serviceaccounts, both Event APIs over one store, and RBAC. One file each; behind an aggregator they are never
//! registered.

pub mod config_map;
mod data;
pub mod event;
pub mod namespace;
pub mod rbac;
pub mod secret;
pub mod service_account;
pub(crate) mod value;

use std::sync::Arc;

use apiserver::{Backing, Group, Resource, Subresource};
use meta::Kind;
use storage::Store;

/// The groups of Kubernetes' own stored kinds, all in `store`.
#[must_use]
pub fn groups(store: &Arc<dyn Store>) -> Vec<Group> {
    let stored = |kind: Arc<dyn Kind>| Resource {
        kind,
        backing: Backing::Stored(Arc::clone(store)),
        subresources: Vec::new(),
    };
    let finalize = Subresource {
        name: "finalize",
        group: "",
        version: "",
        kind: "Namespace",
        verbs: &["update"],
        schema: None,
        handler: Arc::new(namespace::Finalize::new(Arc::clone(store))),
    };
    vec![
        Group {
            name: "",
            resources: vec![
                stored(Arc::new(config_map::ConfigMap)),
                stored(Arc::new(event::CoreEvent)),
                Resource {
                    subresources: vec![finalize],
                    ..stored(Arc::new(namespace::Namespace))
                },
                stored(Arc::new(secret::Secret)),
                stored(Arc::new(service_account::ServiceAccount)),
            ],
        },
        Group {
            name: event::GROUP,
            resources: vec![stored(Arc::new(event::Event))],
        },
        Group {
            name: rbac::GROUP,
            resources: vec![
                stored(Arc::new(rbac::ClusterRoleBinding)),
                stored(Arc::new(rbac::ClusterRole)),
                stored(Arc::new(rbac::RoleBinding)),
                stored(Arc::new(rbac::Role)),
            ],
        },
    ]
}
