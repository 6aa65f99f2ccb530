//! Kubernetes' own kinds, as a standalone server serves them (docs/reference.md, "Kubernetes' own kinds"):
//! namespaces, configmaps, secrets, serviceaccounts, services, resourcequotas, deployments, statefulsets,
//! jobs, leases, both Event APIs over one store, RBAC, and admission policies. Each kind, or group of
//! related kinds, has a module of its own. An aggregated server never registers these kinds.

pub mod admission_policies;
pub mod config_map;
mod data;
pub mod deployment;
pub mod event;
pub mod job;
pub mod lease;
mod micro_time;
pub mod namespace;
pub mod rbac;
pub mod resource_quota;
pub mod secret;
pub mod service;
pub mod service_account;
pub mod stateful_set;
mod typed;
pub(crate) mod value;

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Kind};
use berth_apiserver::{Backing, Group, Registry, Resource};
use berth_storage::Store;

/// Returns the namespaced resources of Kubernetes' own kinds.
#[must_use]
pub fn namespaced() -> Vec<GroupResource> {
    let all = kinds().into_iter();
    all.filter(|kind| kind.info().namespaced())
        .map(|kind| kind.info().resource())
        .collect()
}

/// Returns Kubernetes' own stored kinds. Kinds of one API group follow each other.
#[must_use]
pub fn kinds() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(config_map::ConfigMap),
        Arc::new(event::CoreEvent),
        Arc::new(namespace::Namespace),
        Arc::new(resource_quota::ResourceQuota),
        Arc::new(secret::Secret),
        Arc::new(service_account::ServiceAccount),
        Arc::new(service::Service),
        Arc::new(admission_policies::MutatingAdmissionPolicy),
        Arc::new(admission_policies::MutatingAdmissionPolicyBinding),
        Arc::new(admission_policies::ValidatingAdmissionPolicy),
        Arc::new(admission_policies::ValidatingAdmissionPolicyBinding),
        Arc::new(deployment::Deployment),
        Arc::new(stateful_set::StatefulSet),
        Arc::new(job::Job),
        Arc::new(lease::Lease),
        Arc::new(event::Event),
        Arc::new(rbac::ClusterRoleBinding),
        Arc::new(rbac::ClusterRole),
        Arc::new(rbac::RoleBinding),
        Arc::new(rbac::Role),
    ]
}

/// Returns the API groups of Kubernetes' own kinds, whose objects are in `store`.
/// [`add_registry_subresources`] adds the subresources.
#[must_use]
pub fn groups(store: &Arc<dyn Store>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for kind in kinds() {
        let name = kind.info().group;
        let resource = Resource::new(kind, Backing::Stored(Arc::clone(store)));
        match groups.last_mut() {
            Some(group) if group.name == name => group.resources.push(resource),
            _ => groups.push(Group {
                name,
                resources: vec![resource],
            }),
        }
    }
    groups
}

/// Adds the subresources, which write through `registry`, to `groups`.
pub fn add_registry_subresources(groups: &mut [Group], registry: &Arc<Registry>) {
    for resource in groups.iter_mut().flat_map(|group| &mut group.resources) {
        let name = resource.kind.info().resource();
        if name == namespace::RESOURCE {
            resource.subresources.push(namespace::finalize(registry));
        } else if name == deployment::RESOURCE {
            resource
                .subresources
                .push(deployment::scale::subresource(registry));
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::StatusMetadata;

    use super::*;

    #[test]
    fn writes_of_a_status_take_the_metadata_that_kube_apiserver_takes() {
        let mut rules: Vec<_> = kinds()
            .iter()
            .filter(|kind| kind.info().status_subresource)
            .map(|kind| (kind.info().kind, kind.status_metadata()))
            .collect();
        rules.sort_by_key(|(kind, _)| *kind);
        let written = StatusMetadata::Written;
        let expected = [
            ("Deployment", StatusMetadata::WrittenButLabels),
            ("Job", written),
            ("Namespace", written),
            ("ResourceQuota", written),
            ("Service", written),
            ("StatefulSet", written),
            ("ValidatingAdmissionPolicy", StatusMetadata::Ignored),
        ];
        assert_eq!(rules, expected);
    }

    #[test]
    fn every_kind_has_a_message() {
        let codec = crate::protobuf::Protobuf;
        for kind in kinds() {
            let info = kind.info();
            let versions = info.versions.iter().map(|version| info.api_version(version));
            let without: Vec<_> = versions
                .filter(|version| !berth_apiserver::Codec::has_message(&codec, version, info.kind))
                .collect();
            assert_eq!(without, [""; 0], "{}", info.kind);
        }
    }
}
