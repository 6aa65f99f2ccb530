//! The kinds of the sequences, each with an object that both servers accept and with interesting
//! changes.

use serde_json::{Value, json};

/// A kind.
pub(crate) struct Kind {
    /// The collection's path.
    pub(crate) path: &'static str,
    /// Whether the kind has a status subresource.
    pub(crate) status: bool,
    /// An object, as JSON.
    object: &'static str,
    /// Merge patches that both servers accept.
    changes: &'static [&'static str],
    /// A status that both servers accept.
    pub(crate) example_status: &'static str,
}

impl Kind {
    /// The object.
    pub(crate) fn object(&self) -> Value {
        let mut object: Value = serde_json::from_str(self.object).expect("an example is JSON");
        object["metadata"]["name"] = json!("$ID");
        object["metadata"]["labels"] = json!({"run": "$ID", "tier": "a"});
        if self.namespaced() {
            object["metadata"]["namespace"] = json!("$ID");
        }
        object
    }

    /// The change with this number, modulo their count.
    pub(crate) fn change(&self, number: usize) -> Value {
        let change = self.changes[number % self.changes.len()];
        serde_json::from_str(change).expect("a change is JSON")
    }

    /// The version, and another one of the same objects.
    pub(crate) fn another_version(&self) -> Option<(&'static str, &'static str)> {
        let resource = self.path.rsplit('/').next();
        match resource {
            Some("placements") => Some(("v1beta1", "v1alpha1")),
            Some("clusterresourceplacements") if self.path.contains("/v1beta1/") => Some(("v1beta1", "v1")),
            _ => None,
        }
    }

    /// Whether the kind is namespaced.
    pub(crate) fn namespaced(&self) -> bool {
        self.path.contains("$ID")
    }
}

