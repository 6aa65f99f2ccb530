//! Karmada. Its Cluster has no definition: Karmada's own API server serves it, and publishes its schema as
//! OpenAPI.

use std::fs;

use serde_json::Value;

use crate::{Definition, KnownDifference, compare, judge, kinds};

const KARMADA: &str = "github.com/karmada-io/karmada";

const fn of(file: &'static str) -> Definition {
    Definition::of(KARMADA, file)
}

const DEFINITIONS: &[Definition] = &[
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_propagationpolicies.yaml"),
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_clusterpropagationpolicies.yaml"),
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_clustertaintpolicies.yaml"),
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_federatedresourcequotas.yaml"),
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_overridepolicies.yaml"),
    of("charts/karmada/_crds/bases/policy/policy.karmada.io_clusteroverridepolicies.yaml"),
    of("charts/karmada/_crds/bases/work/work.karmada.io_resourcebindings.yaml"),
    of("charts/karmada/_crds/bases/work/work.karmada.io_clusterresourcebindings.yaml"),
    of("charts/karmada/_crds/bases/work/work.karmada.io_works.yaml"),
    of("charts/karmada/_crds/bases/apps/apps.karmada.io_workloadrebalancers.yaml"),
];

/// Reason why the number of groups has 64 bits.
const INT: &str = "an int of Go, which is as wide; the definition says no format of it";
/// Reason why components may name a namespace.
const COMPONENTS: &str = "one form for what a replica and what a component asks for";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "PropagationPolicy.spec.placement.spreadConstraints[].m",
        why: INT,
    },
    KnownDifference {
        line: "ClusterPropagationPolicy.spec.placement.spreadConstraints[].m",
        why: INT,
    },
    KnownDifference {
        line: "ResourceBinding.spec.placement.spreadConstraints[].m",
        why: INT,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.placement.spreadConstraints[].m",
        why: INT,
    },
    KnownDifference {
        line: "ResourceBinding.spec.components[].replicaRequirements.namespace: is not known there",
        why: COMPONENTS,
    },
    KnownDifference {
        line: "ClusterResourceBinding.spec.components[].replicaRequirements.namespace: is not known there",
        why: COMPONENTS,
    },
    KnownDifference {
        line: "FederatedResourceQuota: short names",
        why: "v1.19 has it",
    },
    KnownDifference {
        line: "ResourceBinding: version v1alpha1",
        why: OLD,
    },
    KnownDifference {
        line: "ClusterResourceBinding: version v1alpha1",
        why: OLD,
    },
];

/// Reason why an old version is not served.
const OLD: &str = "deprecated since v1.0, with another form; every object is stored as v1alpha2";

#[test]
#[ignore = "reads a Go module: make e2e"]
fn the_kinds_of_karmada_are_as_lax_and_as_strict_as_its_definitions() {
    compare("karmada", DEFINITIONS, KNOWN_DIFFERENCES);
}

/// The file of all schemas that Karmada's API servers publish.
const PUBLISHED: &str = "api/openapi-spec/swagger.json";
/// The name of Cluster in this file.
const CLUSTER: &str = "com.github.karmada-io.karmada.pkg.apis.cluster.v1alpha1.Cluster";

/// Reason why a quantity may be a number.
const QUANTITY: &str =
    "a quantity, which is read from a number as well; the published schema says string of every quantity";
/// Reason why numbers have 64 bits.
const WIDE: &str = "an int of Go, which is 64 bits wide, and published as one of 32";
/// Reason why conditions are validated more strictly.
const CONDITION: &str = "as Kubernetes defines conditions, which the published schema leaves out";

const CLUSTER_MEANT: &[KnownDifference] = &[
    KnownDifference {
        line: "Cluster.spec.resourceModels[].grade: ",
        why: WIDE,
    },
    KnownDifference {
        line: "Cluster.spec.resourceModels[].ranges[].m",
        why: QUANTITY,
    },
    KnownDifference {
        line: "Cluster.spec.syncMode: enum",
        why: "Karmada's validation refuses other words",
    },
    KnownDifference {
        line: "Cluster.spec.taints[].effect: enum",
        why: "the kind's own rule tells it: PreferNoSchedule is refused by Karmada as well",
    },
    KnownDifference {
        line: "Cluster.status.conditions[]",
        why: CONDITION,
    },
    KnownDifference {
        line: "Cluster.status.resourceSummary.allocat",
        why: "quantities, which are read from numbers as well, and ints of Go, which are 64 bits wide",
    },
];

#[test]
#[ignore = "reads a Go module: make e2e"]
fn clusters_are_as_lax_and_as_strict_as_karmada_publishes_them() {
    let path = berth_tests::go::module("definitions", KARMADA).join(PUBLISHED);
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let published: Value = serde_json::from_slice(&text).expect("it is JSON");
    let theirs = inlined(&published["definitions"], &published["definitions"][CLUSTER]);
    let kinds = kinds("karmada");
    let ours = kinds.iter().find(|kind| kind.info().kind == "Cluster");
    let ours = ours.expect("Clusters are served").schema("v1alpha1");
    let mut lines = Vec::new();
    crate::compare::walk(ours.openapi(), &theirs, "Cluster", &mut lines);
    judge(lines, CLUSTER_MEANT);
}

/// `schema` with its references to `definitions` resolved.
fn inlined(definitions: &Value, schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let name = reference.trim_start_matches("#/definitions/");
                assert!(definitions[name].is_object(), "{name} is not published");
                return inlined(definitions, &definitions[name]);
            }
            // Go's zero value is published as the default of every field that is not a pointer.
            let inner = fields.iter().filter(|(name, _)| *name != "default");
            let inner = inner.map(|(name, inner)| (name.clone(), inlined(definitions, inner)));
            Value::Object(inner.collect())
        }
        Value::Array(items) => items.iter().map(|inner| inlined(definitions, inner)).collect(),
        plain => plain.clone(),
    }
}
