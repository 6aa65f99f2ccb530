//! All clusters as columns, in name order: the input of filters and scorers.
//!
//! Columns are built at the first read and then updated. A changed cluster is updated in place; unchanged
//! columns are shared with older snapshots. After clusters were added or removed, the next read derives the
//! new columns from the former ones ([`moved`]).

pub(crate) mod kept;
pub(crate) mod moved;
pub(crate) mod taints;

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_columns::{Bits, Chunks, Labels, NumberedEntry};
use berth_scheduling::Ix;

use crate::cluster::Cluster;
use crate::names::SET_LABEL;
use crate::record::{ClusterSet, Membership};
use crate::scored::Scores;
use crate::tally::Tally;
use kept::KeptOutcomes;
use taints::Taints;

/// All clusters as columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The clusters, in name order.
    pub(crate) rows: imbl::Vector<Arc<Cluster>>,
    /// The slot of each cluster by name. A cluster keeps its slot while it exists.
    index: imbl::HashMap<Arc<str>, Ix>,
    /// The candidate in each slot.
    places: Arc<Vec<Ix>>,
    /// Unused slots.
    free: imbl::Vector<Ix>,
    /// The labels of all clusters.
    pub(crate) labels: Labels,
    /// The claims of all clusters.
    pub(crate) claims: Labels,
    /// The clusters that are being deleted.
    pub(crate) terminating: Bits,
    /// The clusters that cannot be parsed.
    pub(crate) unreadable: Bits,
    /// The taints of all clusters.
    pub(crate) taints: Taints,
    /// Allocatable CPU in cores; NaN if allocatable or capacity is not reported.
    pub(crate) cpu: Chunks<f64>,
    /// Allocatable memory in bytes; NaN if allocatable or capacity is not reported.
    pub(crate) memory: Chunks<f64>,
    /// Number of decisions on each cluster.
    pub(crate) counts: Chunks<u32>,
    /// The clusters of each set, by the name of the set.
    pub(crate) sets: imbl::HashMap<Arc<str>, Arc<Bits>>,
    /// The values of AddOn scores, by the name of the AddOnPlacementScore and the name of the score.
    scores: imbl::HashMap<(Arc<str>, Arc<str>), Arc<ScoreColumn>>,
    /// Outcomes of filters over the present clusters and sets, for reuse.
    pub(crate) kept: Arc<KeptOutcomes>,
}

/// The values of one AddOn score, by candidate.
pub(crate) type ScoreColumn = Vec<ScoreEntry>;

/// The value of one AddOn score of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScoreEntry {
    /// The cluster.
    pub(crate) candidate: Ix,
    /// The value in the AddOnPlacementScore.
    pub(crate) value: i32,
    /// The last instant at which the value counts; [`Timestamp::MAX`] if it never expires.
    pub(crate) until: Timestamp,
}

impl ScoreEntry {
    /// The entry for `value`, which is one of `scores`.
    fn of(scores: &Scores, candidate: Ix, value: i32) -> Self {
        Self {
            candidate,
            value,
            until: scores.until,
        }
    }
}

impl NumberedEntry for ScoreEntry {
    fn number(self) -> Ix {
        self.candidate
    }

    fn with_number(self, candidate: Ix) -> Self {
        Self { candidate, ..self }
    }
}