/// All kinds.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        path: "/api/v1/namespaces/$ID/configmaps",
        status: false,
        object: r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"a":"1"}}"#,
        changes: &[
            r#"{"data":{"b":"2"}}"#,
            r#"{"data":{"a":null}}"#,
            r#"{"binaryData":{"c":"AAEC"}}"#,
            r#"{"immutable":true}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/api/v1/namespaces/$ID/secrets",
        status: false,
        object: r#"{"apiVersion":"v1","kind":"Secret","metadata":{},"type":"Opaque","data":{"a":"MQ=="}}"#,
        changes: &[
            r#"{"stringData":{"b":"2"}}"#,
            r#"{"data":{"a":null}}"#,
            r#"{"type":"kubernetes.io/tls"}"#,
            r#"{"immutable":true}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/api/v1/namespaces/$ID/services",
        status: false,
        object: r#"{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"selector":{"a":"b"},"ports":[{"port":80,"protocol":"TCP","targetPort":80}]}}"#,
        changes: &[
            r#"{"spec":{"selector":{"c":"d"}}}"#,
            r#"{"spec":{"ports":[{"port":81,"protocol":"TCP","targetPort":"http"}]}}"#,
            r#"{"spec":{"ports":[{"port":70000}]}}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/apis/rbac.authorization.k8s.io/v1/namespaces/$ID/roles",
        status: false,
        object: r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}"#,
        changes: &[
            r#"{"rules":[{"apiGroups":["apps"],"resources":["deployments"],"verbs":["*"]}]}"#,
            r#"{"rules":[{"verbs":[]}]}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/apis/apps/v1/namespaces/$ID/deployments",
        status: false,
        object: r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
        changes: &[
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":-1}}"#,
            r#"{"spec":{"paused":true}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"a":"z"}}}}"#,
            r#"{"spec":{"minReadySeconds":4}}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/api/v1/namespaces/$ID/events",
        status: false,
        object: r#"{"apiVersion":"v1","kind":"Event","metadata":{},"involvedObject":{"kind":"Pod","namespace":"$ID","name":"p"},"reason":"R","message":"m","type":"Normal","count":1}"#,
        changes: &[
            r#"{"count":2}"#,
            r#"{"message":"other"}"#,
            r#"{"involvedObject":{"namespace":"elsewhere"}}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/$ID/placements",
        status: true,
        object: r#"{"apiVersion":"cluster.open-cluster-management.io/v1beta1","kind":"Placement","metadata":{},"spec":{"numberOfClusters":1}}"#,
        changes: &[
            r#"{"spec":{"numberOfClusters":2}}"#,
            r#"{"spec":{"clusterSets":["a","b"]}}"#,
            r#"{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"a":"b"}}}}]}}"#,
            r#"{"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}}"#,
        ],
        example_status: r#"{"numberOfSelectedClusters":1,"conditions":[{"type":"PlacementSatisfied","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}"#,
    },
    Kind {
        path: "/apis/cluster.open-cluster-management.io/v1/managedclusters",
        status: true,
        object: r#"{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{},"spec":{"hubAcceptsClient":true}}"#,
        changes: &[
            r#"{"spec":{"hubAcceptsClient":false}}"#,
            r#"{"spec":{"leaseDurationSeconds":90}}"#,
            r#"{"spec":{"taints":[{"key":"k","value":"v","effect":"NoSelect","timeAdded":"2026-01-02T03:04:05Z"}]}}"#,
        ],
        example_status: r#"{"capacity":{"cpu":"4"},"allocatable":{"cpu":"3"},"conditions":[{"type":"ManagedClusterJoined","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}"#,
    },
    Kind {
        path: "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/$ID/addonplacementscores",
        status: true,
        object: r#"{"apiVersion":"cluster.open-cluster-management.io/v1alpha1","kind":"AddOnPlacementScore","metadata":{}}"#,
        changes: &[r#"{"metadata":{"annotations":{"c":"d"}}}"#],
        example_status: r#"{"scores":[{"name":"cpu","value":12}]}"#,
    },
    Kind {
        path: "/apis/placement.kubernetes-fleet.io/v1beta1/clusterresourceplacements",
        status: true,
        object: r#"{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ClusterResourcePlacement","metadata":{},"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"placementType":"PickN","numberOfClusters":2}}}"#,
        changes: &[
            r#"{"spec":{"policy":{"numberOfClusters":3}}}"#,
            r#"{"spec":{"policy":{"tolerations":[{"key":"k","operator":"Exists"}]}}}"#,
            r#"{"spec":{"policy":{"placementType":"Nope"}}}"#,
        ],
        example_status: r#"{"observedResourceIndex":"0"}"#,
    },
    Kind {
        path: "/apis/placement.kubernetes-fleet.io/v1/clusterresourceplacements",
        status: true,
        object: r#"{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{},"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"placementType":"PickAll"}}}"#,
        changes: &[
            r#"{"spec":{"policy":{"tolerations":[{"key":"k","operator":"Exists"}]}}}"#,
            r#"{"spec":{"revisionHistoryLimit":0}}"#,
        ],
        example_status: r#"{"observedResourceIndex":"0"}"#,
    },
    Kind {
        path: "/apis/core.gardener.cloud/v1beta1/cloudprofiles",
        status: false,
        object: r#"{"apiVersion":"core.gardener.cloud/v1beta1","kind":"CloudProfile","metadata":{},"spec":{"type":"aws"}}"#,
        changes: &[
            r#"{"spec":{"type":"gcp"}}"#,
            r#"{"spec":{"seedSelector":{"matchLabels":{"a":"b"}}}}"#,
        ],
        example_status: "",
    },
    Kind {
        path: "/apis/scheduling.kcp.dev/v1alpha1/locations",
        status: true,
        object: r#"{"apiVersion":"scheduling.kcp.dev/v1alpha1","kind":"Location","metadata":{},"spec":{"resource":{"group":"workloads.kcp.dev","version":"v1alpha1","resource":"workloadclusters"},"instanceSelector":{"matchLabels":{"cloud":"gcp"}}}}"#,
        changes: &[
            r#"{"spec":{"description":"d"}}"#,
            r#"{"spec":{"instanceSelector":{"matchLabels":{"cloud":null,"a":"b"}}}}"#,
        ],
        example_status: r#"{"instances":1,"availableInstances":1}"#,
    },
    Kind {
        path: "/apis/clusters.openmcp.cloud/v1alpha1/namespaces/$ID/clusterrequests",
        status: true,
        object: r#"{"apiVersion":"clusters.openmcp.cloud/v1alpha1","kind":"ClusterRequest","metadata":{},"spec":{"purpose":"workload"}}"#,
        changes: &[
            r#"{"metadata":{"annotations":{"c":"d"}}}"#,
            r#"{"spec":{"purpose":"other"}}"#,
        ],
        example_status: r#"{"phase":"Pending"}"#,
    },
];
