//! Placements that a change makes due again (docs/systems/ocm.md, "When it runs"), as narrowly as the records
//! allow.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::{AffectedDemands, Consequences};

use super::Fleet;
use crate::cluster::Cluster;
use crate::policy::Mention;

/// Number of placements from which on all of them are told as such, and not one by one.
const MANY: usize = 100;

/// Placements that are due.
#[derive(Default)]
struct Reach<'a> {
    /// Namespaces of which all are.
    namespaces: BTreeSet<&'a Arc<str>>,
    /// Further ones.
    placements: BTreeSet<Key>,
}

impl Reach<'_> {
    /// They are due, and nothing else changes. Of a cluster that concerns all of thousands, each of thousands of
    /// changes would name them all.
    fn due(self, fleet: &Fleet) -> Consequences {
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
    let reach = Reach {
        namespaces: namespaces(fleet, set).collect(),
        ..Reach::default()
    };
    reach.due(fleet)
}

/// The placements in `namespace`.
pub(super) fn in_namespace(fleet: &Fleet, namespace: &Arc<str>) -> Consequences {
    let reach = Reach {
        namespaces: [namespace].into(),
        ..Reach::default()
    };
    reach.due(fleet)
}

fn namespaces<'a>(fleet: &'a Fleet, set: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<str>> {
    fleet
        .bound
        .range((Arc::clone(set), Arc::from(""))..)
        .take_while(move |(of, _)| of == set)
        .map(|(_, namespace)| namespace)
}

/// For a changed cluster: the placements bound to its sets before or after, where the change matters to
/// them.
pub(super) fn cluster(
    fleet: &Fleet,
    name: &Arc<str>,
    old: Option<&Cluster>,
    new: Option<&Cluster>,
) -> Consequences {
    if old.is_none() && new.is_none() {
        return Consequences::nothing();
    }
    // Two readings that differ in labels and claims at most differ for selectors alone.
    let both = old.zip(new).filter(|(old, new)| old.acts_like(new));
    let different = both.map(|(old, new)| Mention::of_difference(old, new));
    let mut reach = Reach::default();
    for (set_name, set) in &fleet.sets {
        let holds =
            |cluster: Option<&Cluster>| cluster.is_some_and(|cluster| set.has(set_name, cluster.labels()));
        let (was, is) = (holds(old), holds(new));
        if !was && !is {
            continue;
        }
        let stays = both.zip(different.as_ref()).filter(|_| was && is);
        for namespace in namespaces(fleet, set_name) {
            let Some(((old, new), different)) = stays else {
                reach.namespaces.insert(namespace);
                continue;
            };
            let tells_apart = |key: &&Key| {
                let record = fleet.placements.get(*key);
                record.is_some_and(|record| record.policy.tells_apart(old, new))
            };
            for mention in different {
                let mentioning = fleet.mentioning(mention, namespace);
                reach.placements.extend(mentioning.filter(tells_apart).cloned());
            }
        }
    }
    Consequences {
        targets: Some(vec![Arc::clone(name)]),
        ..reach.due(fleet)
    }
}

/// The scores of `cluster` in objects named `resource` changed: the placements that use them and may choose
/// it.
pub(super) fn scores(fleet: &Fleet, cluster: &Arc<str>, resource: &Arc<str>) -> Consequences {
    let Some(row) = fleet.clusters.get(cluster) else {
        return Consequences::nothing();
    };
    let mut reach = Reach::default();
    for (name, _) in fleet
        .sets
        .iter()
        .filter(|(name, set)| set.has(name, row.labels()))
    {
        for namespace in namespaces(fleet, name) {
            let using = fleet
                .placements_in(namespace)
                .filter(|(_, record)| record.policy.uses_score(resource));
            reach.placements.extend(using.map(|(key, _)| key.clone()));
        }
    }
    reach.due(fleet)
}

/// Whether the status of `placement` lists the PlacementDecision named `decision`.
pub(super) fn lists(fleet: &Fleet, placement: &Key, decision: &str) -> bool {
    fleet.placements.get(placement).is_some_and(|record| {
        let groups = record.view.status.decision_groups.iter();
        !record.terminating()
            && groups
                .flat_map(|group| &group.decisions)
                .any(|name| name == decision)
    })
}
