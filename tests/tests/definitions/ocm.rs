//! Open Cluster Management.

use crate::{Definition, KnownDifference, compare};

const API: &str = "open-cluster-management.io/api";

const fn of(file: &'static str) -> Definition {
    Definition::of(API, file)
}

const DEFINITIONS: &[Definition] = &[
    of("cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml"),
    of("cluster/v1beta2/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml"),
    of("cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml"),
    of("cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml"),
    of("cluster/v1beta1/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml"),
    of("cluster/v1alpha1/0000_02_clusters.open-cluster-management.io_clusterclaims.crd.yaml"),
    of("cluster/v1alpha1/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml"),
];

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "ManagedCluster.spec.hubAcceptsClient: default: false here",
        why: "written out, so that the column Hub Accepted is never empty",
    },
    KnownDifference {
        line: "ManagedClusterSetBinding: required: \"\\\"spec\\\"\" here",
        why: "the hub's webhook refuses a binding whose set has not its name",
    },
    KnownDifference {
        line: "ManagedClusterSetBinding.spec: required: \"\\\"clusterSet\\\"\" here",
        why: "the hub's webhook refuses a binding whose set has not its name",
    },
    KnownDifference {
        line: "Placement.spec.numberOfClusters: minimum: 0.0 here",
        why: "a negative number makes OCM's scheduler panic",
    },
    KnownDifference {
        line: "Placement.spec.prioritizerPolicy.configurations[]: required: null here",
        why: "the proposal has `name` in its place",
    },
    KnownDifference {
        line: "Placement.spec.prioritizerPolicy.configurations[].name: is not known there",
        why: "the proposal has it",
    },
    KnownDifference {
        line: "Placement.spec.prioritizerPolicy.configurations[].scoreCoordinate.buildIn: is not known there",
        why: "the proposal spells builtIn so",
    },
    KnownDifference {
        line: "Placement.spec.prioritizerPolicy.configurations[].scoreCoordinate.type: enum",
        why: "the proposal spells BuiltIn as BuildIn",
    },
    KnownDifference {
        line: "AddOnPlacementScore.status.scores[]: required: \"\\\"name\\\"\" here",
        why: "the proposal leaves out a value of 0",
    },
];

#[test]
#[ignore = "reads a Go module: make e2e"]
fn the_kinds_of_open_cluster_management_are_as_lax_and_as_strict_as_its_definitions() {
    compare("ocm", DEFINITIONS, KNOWN_DIFFERENCES);
}