impl Columns {
    /// Builds every column.
    pub(crate) fn build<'a>(
        clusters: impl Iterator<Item = &'a Arc<Cluster>>,
        sets: impl Iterator<Item = (&'a Arc<str>, &'a Arc<ClusterSet>)>,
        scores: impl Iterator<Item = &'a Arc<Scores>>,
        tally: &Tally,
    ) -> Self {
        let rows: Vec<Arc<Cluster>> = clusters.cloned().collect();
        let count = Ix::try_from(rows.len()).expect("a fleet has fewer than 2^32 clusters");
        let (mut terminating, mut unreadable) = (Bits::none(count), Bits::none(count));
        for (candidate, row) in (0..).zip(&rows) {
            terminating.set(candidate, row.terminating());
            unreadable.set(candidate, row.problem.is_some());
        }
        let mut columns = Self {
            index: (0..)
                .zip(&rows)
                .map(|(candidate, row)| (Arc::clone(&row.name), candidate))
                .collect(),
            places: Arc::new((0..count).collect()),
            free: imbl::Vector::new(),
            labels: Labels::build(rows.iter().map(|row| row.labels())),
            claims: Labels::build(rows.iter().map(|row| &row.claims)),
            terminating,
            unreadable,
            taints: Taints::build(rows.iter().map(|row| row.taints())),
            cpu: rows.iter().map(|row| row.cpu.unwrap_or(f64::NAN)).collect(),
            memory: rows.iter().map(|row| row.memory.unwrap_or(f64::NAN)).collect(),
            counts: rows.iter().map(|row| tally.of(&row.name)).collect(),
            sets: imbl::HashMap::new(),
            scores: imbl::HashMap::new(),
            kept: Arc::default(),
            rows: rows.into_iter().collect(),
        };
        for (name, set) in sets {
            columns.put_set(name, set);
        }
        let mut score_columns: HashMap<(Arc<str>, Arc<str>), ScoreColumn> = HashMap::new();
        for scores in scores {
            let Some(candidate) = columns.candidate(&scores.cluster) else {
                continue;
            };
            for (name, &value) in &scores.values {
                let coordinate = (Arc::clone(&scores.resource), Arc::clone(name));
                score_columns
                    .entry(coordinate)
                    .or_default()
                    .push(ScoreEntry::of(scores, candidate, value));
            }
        }
        for (coordinate, mut column) in score_columns {
            column.sort_unstable_by_key(|entry| entry.candidate);
            columns.scores.insert(coordinate, Arc::new(column));
        }
        columns
    }

    /// Number of clusters.
    pub(crate) fn count(&self) -> Ix {
        // The number of clusters was checked when the columns were built.
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }

    /// The candidate of the cluster `name`.
    pub(crate) fn candidate(&self, name: &str) -> Option<Ix> {
        self.index.get(name).map(|&slot| self.places[slot as usize])
    }

    /// The cluster at `candidate`.
    pub(crate) fn row(&self, candidate: Ix) -> &Arc<Cluster> {
        &self.rows[candidate as usize]
    }

    /// Updates the columns for a change of an existing cluster. `sets` are all sets.
    pub(crate) fn replace<'a>(
        &mut self,
        row: &Arc<Cluster>,
        sets: impl Iterator<Item = (&'a Arc<str>, &'a Arc<ClusterSet>)>,
    ) {
        let Some(candidate) = self.candidate(&row.name) else {
            return;
        };
        let place = candidate as usize;
        let old = Arc::clone(&self.rows[place]);
        if !old.decides_alike(row) || !old.is_named_like(row) {
            self.kept = Arc::default();
        }
        self.labels.change(candidate, old.labels(), row.labels());
        self.claims.change(candidate, &old.claims, &row.claims);
        self.terminating.set(candidate, row.terminating());
        self.unreadable.set(candidate, row.problem.is_some());
        self.taints.set(candidate, row.taints());
        if old.cpu != row.cpu {
            self.cpu.set(candidate, row.cpu.unwrap_or(f64::NAN));
        }
        if old.memory != row.memory {
            self.memory.set(candidate, row.memory.unwrap_or(f64::NAN));
        }
        if old.labels() != row.labels() {
            for (name, set) in sets {
                let is_member = set.has(name, row.labels());
                if let Some(bits) = self
                    .sets
                    .get_mut(name)
                    .filter(|bits| bits.has(candidate) != is_member)
                {
                    Arc::make_mut(bits).set(candidate, is_member);
                }
            }
        }
        self.rows.set(place, Arc::clone(row));
    }

    /// Adds or updates a set.
    pub(crate) fn put_set(&mut self, name: &Arc<str>, set: &ClusterSet) {
        self.kept = Arc::default();
        let count = self.count();
        let members = match &set.membership {
            Membership::Label => {
                let set_label = berth_apimachinery::selector::Requirement {
                    key: SET_LABEL.to_owned(),
                    operator: berth_apimachinery::selector::Operator::In,
                    values: vec![name.to_string()],
                };
                self.labels.select(
                    &berth_apimachinery::selector::Selector {
                        requirements: vec![set_label],
                    },
                    count,
                )
            }
            Membership::Selector(selector) => self.labels.select(selector, count),
            Membership::Empty | Membership::Unreadable(_) => Bits::none(count),
        };
        self.sets.insert(Arc::clone(name), Arc::new(members));
    }

    /// Removes a set.
    pub(crate) fn remove_set(&mut self, name: &str) {
        self.kept = Arc::default();
        self.sets.remove(name);
    }

    /// Sets the number of decisions on `cluster`.
    pub(crate) fn count_decisions(&mut self, cluster: &str, count: u32) {
        if let Some(candidate) = self.candidate(cluster) {
            self.counts.set(candidate, count);
        }
    }

    /// Updates the columns for a change of one AddOnPlacementScore from `old` to `new`; `None` if it does not
    /// exist.
    pub(crate) fn change_scores(&mut self, old: Option<&Scores>, new: Option<&Scores>) {
        if let Some((old, candidate)) = old.and_then(|old| Some((old, self.candidate(&old.cluster)?))) {
            let stays = |name: &Arc<str>| new.is_some_and(|new| new.values.contains_key(name));
            for name in old.values.keys().filter(|name| !stays(name)) {
                let coordinate = (Arc::clone(&old.resource), Arc::clone(name));
                self.edit_column(coordinate, candidate, None);
            }
        }
        if let Some((new, candidate)) = new.and_then(|new| Some((new, self.candidate(&new.cluster)?))) {
            for (name, &value) in &new.values {
                let coordinate = (Arc::clone(&new.resource), Arc::clone(name));
                self.edit_column(coordinate, candidate, Some(ScoreEntry::of(new, candidate, value)));
            }
        }
    }

    /// Sets the entry of `candidate` in the column of an AddOn score, or removes the entry.
    fn edit_column(&mut self, coordinate: (Arc<str>, Arc<str>), candidate: Ix, entry: Option<ScoreEntry>) {
        let column = self.scores.entry(coordinate.clone()).or_default();
        let place = column.binary_search_by_key(&candidate, |entry| entry.candidate);
        match (place, entry) {
            (Ok(place), Some(entry)) if column[place] == entry => {}
            (Ok(place), Some(entry)) => Arc::make_mut(column)[place] = entry,
            (Err(place), Some(entry)) => Arc::make_mut(column).insert(place, entry),
            (Ok(place), None) => {
                Arc::make_mut(column).remove(place);
            }
            (Err(_), None) => {}
        }
        if column.is_empty() {
            self.scores.remove(&coordinate);
        }
    }

    /// The values of an AddOn score; `None` if no cluster has the score.
    pub(crate) fn scores(&self, resource: &Arc<str>, score: &Arc<str>) -> Option<&Arc<ScoreColumn>> {
        self.scores.get(&(Arc::clone(resource), Arc::clone(score)))
    }
}
