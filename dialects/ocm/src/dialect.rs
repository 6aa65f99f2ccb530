//! Open Cluster Management as a [`Dialect`].

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{GroupResource, Key, Kind};
use berth_dialect_contract::{
    DemandKind, Dialect, ExtraViews, GuardedResources, Inventory, LeaseName, OnHub, OwnScheduler, Producer,
    Reach,
};
use serde_json::{Value, json};

use crate::admission::{ClusterMembership, IneffectiveFieldWarnings, hub_rules};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::kind;
use crate::names::{
    BINDINGS, CLAIMS, CLUSTERS, DECISIONS, DEFAULT_SET, GLOBAL_SET, GROUP, PLACEMENTS, SCORES, SETS,
};

/// The dialect of Open Cluster Management.
pub(crate) struct Ocm;

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: PLACEMENTS,
    kind: "Placement",
    version: "v1beta1",
    namespaced: true,
    own_place: None,
}];

/// The service accounts of OCM's controllers on a hub, by the present and the former names.
const USERS: &[&str] = &[
    "system:serviceaccount:open-cluster-management-hub:placement-controller-sa",
    "system:serviceaccount:open-cluster-management-hub:cluster-manager-placement-controller-sa",
    "system:serviceaccount:open-cluster-management-hub:registration-controller-sa",
    "system:serviceaccount:open-cluster-management-hub:cluster-manager-registration-controller-sa",
];

/// OCM's own scheduler, with the commands that stop and start it.
const SCHEDULER: OwnScheduler = OwnScheduler {
    name: "OCM's placement controller",
    leases: &[LeaseName {
        namespace: "open-cluster-management-hub",
        name: "placement-lock",
    }],
    stop: &[
        "kubectl -n open-cluster-management scale deployment cluster-manager --replicas=0 # the operator, which would start it again",
        "kubectl -n open-cluster-management-hub scale deployment cluster-manager-placement-controller --replicas=0",
    ],
    start: &[
        "kubectl -n open-cluster-management-hub scale deployment cluster-manager-placement-controller --replicas=1",
        "kubectl -n open-cluster-management scale deployment cluster-manager --replicas=1 # or as many as it had before",
    ],
    // A Placement that OCM's scheduler ignores is ignored by Berth as well.
    exclusion: None,
    stop_consequence: None,
};

impl Dialect for Ocm {
    fn name(&self) -> &'static str {
        "ocm"
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::further()
    }

    fn counterpart(&self, resource: GroupResource) -> Option<&'static str> {
        (resource == CLAIMS).then_some(
            "claims count where OCM's agent puts them, in status.clusterClaims of the cluster's ManagedCluster",
        )
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![
            CLUSTERS,
            SETS,
            BINDINGS,
            PLACEMENTS,
            DECISIONS,
            SCORES,
            berth_dialect_contract::config::RESOURCE,
        ]
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            CLUSTERS => Reach::everywhere("no cluster can be chosen"),
            SETS | BINDINGS => Reach::within("no cluster set is bound, and no cluster can be chosen"),
            PLACEMENTS => Reach::within("there is nothing to place"),
            DECISIONS => {
                Reach::everywhere("Balance counts too few decisions, and decided Placements seem undecided")
            }
            SCORES => Reach::everywhere("prioritizers of add-ons score nothing"),
            _ => Reach::default(),
        }
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        CLUSTERS
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![Arc::new(ClusterMembership), Arc::new(IneffectiveFieldWarnings)]
    }

    /// The built-in sets, which OCM creates in every hub.
    fn built_in(&self) -> Vec<(Key, Value)> {
        let all = json!({"selectorType": "LabelSelector", "labelSelector": {}});
        let by_label = json!({"selectorType": "ExclusiveClusterSetLabel"});
        let set = |(name, selector): (&str, Value)| {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet",
                "metadata": {"name": name}, "spec": {"clusterSelector": selector},
            });
            (Key::new(SETS, "", name), object)
        };
        [(DEFAULT_SET, by_label), (GLOBAL_SET, all)].map(set).into()
    }

    fn guarded(&self) -> GuardedResources {
        GuardedResources {
            reserves: &[DECISIONS],
            ..GuardedResources::default()
        }
    }

    fn shown(&self) -> ExtraViews {
        ExtraViews {
            cluster_kinds: &[SCORES],
            facts,
            producer: Some(Producer {
                manager: "open-cluster-management",
                is_exclusive: false,
            }),
            ..ExtraViews::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        OnHub {
            rules: hub_rules::all(),
            users: USERS,
            scheduler: Some(SCHEDULER),
            ..OnHub::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_takes_an_empty_object_only() {
        let errors = |spec: Value| -> Vec<String> {
            Ocm.configuration()
                .validate(&spec, "spec.ocm")
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert!(errors(json!({})).is_empty());
        assert_eq!(errors(json!({"x": 1})), ["spec.ocm.x: Forbidden: unknown field"]);
        assert_eq!(
            errors(json!([1])),
            ["spec.ocm: Invalid value: \"array\": spec.ocm in body must be of type object: \"array\""]
        );
    }
}
