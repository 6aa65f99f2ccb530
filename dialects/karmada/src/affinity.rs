//! Compiled cluster affinities: the matching clusters, and for any other cluster the part of the affinity
//! that excludes it.

use std::collections::BTreeSet;

use berth_apimachinery::selector::Selector;
use berth_dialect_columns::Bits;

use crate::cluster::{Cluster, PROVIDER, REGION, zone_field};
use crate::columns::Columns;
use crate::kind::placement::{ClusterAffinity, FieldRequirement};

/// The first part of an affinity that a cluster does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The name of the cluster is in `exclude`.
    Excluded,
    /// The labels of the cluster do not match, or the label selector is invalid.
    Labels,
    /// The field expression with this index, over provider, region and zone, does not match.
    Field(u32),
    /// The affinity names clusters, but not this one.
    Names,
}

/// A compiled affinity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Affinity {
    exclude: BTreeSet<String>,
    /// The label selector. `Err` is an invalid selector, which matches no cluster.
    labels: Option<Result<Selector, String>>,
    fields: Vec<FieldTest>,
    names: BTreeSet<String>,
}

/// A compiled expression over provider, region or zone.
#[derive(Clone, Debug)]
struct FieldTest {
    field: Field,
    /// Whether the operator is `In` rather than `NotIn`; `None` for an unknown operator, which matches no
    /// cluster.
    is_in: Option<bool>,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Provider,
    Region,
    Zone,
    Unknown,
}

impl Affinity {
    /// Compiles the affinity in `raw`.
    pub(crate) fn compile(raw: &ClusterAffinity) -> Self {
        let labels = raw.label_selector.as_ref().map(|selector| {
            Selector::compile(selector, "labelSelector")
                .map_err(|errors| berth_apimachinery::field::aggregate(&errors))
        });
        let fields = raw.field_selector.iter();
        Self {
            exclude: raw.exclude_clusters.iter().cloned().collect(),
            labels,
            fields: fields
                .flat_map(|selector| &selector.match_expressions)
                .map(FieldTest::compile)
                .collect(),
            names: raw.cluster_names.iter().cloned().collect(),
        }
    }

    /// Whether `cluster` matches.
    pub(crate) fn matches(&self, cluster: &Cluster) -> bool {
        self.mismatch(cluster).is_none()
    }

    /// The first part that excludes `cluster`, in Karmada's order; `None` if the cluster matches.
    pub(crate) fn mismatch(&self, cluster: &Cluster) -> Option<Mismatch> {
        if self.exclude.contains(&*cluster.name) {
            return Some(Mismatch::Excluded);
        }
        let labels_match = match &self.labels {
            None => true,
            Some(Ok(selector)) => selector.matches(cluster.labels()),
            Some(Err(_)) => false,
        };
        if !labels_match {
            return Some(Mismatch::Labels);
        }
        // Karmada tests zones before the other fields. The order only affects the reported field, not the
        // verdict.
        let failing = self.fields.iter().position(|test| !test.matches(cluster));
        if let Some(index) = failing {
            return Some(Mismatch::Field(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        let is_named = self.names.is_empty() || self.names.contains(&*cluster.name);
        (!is_named).then_some(Mismatch::Names)
    }

    /// The clusters of `columns` that match.
    pub(crate) fn select(&self, columns: &Columns) -> Bits {
        let mut matching = Bits::all(columns.count());
        for (_, matching_part) in self.parts(columns) {
            matching.intersect(&matching_part);
        }
        matching
    }

    /// The parts of the affinity, in the order of [`Affinity::mismatch`], each with the clusters of `columns`
    /// that match the part.
    pub(crate) fn parts(&self, columns: &Columns) -> Vec<(Mismatch, Bits)> {
        let count = columns.count();
        let names = |names: &BTreeSet<String>| columns.named(names.iter().map(String::as_str));
        let mut parts = Vec::new();
        if !self.exclude.is_empty() {
            let mut others = Bits::all(count);
            others.subtract(&names(&self.exclude));
            parts.push((Mismatch::Excluded, others));
        }
        match &self.labels {
            None => {}
            Some(Ok(selector)) => parts.push((Mismatch::Labels, columns.labels.select(selector, count))),
            Some(Err(_)) => parts.push((Mismatch::Labels, Bits::none(count))),
        }
        for (index, test) in (0..).zip(&self.fields) {
            parts.push((Mismatch::Field(index), test.select(columns)));
        }
        if !self.names.is_empty() {
            parts.push((Mismatch::Names, names(&self.names)));
        }
        parts
    }

    /// The label selector, if the affinity has no other tests.
    pub(crate) fn labels_alone(&self) -> Option<&Selector> {
        let is_alone = self.exclude.is_empty() && self.fields.is_empty() && self.names.is_empty();
        self.labels.as_ref()?.as_ref().ok().filter(|_| is_alone)
    }

    /// Reason why the label selector is invalid; `None` if it is valid.
    pub(crate) fn problem(&self) -> Option<&str> {
        match &self.labels {
            Some(Err(problem)) => Some(problem),
            _ => None,
        }
    }
}

impl FieldTest {
    fn compile(raw: &FieldRequirement) -> Self {
        Self {
            field: match raw.key.as_str() {
                "provider" => Field::Provider,
                "region" => Field::Region,
                "zone" => Field::Zone,
                _ => Field::Unknown,
            },
            is_in: match raw.operator.as_str() {
                "In" => Some(true),
                "NotIn" => Some(false),
                _ => None,
            },
            values: raw.values.iter().cloned().collect(),
        }
    }

    /// The clusters of `columns` that match this expression.
    fn select(&self, columns: &Columns) -> Bits {
        let mut found = Bits::none(columns.count());
        let Some(is_in) = self.is_in else {
            return found;
        };
        match self.field {
            Field::Provider => found = columns.with_field(PROVIDER, Some(&self.values)),
            Field::Region => found = columns.with_field(REGION, Some(&self.values)),
            Field::Zone => {
                let zones = self.values.iter().map(|zone| zone_field(zone));
                zones.for_each(|zone| found.unite(&columns.with_field(&zone, None)));
            }
            Field::Unknown => {}
        }
        if is_in {
            return found;
        }
        let mut others = Bits::all(columns.count());
        others.subtract(&found);
        others
    }

    /// Whether `cluster` matches this expression.
    fn matches(&self, cluster: &Cluster) -> bool {
        let Some(is_in) = self.is_in else {
            return false;
        };
        let has_value = |value: &str| !value.is_empty() && self.values.contains(value);
        let found = match self.field {
            Field::Provider => has_value(&cluster.provider),
            Field::Region => has_value(&cluster.region),
            Field::Zone => cluster.zones.iter().any(|zone| self.values.contains(zone)),
            Field::Unknown => false,
        };
        found == is_in
    }
}

#[cfg(test)]
mod tests;
