//! One question: the candidates, and the requirements in one group of clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_scheduling::Ix;

use crate::affinity::{Affinity, Miss};
use crate::cluster::Cluster;
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
}

/// Question of the whole binding, whichever group is tried.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The candidates, in the order of names.
    pub(crate) clusters: &'a [Arc<Cluster>],
    /// The binding.
    pub(crate) record: &'a Record,
    /// Its placement.
    pub(crate) policy: &'a Policy,
    /// Replicas of existing clusters, in their listed order.
    pub(crate) held: Vec<(Ix, i64)>,
    /// Those replicas by candidate.
    listed: BTreeMap<Ix, i64>,
    /// The names of clusters that it is leaving.
    evicting: BTreeSet<&'a str>,
    /// Other workloads that affect it.
    pub(crate) around: &'a Around,
}

impl<'a> Question<'a> {
    /// The question of `record`, with `policy`, over `clusters`.
    pub(crate) fn new(
        clusters: &'a [Arc<Cluster>],
        record: &'a Record,
        policy: &'a Policy,
        around: &'a Around,
    ) -> Self {
        let targets = record.spec.clusters.iter();
        let held: Vec<(Ix, i64)> = targets
            .filter_map(|target| Some((find(clusters, &target.name)?, i64::from(target.replicas))))
            .collect();
        let tasks = record.spec.graceful_eviction_tasks.iter();
        Self {
            clusters,
            record,
            policy,
            listed: held.iter().copied().collect(),
            held,
            evicting: tasks.map(|task| task.from_cluster.as_str()).collect(),
            around,
        }
    }

    /// The cluster of a candidate.
    pub(crate) fn cluster(&self, candidate: Ix) -> &'a Cluster {
        &self.clusters[candidate as usize]
    }

    /// Whether the template is there already.
    pub(crate) fn is_listed(&self, candidate: Ix) -> bool {
        self.listed.contains_key(&candidate)
    }

    /// Replicas that a cluster has.
    pub(crate) fn held_by(&self, candidate: Ix) -> i64 {
        self.listed.get(&candidate).copied().unwrap_or(0)
    }

    /// Whether the template is on its way out of a cluster.
    pub(crate) fn is_evicting(&self, candidate: Ix) -> bool {
        self.evicting.contains(&*self.cluster(candidate).name)
    }
}

/// The candidate with this name.
pub(crate) fn find(clusters: &[Arc<Cluster>], name: &str) -> Option<Ix> {
    let found = clusters
        .binary_search_by(|cluster| (*cluster.name).cmp(name))
        .ok()?;
    Ix::try_from(found).ok()
}

/// The question for one group of clusters, or for all without groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try<'a> {
    /// Question of the binding.
    pub(crate) question: &'a Question<'a>,
    /// The group.
    pub(crate) group: Option<&'a Group>,
}

impl<'a> Try<'a> {
    /// The affinities that count, the group's own first: those of overflow count for workloads.
    fn affinities(&self) -> impl Iterator<Item = &'a Affinity> {
        let record = self.question.record;
        let overflows = record.is_workload() || !record.spec.components.is_empty();
        let group = self.group;
        let own = group.map_or(self.question.policy.affinity.as_ref(), |group| Some(&group.own));
        let overflow = group
            .filter(|_| overflows)
            .and_then(|group| group.overflow.as_ref());
        own.into_iter().chain(overflow.into_iter().flatten())
    }

    /// The part of the group's own affinity that excludes `candidate`, where no overflow includes it.
    pub(crate) fn miss(&self, candidate: Ix) -> Option<Miss> {
        let cluster = self.question.cluster(candidate);
        let mut first = None;
        for affinity in self.affinities() {
            let miss = affinity.miss(cluster)?;
            first = first.or(Some(miss));
        }
        first
    }

    /// The place of the affinity that takes `candidate` in: 0 for the group's own, then the overflows in
    /// their order.
    pub(crate) fn tier(&self, candidate: Ix) -> u32 {
        let Some(group) = self.group else {
            return 0;
        };
        let cluster = self.question.cluster(candidate);
        if group.own.matches(cluster) {
            return 0;
        }
        let overflow = group.overflow.iter().flatten();
        let found = (1..)
            .zip(overflow)
            .find(|(_, affinity)| affinity.matches(cluster));
        found.map_or(u32::MAX, |(tier, _)| tier)
    }
}
