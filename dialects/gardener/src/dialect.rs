//! Gardener as one of the dialects.

use std::sync::Arc;

use admission::Plugin;
use dialect_contract::dialect::{DemandKind, Dialect, Inventory, Protected};
use dialect_contract::{Facts, HubRule, config};
use meta::{FieldError, GroupResource, Key, Kind, Schema};
use serde_json::Value;

use crate::admission::SeedNameGuard;
use crate::admission::hub_rules;
use crate::config::{API_VERSION, Config, SCHEMA};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::names::{ACTOR, CLOUD_PROFILES, DIALECT, SEEDS, SHOOTS, VERSION};
use crate::{kind, uses};

/// Gardener: shoots want a seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gardener;

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: SHOOTS,
    kind: "Shoot",
    version: VERSION,
    namespaced: true,
}];

const PROTECTED: &[Protected] = &[
    Protected {
        resource: SEEDS,
        by: SHOOTS,
    },
    Protected {
        resource: CLOUD_PROFILES,
        by: SHOOTS,
    },
];

impl Dialect for Gardener {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![CLOUD_PROFILES, SEEDS, SHOOTS, config::RESOURCE]
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        SEEDS
    }

    fn facts(&self, target: &Value) -> Facts {
        facts(target)
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![Arc::new(SeedNameGuard)]
    }

    fn hub_rules(&self) -> Vec<HubRule> {
        hub_rules::all()
    }

    fn own_configuration(&self, file: &Value) -> Option<Value> {
        let is_own = file["apiVersion"] == API_VERSION;
        let mut spec = file.as_object().filter(|_| is_own)?.clone();
        spec.retain(|name, _| name != "apiVersion" && name != "kind" && name != "metadata");
        Some(Value::Object(spec))
    }

    fn config_schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn validate_config(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        Config::read(Some(spec), path).err().unwrap_or_default()
    }

    fn config_warnings(&self, spec: &Value, path: &str) -> Vec<String> {
        Config::read(Some(spec), path).map_or_else(|_| Vec::new(), |config| config.warnings(path))
    }

    fn protects(&self) -> &'static [Protected] {
        PROTECTED
    }

    fn judges(&self) -> &'static [GroupResource] {
        &[SHOOTS]
    }

    fn uses(&self, resource: GroupResource, object: &Value) -> Vec<Key> {
        if resource == SHOOTS {
            uses::of_shoot(object)
        } else {
            Vec::new()
        }
    }
}
