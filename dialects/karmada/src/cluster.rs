//! A Cluster, parsed once per change.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::types::Condition;
use berth_apimachinery::{Key, Labels, Object};

use crate::kind::cluster::{ApiEnablement, Cluster as View, Taint};
use crate::room::FreeResources;

/// The field with the provider of a cluster.
pub(crate) const PROVIDER: &str = "provider";
/// The field with the region of a cluster.
pub(crate) const REGION: &str = "region";
/// The field of every cluster with a zone; the value is empty.
pub(crate) const ZONE: &str = "zone";

/// The field of every cluster in this zone; the value is empty.
pub(crate) fn zone_field(zone: &str) -> String {
    format!("{ZONE}/{zone}")
}

/// The taints of a cluster in their order, without the times at which they were added.
pub(crate) type Taints = Vec<Taint>;

/// The kinds that a cluster serves, by their apiVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Apis(BTreeMap<String, Vec<String>>);

impl Apis {
    fn read(enabled: Vec<ApiEnablement>) -> Self {
        let mut apis: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for enabled in enabled {
            let kinds = enabled.resources.into_iter().map(|resource| resource.kind);
            apis.entry(enabled.group_version).or_default().extend(kinds);
        }
        Self(apis)
    }

    /// Whether these APIs include `kind` in `api_version`.
    pub(crate) fn include(&self, api_version: &str, kind: &str) -> bool {
        let kinds = self.0.get(api_version);
        kinds.is_some_and(|kinds| kinds.iter().any(|known| known == kind))
    }

    /// Whether the cluster reports no apiVersion.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The data of a cluster that decisions use.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The Cluster object.
    pub(crate) object: Arc<Object>,
    /// The name of the cluster.
    pub(crate) name: Arc<str>,
    /// The provider of the cluster; empty if there is none.
    pub(crate) provider: String,
    /// The region of the cluster; empty if there is none.
    pub(crate) region: Arc<str>,
    /// The zones of the cluster.
    pub(crate) zones: Vec<String>,
    /// The provider, the region and the zones that the cluster has, as labels for field selectors.
    pub(crate) fields: Labels,
    /// The taints of the cluster, of every effect.
    pub(crate) taints: Arc<Taints>,
    /// The kinds that the cluster serves.
    pub(crate) apis: Arc<Apis>,
    /// The free resources that the cluster reports.
    pub(crate) free_resources: FreeResources,
    /// The conditions of the cluster.
    pub(crate) conditions: Vec<Condition>,
}

impl Cluster {
    /// Parses the Cluster `object` at `key`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let view: View = object
            .view()
            .map_err(|error| format!("{key} is left out: {error}"))?;
        let free_resources =
            FreeResources::read(&view, object).map_err(|problem| format!("{key} is left out: {problem}"))?;
        let View { spec, status } = view;
        let zones = match (spec.zones.is_empty(), spec.zone.is_empty()) {
            (true, false) => vec![spec.zone],
            _ => spec.zones,
        };
        let taints = spec.taints.into_iter();
        let taints: Taints = taints
            .map(|taint| Taint {
                time_added: None,
                ..taint
            })
            .collect();
        Ok(Self {
            object: Arc::clone(object),
            name: Arc::clone(&key.name),
            fields: fields(&spec.provider, &spec.region, &zones),
            provider: spec.provider,
            region: spec.region.into(),
            zones,
            taints: Arc::new(taints),
            apis: Arc::new(Apis::read(status.api_enablements)),
            free_resources,
            conditions: status.conditions,
        })
    }

    /// The labels of the cluster.
    pub(crate) fn labels(&self) -> &Labels {
        self.object.meta().labels()
    }

    /// Whether the cluster is being deleted.
    pub(crate) fn is_deleting(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }
}

fn fields(provider: &str, region: &str, zones: &[String]) -> Labels {
    let single_fields = [(PROVIDER, provider), (REGION, region)].into_iter();
    let single_fields = single_fields
        .filter(|(_, value)| !value.is_empty())
        .map(|(field, value)| (field.to_owned(), value));
    let any = zones.first().map(|_| (ZONE.to_owned(), ""));
    let each = zones.iter().map(|zone| (zone_field(zone), ""));
    single_fields.chain(any).chain(each).collect()
}
