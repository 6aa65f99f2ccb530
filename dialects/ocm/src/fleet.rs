//! All objects of a hub that the dialect knows. Records are stored in persistent maps and shared between
//! snapshots; columns ([`crate::columns`]) are derived from the records.

mod due;
pub(crate) mod fold;

use std::sync::{Arc, OnceLock};

use berth_apimachinery::Key;
use berth_dialect_columns::UnusableObjects;

use crate::cel;
use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::columns::moved::Records;
use crate::names::{PLACEMENTS, SCORES};
use crate::policy::{Policies, Policy, Problem, SelectorInput};
use crate::record::{ClusterSet, DecisionRecord, PlacementRecord};
use crate::scored::{ClusterScores, Scores};
use crate::tally::Tally;

/// All objects of a hub that the dialect knows.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    /// Compiled expressions, shared by all snapshots.
    cache: Arc<cel::Cache>,
    /// Compiled specs, shared by all snapshots.
    policies: Arc<Policies>,
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) sets: imbl::OrdMap<Arc<str>, Arc<ClusterSet>>,
    /// Namespace and name of every binding.
    bindings: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    /// Set and namespace of every binding. A binding has the name of the set.
    bindings_by_set: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    pub(crate) placements: imbl::OrdMap<Key, Arc<PlacementRecord>>,
    /// Number of placements in each namespace with placements.
    namespaces: imbl::OrdMap<Arc<str>, usize>,
    /// Placements by the parts of a cluster that their selectors read.
    selector_inputs: imbl::OrdSet<(SelectorInput, Key)>,
    pub(crate) decisions: imbl::OrdMap<Key, Arc<DecisionRecord>>,
    /// Namespace, placement and name of every PlacementDecision with a placement label.
    decision_names: imbl::OrdSet<(Arc<str>, Arc<str>, Arc<str>)>,
    scores: imbl::OrdMap<Key, Arc<Scores>>,
    /// The AddOnPlacementScores of each cluster that has any.
    pub(crate) scored: imbl::HashMap<Arc<str>, Arc<ClusterScores>>,
    pub(crate) tally: Tally,
    pub(crate) unusable: UnusableObjects,
    /// The columns; empty before the first read, and if clusters were added or removed since the last read.
    columns: OnceLock<Arc<Columns>>,
    /// The former columns, up to date except for the clusters in `added_or_removed`.
    former_columns: Option<Arc<Columns>>,
    /// The clusters that were added or removed since `former_columns`.
    added_or_removed: imbl::OrdSet<Arc<str>>,
}

impl Fleet {
    /// The columns of all records, derived at the first read after clusters were added or removed.
    pub(crate) fn columns(&self) -> &Arc<Columns> {
        self.columns.get_or_init(|| {
            if let Some(former) = &self.former_columns {
                let records = Records {
                    clusters: &self.clusters,
                    sets: &self.sets,
                    scores: &self.scores,
                    tally: &self.tally,
                };
                return Arc::new(former.moved(self.added_or_removed.iter(), &records));
            }
            let scores = self.scores.values();
            Arc::new(Columns::build(
                self.clusters.values(),
                self.sets.iter(),
                scores,
                &self.tally,
            ))
        })
    }

    /// The columns that a change updates: the current columns, else the former columns. `None` if there are
    /// neither, so that the next read builds columns from the records.
    fn columns_mut(&mut self) -> Option<&mut Columns> {
        if self.columns.get().is_some() {
            self.former_columns = None;
            self.added_or_removed.clear();
            return self.columns.get_mut().map(Arc::make_mut);
        }
        self.former_columns.as_mut().map(Arc::make_mut)
    }

    /// Records that the cluster `name` was added or removed: candidates get new numbers at the next read.
    fn renumber(&mut self, name: &Arc<str>) {
        if let Some(columns) = self.columns.take() {
            self.former_columns = Some(columns);
            self.added_or_removed.clear();
        }
        let Some(former) = &self.former_columns else {
            return;
        };
        self.added_or_removed.insert(Arc::clone(name));
        // After so many additions and removals, new columns are built faster than the former ones are
        // updated.
        if self.added_or_removed.len() > former.rows.len() / 2 + 64 {
            self.former_columns = None;
            self.added_or_removed.clear();
        }
    }

