//! Division of replicas, as a placement states it.

use crate::affinity::Affinity;
use crate::kind::placement::ReplicaScheduling;

/// Division of replicas.
#[derive(Clone, Debug)]
pub(crate) enum Strategy {
    /// All to every cluster.
    Duplicated,
    /// By the weights of these rules, the largest that matches; all alike where no rule matches any cluster.
    Static(Vec<(Affinity, i64)>),
    /// By available room.
    Dynamic,
    /// To as few clusters as there is room in.
    Aggregated,
    /// The way to divide is unknown.
    Unknown,
}

impl Strategy {
    /// The strategy in `raw`.
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

    /// Whether clusters share what is wanted.
    pub(crate) const fn divides(&self) -> bool {
        matches!(self, Self::Static(_) | Self::Dynamic | Self::Aggregated)
    }
}

/// Whether `raw` makes spread constraints have no effect: static weights, given or even. `weightPreference:
/// {}` divides evenly as well, and leaves them in force.
pub(crate) fn ignores_spread(raw: Option<&ReplicaScheduling>) -> bool {
    raw.is_some_and(|raw| {
        raw.replica_scheduling_type == "Divided"
            && raw.replica_division_preference == "Weighted"
            && raw.weight_preference.as_ref().is_none_or(|preference| {
                !preference.static_weight_list.is_empty() && preference.dynamic_weight.is_empty()
            })
    })
}
