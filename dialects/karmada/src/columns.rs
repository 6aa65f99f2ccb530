//! All clusters as columns, in the order of names, for filters and room.
//!
//! Columns are built at the first read after a cluster was added or deleted, and updated when a cluster
//! changes. Snapshots share unchanged columns.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::selector::{Operator, Requirement, Selector};
use berth_dialect_columns::{Bits, Labels};
use berth_scheduling::Ix;

use crate::cluster::{Apis, Cluster, Taints};
use crate::room::Shape;
pub(crate) use common::Common;

/// All clusters as columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The clusters, in the order of names.
    rows: imbl::Vector<Arc<Cluster>>,
    /// Clusters being deleted.
    pub(crate) leaving: Bits,
    /// The labels.
    pub(crate) labels: Labels,
    /// Providers, regions and zones ([`Cluster::fields`]).
    fields: Labels,
    /// The taints.
    pub(crate) taints: Common<Taints>,
    /// The kinds that are served.
    pub(crate) apis: Common<Apis>,
    /// The resources by which room is counted.
    pub(crate) shapes: Common<Shape>,
}

impl Columns {
    /// Builds the columns of `clusters`, which are in the order of names.
    pub(crate) fn build<'a>(clusters: impl Iterator<Item = &'a Arc<Cluster>>) -> Self {
        let rows: imbl::Vector<Arc<Cluster>> = clusters.cloned().collect();
        let mut leaving = Bits::none(number(rows.len()));
        for (candidate, row) in (0..).zip(&rows) {
            leaving.set(candidate, row.is_leaving());
        }
        Self {
            leaving,
            labels: Labels::build(rows.iter().map(|row| row.labels())),
            fields: Labels::build(rows.iter().map(|row| &row.fields)),
            taints: Common::build(rows.iter().map(|row| &row.taints)),
            apis: Common::build(rows.iter().map(|row| &row.apis)),
            shapes: Common::build(rows.iter().map(|row| row.reserve.shape())),
            rows,
        }
    }

    /// Updates the row of an existing cluster.
    pub(crate) fn replace(&mut self, row: &Arc<Cluster>) {
        let Some(candidate) = self.find(&row.name) else {
            return;
        };
        let old = Arc::clone(&self.rows[candidate as usize]);
        if old.is_leaving() != row.is_leaving() {
            self.leaving.set(candidate, row.is_leaving());
        }
        self.labels.change(candidate, old.labels(), row.labels());
        self.fields.change(candidate, &old.fields, &row.fields);
        self.taints.change(candidate, &old.taints, &row.taints);
        self.apis.change(candidate, &old.apis, &row.apis);
        self.shapes
            .change(candidate, old.reserve.shape(), row.reserve.shape());
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

    /// The candidate with this name.
    pub(crate) fn find(&self, name: &str) -> Option<Ix> {
        let found = self.rows.binary_search_by(|cluster| (*cluster.name).cmp(name));
        found.ok().map(number)
    }

    /// The existing clusters with these names.
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
