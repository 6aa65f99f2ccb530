//! The fleet of kcp: workload clusters, locations, namespaces and the configuration. Each workload cluster is
//! a [`Row`], in name order, and the index of its row is its number as a candidate. Clones share their
//! content until one of them changes it.

mod cluster;
mod fold;
mod fold_namespace;
mod location;
mod namespace;

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object};
use berth_dialect_columns::UnusableObjects;
use berth_scheduling::Ix;
use imbl::{HashMap, OrdMap, OrdSet, Vector};

use crate::config::Config;
pub(crate) use cluster::{Row, identifier};
pub(crate) use location::{LocationNumbers, LocationRecord, LocationSets};
pub(crate) use namespace::NamespaceRecord;

/// All objects that the placement controller uses. A clone is cheap, since it shares the content.
#[derive(Clone, Default)]
pub struct Fleet {
    /// The configuration in force: the last valid configuration.
    pub(crate) config: Config,
    /// The defaults of the configuration.
    defaults: Config,
    /// The resources that a configuration may sync; `None` if it may sync any resource.
    syncable: Option<Arc<[GroupResource]>>,
    /// The workload clusters, in name order: the row with index `i` is the candidate `i`.
    pub(crate) rows: Vector<Row>,
    /// The name of the workload cluster with each identifier.
    names: HashMap<Arc<str>, Arc<str>>,
    /// The workload clusters whose identifier is taken by another workload cluster, by identifier and name.
    shadowed: OrdMap<(Arc<str>, Arc<str>), Arc<Object>>,
    /// The locations, by name.
    pub(crate) locations: OrdMap<Arc<str>, Arc<LocationRecord>>,
    /// The locations' numbers, as used in sets.
    pub(crate) numbers: LocationNumbers,
    /// The sets of locations to which rows belong.
    pub(crate) sets: LocationSets,
    /// Every namespace except Kubernetes' own.
    pub(crate) namespaces: OrdMap<Key, Arc<NamespaceRecord>>,
    /// The namespaces that lack a cluster ([`NamespaceRecord::lacks_cluster`]), including namespaces that are
    /// not selected.
    waiting: OrdSet<Key>,
    /// The pairs of identifier and namespace of all placement entries.
    placed: OrdSet<(Arc<str>, Key)>,
    /// Number of namespaces by the identifier of the workload cluster, including namespaces that are being
    /// added or released, and identifiers of clusters that do not exist.
    namespace_counts: HashMap<Arc<str>, i64>,
    /// Number of namespaces that have to leave a workload cluster, by the identifier of the cluster.
    leaving_counts: HashMap<Arc<str>, i64>,
    /// Objects that could not be parsed, with the reason.
    pub(crate) unusable: UnusableObjects,
}

impl Fleet {
    /// Creates an empty fleet, with `defaults` as the defaults of its configuration.
    #[must_use]
    pub fn with_defaults(defaults: Config) -> Self {
        Self {
            config: defaults.clone(),
            defaults,
            ..Self::default()
        }
    }

    /// Returns the fleet with a restriction: a configuration may only sync the resources in `syncable`, or
    /// any resource if it is `None`.
    #[must_use]
    pub(crate) fn restricted_to(self, syncable: Option<&[GroupResource]>) -> Self {
        Self {
            syncable: syncable.map(Arc::from),
            ..self
        }
    }

    /// The index of the row of the workload cluster `name`. If there is none, `Err` with the index at which
    /// it belongs.
    fn row_index(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| (*row.name).cmp(name))
    }

    /// The candidate and the row of the workload cluster with this identifier.
    pub(crate) fn find_row(&self, identifier: &str) -> Option<(Ix, &Row)> {
        let name = self.names.get(identifier)?;
        let index = self.row_index(name).ok()?;
        Some((Ix::try_from(index).ok()?, self.rows.get(index)?))
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
    pub(crate) fn cluster_count(&self) -> Ix {
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }

    /// Whether there is any Location or WorkloadCluster. Without them, no namespace is placed.
    fn has_compute(&self) -> bool {
        !self.rows.is_empty() || !self.locations.is_empty()
    }

    /// Whether the namespace `record` is to be placed: there is a Location or a WorkloadCluster, and the
    /// configuration selects the namespace.
    pub(crate) fn is_subject(&self, record: &NamespaceRecord) -> bool {
        self.has_compute() && self.config.selects(record.object.meta())
    }

    /// Whether the namespace `record` is a demand: it is to be placed, or it has entries that must be
    /// removed, or its condition must be corrected.
    pub(crate) fn is_demand(&self, record: &NamespaceRecord) -> bool {
        self.is_subject(record) || record.is_placed() || record.has_outdated_condition()
    }

    /// The namespace `demand`; `None` if it does not exist or is not a demand.
    pub(crate) fn namespace(&self, demand: &Key) -> Option<&Arc<NamespaceRecord>> {
        self.namespaces
            .get(demand)
            .filter(|record| self.is_demand(record))
    }

    /// Number of namespaces on the workload cluster with this identifier.
    pub(crate) fn namespace_count(&self, identifier: &str) -> i64 {
        self.namespace_counts.get(identifier).copied().unwrap_or(0)
    }

    /// Number of namespaces that have to leave the workload cluster with this identifier, and have not left
    /// it yet.
    pub(crate) fn leaving_count(&self, identifier: &str) -> i64 {
        self.leaving_counts.get(identifier).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
