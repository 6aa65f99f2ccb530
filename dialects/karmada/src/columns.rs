//! All clusters as columns, in the order of names, for filters and room.
//!
//! Columns are built at the first read after a cluster was added or deleted, and updated when a cluster
//! changes. Snapshots share unchanged columns.

mod value_column;

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::selector::{Operator, Requirement, Selector};
use berth_dialect_columns::{Bits, Labels};
use berth_scheduling::Ix;

use crate::cluster::{Apis, Cluster, Taints};
use crate::room::Shape;
pub(crate) use value_column::ValueColumn;

/// All clusters as columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The clusters, in the order of names.
    rows: imbl::Vector<Arc<Cluster>>,
    /// The clusters that are being deleted.
    pub(crate) deleting: Bits,
    /// The labels of the clusters.
    pub(crate) labels: Labels,
    /// The providers, regions and zones of the clusters ([`Cluster::fields`]).
    fields: Labels,
    /// The taints of the clusters.
    pub(crate) taints: ValueColumn<Taints>,
    /// The kinds that the clusters serve.
    pub(crate) apis: ValueColumn<Apis>,
    /// The resources and sizes of nodes by which the room of the clusters is counted.
    pub(crate) shapes: ValueColumn<Shape>,
}

impl Columns {
    /// Builds the columns of `clusters`, which are in the order of names.
    pub(crate) fn build<'a>(clusters: impl Iterator<Item = &'a Arc<Cluster>>) -> Self {
        let rows: imbl::Vector<Arc<Cluster>> = clusters.cloned().collect();
        let mut deleting = Bits::none(number(rows.len()));
        for (candidate, row) in (0..).zip(&rows) {
            deleting.set(candidate, row.is_deleting());
        }
        Self {
            deleting,
            labels: Labels::build(rows.iter().map(|row| row.labels())),
            fields: Labels::build(rows.iter().map(|row| &row.fields)),
            taints: ValueColumn::build(rows.iter().map(|row| &row.taints)),
            apis: ValueColumn::build(rows.iter().map(|row| &row.apis)),
            shapes: ValueColumn::build(rows.iter().map(|row| row.free_resources.shape())),
            rows,
        }
    }

    /// Replaces the row of the cluster with the name of `row`. Nothing changes if there is no such cluster.
    pub(crate) fn replace(&mut self, row: &Arc<Cluster>) {
        let Some(candidate) = self.find(&row.name) else {
            return;
        };
        let old = Arc::clone(&self.rows[candidate as usize]);
        if old.is_deleting() != row.is_deleting() {
            self.deleting.set(candidate, row.is_deleting());
        }
        self.labels.change(candidate, old.labels(), row.labels());
        self.fields.change(candidate, &old.fields, &row.fields);
        self.taints.change(candidate, &old.taints, &row.taints);
        self.apis.change(candidate, &old.apis, &row.apis);
        self.shapes
            .change(candidate, old.free_resources.shape(), row.free_resources.shape());
        self.rows.set(candidate as usize, Arc::clone(row));
    }

    /// Number of clusters.
    pub(crate) fn count(&self) -> Ix {
        number(self.rows.len())
    }

    /// The cluster of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Cluster {
        &self.rows[candidate as usize]
    }

    /// The candidate named `name`.
    pub(crate) fn find(&self, name: &str) -> Option<Ix> {
        let found = self.rows.binary_search_by(|cluster| (*cluster.name).cmp(name));
        found.ok().map(number)
    }

    /// The clusters with these names. Names of unknown clusters are ignored.
    pub(crate) fn named<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Bits {
        let mut named = Bits::none(self.count());
        for candidate in names.into_iter().filter_map(|name| self.find(name)) {
            named.set(candidate, true);
        }
        named
    }

    /// The clusters whose `field` ([`Cluster::fields`]) has one of `values`, or any value if `values` is
    /// `None`.
    pub(crate) fn with_field(&self, field: &str, values: Option<&BTreeSet<String>>) -> Bits {
        let values = values.map(|values| values.iter().cloned().collect::<Vec<_>>());
        let requirement = Requirement {
            key: field.to_owned(),
            operator: match values {
                Some(_) => Operator::In,
                None => Operator::Exists,
            },
            values: values.unwrap_or_default(),
        };
        let selector = Selector {
            requirements: vec![requirement],
        };
        self.fields.select(&selector, self.count())
    }
}

/// Converts `length` to a number of candidates.
fn number(length: usize) -> Ix {
    Ix::try_from(length).unwrap_or(Ix::MAX)
}

#[cfg(test)]
mod tests;
