//! The question that a decision answers: the candidates and the requirements of a binding, as a whole and in
//! one group of clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_dialect_columns::Bits;
use berth_scheduling::Ix;

use crate::affinity::{Affinity, Mismatch};
use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::compiled_placement::{CompiledPlacement, Group};
use crate::record::Record;

/// The clusters of the other workloads of a group, one set for each workload.
pub(crate) type Peers = Vec<BTreeSet<Arc<str>>>;

/// Other workloads that affect the decision on a binding.
#[derive(Debug, Default)]
pub(crate) struct Neighbors {
    /// The clusters of the other workloads in the affinity group of the binding.
    pub(crate) affinity_peers: Peers,
    /// The clusters of the other workloads in the anti-affinity group of the binding.
    pub(crate) anti_affinity_peers: Peers,
    /// The room that recently placed workloads take, in replicas of the binding, by the name of the cluster.
    pub(crate) taken: BTreeMap<Arc<str>, i64>,
}

/// The question for a binding, regardless of the group of clusters that is tried.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The clusters, which are the candidates.
    pub(crate) columns: &'a Columns,
    /// The binding to decide.
    pub(crate) record: &'a Record,
    /// The placement of the binding.
    pub(crate) placement: &'a CompiledPlacement,
    /// The listed clusters that exist, in order, with their replicas.
    pub(crate) held: Vec<(Ix, i64)>,
    /// The replicas in `held`, by candidate.
    listed: BTreeMap<Ix, i64>,
    /// The room that recently placed workloads take, in replicas of the binding, by candidate.
    taken: BTreeMap<Ix, i64>,
    /// The names of clusters from which the template is being evicted.
    pub(crate) evicting: BTreeSet<&'a str>,
    /// Other workloads that affect the decision.
    pub(crate) neighbors: &'a Neighbors,
}

impl<'a> Question<'a> {
    /// Creates the question for `record`, whose placement is `placement`, with the clusters of `columns` as
    /// candidates.
    pub(crate) fn new(
        columns: &'a Columns,
        record: &'a Record,
        placement: &'a CompiledPlacement,
        neighbors: &'a Neighbors,
    ) -> Self {
        let targets = record.spec.clusters.iter();
        let held: Vec<(Ix, i64)> = targets
            .filter_map(|target| Some((columns.find(&target.name)?, i64::from(target.replicas))))
            .collect();
        let tasks = record.spec.graceful_eviction_tasks.iter();
        let taken = neighbors.taken.iter();
        Self {
            columns,
            record,
            placement,
            listed: held.iter().copied().collect(),
            held,
            taken: taken
                .filter_map(|(name, replicas)| Some((columns.find(name)?, *replicas)))
                .collect(),
            evicting: tasks.map(|task| task.from_cluster.as_str()).collect(),
            neighbors,
        }
    }

    /// The cluster of a candidate.
    pub(crate) fn cluster(&self, candidate: Ix) -> &'a Cluster {
        self.columns.row(candidate)
    }

    /// Whether the binding lists the cluster already.
    pub(crate) fn is_listed(&self, candidate: Ix) -> bool {
        self.listed.contains_key(&candidate)
    }

    /// Number of replicas that a cluster has now.
    pub(crate) fn held_by(&self, candidate: Ix) -> i64 {
        self.listed.get(&candidate).copied().unwrap_or(0)
    }

    /// The room that recently placed workloads take on a cluster, in replicas of the binding.
    pub(crate) fn taken_of(&self, candidate: Ix) -> i64 {
        self.taken.get(&candidate).copied().unwrap_or(0)
    }

    /// Whether the template is being evicted from a cluster.
    pub(crate) fn is_evicting(&self, candidate: Ix) -> bool {
        self.evicting.contains(&*self.cluster(candidate).name)
    }
}

/// The question for one group of clusters, or for the placement's `clusterAffinity` if there are no groups.
#[derive(Debug)]
pub(crate) struct GroupQuestion<'a> {
    /// The question for the whole binding.
    pub(crate) question: &'a Question<'a>,
    /// The group; `None` if the placement has no groups.
    pub(crate) group: Option<&'a Group>,
    /// The affinities that apply: first the own affinity of the group or the affinity of the placement, then,
    /// for workloads, the overflow affinities of the group. Empty if no affinity applies.
    affinities: Vec<&'a Affinity>,
    /// The clusters that match each of the `affinities`.
    matching: Vec<Bits>,
}

impl<'a> GroupQuestion<'a> {
    /// Creates the question for `group`, or for the whole placement if `group` is `None`.
    pub(crate) fn new(question: &'a Question<'a>, group: Option<&'a Group>) -> Self {
        let record = question.record;
        let overflows = record.is_workload() || !record.spec.components.is_empty();
        let own = group.map_or(question.placement.affinity.as_ref(), |group| Some(&group.own));
        let overflow = group
            .filter(|_| overflows)
            .and_then(|group| group.overflow.as_ref());
        let affinities: Vec<&Affinity> = own.into_iter().chain(overflow.into_iter().flatten()).collect();
        Self {
            question,
            group,
            matching: affinities
                .iter()
                .map(|affinity| affinity.select(question.columns))
                .collect(),
            affinities,
        }
    }

    /// The clusters that match any of the affinities that apply; all clusters if no affinity applies.
    pub(crate) fn matching(&self) -> Bits {
        let mut all = self.matching.iter();
        let Some(mut any) = all.next().cloned() else {
            return Bits::all(self.question.columns.count());
        };
        all.for_each(|more| any.unite(more));
        any
    }

    /// The parts of the first affinity that applies, in the order of Karmada's tests, each with the clusters
    /// that match the part.
    pub(crate) fn parts(&self) -> Vec<(Mismatch, Bits)> {
        let own = self.affinities.first();
        own.map_or_else(Vec::new, |own| own.parts(self.question.columns))
    }

    /// The part of the first affinity that excludes `candidate`; `None` if the candidate matches any of the
    /// affinities that apply, or no affinity applies.
    pub(crate) fn mismatch(&self, candidate: Ix) -> Option<Mismatch> {
        let cluster = self.question.cluster(candidate);
        let mut first = None;
        for affinity in &self.affinities {
            let mismatch = affinity.mismatch(cluster)?;
            first = first.or(Some(mismatch));
        }
        first
    }

    /// The index of the first affinity that `candidate` matches: 0 is the own affinity of the group, and the
    /// overflow affinities follow in their order.
    pub(crate) fn tier(&self, candidate: Ix) -> u32 {
        let found = (0..)
            .zip(&self.matching)
            .find(|(_, matching)| matching.has(candidate));
        found.map_or(0, |(tier, _)| tier)
    }
}
