//! The inventory: workload clusters as rows in name order, locations, namespaces and configuration, all
//! copied on write.

mod cluster;
mod fold;
mod location;
mod namespace;
mod take_namespace;

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object};
use berth_dialect_columns::UnusableObjects;
use berth_scheduling::Ix;
use imbl::{HashMap, OrdMap, OrdSet, Vector};

use crate::config::Config;
pub(crate) use cluster::{Row, identifier};
pub(crate) use location::{LocationRecord, Numbers, Sets};
pub(crate) use namespace::Record;

/// All objects of the placement controller. Cloning copies a handful of pointers.
#[derive(Clone, Default)]
pub struct Fleet {
    /// The configuration in force: the last valid configuration.
    pub(crate) config: Config,
    /// The defaults of the configuration.
    defaults: Config,
    /// The resources that a configuration may sync; `None` is any resource.
    syncable: Option<Arc<[GroupResource]>>,
    /// The workload clusters, by name.
    pub(crate) rows: Vector<Row>,
    /// The name of the workload cluster with each identifier.
    names: HashMap<Arc<str>, Arc<str>>,
    /// Workload clusters whose identifier another workload cluster has, by identifier and name.
    shadowed: OrdMap<(Arc<str>, Arc<str>), Arc<Object>>,
    /// The locations, by name.
    pub(crate) locations: OrdMap<Arc<str>, Arc<LocationRecord>>,
    /// The locations' numbers, as used in sets.
    pub(crate) numbers: Numbers,
    /// The sets of locations of the rows.
    pub(crate) sets: Sets,
    /// Every namespace except Kubernetes' own.
    pub(crate) namespaces: OrdMap<Key, Arc<Record>>,
    /// The namespaces that wait for a place ([`Record::waits`]), including namespaces that are not selected.
    waiting: OrdSet<Key>,
    /// The pairs of identifier and namespace of all placement entries.
    placed: OrdSet<(Arc<str>, Key)>,
    /// Number of namespaces on each workload cluster, including namespaces that are being added or released.
    /// Missing clusters are counted, too.
    counts: HashMap<Arc<str>, i64>,
    /// Number of namespaces that have to leave each workload cluster.
    leaving: HashMap<Arc<str>, i64>,
    /// Objects that could not be parsed, with the reason.
    pub(crate) unusable: UnusableObjects,
}

impl Fleet {
    /// Creates an empty inventory, with `defaults` as the defaults of its configuration.
    #[must_use]
    pub fn usually(defaults: Config) -> Self {
        Self {
            config: defaults.clone(),
            defaults,
            ..Self::default()
        }
    }

    /// Returns the fleet, which refuses a configuration that syncs other resources than `syncable`; `None`
    /// allows any resource.
    #[must_use]
    pub(crate) fn syncing(self, syncable: Option<&[GroupResource]>) -> Self {
        Self {
            syncable: syncable.map(Arc::from),
            ..self
        }
    }

    /// The index of the workload cluster `name`, or the index at which it would be inserted.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| (*row.name).cmp(name))
    }

    /// The candidate with this identifier.
    pub(crate) fn cluster(&self, identifier: &str) -> Option<(Ix, &Row)> {
        let name = self.names.get(identifier)?;
        let place = self.place(name).ok()?;
        Some((Ix::try_from(place).ok()?, self.rows.get(place)?))
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        &self.rows[candidate as usize]
    }

    /// The numbers of a workload cluster's locations, ascending.
    pub(crate) fn locations_of(&self, row: &Row) -> &[u32] {
        self.sets.get(row.facts.locations)
    }

    /// Number of workload clusters.
    pub(crate) fn clusters(&self) -> Ix {
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }

    /// Whether there is a compute service: a Location or a WorkloadCluster.
    fn serves(&self) -> bool {
        !self.rows.is_empty() || !self.locations.is_empty()
    }

    /// Whether the namespace `record` is to be placed: there is a compute service, and the configuration
    /// selects the namespace.
    pub(crate) fn is_subject(&self, record: &Record) -> bool {
        self.serves() && self.config.selects(record.object.meta())
    }

    /// Whether the namespace `record` is a demand: it is selected, or it must be drained, or its condition
    /// must be corrected.
    pub(crate) fn is_demand(&self, record: &Record) -> bool {
        self.is_subject(record) || record.is_placed() || record.has_outdated_condition()
    }

    /// The namespace of a demand.
    pub(crate) fn namespace(&self, demand: &Key) -> Option<&Arc<Record>> {
        self.namespaces
            .get(demand)
            .filter(|record| self.is_demand(record))
    }

    /// The objects of `resource` that could not be parsed.
    pub(crate) fn unreadable(&self, resource: GroupResource) -> impl Iterator<Item = &Key> {
        self.unusable.keys().filter(move |key| key.resource == resource)
    }

    /// Number of namespaces on the workload cluster with this identifier.
    pub(crate) fn count_of(&self, identifier: &str) -> i64 {
        self.counts.get(identifier).copied().unwrap_or(0)
    }

    /// Number of namespaces that have to leave the workload cluster with this identifier, and have not left
    /// it yet.
    pub(crate) fn leaving(&self, identifier: &str) -> i64 {
        self.leaving.get(identifier).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
