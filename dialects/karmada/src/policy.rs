//! A placement, compiled once when a binding changes.

use crate::affinity::Affinity;
use crate::kind::placement::{ClusterAffinityTerm, Placement};
use crate::strategy::{Strategy, ignores_spread};

/// A placement, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The placement in the object.
    pub(crate) raw: Placement,
    /// The clusters that may be chosen, without groups.
    pub(crate) affinity: Option<Affinity>,
    /// The groups of clusters, in order; `None` where clusters are in none.
    pub(crate) groups: Option<Vec<Group>>,
    /// Division of replicas.
    pub(crate) strategy: Strategy,
    /// Whether the way to divide makes spread constraints have no effect.
    pub(crate) ignores_spread: bool,
}

/// A group of clusters.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The name.
    pub(crate) name: String,
    /// Its own clusters.
    pub(crate) own: Affinity,
    /// Further clusters, for replicas without room in those before; `None` without overflow.
    pub(crate) overflow: Option<Vec<Affinity>>,
}

impl Policy {
    /// The policy in `raw`.
    pub(crate) fn compile(raw: &Placement) -> Self {
        // Karmada refuses both together; where both are there the one affinity counts.
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

    /// The groups, in order; none where clusters are in none.
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