    /// The sets bound to `namespace` that exist, in name order.
    pub(crate) fn bound_sets(&self, namespace: &Arc<str>) -> Vec<Arc<str>> {
        let named = self.named_sets(namespace);
        named
            .filter(|set| self.sets.contains_key(*set))
            .cloned()
            .collect()
    }

    /// The sets that are bound to `namespace` but do not exist, in name order.
    pub(crate) fn missing_sets(&self, namespace: &Arc<str>) -> Vec<Arc<str>> {
        let named = self.named_sets(namespace);
        named
            .filter(|set| !self.sets.contains_key(*set))
            .cloned()
            .collect()
    }

    /// The problem of the first set that cannot be read, of the sets from which a placement in `namespace` with
    /// `policy` chooses. Nothing is decided then: the candidates are unknown.
    pub(crate) fn unreadable_set(&self, namespace: &Arc<str>, policy: &Policy) -> Option<Problem> {
        let mut requested = self.named_sets(namespace).filter(|set| policy.requests(set));
        requested.find_map(|set| {
            let reason = self.sets.get(set)?.problem()?;
            Some(Problem::unreadable_set(set, reason))
        })
    }

    /// The sets that the bindings in `namespace` name, in name order.
    fn named_sets<'a>(&'a self, namespace: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<str>> {
        self.bindings
            .range((Arc::clone(namespace), Arc::from(""))..)
            .take_while(move |(binding_namespace, _)| binding_namespace == namespace)
            .map(|(_, set)| set)
    }

    /// Updates `scored` from the AddOnPlacementScores of `cluster`.
    fn gather_scores(&mut self, cluster: &Arc<str>) {
        let first = Key {
            resource: SCORES,
            namespace: Arc::clone(cluster),
            name: Arc::from(""),
        };
        let own = self
            .scores
            .range(first..)
            .take_while(|(key, _)| key.namespace == *cluster);
        let objects: Vec<Arc<Scores>> = own.map(|(_, scores)| Arc::clone(scores)).collect();
        if objects.is_empty() {
            self.scored.remove(cluster);
        } else {
            self.scored
                .insert(Arc::clone(cluster), Arc::new(ClusterScores::new(objects)));
        }
    }

    /// The PlacementDecisions of a placement, in the order of their numbers.
    pub(crate) fn own_decisions(&self, placement: &Key) -> Vec<&Arc<DecisionRecord>> {
        let (namespace, name) = (&placement.namespace, &placement.name);
        let mut names: Vec<&Arc<str>> = self
            .decision_names
            .range((Arc::clone(namespace), Arc::clone(name), Arc::from(""))..)
            .take_while(|(owner_namespace, owner, _)| owner_namespace == namespace && owner == name)
            .map(|(_, _, decision)| decision)
            .collect();
        // Sorted by length first, so that `-decision-10` comes after `-decision-9`.
        names.sort_by_key(|name| (name.len(), Arc::clone(name)));
        names
            .into_iter()
            .filter_map(|name| self.decisions.get(&decision_key(namespace, name)))
            .collect()
    }

    /// The placements of `namespace` whose selectors read `input`.
    fn placements_reading<'a>(
        &'a self,
        input: &'a SelectorInput,
        namespace: &'a Arc<str>,
    ) -> impl Iterator<Item = &'a Key> {
        let first = Key {
            resource: PLACEMENTS,
            namespace: Arc::clone(namespace),
            name: Arc::from(""),
        };
        self.selector_inputs
            .range((input.clone(), first)..)
            .take_while(move |(indexed, key)| indexed == input && key.namespace == *namespace)
            .map(|(_, key)| key)
    }

    /// The placements of `namespace`.
    fn placements_in<'a>(
        &'a self,
        namespace: &'a Arc<str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<PlacementRecord>)> {
        let first = Key {
            resource: PLACEMENTS,
            namespace: Arc::clone(namespace),
            name: Arc::from(""),
        };
        self.placements
            .range(first..)
            .take_while(move |(key, _)| key.namespace == *namespace)
    }
}

/// The key of the PlacementDecision `name` in `namespace`.
pub(crate) fn decision_key(namespace: &Arc<str>, name: &Arc<str>) -> Key {
    Key {
        resource: crate::names::DECISIONS,
        namespace: Arc::clone(namespace),
        name: Arc::clone(name),
    }
}
