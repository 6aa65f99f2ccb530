//! Selection of the objects that are copied from a hub, and the copies that each system requires.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_apiserver::{Backing, Group, Registry, Resource};
use berth_deploy::Storage;
use berth_dialect_contract::{Concern, Concerns, Dialect};
use berth_dialect_registry::LEAVE_OUT_SECRETS;
use berth_hub::Requirements;
use berth_kubernetes::core::{namespace, resource_quota, secret};
use berth_storage::Source;
use berth_storage::encryption::Encryption;

/// Resources with Kubernetes' own kinds that are copied from a hub: namespaces, resource quotas, and the
/// resources that the reconcilers of `dialects` watch. The result may include kinds of the systems
/// themselves, which callers have to filter out. Kubernetes' kinds are copied even if Berth stores the kinds
/// of a system (docs/concepts.md, "Where objects are").
pub(super) fn copied_resources(dialects: &[Arc<dyn Dialect>]) -> BTreeSet<GroupResource> {
    let reconcilers = dialects
        .iter()
        .flat_map(|dialect| dialect.controllers().hub_reconcilers());
    let watched = reconcilers.flat_map(|reconciler| reconciler.watches());
    watched
        .chain([namespace::RESOURCE, resource_quota::RESOURCE])
        .collect()
}

/// Resources with Kubernetes' own kinds that are copied from a hub for an observer of `dialects`: namespaces,
/// and the resources of which the dialects read all objects. The result may include kinds of the systems
/// themselves, which callers have to filter out.
pub(super) fn observed_resources(dialects: &[Arc<dyn Dialect>]) -> BTreeSet<GroupResource> {
    // A resource of which a dialect selects objects by labels is not copied for this dialect, since Berth
    // would have to read all objects of the resource.
    let read = dialects.iter().flat_map(|dialect| {
        let needs_all = move |resource: &GroupResource| dialect.reach(*resource).labels.is_empty();
        dialect.reads().into_iter().filter(needs_all)
    });
    read.chain([namespace::RESOURCE]).collect()
}

/// A registry that serves the copies in `source` of objects of `kinds`. The copies are read-only, and have
/// resourceVersions that are valid in this process only.
///
/// # Errors
/// When a kind is a duplicate.
pub(super) fn copies(
    kinds: &[Arc<dyn Kind>],
    source: &Arc<dyn Source>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<Registry>> {
    let groups: Vec<Group> = kinds
        .iter()
        .map(|kind| Group {
            name: kind.info().group,
            resources: vec![Resource::new(
                Arc::clone(kind),
                Backing::Projected(Arc::clone(source)),
            )],
        })
        .collect();
    let registry = Registry::builder(berth_admission::Chain::default(), Arc::clone(clock));
    Ok(registry.build(&groups)?)
}

/// Conditions under which an object of `resource` is copied. `None` copies all objects: a dialect or the
/// server itself needs all of them, or no dialect uses the resource.
pub(super) fn concerns(dialects: &[Arc<dyn Dialect>], resource: GroupResource) -> Option<Concerns> {
    if [namespace::RESOURCE, resource_quota::RESOURCE].contains(&resource) {
        return None;
    }
    let uses_resource = |dialect: &&Arc<dyn Dialect>| {
        let reconcilers = dialect.controllers().hub_reconcilers().into_iter();
        let mut watched = reconcilers.flat_map(|reconciler| reconciler.watches());
        dialect.reads().contains(&resource) || watched.any(|watched| watched == resource)
    };
    let concerns = dialects
        .iter()
        .filter(uses_resource)
        .map(|dialect| dialect.on_hub().concern(resource));
    let all: Vec<Concern> = concerns.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.into())
}

/// Checks that no copy of a Secret of the hub is stored unencrypted in etcd.
///
/// # Errors
/// When Secrets are copied to etcd without encryption. The message has the remedy.
pub(super) fn check_secrets(
    kinds: &[Arc<dyn Kind>],
    storage: Storage,
    encryption: &Encryption,
) -> Result<()> {
    let mut resources = kinds.iter().map(|kind| kind.info().resource());
    if storage != Storage::Etcd || !resources.any(|resource| resource == secret::RESOURCE) {
        return Ok(());
    }
    if encryption.covers(secret::RESOURCE) {
        return Ok(());
    }
    bail!(
        "the hub's Secrets would be copied to etcd unencrypted: encrypt them (--encryption-provider-config with a key for \
         \"secrets\", the same file for every replica), or {LEAVE_OUT_SECRETS}"
    )
}

