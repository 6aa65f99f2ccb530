//! kcp as one of the dialects.

use std::sync::Arc;

use admission::Plugin;
use dialect_contract::config;
use dialect_contract::dialect::{DemandKind, Dialect, Inventory};
use meta::{FieldError, GroupResource, Kind};
use serde_json::Value;

use crate::admission::{PlacementGuard, PlacementValues, user_of};
use crate::config::Config;
use crate::fleet::Fleet;
use crate::kind;
use crate::machine::Actor;
use crate::names::{DIALECT, LOCATIONS, NAMESPACES, WORKLOAD_CLUSTERS};

/// kcp: namespaces want a workload cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kcp;

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: NAMESPACES,
    kind: "Namespace",
    version: "v1",
    namespaced: true,
}];

impl Dialect for Kcp {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![LOCATIONS, WORKLOAD_CLUSTERS, NAMESPACES, config::RESOURCE]
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    /// Users see which locations there are, never the workload clusters in them.
    fn readable(&self) -> &'static [GroupResource] {
        &[LOCATIONS]
    }

    fn target(&self) -> GroupResource {
        WORKLOAD_CLUSTERS
    }

    fn actor(&self) -> &'static str {
        user_of(Actor::PlacementController)
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![
            Arc::new(PlacementGuard::default()),
            Arc::new(PlacementValues::default()),
        ]
    }

    fn validate_config(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        Config::read(Some(spec), path).err().unwrap_or_default()
    }

    fn config_warnings(&self, spec: &Value, path: &str) -> Vec<String> {
        Config::read(Some(spec), path).map_or_else(|_| Vec::new(), |config| config.warnings(path))
    }
}
