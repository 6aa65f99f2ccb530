//! KubeFleet. The module is of early 2025: KubeFleet's later additions are intended differences.

use crate::{Definition, KnownDifference, compare};

const API: &str = "go.goms.io/fleet";

const fn of(file: &'static str) -> Definition {
    Definition::of(API, file)
}

const DEFINITIONS: &[Definition] = &[
    of("config/crd/bases/cluster.kubernetes-fleet.io_memberclusters.yaml"),
    of("config/crd/bases/placement.kubernetes-fleet.io_clusterresourceplacements.yaml"),
    of("config/crd/bases/placement.kubernetes-fleet.io_clusterschedulingpolicysnapshots.yaml"),
    of("config/crd/bases/placement.kubernetes-fleet.io_clusterresourcebindings.yaml"),
];

/// Reason why Berth has what upstream does not have.
const SINCE: &str = "newer than the module's release";
/// Reason why short names differ.
const RENAMED: &str = "renamed since the module's release, when the names were needed for namespaced kinds";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "MemberCluster: x-kubernetes-validations",
        why: "the kind's own rule for names",
    },
    KnownDifference {
        line: "MemberCluster.spec.deleteOptions: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "MemberCluster.status.namespaces: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[].propertySelector.matchExpressions[].operator: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[].propertySorter.sortOrder: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.propertySelector.matchExpressions[].operator: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.propertySorter.sortOrder: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.policy.topologySpreadConstraints[].whenUnsatisfiable: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot.spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[].propertySelector.matchExpressions[].operator: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot.spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[].propertySorter.sortOrder: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot.spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.propertySelector.matchExpressions[].operator: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot.spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.propertySorter.sortOrder: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot.spec.policy.topologySpreadConstraints[].whenUnsatisfiable: enum",
        why: "its webhook refuses other words",
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.resourceSelectors[].selectionScope: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.statusReportingScope: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.applyStrategy.comparisonOption: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.applyStrategy.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.applyStrategy.whenToApply: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.applyStrategy.whenToTakeOver: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.deleteStrategy: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.reportBackStrategy: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.spec.strategy.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.status.placementStatuses[].diffedPlacements",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.status.placementStatuses[].driftedPlacements",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.status.placementStatuses[].failedPlacements[].envelope.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.status.placementStatuses[].observedResourceIndex: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourcePlacement.status.selectedResources[].envelope.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding: short names",
        why: RENAMED,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.applyStrategy.comparisonOption: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.applyStrategy.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.applyStrategy.whenToApply: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.applyStrategy.whenToTakeOver: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.deleteStrategy: is not known there",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.status.diffedPlacements",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.status.driftedPlacements",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.status.failedPlacements[].envelope.type: enum",
        why: SINCE,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.state: enum",
        why: "its scheduler and rollout know no other states",
    },
    KnownDifference {
        line: "ClusterSchedulingPolicySnapshot: short names",
        why: RENAMED,
    },
];

#[test]
#[ignore = "reads a Go module: make e2e"]
fn the_kinds_of_kubefleet_are_as_lax_and_as_strict_as_its_definitions() {
    compare("fleet", DEFINITIONS, KNOWN_DIFFERENCES);
}
