//! KubeFleet as a [`Dialect`].

use std::sync::Arc;

use admission::Plugin;
use dialect_contract::{
    Configuration, DemandKind, Dialect, Finalizer, Hold, Inventory, OnHub, Producer, Shown, SystemUsers,
};
use meta::{FieldError, GroupResource, Kind, Schema};
use serde_json::Value;

use crate::admission::{DecisionGuard, PlacementHold, Settings, hub_rules};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::names::{
    ACTOR, BINDING_FINALIZER, BINDINGS, CLUSTERS, DIALECT, PLACEMENT_FINALIZER, PLACEMENTS, SNAPSHOTS, STORED,
};
use crate::{config, kind};

/// KubeFleet.
#[derive(Debug, Default)]
pub(crate) struct KubeFleet {
    /// What admission goes by.
    pub(crate) settings: Settings,
}

/// The hub agent: its controllers roll placements out, evict, and clean up after them.
const USERS: &[&str] = &["system:serviceaccount:fleet-system:hub-agent-sa"];

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: PLACEMENTS,
    kind: "ClusterResourcePlacement",
    version: STORED,
    namespaced: false,
    own_place: None,
}];

impl Dialect for KubeFleet {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![
            CLUSTERS,
            PLACEMENTS,
            SNAPSHOTS,
            BINDINGS,
            dialect_contract::config::RESOURCE,
        ]
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

    fn shown(&self) -> Shown {
        Shown {
            facts,
            producer: Some(Producer {
                manager: "KubeFleet",
                is_alone: true,
            }),
            ..Shown::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        let hold = |resource, finalizer| Hold {
            resource,
            version: STORED,
            finalizer: Finalizer::Is(finalizer),
        };
        OnHub {
            rules: hub_rules::all(),
            holds: vec![
                hold(PLACEMENTS, PLACEMENT_FINALIZER),
                hold(BINDINGS, BINDING_FINALIZER),
            ],
            records: &[SNAPSHOTS, BINDINGS],
            users: USERS,
            concern: None,
        }
    }
}

impl KubeFleet {
    /// The admission rules, where `users` are those of KubeFleet's own programs.
    fn rules(&self, users: &SystemUsers) -> Vec<Arc<dyn Plugin>> {
        let users = self.settings.rollout_users.clone().and(users);
        vec![
            Arc::new(DecisionGuard::new(users.clone())),
            Arc::new(PlacementHold::new(users)),
        ]
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

    fn warnings(&self, spec: &Value, path: &str) -> Vec<String> {
        config::warnings(spec, path)
    }
}
