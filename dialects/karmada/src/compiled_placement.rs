//! A placement, compiled once when a binding changes.

use crate::affinity::Affinity;
use crate::kind::placement::{ClusterAffinityTerm, Placement};
use crate::strategy::{Strategy, ignores_spread};

/// A compiled placement.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPlacement {
    /// The placement as it is in the binding.
    pub(crate) raw: Placement,
    /// The clusters that may be chosen; `None` if the placement has groups, or does not limit the clusters.
    pub(crate) affinity: Option<Affinity>,
    /// The groups of clusters, in order; `None` if the placement has no groups.
    pub(crate) groups: Option<Vec<Group>>,
    /// The strategy of the division of replicas.
    pub(crate) strategy: Strategy,
    /// Whether the strategy of the division ignores spread constraints.
    pub(crate) ignores_spread: bool,
}

/// A group of clusters.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The name of the group.
    pub(crate) name: String,
    /// The group's own clusters.
    pub(crate) own: Affinity,
    /// The overflow affinities, in order: each adds clusters for the replicas that have no room on the
    /// clusters before. `None` if the group has no overflow.
    pub(crate) overflow: Option<Vec<Affinity>>,
}

impl CompiledPlacement {
    /// Compiles `raw`.
    pub(crate) fn compile(raw: &Placement) -> Self {
        // Karmada refuses a placement with both fields; if both are stored, clusterAffinity counts.
        let groups = match &raw.cluster_affinity {
            Some(_) => None,
            None => raw.cluster_affinities.as_ref(),
        };
        Self {
            affinity: raw.cluster_affinity.as_ref().map(Affinity::compile),
            groups: groups.map(|terms| terms.iter().map(Group::compile).collect()),
            strategy: Strategy::compile(raw.replica_scheduling.as_ref()),
            ignores_spread: ignores_spread(raw.replica_scheduling.as_ref()),
            raw: raw.clone(),
        }
    }

    /// The groups, in order; empty if the placement has no groups.
    pub(crate) fn groups(&self) -> &[Group] {
        self.groups.as_deref().unwrap_or_default()
    }
}

impl Group {
    fn compile(raw: &ClusterAffinityTerm) -> Self {
        let overflow = raw.overflow_affinities.as_ref();
        Self {
            name: raw.affinity_name.clone(),
            own: Affinity::compile(&raw.affinity),
            overflow: overflow.map(|list| {
                list.iter()
                    .map(|entry| Affinity::compile(&entry.affinity))
                    .collect()
            }),
        }
    }
}
