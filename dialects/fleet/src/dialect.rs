//! KubeFleet as a [`Dialect`].

use std::sync::Arc;

use dialect_contract::{DemandKind, Dialect, Inventory};
use meta::{FieldError, GroupResource, Kind};
use serde_json::Value;

use crate::inventory::Hub;
use crate::names::{BINDINGS, CLUSTERS, DIALECT, PLACEMENTS, SNAPSHOTS, STORED};
use crate::{config, kind};

/// KubeFleet.
pub(crate) struct KubeFleet;

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

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Hub::default())
    }

    fn validate_config(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        config::read(Some(spec), path).err().unwrap_or_default()
    }
}
