//! Views of targets and demands, for the virtual kinds and for `simulate`.

use std::sync::Arc;

use berth_apimachinery::{Key, Labels, Object, Timestamp};

/// A taint of a target, as any of the systems writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value, mostly empty.
    pub value: String,
    /// The effect; empty where the system has no effects.
    pub effect: String,
}

/// Used and allowed amounts of one counted resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantities {
    /// Name of the counted resource in the system: `shoots`, `tenancy`, `decisions`.
    pub name: &'static str,
    /// The used amount.
    pub used: i64,
    /// The allowed amount; `None` for no limit.
    pub limit: Option<i64>,
}

/// The view of one target.
#[derive(Clone, Debug)]
pub struct TargetView {
    /// The cluster-like object of the target.
    pub object: Arc<Object>,
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The status of the Ready condition: `True`, `False` or `Unknown`.
    pub ready: &'static str,
    /// The reason token of the Ready condition, CamelCase.
    pub ready_reason: &'static str,
    /// The message of the Ready condition.
    pub ready_message: String,
    /// Whether the target accepts no new demands: it is cordoned, invisible, stopped or leaving.
    pub cordoned: bool,
    /// The taints.
    pub taints: Vec<Taint>,
    /// Capacities, each with its usage.
    pub capacity: Vec<Quantities>,
    /// The region, where the system has one.
    pub region: String,
    /// The availability zones, where the system has them; several are joined by commas.
    pub zone: String,
    /// The infrastructure provider in the system's spelling, where the system names one.
    pub provider: String,
    /// The labels that scheduling uses.
    pub labels: Labels,
    /// Sentences about problems other than readiness: objects that are not synced to the target, or that the
    /// target does not release.
    pub warnings: Vec<String>,
    /// Next time at which this view may change without a write.
    pub due_at: Option<Timestamp>,
}

/// The phase of a demand (docs/reference.md, "Decisions").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The demand is not bound, and not known to be unschedulable.
    Pending,
    /// The demand is bound in full.
    Bound,
    /// The demand is bound in part.
    Partial,
    /// The demand is not bound, and the scheduler would find no place.
    Unschedulable,
    /// The demand is malformed; clusters by an earlier spec stay bound.
    Invalid,
    /// The demand is being deleted and still bound.
    Releasing,
    /// The system does not schedule this demand.
    Ignored,
}

impl Phase {
    /// The phase as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Bound => "Bound",
            Self::Partial => "Partial",
            Self::Unschedulable => "Unschedulable",
            Self::Invalid => "Invalid",
            Self::Releasing => "Releasing",
            Self::Ignored => "Ignored",
        }
    }
}

/// An amount that a system divides among the clusters of a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The name of the divided resource, in lower case as in columns: `replicas`.
    pub name: &'static str,
    /// The wanted amount.
    pub wanted: i64,
    /// The sum of the amounts of all places, without places that the demand is leaving.
    pub placed: i64,
}

/// One cluster to which a demand is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedCluster {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The reason stored with the decision, mostly empty.
    pub reason: String,
    /// The score stored with the decision, where there is one.
    pub score: Option<i64>,
    /// The state, by the system's own name; empty where the system names none.
    pub state: String,
    /// The amount, where the system divides one among clusters.
    pub amount: Option<i64>,
    /// Whether the demand is leaving the cluster, which is no longer a place of the demand but is still
    /// occupied.
    pub leaving: bool,
}

/// The view of one demand, read from the objects alone.
#[derive(Clone, Debug)]
pub struct DemandView {
    /// The placeable object.
    pub object: Arc<Object>,
    /// The kind of the placeable object.
    pub kind: &'static str,
    /// The phase, as far as the objects show it. For an unbound demand, it is `Pending`: the caller decides
    /// whether it is `Unschedulable` or `Invalid`. For a bound demand that seems to be malformed, it is
    /// `Invalid`, which the caller has to verify.
    pub phase: Phase,
    /// The places of the demand, by cluster name.
    pub placed: Vec<PlacedCluster>,
    /// The requested number of places, where the request states one.
    pub wanted: Option<i64>,
    /// The amount that is divided among the places of the demand, where the system divides one.
    pub amount: Option<Amount>,
}

impl DemandView {
    /// The phase by the number of places and by the divided amount. Places that the demand is leaving do not
    /// count.
    #[must_use]
    pub fn phase_by_count(&self) -> Phase {
        let place_count = self.placed.iter().filter(|place| !place.leaving).count();
        let place_count = i64::try_from(place_count).unwrap_or(i64::MAX);
        match self.wanted {
            _ if place_count == 0 => Phase::Pending,
            Some(wanted) if place_count < wanted => Phase::Partial,
            _ if self.amount.is_some_and(|amount| amount.placed < amount.wanted) => Phase::Partial,
            _ => Phase::Bound,
        }
    }
}

/// The name of an infrastructure provider in one spelling for all systems: in lower case, and in the short
/// form that most systems use.
#[must_use]
pub fn provider(name: &str) -> String {
    let name = name.to_lowercase();
    match name.as_str() {
        "amazon" => "aws".to_owned(),
        "google" => "gcp".to_owned(),
        "microsoft" => "azure".to_owned(),
        _ => name,
    }
}

/// An object that could not be read and is not in the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableObject {
    /// Key of the object.
    pub key: Key,
    /// Description of the problem.
    pub problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_one_spelling_in_all_systems() {
        for (system, name) in [
            ("AWS", "aws"),
            ("Amazon", "aws"),
            ("aws", "aws"),
            ("Google", "gcp"),
            ("Azure", "azure"),
            ("OpenStack", "openstack"),
            ("", ""),
        ] {
            assert_eq!(provider(system), name, "{system}");
        }
    }
}
