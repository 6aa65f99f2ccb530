//! The implementation of [`Dialect`] for KubeFleet.

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Kind, Schema};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{
    Configuration, Controllers, DemandKind, Dialect, ExtraViews, Inventory, LeaseName, OnHub, OwnScheduler,
    Producer, Reach, Reconciler, SystemUsers,
};
use serde_json::Value;

use crate::admission::{DecisionGuard, FinalizerGuard, Settings, hub_rules};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::form::{CLUSTER_SCOPED, NAMESPACED};
use crate::names::{
    ACTOR, BINDINGS, CLUSTERS, DIALECT, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS,
    RESOURCE_SNAPSHOTS, SNAPSHOTS, STORED,
};
use crate::status_copies::StatusCopier;
use crate::{config, kind};

/// The dialect of KubeFleet.
#[derive(Debug, Default)]
pub(crate) struct KubeFleet {
    /// Settings of the admission rules.
    pub(crate) settings: Settings,
}

/// The user names of the hub agent, whose controllers roll placements out, evict them, and clean up after
/// them.
const USERS: &[&str] = &["system:serviceaccount:fleet-system:hub-agent-sa"];

const SCHEDULER: OwnScheduler = OwnScheduler {
    name: "the scheduler in KubeFleet's hub agent",
    leases: &[LeaseName {
        namespace: "fleet-system",
        name: "136224848560.hub.fleet.azure.com",
    }],
    stop: &[
        "kubectl -n fleet-system scale deployment hub-agent --replicas=0 # this stops the whole hub agent",
    ],
    start: &["kubectl -n fleet-system scale deployment hub-agent --replicas=1 # or as many as it had before"],
    exclusion: None,
    stop_consequence: Some(
        "it is a part of the hub agent, which also rolls out, evicts and cleans up, and it cannot be stopped alone: without the \
         agent, Berth's decisions are not rolled out; beside the agent, its scheduler's writes of decisions are refused, \
         again and again",
    ),
};

const DEMANDS: &[DemandKind] = &[
    DemandKind {
        resource: PLACEMENTS,
        kind: CLUSTER_SCOPED.placement_kind,
        version: STORED,
        namespaced: false,
        own_place: None,
    },
    DemandKind {
        resource: RESOURCE_PLACEMENTS,
        kind: NAMESPACED.placement_kind,
        version: STORED,
        namespaced: true,
        own_place: None,
    },
];

impl Dialect for KubeFleet {
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
            PLACEMENTS,
            SNAPSHOTS,
            BINDINGS,
            RESOURCE_PLACEMENTS,
            RESOURCE_SNAPSHOTS,
            RESOURCE_BINDINGS,
            berth_dialect_contract::config::RESOURCE,
        ]
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            CLUSTERS => Reach::everywhere("no cluster can be chosen"),
            PLACEMENTS => Reach::everywhere("there is nothing to place"),
            SNAPSHOTS | BINDINGS => Reach::everywhere("scheduled placements look unscheduled"),
            RESOURCE_PLACEMENTS => Reach::within("there is nothing to place in namespaces"),
            RESOURCE_SNAPSHOTS | RESOURCE_BINDINGS => Reach::within("scheduled placements look unscheduled"),
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
        self.rules(&SystemUsers::new(USERS.iter().copied()))
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    fn controllers(&self) -> &dyn Controllers {
        self
    }

    fn shown(&self) -> ExtraViews {
        ExtraViews {
            facts,
            producer: Some(Producer {
                manager: "KubeFleet",
                is_exclusive: true,
            }),
            ..ExtraViews::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        OnHub {
            rules: hub_rules::all(),
            // The hub agent also removes the scheduler's finalizers, so that no deletion waits for Berth
            // alone.
            finalizers: Vec::new(),
            records: &[SNAPSHOTS, BINDINGS, RESOURCE_SNAPSHOTS, RESOURCE_BINDINGS],
            users: USERS,
            scheduler: Some(SCHEDULER),
            concern: None,
        }
    }
}

impl KubeFleet {
    /// The admission rules, with the user names `users` of KubeFleet's own programs.
    fn rules(&self, users: &SystemUsers) -> Vec<Arc<dyn Plugin>> {
        let users = self.settings.rollout_users.clone().and(users);
        vec![
            Arc::new(DecisionGuard::new(users.clone())),
            Arc::new(FinalizerGuard::new(users)),
        ]
    }
}

impl Controllers for KubeFleet {
    fn reconcilers(&self, _: Option<&Value>) -> Vec<Arc<dyn Reconciler>> {
        vec![Arc::new(StatusCopier)]
    }
}

impl Configuration for KubeFleet {
    fn admission_under(&self, _: Option<&Value>, users: &SystemUsers) -> Option<Vec<Arc<dyn Plugin>>> {
        Some(self.rules(users))
    }

    fn schema(&self) -> &'static Schema {
        &config::SCHEMA
    }

    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        config::read(Some(spec), path).err().unwrap_or_default()
    }

    fn warnings(&self, spec: &Value, path: &str, _: RulesChoice) -> Vec<String> {
        config::warnings(spec, path)
    }
}
