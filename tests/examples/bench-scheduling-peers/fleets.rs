//! Fleets: the same clusters for the original and for Berth.

mod gardener;
mod karmada;

use serde_json::{Value, json};

const OCM: &str = "cluster.open-cluster-management.io";
const MEMBERS: &str = "cluster.kubernetes-fleet.io";
const PLACEMENTS: &str = "placement.kubernetes-fleet.io";

/// Number of other decisions besides the measured one, of ten clusters each.
const OTHERS: usize = 1_000;
/// Number of clusters that a placement requests.
const WANTED: usize = 10;

/// One measured placement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Title in tables.
    pub(crate) title: &'static str,
    /// The name of the placement.
    pub(crate) placement: &'static str,
}

/// A fleet, and its cases.
pub(crate) struct Fleet {
    /// The system, which is the name of a dialect and a program.
    pub(crate) dialect: &'static str,
    /// Name of the file.
    pub(crate) name: &'static str,
    /// The namespace of the demands, or empty.
    pub(crate) namespace: &'static str,
    /// Number of clusters.
    pub(crate) clusters: usize,
    /// The measured demands.
    pub(crate) cases: &'static [Case],
    /// Further decisions, which are compared without measurement.
    pub(crate) compared: Vec<String>,
    /// Every object, in lists.
    pub(crate) world: Value,
}

const OCM_ALONE: &[Case] = &[
    Case {
        title: "OCM, labels and default prioritizers",
        placement: "labels",
    },
    Case {
        title: "OCM, with an AddOn score",
        placement: "score",
    },
];

const OCM_BESIDE: &[Case] = &[Case {
    title: "OCM, labels, beside 1,000 decisions",
    placement: "labels",
}];

const KUBE_FLEET: &[Case] = &[
    Case {
        title: "KubeFleet, label affinity",
        placement: "labels",
    },
    Case {
        title: "KubeFleet, with a property sorter",
        placement: "property",
    },
];

/// The titles of all cases, in the order of tables.
pub(crate) fn titles() -> Vec<&'static str> {
    let all = [
        OCM_ALONE,
        OCM_BESIDE,
        KUBE_FLEET,
        gardener::SAME_REGION,
        gardener::MINIMAL_DISTANCE,
        karmada::CASES,
    ];
    all.concat().iter().map(|case| case.title).collect()
}

