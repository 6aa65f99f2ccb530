//! openMCP.

use crate::{Definition, KnownDifference, compare};

const API: &str = "github.com/openmcp-project/openmcp-operator/api";

const fn of(file: &'static str) -> Definition {
    Definition::of(API, file)
}

const DEFINITIONS: &[Definition] = &[
    of("crds/manifests/clusters.openmcp.cloud_clusters.yaml"),
    of("crds/manifests/clusters.openmcp.cloud_clusterrequests.yaml"),
    of("crds/manifests/clusters.openmcp.cloud_clusterprofiles.yaml"),
    of("crds/manifests/clusters.openmcp.cloud_accessrequests.yaml"),
];

/// Reason why a spec is required.
const SPEC: &str = "what is in it is demanded there as well";
/// Reason why a rule is not in the schema.
const RULE: &str = "the kind's own rule in Berth, with the same words and the field";
/// Reason why conditions may have another form.
const CONDITIONS: &str =
    "a status is written by others, and is taken as it is; Berth writes what the definition takes";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "Cluster: required",
        why: SPEC,
    },
    KnownDifference {
        line: "Cluster.spec.profile: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "Cluster.status.conditions[]: required",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "Cluster.status.conditions[].reason: pattern",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "Cluster.status.conditions[].reason: minLength",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "Cluster.status.conditions[].type: pattern",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "ClusterRequest: required",
        why: SPEC,
    },
    KnownDifference {
        line: "ClusterRequest.spec: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "ClusterRequest.status: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "ClusterRequest.status.cluster: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "ClusterRequest.status.conditions[]: required",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "ClusterRequest.status.conditions[].reason: pattern",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "ClusterRequest.status.conditions[].reason: minLength",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "ClusterRequest.status.conditions[].type: pattern",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "ClusterProfile: required",
        why: SPEC,
    },
    KnownDifference {
        line: "AccessRequest.spec: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "AccessRequest.spec.clusterRef: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "AccessRequest.spec.requestRef: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "AccessRequest.spec.oidc.name: x-kubernetes-validations",
        why: RULE,
    },
    KnownDifference {
        line: "AccessRequest.status.conditions[]: required",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "AccessRequest.status.conditions[].reason: pattern",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "AccessRequest.status.conditions[].reason: minLength",
        why: CONDITIONS,
    },
    KnownDifference {
        line: "AccessRequest.status.conditions[].type: pattern",
        why: CONDITIONS,
    },
];

#[test]
#[ignore = "reads a Go module: make e2e"]
fn the_kinds_of_openmcp_are_as_lax_and_as_strict_as_its_definitions() {
    compare("openmcp", DEFINITIONS, KNOWN_DIFFERENCES);
}
