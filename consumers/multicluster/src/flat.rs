//! A decision as a list of flat entries, for tools that pass every key of an entry to a template.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::{DemandView, Inventory, PlacedCluster, TargetView, names};
use berth_scheduling_api::published::ClusterKeys;

use crate::rank;

/// Name of a decision whose clusters are listed as entries.
#[derive(Clone, Copy, Debug)]
pub struct DecisionName<'a> {
    /// The system of the decision.
    pub system: &'a str,
    /// The namespace of the Decision; empty for a ClusterDecision.
    pub namespace: &'a str,
    /// The name of the Decision or ClusterDecision: `<source>.<system>`.
    pub decision: &'a str,
}

/// Entry for one cluster of a decision.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The system's own name of the cluster.
    pub cluster: Arc<str>,
    /// The name of the cluster's target without the system, and its state; `None` if the target does not
    /// exist any more.
    pub target: Option<(String, TargetView)>,
    /// The keys and values for templates.
    pub keys: ClusterKeys,
}

/// The entries for the clusters of `decision`, whose state is `view`: the best cluster first if all scores
/// are recorded, else by name. Clusters that the decision is leaving are left out.
#[must_use]
pub fn entries(
    decision: DecisionName<'_>,
    inventory: &dyn Inventory,
    view: &DemandView,
    now: Timestamp,
) -> Vec<Entry> {
    let mut ranked = rank::ranked(&view.placed);
    ranked.sort_by_key(|(place, rank)| (rank.map(|rank| rank.position), Arc::clone(&place.cluster_name)));
    let entries = ranked.into_iter().map(|(place, rank)| {
        let target = inventory.target_of(&place.cluster_name, now);
        let rank = rank.map(|rank| rank.position.to_string()).unwrap_or_default();
        Entry {
            cluster: Arc::clone(&place.cluster_name),
            keys: keys(decision, place, rank, target.as_ref()),
            target,
        }
    });
    entries.collect()
}

fn keys(
    decision: DecisionName<'_>,
    place: &PlacedCluster,
    rank: String,
    target: Option<&(String, TargetView)>,
) -> ClusterKeys {
    let of_target =
        |read: fn(&TargetView) -> &String| target.map(|(_, view)| read(view).clone()).unwrap_or_default();
    ClusterKeys {
        cluster: place.cluster_name.to_string(),
        target: target
            .map(|(name, _)| names::join(name, decision.system))
            .unwrap_or_default(),
        system: decision.system.to_owned(),
        decision: decision.decision.to_owned(),
        namespace: decision.namespace.to_owned(),
        region: of_target(|view| &view.region),
        zone: of_target(|view| &view.zone),
        provider: of_target(|view| &view.provider),
        rank,
        score: place.score.map(|score| score.to_string()).unwrap_or_default(),
        amount: place.amount.map(|amount| amount.to_string()).unwrap_or_default(),
        reason: place.reason.clone(),
        state: place.state.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_hides_a_key_of_argo_cd_and_empty_keys_are_present() {
        let decision = DecisionName {
            system: "openmcp",
            namespace: "",
            decision: "d.openmcp",
        };
        let place = PlacedCluster {
            cluster_name: "ns/c1".into(),
            score: Some(-3),
            ..PlacedCluster::default()
        };
        let keys = keys(decision, &place, "1".to_owned(), None);
        assert_eq!(keys.cluster, "ns/c1");
        assert_eq!((keys.rank.as_str(), keys.score.as_str()), ("1", "-3"));
        assert_eq!((keys.target.as_str(), keys.zone.as_str()), ("", ""));
        let written = serde_json::to_value(keys).unwrap();
        for taken in ["name", "server", "nameNormalized", "values"] {
            assert!(written.get(taken).is_none(), "{taken}");
        }
        assert_eq!(written["zone"], "", "the key is present, with an empty value");
    }
}
