//! Placements that a change makes due again (docs/systems/ocm.md, "When it runs"), as narrowly as the records
//! allow.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::{AffectedDemands, Consequences};

use super::Fleet;
use crate::cluster::Cluster;
use crate::comparer::ExpressionComparer;
use crate::policy::SelectorInput;

/// Number of placements above which all placements are returned as [`AffectedDemands::All`], not one by one.
const MANY: usize = 100;

/// The placements that a change makes due.
#[derive(Default)]
struct DuePlacements<'a> {
    /// Namespaces whose placements are all due.
    namespaces: BTreeSet<&'a Arc<str>>,
    /// Further placements that are due.
    placements: BTreeSet<Key>,
}

impl DuePlacements<'_> {
    /// Converts the placements to the consequences of a change that makes them due and affects nothing else.
    /// If there are many placements and all are due, they are not listed: one cluster may affect thousands of
    /// placements in each of thousands of changes.
    fn into_consequences(self, fleet: &Fleet) -> Consequences {
        let Self {
            namespaces,
            mut placements,
        } = self;
        let are_all = || {
            fleet
                .namespaces
                .keys()
                .all(|namespace| namespaces.contains(namespace))
        };
        let decide = if fleet.placements.len() > MANY && are_all() {
            AffectedDemands::All
        } else {
            let all = namespaces
                .into_iter()
                .flat_map(|namespace| fleet.placements_in(namespace));
            placements.extend(all.map(|(key, _)| key.clone()));
            match placements.is_empty() {
                true => AffectedDemands::None,
                false => AffectedDemands::Some(placements.into_iter().collect()),
            }
        };
        Consequences {
            decide,
            demands: AffectedDemands::None,
            targets: Some(Vec::new()),
        }
    }
}

/// The placements in the namespaces that bind `set`.
pub(super) fn bound_to(fleet: &Fleet, set: &Arc<str>) -> Consequences {
    let due = DuePlacements {
        namespaces: binding_namespaces(fleet, set).collect(),
        ..DuePlacements::default()
    };
    due.into_consequences(fleet)
}

/// The placements in `namespace`.
pub(super) fn in_namespace(fleet: &Fleet, namespace: &Arc<str>) -> Consequences {
    let due = DuePlacements {
        namespaces: [namespace].into(),
        ..DuePlacements::default()
    };
    due.into_consequences(fleet)
}

/// The namespaces with a binding of `set`.
fn binding_namespaces<'a>(fleet: &'a Fleet, set: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<str>> {
    fleet
        .bindings_by_set
        .range((Arc::clone(set), Arc::from(""))..)
        .take_while(move |(bound_set, _)| bound_set == set)
        .map(|(_, namespace)| namespace)
}

/// The placements affected by a change of a cluster: placements in the namespaces that bind one of its old or
/// new sets, if the change matters to them. A set that cannot be read may have the cluster.
pub(super) fn affected_by_cluster(
    fleet: &Fleet,
    name: &Arc<str>,
    old: Option<&Cluster>,
    new: Option<&Cluster>,
) -> Consequences {
    if old.is_none() && new.is_none() {
        return Consequences::nothing();
    }
    // If at most labels and claims differ, only selectors can distinguish the two versions.
    let versions = old.zip(new).filter(|(old, new)| old.decides_alike(new));
    let differences = versions.map(|(old, new)| SelectorInput::of_difference(old, new));
    let mut comparer = ExpressionComparer::new(fleet.clusters.len());
    let mut due = DuePlacements::default();
    for (set_name, set) in &fleet.sets {
        let holds = |cluster: Option<&Cluster>| {
            cluster.is_some_and(|cluster| set.may_have(set_name, cluster.labels()))
        };
        let (was, is) = (holds(old), holds(new));
        if !was && !is {
            continue;
        }
        let comparison = versions.zip(differences.as_ref()).filter(|_| was && is);
        for namespace in binding_namespaces(fleet, set_name) {
            let Some(((old, new), differences)) = comparison else {
                due.namespaces.insert(namespace);
                continue;
            };
            let mut distinguishes = |key: &&Key| {
                let record = fleet.placements.get(*key);
                record.is_some_and(|record| record.policy.distinguishes(old, new, &mut comparer))
            };
            for input in differences {
                let reading = fleet.placements_reading(input, namespace);
                due.placements.extend(reading.filter(&mut distinguishes).cloned());
            }
        }
    }
    Consequences {
        targets: Some(vec![Arc::clone(name)]),
        ..due.into_consequences(fleet)
    }
}

/// The placements affected by changed scores of `cluster` in objects named `resource`: placements that use
/// these scores and may choose the cluster.
pub(super) fn affected_by_scores(fleet: &Fleet, cluster: &Arc<str>, resource: &Arc<str>) -> Consequences {
    let Some(row) = fleet.clusters.get(cluster) else {
        return Consequences::nothing();
    };
    let mut due = DuePlacements::default();
    for (name, _) in fleet
        .sets
        .iter()
        .filter(|(name, set)| set.has(name, row.labels()))
    {
        for namespace in binding_namespaces(fleet, name) {
            let using = fleet
                .placements_in(namespace)
                .filter(|(_, record)| record.policy.uses_score(resource));
            due.placements.extend(using.map(|(key, _)| key.clone()));
        }
    }
    due.into_consequences(fleet)
}

/// Whether the status of `placement` lists the PlacementDecision named `decision`; false if the placement is
/// being deleted.
pub(super) fn lists(fleet: &Fleet, placement: &Key, decision: &str) -> bool {
    fleet.placements.get(placement).is_some_and(|record| {
        let groups = record.status.decision_groups.iter();
        !record.terminating()
            && groups
                .flat_map(|group| &group.decisions)
                .any(|name| name == decision)
    })
}
