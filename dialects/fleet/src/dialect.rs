//! KubeFleet as a [`Dialect`].

use std::sync::Arc;

use admission::Plugin;
use dialect_contract::{
    Configuration, DemandKind, Dialect, Finalizer, Hold, Inventory, OnHub, Producer, Shown,
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
        vec![
            Arc::new(DecisionGuard::new(self.settings.clone())),
            Arc::new(PlacementHold),
        ]
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
            concern: None,
        }
    }
}

impl Configuration for KubeFleet {
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
