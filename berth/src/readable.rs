//! API groups that `berth console` may read: Berth's own groups and the groups of the systems.

use std::collections::BTreeSet;

/// The API groups of Berth and of each system. Kubernetes' own groups are left out.
#[must_use]
pub fn groups() -> BTreeSet<String> {
    let systems = berth_dialect_registry::all();
    systems
        .iter()
        .flat_map(|dialect| dialect.kinds())
        .map(|kind| kind.info().resource().group)
        // Kubernetes' own groups have no dot or end with .k8s.io. They have Secrets and roles, which the
        // console must not read.
        .filter(|group| group.contains('.') && !group.ends_with(".k8s.io"))
        .map(str::to_owned)
        .chain(["scheduling.berth.dev".to_owned(), "config.berth.dev".to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_console_reads_every_system_and_nothing_of_kubernetes() {
        let groups = super::groups();
        for group in [
            "scheduling.berth.dev",
            "config.berth.dev",
            "clusters.openmcp.cloud",
            "core.gardener.cloud",
            "cluster.open-cluster-management.io",
            "workloads.kcp.dev",
            "placement.kubernetes-fleet.io",
        ] {
            assert!(groups.contains(group), "{group} is not in {groups:?}");
        }
        assert!(!groups.contains("") && !groups.contains("apps"), "{groups:?}");
        assert!(
            !groups.iter().any(|group| group.ends_with("k8s.io")),
            "{groups:?}"
        );
    }
}