/// Every fleet of a size, of the systems whose dialects' names satisfy `is_wanted`.
pub(crate) fn all(clusters: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Fleet> {
    let mut all = Vec::new();
    if is_wanted("ocm") {
        all.extend(ocm_fleets(clusters));
    }
    if is_wanted("fleet") {
        all.push(Fleet {
            dialect: "fleet",
            name: "fleet",
            namespace: "",
            clusters,
            cases: KUBE_FLEET,
            compared: Vec::new(),
            world: kube_fleet(clusters),
        });
    }
    if is_wanted("gardener") {
        all.extend(gardener::fleets(clusters));
    }
    if is_wanted("karmada") {
        all.push(karmada::fleet(clusters));
    }
    all
}

fn ocm_fleets(clusters: usize) -> [Fleet; 2] {
    [
        Fleet {
            dialect: "ocm",
            name: "ocm",
            namespace: "ns",
            clusters,
            cases: OCM_ALONE,
            compared: Vec::new(),
            world: ocm(clusters, 0),
        },
        Fleet {
            dialect: "ocm",
            name: "ocm-beside",
            namespace: "ns",
            clusters,
            cases: OCM_BESIDE,
            compared: Vec::new(),
            world: ocm(clusters, OTHERS),
        },
    ]
}

fn name(index: usize) -> String {
    format!("cluster-{index:05}")
}

fn ocm(clusters: usize, others: usize) -> Value {
    let cluster = |index: usize| {
        json!({
            "apiVersion": format!("{OCM}/v1"), "kind": "ManagedCluster",
            "metadata": {"name": name(index), "labels": {
                format!("{OCM}/clusterset"): "fleet", "region": format!("r{}", index % 7),
                "env": if index.is_multiple_of(2) { "prod" } else { "dev" },
            }},
            "status": {
                "allocatable": {"cpu": (index % 64 + 1).to_string(), "memory": "64Gi"},
                "capacity": {"cpu": "64", "memory": "64Gi"},
            },
        })
    };
    let score = |index: usize| {
        json!({
            "apiVersion": format!("{OCM}/v1alpha1"), "kind": "AddOnPlacementScore",
            "metadata": {"name": "default", "namespace": name(index)},
            "status": {"validUntil": "2100-01-01T00:00:00Z", "scores": [
                {"name": "cpuratio", "value": i64::try_from(index * 37 % 201).unwrap_or_default() - 100},
            ]},
        })
    };
    let decision = |other: usize| {
        let listed: Vec<Value> = (0..10)
            .map(|place| json!({"clusterName": name((other * 10 + place * 3) % clusters), "reason": ""}))
            .collect();
        json!({
            "apiVersion": format!("{OCM}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": format!("other-{other}"), "namespace": "others"},
            "status": {"decisions": listed},
        })
    };
    let placement = |name: &str, configurations: Value| {
        json!({
            "apiVersion": format!("{OCM}/v1beta1"), "kind": "Placement",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {
                "numberOfClusters": WANTED,
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
                "prioritizerPolicy": {"configurations": configurations},
            },
        })
    };
    let addon = json!([{
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "cpuratio"}}, "weight": 1,
    }]);
    json!({
        "sets": [{"apiVersion": format!("{OCM}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "fleet"}}],
        "bindings": [{
            "apiVersion": format!("{OCM}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "fleet", "namespace": "ns"}, "spec": {"clusterSet": "fleet"},
        }],
        "clusters": (0..clusters).map(cluster).collect::<Vec<_>>(),
        "scores": (0..clusters).map(score).collect::<Vec<_>>(),
        "decisions": (0..others).map(decision).collect::<Vec<_>>(),
        "placements": [placement("labels", json!([])), placement("score", addon)],
    })
}

fn kube_fleet(clusters: usize) -> Value {
    let cluster = |index: usize| {
        let joined = if index.is_multiple_of(10) { "False" } else { "True" };
        json!({
            "apiVersion": format!("{MEMBERS}/v1beta1"), "kind": "MemberCluster",
            "metadata": {"name": name(index), "labels": {
                "env": if index.is_multiple_of(2) { "dev" } else { "prod" }, "tier": format!("t{}", index % 3),
            }},
            "status": {
                "properties": {"kubernetes-fleet.io/node-count": {
                    "value": (index * 37 % 101).to_string(), "observationTime": "2021-10-28T08:59:00Z",
                }},
                "resourceUsage": {"available": {"cpu": index.to_string(), "memory": "64Gi"}},
                "agentStatus": [{
                    "type": "MemberAgent", "lastReceivedHeartbeat": "2021-10-28T08:59:00Z",
                    "conditions": [{"type": "Joined", "status": joined}, {"type": "Healthy", "status": "True"}],
                }],
            },
        })
    };
    let labels = json!({"labelSelector": {"matchLabels": {"env": "prod"}}});
    let policy = |preferred: Value| {
        json!({
            "placementType": "PickN", "numberOfClusters": WANTED,
            "affinity": {"clusterAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [labels]},
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }},
        })
    };
    let tier = json!({"weight": 20, "preference": {"labelSelector": {"matchLabels": {"tier": "t1"}}}});
    let sorter = json!({"weight": 80, "preference": {"propertySorter": {
        "name": "kubernetes-fleet.io/node-count", "sortOrder": "Ascending",
    }}});
    let policies = [
        ("labels", policy(json!([tier]))),
        ("property", policy(json!([tier, sorter]))),
    ];
    let placement = |(name, policy): &(&str, Value)| {
        json!({
            "apiVersion": format!("{PLACEMENTS}/v1beta1"), "kind": "ClusterResourcePlacement",
            "metadata": {"name": name, "uid": name, "generation": 1}, "spec": {"policy": policy},
        })
    };
    let snapshot = |(name, policy): &(&str, Value)| {
        let mut policy = policy.clone();
        // The number is only in the annotation.
        if let Some(fields) = policy.as_object_mut() {
            fields.remove("numberOfClusters");
        }
        json!({
            "apiVersion": format!("{PLACEMENTS}/v1beta1"), "kind": "ClusterSchedulingPolicySnapshot",
            "metadata": {
                "name": format!("{name}-0"),
                "labels": {
                    "kubernetes-fleet.io/parent-CRP": name, "kubernetes-fleet.io/is-latest-snapshot": "true",
                    "kubernetes-fleet.io/policy-index": "0",
                },
                "annotations": {
                    "kubernetes-fleet.io/number-of-clusters": WANTED.to_string(),
                    "kubernetes-fleet.io/CRP-generation": "1",
                },
            },
            "spec": {"policy": policy, "policyHash": ""},
        })
    };
    json!({
        "clusters": (0..clusters).map(cluster).collect::<Vec<_>>(),
        "placements": policies.iter().map(placement).collect::<Vec<_>>(),
        "policies": policies.iter().map(snapshot).collect::<Vec<_>>(),
    })
}
