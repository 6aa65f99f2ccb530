//! One question: the candidates, and the requirements of a binding, as a whole and in one group of clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_dialect_columns::Bits;
use berth_scheduling::Ix;

use crate::affinity::{Affinity, Miss};
use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::policy::{Group, Policy};
use crate::record::Record;

/// Clusters of other workloads of the same group, one set for each workload.
pub(crate) type Peers = Vec<BTreeSet<Arc<str>>>;

/// Other workloads that matter to a binding.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Clusters of the workloads in the binding's affinity group.
    pub(crate) together: Peers,
    /// Clusters of the workloads in the binding's anti-affinity group.
    pub(crate) apart: Peers,
    /// Room that recently placed workloads take, in replicas of this binding, by cluster.
    pub(crate) taken: BTreeMap<Arc<str>, i64>,
}

/// The question of a whole binding, independent of the group that is tried.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The candidates.
    pub(crate) columns: &'a Columns,
    /// The binding.
    pub(crate) record: &'a Record,
    /// The binding's placement.
    pub(crate) policy: &'a Policy,
    /// The listed clusters that exist, in order, with their replicas.
    pub(crate) held: Vec<(Ix, i64)>,
    /// The replicas in `held`, by candidate.
    listed: BTreeMap<Ix, i64>,
    /// Room that recently placed workloads take, in replicas of this binding, by candidate.
    taken: BTreeMap<Ix, i64>,
    /// The names of clusters from which the template is being evicted.
    pub(crate) evicting: BTreeSet<&'a str>,
    /// Other workloads that affect the binding.
    pub(crate) around: &'a Around,
}

impl<'a> Question<'a> {
    /// Creates the question of `record`, with `policy`, over the clusters of `columns`.
    pub(crate) fn new(
        columns: &'a Columns,
        record: &'a Record,
        policy: &'a Policy,
        around: &'a Around,
    ) -> Self {
        let targets = record.spec.clusters.iter();
        let held: Vec<(Ix, i64)> = targets
            .filter_map(|target| Some((columns.find(&target.name)?, i64::from(target.replicas))))
            .collect();
        let tasks = record.spec.graceful_eviction_tasks.iter();
        let taken = around.taken.iter();
        Self {
            columns,
            record,
            policy,
            listed: held.iter().copied().collect(),
            held,
            taken: taken
                .filter_map(|(name, replicas)| Some((columns.find(name)?, *replicas)))
                .collect(),
            evicting: tasks.map(|task| task.from_cluster.as_str()).collect(),
            around,
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

    /// Number of replicas that a cluster has.
    pub(crate) fn held_by(&self, candidate: Ix) -> i64 {
        self.listed.get(&candidate).copied().unwrap_or(0)
    }

    /// Room that workloads recently placed on a cluster take, in replicas of this binding.
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
pub(crate) struct Try<'a> {
    /// Question of the binding.
    pub(crate) question: &'a Question<'a>,
    /// The group, if there is one.
    pub(crate) group: Option<&'a Group>,
    /// The affinities that count: the affinity of the group or the placement first, then the group's overflow
    /// affinities, which only count for workloads. Empty if there is no affinity.
    affinities: Vec<&'a Affinity>,
    /// The clusters that match each affinity.
    matching: Vec<Bits>,
}

impl<'a> Try<'a> {
    /// Creates the question for `group`.
    pub(crate) fn new(question: &'a Question<'a>, group: Option<&'a Group>) -> Self {
        let record = question.record;
        let overflows = record.is_workload() || !record.spec.components.is_empty();
        let own = group.map_or(question.policy.affinity.as_ref(), |group| Some(&group.own));
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

    /// The clusters that match any of the affinities; all clusters if there are no affinities.
    pub(crate) fn matching(&self) -> Bits {
        let mut all = self.matching.iter();
        let Some(mut any) = all.next().cloned() else {
            return Bits::all(self.question.columns.count());
        };
        all.for_each(|more| any.unite(more));
        any
    }

    /// Parts of the group's own affinity, in the order of Karmada's tests, each with the clusters that pass
    /// the part.
    pub(crate) fn parts(&self) -> Vec<(Miss, Bits)> {
        let own = self.affinities.first();
        own.map_or_else(Vec::new, |own| own.parts(self.question.columns))
    }

    /// The part of the group's own affinity that excludes `candidate`; `None` if any affinity matches the
    /// candidate, or there is no affinity.
    pub(crate) fn miss(&self, candidate: Ix) -> Option<Miss> {
        let cluster = self.question.cluster(candidate);
        let mut first = None;
        for affinity in &self.affinities {
            let miss = affinity.miss(cluster)?;
            first = first.or(Some(miss));
        }
        first
    }

    /// The index of the first affinity that matches `candidate`: 0 for the group's own affinity, then the
    /// overflow affinities in their order.
    pub(crate) fn tier(&self, candidate: Ix) -> u32 {
        let found = (0..)
            .zip(&self.matching)
            .find(|(_, matching)| matching.has(candidate));
        found.map_or(0, |(tier, _)| tier)
    }
}
