//! One question: the candidates, and the requirements in one group of clusters.

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
    /// Clusters of its group's workloads.
    pub(crate) together: Peers,
    /// Places of those it stays away from.
    pub(crate) apart: Peers,
    /// Replicas of this binding that those take the room of which were placed lately, by cluster.
    pub(crate) taken: BTreeMap<Arc<str>, i64>,
}

/// Question of the whole binding, whichever group is tried.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The candidates.
    pub(crate) columns: &'a Columns,
    /// The binding.
    pub(crate) record: &'a Record,
    /// Its placement.
    pub(crate) policy: &'a Policy,
    /// Replicas of existing clusters, in their listed order.
    pub(crate) held: Vec<(Ix, i64)>,
    /// Those replicas by candidate.
    listed: BTreeMap<Ix, i64>,
    /// Replicas that workload takes the room of which was placed lately, by candidate.
    taken: BTreeMap<Ix, i64>,
    /// The names of clusters that it is leaving.
    pub(crate) evicting: BTreeSet<&'a str>,
    /// Other workloads that affect it.
    pub(crate) around: &'a Around,
}

impl<'a> Question<'a> {
    /// The question of `record`, with `policy`, over the clusters of `columns`.
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

    /// Whether the template is there already.
    pub(crate) fn is_listed(&self, candidate: Ix) -> bool {
        self.listed.contains_key(&candidate)
    }

    /// Replicas that a cluster has.
    pub(crate) fn held_by(&self, candidate: Ix) -> i64 {
        self.listed.get(&candidate).copied().unwrap_or(0)
    }

    /// Replicas that workload takes the room of which was placed on a cluster lately.
    pub(crate) fn taken_of(&self, candidate: Ix) -> i64 {
        self.taken.get(&candidate).copied().unwrap_or(0)
    }

    /// Whether the template is on its way out of a cluster.
    pub(crate) fn is_evicting(&self, candidate: Ix) -> bool {
        self.evicting.contains(&*self.cluster(candidate).name)
    }
}

/// The question for one group of clusters, or for all without groups.
#[derive(Debug)]
pub(crate) struct Try<'a> {
    /// Question of the binding.
    pub(crate) question: &'a Question<'a>,
    /// The group.
    pub(crate) group: Option<&'a Group>,
    /// Affinities that count, the group's own first: those of overflow count for workloads.
    affinities: Vec<&'a Affinity>,
    /// The clusters that each of them means.
    meant: Vec<Bits>,
}

impl<'a> Try<'a> {
    /// The question in `group`.
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
            meant: affinities
                .iter()
                .map(|affinity| affinity.select(question.columns))
                .collect(),
            affinities,
        }
    }

    /// The clusters that any of the affinities means; all where there is none.
    pub(crate) fn meant(&self) -> Bits {
        let mut all = self.meant.iter();
        let Some(mut any) = all.next().cloned() else {
            return Bits::all(self.question.columns.count());
        };
        all.for_each(|more| any.unite(more));
        any
    }

    /// Parts of the group's own affinity, in the order in which Karmada looks, each with the clusters that pass
    /// it.
    pub(crate) fn parts(&self) -> Vec<(Miss, Bits)> {
        let own = self.affinities.first();
        own.map_or_else(Vec::new, |own| own.parts(self.question.columns))
    }

    /// The part of the group's own affinity that excludes `candidate`, where no overflow includes it.
    pub(crate) fn miss(&self, candidate: Ix) -> Option<Miss> {
        let cluster = self.question.cluster(candidate);
        let mut first = None;
        for affinity in &self.affinities {
            let miss = affinity.miss(cluster)?;
            first = first.or(Some(miss));
        }
        first
    }

    /// The place of the affinity that takes `candidate` in: 0 for the group's own, then the overflows in
    /// their order.
    pub(crate) fn tier(&self, candidate: Ix) -> u32 {
        let found = (0..).zip(&self.meant).find(|(_, meant)| meant.has(candidate));
        found.map_or(0, |(tier, _)| tier)
    }
}
