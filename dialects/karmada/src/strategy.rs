//! The strategy by which replicas are divided, as a placement states it.

use crate::affinity::Affinity;
use crate::kind::placement::ReplicaScheduling;

/// The strategy by which replicas are divided.
#[derive(Clone, Debug)]
pub(crate) enum Strategy {
    /// Every cluster gets all replicas.
    Duplicated,
    /// Replicas are divided by static weights: each cluster has the largest weight among the matching rules.
    /// All clusters have equal weights if no rule matches any cluster.
    Static(Vec<(Affinity, i64)>),
    /// Replicas are divided by available room.
    Dynamic,
    /// Replicas go to as few clusters as have enough room.
    Aggregated,
    /// The strategy is unknown.
    Unknown,
}

impl Strategy {
    /// Compiles the strategy in `raw`.
    pub(crate) fn compile(raw: Option<&ReplicaScheduling>) -> Self {
        let Some(raw) = raw else {
            return Self::Duplicated;
        };
        let preference = raw.weight_preference.as_ref();
        match (
            raw.replica_scheduling_type.as_str(),
            raw.replica_division_preference.as_str(),
        ) {
            ("Duplicated", _) => Self::Duplicated,
            ("Divided", "Aggregated") => Self::Aggregated,
            ("Divided", "Weighted") => match preference {
                Some(preference) if !preference.dynamic_weight.is_empty() => Self::Dynamic,
                _ => {
                    let rules = preference.into_iter().flat_map(|list| &list.static_weight_list);
                    Self::Static(
                        rules
                            .map(|rule| (Affinity::compile(&rule.target_cluster), rule.weight))
                            .collect(),
                    )
                }
            },
            _ => Self::Unknown,
        }
    }

    /// Whether the requested replicas are divided among clusters.
    pub(crate) const fn divides(&self) -> bool {
        matches!(self, Self::Static(_) | Self::Dynamic | Self::Aggregated)
    }
}

/// Whether spread constraints are ignored under `raw`: for a list of static weights, and for the equal
/// weights that apply without a `weightPreference`. `weightPreference: {}` also divides evenly, but keeps
/// spread constraints in force.
pub(crate) fn ignores_spread(raw: Option<&ReplicaScheduling>) -> bool {
    raw.is_some_and(|raw| {
        raw.replica_scheduling_type == "Divided"
            && raw.replica_division_preference == "Weighted"
            && raw.weight_preference.as_ref().is_none_or(|preference| {
                !preference.static_weight_list.is_empty() && preference.dynamic_weight.is_empty()
            })
    })
}
