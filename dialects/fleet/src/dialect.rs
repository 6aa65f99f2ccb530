//! KubeFleet as a [`Dialect`].

use std::sync::Arc;

use admission::Plugin;
use dialect_contract::{DemandKind, Dialect, Facts, Finalizer, Hold, HubRule, Inventory, Producer};
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

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: PLACEMENTS,
    kind: "ClusterResourcePlacement",
    version: STORED,
    namespaced: false,
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

    fn facts(&self, target: &Value) -> Facts {
        facts(target)
    }

    fn producer(&self) -> Option<Producer> {
        Some(Producer {
            manager: "KubeFleet",
            is_alone: true,
        })
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn records(&self) -> &'static [GroupResource] {
        &[SNAPSHOTS, BINDINGS]
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn holds(&self) -> Vec<Hold> {
        let of = |resource, finalizer| Hold {
            resource,
            version: STORED,
            finalizer: Finalizer::Is(finalizer),
        };
        vec![
            of(PLACEMENTS, PLACEMENT_FINALIZER),
            of(BINDINGS, BINDING_FINALIZER),
        ]
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![
            Arc::new(DecisionGuard::new(self.settings.clone())),
            Arc::new(PlacementHold),
        ]
    }

    fn hub_rules(&self) -> Vec<HubRule> {
        hub_rules::all()
    }

    fn config_schema(&self) -> &'static Schema {
        &config::SCHEMA
    }

    fn validate_config(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        config::read(Some(spec), path).err().unwrap_or_default()
    }

    fn config_warnings(&self, spec: &Value, path: &str) -> Vec<String> {
        config::warnings(spec, path)
    }
}
