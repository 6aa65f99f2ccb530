//! Karmada as a [`Dialect`].

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Key, Kind, Schema};
use berth_dialect_contract::{
    Configuration, Controllers, DemandKind, Dialect, ExtraViews, Inventory, LeaseName, OnHub, OwnScheduler,
    Reach, Reconciler, SystemUsers, config as settings,
};
use serde_json::Value;

use crate::admission::{DecisionGuard, DeletionProtection, hub_rules};
use crate::config::Settings;
use crate::detector::Detector;
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::names::{
    ACTOR, BINDINGS, CLUSTER_BINDINGS, CLUSTER_PROPAGATION_POLICIES, CLUSTERS, DIALECT, PROPAGATION_POLICIES,
    QUOTAS,
};
use crate::{config, detector, kind};

/// The dialect of Karmada.
#[derive(Debug, Default)]
pub(crate) struct Karmada;

/// The users of Karmada's own programs that remove clusters from bindings: the controller manager, which
/// evicts and fails over, and the descheduler. They share the user `system:admin`, or each has a certificate of
/// its own. Karmada's scheduler is not one of them: what Berth decides, it may not change.
const USERS: &[&str] = &[
    "system:admin",
    "system:karmada:karmada-controller-manager",
    "system:karmada:karmada-descheduler",
];

const SCHEDULER: OwnScheduler = OwnScheduler {
    name: "karmada-scheduler",
    leases: &[LeaseName {
        namespace: "karmada-system",
        name: "karmada-scheduler",
    }],
    stop: &[
        "kubectl -n karmada-system scale deployment karmada-scheduler --replicas=0 # on the host cluster",
    ],
    start: &[
        "kubectl -n karmada-system scale deployment karmada-scheduler --replicas=1 # or as many as it had before",
    ],
    exclusion: Some(
        "give the policies another schedulerName when they are created, and set it as schedulerName in the \
         SchedulerConfiguration; the schedulerName of a policy cannot be changed later",
    ),
    stop_consequence: None,
};

const DEMANDS: &[DemandKind] = &[
    DemandKind {
        resource: BINDINGS,
        kind: "ResourceBinding",
        version: kind::WORK_VERSION,
        namespaced: true,
        own_place: None,
    },
    DemandKind {
        resource: CLUSTER_BINDINGS,
        kind: "ClusterResourceBinding",
        version: kind::WORK_VERSION,
        namespaced: false,
        own_place: None,
    },
];

/// The resources of policies, which users may read together with their bindings.
const POLICIES: &[GroupResource] = &[PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES];

impl Dialect for Karmada {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::further()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![
            CLUSTERS,
            BINDINGS,
            CLUSTER_BINDINGS,
            PROPAGATION_POLICIES,
            CLUSTER_PROPAGATION_POLICIES,
            QUOTAS,
            settings::RESOURCE,
        ]
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            CLUSTERS => Reach::everywhere("no cluster can be chosen"),
            // All workloads of an affinity group are in one namespace.
            BINDINGS => Reach::within("there is nothing to place"),
            CLUSTER_BINDINGS => Reach::everywhere("there is nothing to place"),
            PROPAGATION_POLICIES => Reach::within("no change of a PropagationPolicy can be planned"),
            QUOTAS => Reach::within("no quota limits decisions"),
            CLUSTER_PROPAGATION_POLICIES => {
                Reach::everywhere("no change of a ClusterPropagationPolicy can be planned")
            }
            _ => Reach::default(),
        }
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        CLUSTERS
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        plugins(&SystemUsers::new(USERS.iter().copied()), Settings::default())
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    /// Returns true: openMCP also has `clusters`, and KubeFleet also has `resourcebindings`.
    fn comes_last(&self) -> bool {
        true
    }

    fn shown(&self) -> ExtraViews {
        ExtraViews {
            readable: POLICIES,
            facts,
            ..ExtraViews::default()
        }
    }

    fn controllers(&self) -> &dyn Controllers {
        self
    }

    fn demand_of_template(&self, template: &Key) -> Option<Key> {
        detector::binding_of(template)
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

impl Controllers for Karmada {
    fn reconcilers(&self, _: Option<&Value>) -> Vec<Arc<dyn Reconciler>> {
        vec![Arc::new(Detector)]
    }

    fn preceding(&self) -> Vec<Arc<dyn Reconciler>> {
        vec![Arc::new(Detector)]
    }
}

/// The admission plugins under `settings`. `users` are the users of Karmada's own programs.
fn plugins(users: &SystemUsers, settings: Settings) -> Vec<Arc<dyn Plugin>> {
    vec![
        Arc::new(DecisionGuard::new(users.clone(), settings.scheduler)),
        Arc::new(DeletionProtection),
    ]
}

impl Configuration for Karmada {
    fn admission_under(&self, spec: Option<&Value>, users: &SystemUsers) -> Option<Vec<Arc<dyn Plugin>>> {
        // A part that is invalid is never in force.
        let settings = config::read(spec, "spec").unwrap_or_default();
        Some(plugins(users, settings))
    }

    fn schema(&self) -> &'static Schema {
        &config::SCHEMA
    }

    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        config::read(Some(spec), path).err().unwrap_or_default()
    }
}
