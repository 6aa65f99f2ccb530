//! All clusters as columns, in name order: the input of filters and scorers.
//!
//! Columns are built at the first read after clusters were added or removed, and then updated in place.
//! Snapshots share a column until it changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_dialect_columns::Labels;
use berth_scheduling::Ix;

use crate::eligibility::EligibilityReports;
use crate::fleet::cluster::{Amount, Cluster};
use crate::kind::Taint;

/// The columns of all clusters.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The clusters, in name order.
    rows: imbl::Vector<Arc<Cluster>>,
    /// The candidate of each cluster, by name.
    index: Arc<HashMap<Arc<str>, Ix>>,
    /// The labels.
    pub(crate) labels: Labels,
    /// The reports from which eligibility follows; they change with every heartbeat.
    pub(crate) eligibility_reports: imbl::Vector<EligibilityReports>,
    /// The list of taints of each cluster, as the number of the list in `taint_lists`.
    pub(crate) taints: Arc<Vec<u32>>,
    /// The distinct lists of taints; the empty list has the number 0.
    pub(crate) taint_lists: Arc<TaintLists>,
    /// The properties, by name.
    properties: ByName<Amount>,
    /// The values of properties that are not quantities, by name.
    non_quantities: ByName<Arc<str>>,
}

/// Values by the name of the property and by cluster.
type ByName<V> = imbl::HashMap<Arc<str>, imbl::OrdMap<Ix, V>>;

/// Collects the values of all clusters by the name of the property.
fn by_name<'a, V: Clone + 'a>(rows: impl Iterator<Item = &'a BTreeMap<Arc<str>, V>>) -> ByName<V> {
    let mut columns: HashMap<Arc<str>, Vec<(Ix, V)>> = HashMap::new();
    for (candidate, row) in (0..).zip(rows) {
        for (name, value) in row {
            let column = columns.entry(Arc::clone(name)).or_default();
            column.push((candidate, value.clone()));
        }
    }
    columns
        .into_iter()
        .map(|(name, entries)| (name, entries.into_iter().collect()))
        .collect()
}

/// Updates `columns` from the `old` to the `new` values of `candidate`.
fn update_values<V: Clone + PartialEq>(
    columns: &mut ByName<V>,
    candidate: Ix,
    old: &BTreeMap<Arc<str>, V>,
    new: &BTreeMap<Arc<str>, V>,
) {
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        if let Some(column) = columns.get_mut(name) {
            column.remove(&candidate);
            if column.is_empty() {
                columns.remove(name);
            }
        }
    }
    for (name, value) in new {
        if old.get(name) != Some(value) {
            let column = columns.entry(Arc::clone(name)).or_default();
            column.insert(candidate, value.clone());
        }
    }
}

/// The distinct lists of taints.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaintLists {
    /// The lists, by number.
    pub(crate) lists: Vec<Arc<[Taint]>>,
    /// The number of each list.
    numbers: HashMap<Arc<[Taint]>, u32>,
}

impl TaintLists {
    /// The number of `list`, which is assigned when the list is seen for the first time.
    fn number(&mut self, list: &Arc<[Taint]>) -> u32 {
        if let Some(&known) = self.numbers.get(list) {
            return known;
        }
        let number = u32::try_from(self.lists.len()).expect("a fleet has fewer than 2^32 lists of taints");
        self.lists.push(Arc::clone(list));
        self.numbers.insert(Arc::clone(list), number);
        number
    }
}

impl Columns {
    /// Builds every column.
    pub(crate) fn build<'a>(clusters: impl Iterator<Item = &'a Arc<Cluster>>) -> Self {
        let rows: Vec<Arc<Cluster>> = clusters.cloned().collect();
        let index = (0..)
            .zip(&rows)
            .map(|(candidate, row)| (Arc::clone(&row.name), candidate));
        let mut columns = Self {
            index: Arc::new(index.collect()),
            labels: Labels::build(rows.iter().map(|row| row.labels())),
            eligibility_reports: rows.iter().map(|row| row.eligibility).collect(),
            taints: Arc::default(),
            taint_lists: Arc::default(),
            properties: by_name(rows.iter().map(|row| &row.properties)),
            non_quantities: by_name(rows.iter().map(|row| &row.non_quantities)),
            rows: rows.into_iter().collect(),
        };
        columns.number_taints();
        columns
    }

    /// Renumbers the lists of taints, without unused lists.
    fn number_taints(&mut self) {
        let mut table = TaintLists::default();
        table.number(&Arc::from([]));
        self.taints = Arc::new(self.rows.iter().map(|row| table.number(&row.taints)).collect());
        self.taint_lists = Arc::new(table);
    }

    /// Number of clusters.
    pub(crate) fn count(&self) -> Ix {
        Ix::try_from(self.rows.len()).expect("a fleet has fewer than 2^32 clusters")
    }

    /// The candidate with this name.
    pub(crate) fn candidate(&self, name: &str) -> Option<Ix> {
        self.index.get(name).copied()
    }

    /// The cluster at `candidate`.
    pub(crate) fn row(&self, candidate: Ix) -> &Arc<Cluster> {
        &self.rows[candidate as usize]
    }

    /// The clusters with the property `name`, each with its amount.
    pub(crate) fn property(&self, name: &str) -> Option<&imbl::OrdMap<Ix, Amount>> {
        self.properties.get(name)
    }

    /// The clusters whose value of the property `name` is not a quantity, each with the value.
    pub(crate) fn non_quantities(&self, name: &str) -> impl Iterator<Item = (Ix, &str)> {
        let column = self.non_quantities.get(name).into_iter().flatten();
        column.map(|(&candidate, value)| (candidate, &**value))
    }

    /// Whether any cluster has the property `name` with a value that is not a quantity.
    pub(crate) fn has_non_quantities(&self, name: &str) -> bool {
        self.non_quantities.contains_key(name)
    }

    /// Updates the row of an existing cluster.
    pub(crate) fn replace(&mut self, row: &Arc<Cluster>) {
        let Some(candidate) = self.candidate(&row.name) else {
            return;
        };
        let place = candidate as usize;
        let old = self.rows.set(place, Arc::clone(row));
        self.labels.change(candidate, old.labels(), row.labels());
        if old.eligibility != row.eligibility {
            self.eligibility_reports.set(place, row.eligibility);
        }
        if old.taints != row.taints {
            let number = Arc::make_mut(&mut self.taint_lists).number(&row.taints);
            Arc::make_mut(&mut self.taints)[place] = number;
            // Lists that no cluster has any more are dropped from time to time, since taints may change
            // without end.
            if self.taint_lists.lists.len() > 2 * self.rows.len() + 64 {
                self.number_taints();
            }
        }
        update_values(&mut self.properties, candidate, &old.properties, &row.properties);
        update_values(
            &mut self.non_quantities,
            candidate,
            &old.non_quantities,
            &row.non_quantities,
        );
    }
}