/// The resources among `mirrored` that each of `dialects` requires; empty if nothing is copied.
pub(super) fn requirements(dialects: &[Arc<dyn Dialect>], mirrored: &[Arc<dyn Kind>]) -> Vec<Requirements> {
    if mirrored.is_empty() {
        return Vec::new();
    }
    let mirrored: BTreeSet<GroupResource> = mirrored.iter().map(|kind| kind.info().resource()).collect();
    let requirements_of = |dialect: &Arc<dyn Dialect>| {
        let reconcilers = dialect.controllers().hub_reconcilers().into_iter();
        let watched = reconcilers.flat_map(|reconciler| reconciler.watches());
        // If a system selects objects of a resource by labels, it does not wait for the resource, which is
        // copied only if another reader needs all objects.
        let needs_all = |resource: &GroupResource| dialect.reach(*resource).labels.is_empty();
        let reads = dialect.reads().into_iter().filter(needs_all).chain(watched);
        // Only the first kind of demands is essential, since older releases of a system lack the others.
        let first = dialect.demands().first().map(|demand| demand.resource);
        Requirements {
            dialect: dialect.name(),
            reads: reads.filter(|resource| mirrored.contains(resource)).collect(),
            essential: first
                .into_iter()
                .chain([dialect.target()])
                .filter(|resource| mirrored.contains(resource))
                .collect(),
        }
    };
    dialects.iter().map(requirements_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_demand_and_the_target_of_a_dialect_are_essential() {
        let dialects = berth_dialect_registry::all();
        let gardener: Vec<_> = dialects
            .iter()
            .filter(|dialect| dialect.name() == "gardener")
            .cloned()
            .collect();
        assert_eq!(
            copied_resources(&gardener),
            [namespace::RESOURCE, resource_quota::RESOURCE].into()
        );
        let of_all = GroupResource::new("", "configmaps");
        assert!(
            !observed_resources(&gardener).contains(&of_all),
            "gardener reads only some ConfigMaps"
        );
        let requirements = requirements(&dialects, &gardener[0].kinds());
        let named = |name: &str| {
            let found = requirements.iter().find(|one| one.dialect == name);
            found.unwrap_or_else(|| panic!("{name} needs nothing"))
        };
        let texts = |resources: &BTreeSet<GroupResource>| -> Vec<String> {
            resources.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            texts(&named("gardener").essential),
            ["seeds.core.gardener.cloud", "shoots.core.gardener.cloud"]
        );
        assert!(named("ocm").reads.is_empty());
        // For kcp, all ConfigMaps are copied. Gardener, which selects ConfigMaps with distances by labels,
        // does not wait for the copies.
        let core = berth_kubernetes::core::kinds();
        let requirements = super::requirements(&gardener, &core);
        assert!(
            !requirements[0].reads.contains(&of_all),
            "{:?}",
            requirements[0].reads
        );
        assert!(super::requirements(&dialects, &[]).is_empty());
    }

    #[test]
    fn kinds_that_older_releases_do_not_have_are_not_essential() {
        let dialects = berth_dialect_registry::all();
        let fleet = dialects.iter().find(|dialect| dialect.name() == "fleet").unwrap();
        let requirements = requirements(std::slice::from_ref(fleet), &fleet.kinds());
        let essential: Vec<&str> = requirements[0].essential.iter().map(|one| one.resource).collect();
        assert_eq!(essential, ["memberclusters", "clusterresourceplacements"]);
        assert!(
            requirements[0]
                .reads
                .iter()
                .any(|one| one.resource == "resourceplacements")
        );
    }

    #[test]
    fn secrets_are_copied_to_etcd_only_with_encryption() {
        let kinds = berth_kubernetes::core::kinds();
        let plain = Encryption::default();
        let problem = check_secrets(&kinds, Storage::Etcd, &plain)
            .unwrap_err()
            .to_string();
        assert!(problem.contains("--encryption-provider-config"), "{problem}");
        let sealed = Encryption::default().with_ephemeral(&[secret::RESOURCE]).unwrap();
        check_secrets(&kinds, Storage::Etcd, &sealed).unwrap();
        check_secrets(&kinds, Storage::Embedded, &plain).unwrap();
        check_secrets(&[], Storage::Etcd, &plain).unwrap();
    }

    #[test]
    fn of_the_resources_that_kcp_syncs_only_objects_that_concern_it_are_copied() {
        let dialects = berth_dialect_registry::all();
        let marked =
            serde_json::json!({"metadata": {"labels": {"state.internal.workloads.kcp.dev/abc": "Sync"}}});
        let of = |group, resource| concerns(&dialects, GroupResource::new(group, resource));
        for (group, resource) in [("", "secrets"), ("", "configmaps"), ("apps", "deployments")] {
            let concerns = of(group, resource).unwrap_or_else(|| panic!("every one of {resource} is copied"));
            let concern = |object: &serde_json::Value| concerns.iter().any(|concern| concern(object));
            assert!(concern(&marked) && !concern(&serde_json::json!({"metadata": {"name": "a"}})));
            let distances = serde_json::json!({"metadata": {"namespace": "garden", "labels": {
                "scheduling.gardener.cloud/purpose": "region-config",
            }}});
            assert_eq!(concern(&distances), resource == "configmaps", "{resource}");
        }
        for resource in ["namespaces", "resourcequotas"] {
            assert!(of("", resource).is_none(), "{resource}");
        }
        assert!(of("core.gardener.cloud", "seeds").is_none());
        assert!(of("workload.kcp.io", "workloadclusters").is_none());
    }

    #[test]
    fn the_kubernetes_kinds_that_kcp_uses_are_copied_even_if_its_own_kinds_are_stored_here() {
        let (dialects, kinds) = (berth_dialect_registry::all(), berth_kubernetes::core::kinds());
        let followed = copied_resources(&dialects);
        // The system's own kinds are served here, so that only Kubernetes' kinds are copied.
        let copied: Vec<_> = kinds
            .into_iter()
            .filter(|kind| followed.contains(&kind.info().resource()))
            .collect();
        let requirements = requirements(&dialects, &copied);
        let kcp = requirements.iter().find(|one| one.dialect == "kcp").unwrap();
        let texts: Vec<String> = kcp.reads.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "configmaps",
                "namespaces",
                "secrets",
                "serviceaccounts",
                "services",
                "deployments.apps"
            ]
        );
        assert_eq!(kcp.essential, [namespace::RESOURCE].into());
    }
}
