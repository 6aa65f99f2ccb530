//! What is copied from a hub, and which system needs what of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use apiserver::registry::Registry;
use apiserver::{Backing, Group, Resource};
use berth_hub::Needs;
use dialect_contract::Dialect;
use kubernetes::core::{namespace, resource_quota};
use meta::{Clock, GroupResource, Kind};
use storage::Source;

/// Kubernetes' own resources that are copied: namespaces and their quotas, and what the followers of `dialects` watch. Wherever a
/// system's own kinds are, Kubernetes' are the hub's (docs/api.md, "Where objects are").
pub(super) fn followed(dialects: &[Arc<dyn Dialect>]) -> BTreeSet<GroupResource> {
    let followers = dialects.iter().flat_map(|dialect| dialect.followers(None));
    let watched = followers.flat_map(|follower| follower.watches());
    watched
        .chain([namespace::RESOURCE, resource_quota::RESOURCE])
        .collect()
}

/// The copies in `source` of the objects of `kinds`, to be looked at as if they were served here. Nothing can be written
/// there, and resource versions are good for this process only.
///
/// # Errors
/// When a kind stands twice.
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
    let registry = Registry::new(::admission::Chain::default(), Arc::clone(clock));
    registry.install(&groups).map_err(|problem| anyhow!(problem))?;
    Ok(registry)
}

/// What each of `dialects` needs of what is copied.
pub(super) fn needs(dialects: &[Arc<dyn Dialect>], mirrored: &[Arc<dyn Kind>]) -> Vec<Needs> {
    if mirrored.is_empty() {
        return Vec::new();
    }
    let mirrored: BTreeSet<GroupResource> = mirrored.iter().map(|kind| kind.info().resource()).collect();
    let of = |dialect: &Arc<dyn Dialect>| {
        let followers = dialect.followers(None).into_iter();
        let watched = followers.flat_map(|follower| follower.watches());
        let reads = dialect.reads().into_iter().chain(watched);
        let demands = dialect.demands().iter().map(|demand| demand.resource);
        Needs {
            dialect: dialect.name(),
            reads: reads.filter(|resource| mirrored.contains(resource)).collect(),
            essential: demands
                .chain([dialect.target()])
                .filter(|resource| mirrored.contains(resource))
                .collect(),
        }
    };
    dialects.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_needs_what_it_reads_and_cannot_be_without_what_it_places_and_where() {
        let dialects = dialect_registry::all();
        let gardener: Vec<_> = dialects
            .iter()
            .filter(|dialect| dialect.name() == "gardener")
            .cloned()
            .collect();
        assert_eq!(
            followed(&gardener),
            [namespace::RESOURCE, resource_quota::RESOURCE].into()
        );
        let needs = needs(&dialects, &gardener[0].kinds());
        let named = |name: &str| {
            let found = needs.iter().find(|needs| needs.dialect == name);
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
        assert!(super::needs(&dialects, &[]).is_empty());
    }
    #[test]
    fn what_kcp_places_and_syncs_is_copied_wherever_its_own_kinds_are() {
        let (dialects, kinds) = (dialect_registry::all(), kubernetes::core::kinds());
        let followed = followed(&dialects);
        // Its own kinds are served here, so that only Kubernetes' are copied.
        let copied: Vec<_> = kinds
            .into_iter()
            .filter(|kind| followed.contains(&kind.info().resource()))
            .collect();
        let needs = needs(&dialects, &copied);
        let kcp = needs.iter().find(|needs| needs.dialect == "kcp").unwrap();
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
