//! kcp, in the only available module, a release of 2022: it has Locations, and WorkloadClusters with their
//! later name.

use crate::{Definition, KnownDifference, compare};

const KCP: &str = "github.com/kcp-dev/kcp";

const DEFINITIONS: &[Definition] = &[
    Definition::of(KCP, "config/crds/scheduling.kcp.dev_locations.yaml"),
    Definition::of(KCP, "config/crds/workload.kcp.dev_synctargets.yaml").served_as("WorkloadCluster"),
];

/// Reason why a spec is required.
const SPEC: &str = "what is in it is demanded there as well";
/// Reason why Berth accepts more.
const LAX: &str = "labels for people to choose by, which nothing is decided by";
/// Reason why names differ.
const RENAMED: &str =
    "the proposal's names: kcp renamed WorkloadClusters to SyncTargets, and their group, before this release";
/// Reason why nulls are accepted.
const NULLS: &str = "Go's types wrote nulls for times that are not set";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "Location: required",
        why: SPEC,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[]: required",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[].key: pattern",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[].values: minItems",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[].values: x-kubernetes-list-type",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[].values[]: pattern",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.availableSelectorLabels[].values[]: maxLength",
        why: LAX,
    },
    KnownDifference {
        line: "Location.spec.instanceSelector: x-kubernetes-map-type",
        why: "Kubernetes has made selectors atomic since",
    },
    KnownDifference {
        line: "Location.spec.resource.group: enum",
        why: RENAMED,
    },
    KnownDifference {
        line: "Location.spec.resource.group: pattern",
        why: "an enum says more",
    },
    KnownDifference {
        line: "Location.spec.resource.resource: enum",
        why: RENAMED,
    },
    KnownDifference {
        line: "Location.spec.resource.resource: pattern",
        why: "an enum says more",
    },
    KnownDifference {
        line: "Location.spec.resource.version: pattern",
        why: "an enum says more",
    },
    KnownDifference {
        line: "Location.status.availableInstances: minimum",
        why: "there are none below 0",
    },
    KnownDifference {
        line: "Location.status.instances: minimum",
        why: "there are none below 0",
    },
    KnownDifference {
        line: "WorkloadCluster: group",
        why: RENAMED,
    },
    KnownDifference {
        line: "WorkloadCluster: plural",
        why: RENAMED,
    },
    KnownDifference {
        line: "WorkloadCluster: singular",
        why: RENAMED,
    },
    KnownDifference {
        line: "WorkloadCluster.spec.evictAfter: nullable",
        why: NULLS,
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions: x-kubernetes-list-map-keys",
        why: "one of each type: two syncers that apply their own do not take each other's away",
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions: x-kubernetes-list-type",
        why: "one of each type: two syncers that apply their own do not take each other's away",
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions[]: required",
        why: NULLS,
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions[].lastTransitionTime: nullable",
        why: NULLS,
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions[].severity: enum",
        why: "kcp's library writes these words alone",
    },
    KnownDifference {
        line: "WorkloadCluster.status.conditions[].status: enum",
        why: "kcp's library writes these words alone",
    },
    KnownDifference {
        line: "WorkloadCluster.status.lastSyncerHeartbeatTime: nullable",
        why: NULLS,
    },
    KnownDifference {
        line: "WorkloadCluster.status.virtualWorkspaces[].url: minLength",
        why: "written by kcp alone, and read by nobody here",
    },
];

#[test]
#[ignore = "reads a Go module: make e2e"]
fn the_kinds_of_kcp_are_as_lax_and_as_strict_as_its_definitions() {
    compare("kcp", DEFINITIONS, KNOWN_DIFFERENCES);
}
