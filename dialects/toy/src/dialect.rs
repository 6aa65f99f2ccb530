//! The toy system as a [`Dialect`]: its kinds, resources, rules and controllers.

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{GroupResource, Kind, Schema};
use berth_dialect_contract::{
    Configuration, Controllers, DemandKind, Dialect, Inventory, OnHub, Reconciler, config as settings,
};
use serde_json::Value;

use crate::admission::{BoxGuard, hub_rules};
use crate::fleet::Fleet;
use crate::names::{ACTOR, BOXES, DIALECT, TOYS, VERSION};
use crate::painter::Painter;
use crate::{config, kind};

/// The toy system, which places toys in boxes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Toys;

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: TOYS,
    kind: "Toy",
    version: VERSION,
    namespaced: true,
    own_place: None,
}];

impl Dialect for Toys {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![TOYS, BOXES, settings::RESOURCE]
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        BOXES
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![Arc::new(BoxGuard)]
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    fn controllers(&self) -> &dyn Controllers {
        self
    }

    fn on_hub(&self) -> OnHub {
        OnHub {
            rules: hub_rules::all(),
            ..OnHub::default()
        }
    }
}

impl Configuration for Toys {
    fn schema(&self) -> &'static Schema {
        &config::SCHEMA
    }
}

impl Controllers for Toys {
    fn decider(&self) -> Option<&'static str> {
        Some("toy-scheduler")
    }

    fn reconcilers(&self, spec: Option<&Value>) -> Vec<Arc<dyn Reconciler>> {
        let prefix = config::prefix(spec);
        vec![Arc::new(Painter { prefix })]
    }
}
