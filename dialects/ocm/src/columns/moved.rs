//! The columns after clusters were added and removed: ranges of the former columns are copied, and only the
//! added clusters are read. Each column takes at most one pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_columns::Renumbering;
use berth_scheduling::Ix;

use super::{Columns, ScoreColumn, ScoreEntry};
use crate::cluster::Cluster;
use crate::names::SCORES;
use crate::record::ClusterSet;
use crate::scored::Scores;
use crate::tally::Tally;

/// The records from which columns are derived.
pub(crate) struct Records<'a> {
    /// The present clusters.
    pub(crate) clusters: &'a imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    /// The present sets.
    pub(crate) sets: &'a imbl::OrdMap<Arc<str>, Arc<ClusterSet>>,
    /// The present AddOnPlacementScores.
    pub(crate) scores: &'a imbl::OrdMap<Key, Arc<Scores>>,
    /// The number of decisions on each cluster.
    pub(crate) tally: &'a Tally,
}

impl Records<'_> {
    /// The AddOnPlacementScores of one cluster.
    fn scores_of<'a>(&'a self, cluster: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<Scores>> {
        let first = Key {
            resource: SCORES,
            namespace: Arc::clone(cluster),
            name: Arc::from(""),
        };
        let from_here = self.scores.range(first..);
        from_here
            .take_while(move |(key, _)| key.namespace == *cluster)
            .map(|(_, scores)| scores)
    }
}

impl Columns {
    /// The columns after the clusters in `names` (ascending) were added or removed. `records` are the present
    /// records; the rows of all other clusters in `self` must be up to date.
    pub(crate) fn moved<'a>(
        &self,
        names: impl Iterator<Item = &'a Arc<str>> + Clone,
        records: &Records<'_>,
    ) -> Self {
        let removed: Vec<Ix> = names.clone().filter_map(|name| self.candidate(name)).collect();
        let added_rows: Vec<&Arc<Cluster>> = names.filter_map(|name| records.clusters.get(name)).collect();
        let places: Vec<Ix> = added_rows.iter().map(|row| self.place(&row.name)).collect();
        let renumbering = Renumbering::new(self.count(), &removed, &places);
        let new_numbers = renumbering.added_numbers(&removed, &places);
        let mut columns = Self {
            rows: self.moved_rows(&removed, &new_numbers, &added_rows),
            index: self.index.clone(),
            places: Arc::new(renumbering.numbers(&self.places)),
            free: self.free.clone(),
            labels: self.labels.renumbered(
                &renumbering,
                numbered(&new_numbers, &added_rows, |row| row.labels()),
            ),
            claims: self.claims.renumbered(
                &renumbering,
                numbered(&new_numbers, &added_rows, |row| &row.claims),
            ),
            terminating: renumbering.bits(&self.terminating),
            unreadable: renumbering.bits(&self.unreadable),
            taints: self.taints.moved(&renumbering),
            kept: Arc::default(),
            cpu: renumbering.chunks(&self.cpu, f64::NAN),
            memory: renumbering.chunks(&self.memory, f64::NAN),
            counts: renumbering.chunks(&self.counts, 0),
            sets: self
                .sets
                .iter()
                .map(|(name, members)| (Arc::clone(name), Arc::new(renumbering.bits(members))))
                .collect(),
            scores: self.moved_scores(&renumbering, &new_numbers, &added_rows, records),
        };
        for &candidate in &removed {
            columns.free_slot(&self.row(candidate).name);
        }
        for (&candidate, row) in new_numbers.iter().zip(&added_rows) {
            columns.fill_in(candidate, row, records);
        }
        columns
    }

    /// The index of the cluster `name` in the rows, or the index at which it would be inserted.
    fn place(&self, name: &str) -> Ix {
        let found = self.rows.binary_search_by(|row| (*row.name).cmp(name));
        let (Ok(place) | Err(place)) = found;
        Ix::try_from(place).unwrap_or(Ix::MAX)
    }

    fn moved_rows(
        &self,
        removed: &[Ix],
        new_numbers: &[Ix],
        added_rows: &[&Arc<Cluster>],
    ) -> imbl::Vector<Arc<Cluster>> {
        let mut rows = self.rows.clone();
        for &candidate in removed.iter().rev() {
            rows.remove(candidate as usize);
        }
        for (&candidate, row) in new_numbers.iter().zip(added_rows) {
            rows.insert(candidate as usize, Arc::clone(row));
        }
        rows
    }

    fn moved_scores(
        &self,
        renumbering: &Renumbering,
        new_numbers: &[Ix],
        added_rows: &[&Arc<Cluster>],
        records: &Records<'_>,
    ) -> imbl::HashMap<(Arc<str>, Arc<str>), Arc<ScoreColumn>> {
        let mut added: BTreeMap<(Arc<str>, Arc<str>), ScoreColumn> = BTreeMap::new();
        for (&candidate, row) in new_numbers.iter().zip(added_rows) {
            for scores in records.scores_of(&row.name) {
                for (name, &value) in &scores.values {
                    let coordinate = (Arc::clone(&scores.resource), Arc::clone(name));
                    added
                        .entry(coordinate)
                        .or_default()
                        .push(ScoreEntry::of(scores, candidate, value));
                }
            }
        }
        let mut columns = imbl::HashMap::new();
        for (coordinate, column) in &self.scores {
            let added_entries = added.remove(coordinate).unwrap_or_default();
            let column = renumbering.entries(column, added_entries);
            if !column.is_empty() {
                columns.insert(coordinate.clone(), Arc::new(column));
            }
        }
        columns.extend(
            added
                .into_iter()
                .map(|(coordinate, column)| (coordinate, Arc::new(column))),
        );
        columns
    }

    /// Frees the slot of a removed cluster.
    fn free_slot(&mut self, name: &Arc<str>) {
        if let Some(slot) = self.index.remove(name) {
            self.free.push_back(slot);
        }
    }

    /// Sets the values of an added cluster in all columns except labels, claims and scores.
    fn fill_in(&mut self, candidate: Ix, row: &Arc<Cluster>, records: &Records<'_>) {
        let places = Arc::make_mut(&mut self.places);
        let slot = self.free.pop_back().unwrap_or_else(|| {
            places.push(candidate);
            Ix::try_from(places.len() - 1).expect("a fleet has fewer than 2^32 clusters")
        });
        places[slot as usize] = candidate;
        self.index.insert(Arc::clone(&row.name), slot);
        self.terminating.set(candidate, row.terminating());
        self.unreadable.set(candidate, row.problem.is_some());
        self.taints.set(candidate, row.taints());
        self.cpu.set(candidate, row.cpu.unwrap_or(f64::NAN));
        self.memory.set(candidate, row.memory.unwrap_or(f64::NAN));
        self.counts.set(candidate, records.tally.of(&row.name));
        for (name, set) in records.sets {
            if let Some(members) = self.sets.get_mut(name).filter(|_| set.has(name, row.labels())) {
                Arc::make_mut(members).set(candidate, true);
            }
        }
    }
}

/// The result of `read` for each added cluster, with the number of the cluster.
fn numbered<'a, T>(
    new_numbers: &[Ix],
    added_rows: &[&'a Arc<Cluster>],
    read: impl Fn(&'a Cluster) -> &'a T,
) -> Vec<(Ix, &'a T)> {
    let rows = added_rows.iter().map(|row| read(row));
    new_numbers.iter().copied().zip(rows).collect()
}
