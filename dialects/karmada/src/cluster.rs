//! A cluster, read once when it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::schema::types::Condition;
use berth_apimachinery::{Key, Labels, Object};

use crate::kind::cluster::{Cluster as View, Taint};
use crate::room::Reserve;

/// The data of a cluster that decisions use.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The name.
    pub(crate) name: Arc<str>,
    /// The provider, or nothing.
    pub(crate) provider: String,
    /// The region, or nothing.
    pub(crate) region: Arc<str>,
    /// The zones.
    pub(crate) zones: Vec<String>,
    /// The taints of every effect.
    pub(crate) taints: Vec<Taint>,
    /// The kinds that it serves, by apiVersion.
    apis: BTreeMap<String, Vec<String>>,
    /// Room that it reports.
    pub(crate) reserve: Reserve,
    /// The conditions.
    pub(crate) conditions: Vec<Condition>,
}

impl Cluster {
    /// Reads a cluster.
    ///
    /// # Errors
    /// Reason why it cannot be read.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let view: View = object
            .view()
            .map_err(|error| format!("{key} is left out: {error}"))?;
        let reserve =
            Reserve::read(&view, object).map_err(|problem| format!("{key} is left out: {problem}"))?;
        let View { spec, status } = view;
        let zones = match (spec.zones.is_empty(), spec.zone.is_empty()) {
            (true, false) => vec![spec.zone],
            _ => spec.zones,
        };
        let mut apis: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for enabled in status.api_enablements {
            let kinds = enabled.resources.into_iter().map(|resource| resource.kind);
            apis.entry(enabled.group_version).or_default().extend(kinds);
        }
        Ok(Self {
            object: Arc::clone(object),
            name: Arc::clone(&key.name),
            provider: spec.provider,
            region: spec.region.into(),
            zones,
            taints: spec.taints,
            apis,
            reserve,
            conditions: status.conditions,
        })
    }

    /// The labels.
    pub(crate) fn labels(&self) -> &Labels {
        self.object.meta().labels()
    }

    /// Whether the cluster is being deleted.
    pub(crate) fn is_leaving(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// Whether it reports `kind` of `api_version` as served.
    pub(crate) fn serves(&self, api_version: &str, kind: &str) -> bool {
        let kinds = self.apis.get(api_version);
        kinds.is_some_and(|kinds| kinds.iter().any(|known| known == kind))
    }

    /// Whether it reports any API as served.
    pub(crate) fn lists_apis(&self) -> bool {
        !self.apis.is_empty()
    }
}
