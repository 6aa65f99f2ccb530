//! Folding of one change: the object is parsed once, and the records and columns are updated.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::{AffectedDemands, Consequences};
use serde::de::DeserializeOwned;

use super::{Fleet, due};
use crate::cluster::Cluster;
use crate::kind::{self, view};
use crate::names::{BINDINGS, CLUSTERS, DECISIONS, PLACEMENTS, SCORES, SETS};
use crate::record::{ClusterSet, DecisionRecord, PlacementRecord};
use crate::scored::Scores;

/// Applies `change`, and returns its consequences.
pub(crate) fn fold(fleet: &mut Fleet, change: &Change) -> Consequences {
    fleet.unusable.forget(&change.key);
    let (key, new) = (&change.key, change.new.as_ref());
    match key.resource {
        CLUSTERS => fold_cluster(fleet, key, new),
        SETS => fold_set(fleet, key, new),
        BINDINGS => fold_binding(fleet, key, new),
        PLACEMENTS => fold_placement(fleet, key, new),
        DECISIONS => fold_decision(fleet, key, new),
        SCORES => fold_scores(fleet, key, new),
        // The remaining resource is the configuration, which has no settings for this dialect yet.
        _ => Consequences::nothing(),
    }
}

/// Parses `object` and converts it with `read`. Returns `None` for an object that cannot be parsed, which is
/// listed as unusable.
fn read<T: DeserializeOwned, R>(
    fleet: &mut Fleet,
    key: &Key,
    object: Option<&Arc<Object>>,
    read: impl FnOnce(&Arc<Object>, T) -> Result<R, String>,
) -> Option<Arc<R>> {
    let object = object?;
    let record = view::<T>(key, object).and_then(|view| read(object, view));
    fleet.unusable.record(key, record).map(Arc::new)
}

fn fold_cluster(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let name = &key.name;
    let new = read(fleet, key, object, |object, view: kind::ManagedCluster| {
        Cluster::new(Arc::clone(name), Arc::clone(object), view)
    });
    let new = new.or_else(|| {
        let (object, problem) = object.zip(fleet.unusable.problem(key))?;
        let cluster = Cluster::unreadable(Arc::clone(name), Arc::clone(object), problem);
        Some(Arc::new(cluster))
    });
    let old = match &new {
        Some(row) => fleet.clusters.insert(Arc::clone(name), Arc::clone(row)),
        None => fleet.clusters.remove(name),
    };
    match (&old, &new) {
        (Some(_), Some(row)) => {
            let sets = fleet.sets.clone();
            if let Some(columns) = fleet.columns_mut() {
                columns.replace(row, sets.iter());
            }
        }
        (None, None) => {}
        _ => fleet.renumber(name),
    }
    due::affected_by_cluster(fleet, name, old.as_deref(), new.as_deref())
}

fn fold_set(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |_, view: kind::ManagedClusterSet| {
        ClusterSet::new(&view)
    });
    let new = new.or_else(|| {
        let problem = fleet.unusable.problem(key)?;
        Some(Arc::new(ClusterSet::unreadable(problem)))
    });
    let old = match &new {
        Some(set) => fleet.sets.insert(Arc::clone(&key.name), Arc::clone(set)),
        None => fleet.sets.remove(&key.name),
    };
    if let Some(columns) = fleet.columns_mut() {
        match &new {
            Some(set) => columns.put_set(&key.name, set),
            None => columns.remove_set(&key.name),
        }
    }
    let same = match (&old, &new) {
        (Some(old), Some(new)) => old.membership == new.membership,
        (old, new) => old.is_none() && new.is_none(),
    };
    if same {
        return Consequences::nothing();
    }
    let unreadable = [&old, &new]
        .into_iter()
        .flatten()
        .any(|set| set.problem().is_some());
    with_views(due::bound_to(fleet, &key.name), unreadable)
}

/// Returns `consequences`, in which the views of the due placements change, too, if the sets that these may
/// choose from are or were `unreadable`.
fn with_views(consequences: Consequences, unreadable: bool) -> Consequences {
    match unreadable {
        true => Consequences {
            demands: consequences.decide.clone(),
            ..consequences
        },
        false => consequences,
    }
}

fn fold_binding(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    // Placements use the binding's name (docs/systems/ocm.md, "API objects"). The object is parsed only to
    // make sure that it is a valid binding.
    let new = read(fleet, key, object, |_, _: kind::ManagedClusterSetBinding| Ok(()));
    let entry = (Arc::clone(&key.namespace), Arc::clone(&key.name));
    let swapped = (Arc::clone(&key.name), Arc::clone(&key.namespace));
    let known = fleet.bindings.contains(&entry);
    if new.is_some() {
        fleet.bindings.insert(entry);
        fleet.bindings_by_set.insert(swapped);
    } else {
        fleet.bindings.remove(&entry);
        fleet.bindings_by_set.remove(&swapped);
    }
    if known == new.is_some() {
        return Consequences::nothing();
    }
    let set = fleet.sets.get(&key.name);
    let unreadable = set.is_some_and(|set| set.problem().is_some());
    with_views(due::in_namespace(fleet, &key.namespace), unreadable)
}

fn fold_placement(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let (known, cache) = (fleet.placements.get(key).cloned(), Arc::clone(&fleet.cache));
    let policies = Arc::clone(&fleet.policies);
    let new = read(fleet, key, object, |object, view: kind::Placement| {
        Ok(PlacementRecord::new(
            Arc::clone(object),
            view,
            known.as_deref(),
            &policies,
            &cache,
        ))
    });
    let old = match &new {
        Some(record) => fleet.placements.insert(key.clone(), Arc::clone(record)),
        None => fleet.placements.remove(key),
    };
    match (&old, &new) {
        (None, Some(_)) => *fleet.namespaces.entry(Arc::clone(&key.namespace)).or_default() += 1,
        (Some(_), None) => count_deleted_placement(fleet, &key.namespace),
        _ => {}
    }
    update_selector_inputs(fleet, key, old.as_deref(), new.as_deref());
    let is_due = match (&old, &new) {
        (Some(old), Some(new)) => !old.decides_like(new),
        (_, new) => new.is_some(),
    };
    Consequences {
        decide: if is_due {
            AffectedDemands::Some(vec![key.clone()])
        } else {
            AffectedDemands::None
        },
        demands: AffectedDemands::Some(vec![key.clone()]),
        targets: Some(Vec::new()),
    }
}

/// Subtracts a deleted placement from the number of placements in `namespace`.
fn count_deleted_placement(fleet: &mut Fleet, namespace: &Arc<str>) {
    if let Some(count) = fleet.namespaces.get_mut(namespace) {
        *count -= 1;
        if *count == 0 {
            fleet.namespaces.remove(namespace);
        }
    }
}

/// Updates the index of selectors for the placement at `key`.
fn update_selector_inputs(
    fleet: &mut Fleet,
    key: &Key,
    old: Option<&PlacementRecord>,
    new: Option<&PlacementRecord>,
) {
    if old
        .zip(new)
        .is_some_and(|(old, new)| Arc::ptr_eq(&old.policy, &new.policy))
    {
        return;
    }
    for input in old.into_iter().flat_map(|old| old.policy.selector_inputs()) {
        fleet.selector_inputs.remove(&(input, key.clone()));
    }
    for input in new.into_iter().flat_map(|new| new.policy.selector_inputs()) {
        fleet.selector_inputs.insert((input, key.clone()));
    }
}

fn fold_decision(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object, view: kind::PlacementDecision| {
        Ok(DecisionRecord::new(Arc::clone(object), &view))
    });
    let old = match &new {
        Some(record) => fleet.decisions.insert(key.clone(), Arc::clone(record)),
        None => fleet.decisions.remove(key),
    };
    let owner = |record: &Option<Arc<DecisionRecord>>| {
        record
            .as_ref()
            .and_then(|record| record.placement().map(Arc::<str>::from))
    };
    let (was, is) = (owner(&old), owner(&new));
    let entry = |owner: &Arc<str>| {
        (
            Arc::clone(&key.namespace),
            Arc::clone(owner),
            Arc::clone(&key.name),
        )
    };
    if was != is {
        was.iter()
            .for_each(|owner| drop(fleet.decision_names.remove(&entry(owner))));
        is.iter()
            .for_each(|owner| drop(fleet.decision_names.insert(entry(owner))));
    }
    let recounted = recount(fleet, old.as_deref(), new.as_deref());
    let mut owners: Vec<Key> = [was, is]
        .into_iter()
        .flatten()
        .map(|name| placement_key(key, name))
        .collect();
    owners.dedup();
    let decide = match &new {
        // The scheduler deletes decisions only after it has removed them from the placement's status: a
        // decision that is still listed was deleted by another program.
        None => owners
            .iter()
            .filter(|owner| due::lists(fleet, owner, &key.name))
            .cloned()
            .collect(),
        Some(_) => Vec::new(),
    };
    Consequences {
        decide: if decide.is_empty() {
            AffectedDemands::None
        } else {
            AffectedDemands::Some(decide)
        },
        demands: if owners.is_empty() {
            AffectedDemands::None
        } else {
            AffectedDemands::Some(owners)
        },
        targets: Some(recounted),
    }
}

fn placement_key(decision: &Key, name: Arc<str>) -> Key {
    Key {
        resource: PLACEMENTS,
        namespace: Arc::clone(&decision.namespace),
        name,
    }
}

/// Updates the counts of decisions from `old` to `new`. Returns the clusters whose count changed.
fn recount(fleet: &mut Fleet, old: Option<&DecisionRecord>, new: Option<&DecisionRecord>) -> Vec<Arc<str>> {
    let listed = |record: Option<&DecisionRecord>| -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = record
            .into_iter()
            .flat_map(|record| record.clusters.iter().map(|cluster| Arc::clone(&cluster.name)))
            .collect();
        names.sort_unstable();
        names
    };
    let (old, new) = (listed(old), listed(new));
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a == b => {
                left.next();
                right.next();
            }
            (Some(a), Some(b)) if a > b => added.extend(right.next()),
            (Some(_), _) => removed.extend(left.next()),
            (None, Some(_)) => added.extend(right.next()),
            (None, None) => break,
        }
    }
    let mut changed = Vec::with_capacity(removed.len() + added.len());
    for (names, is_added) in [(removed, false), (added, true)] {
        for name in names {
            let count = if is_added {
                fleet.tally.add(&name)
            } else {
                fleet.tally.remove(&name)
            };
            if let Some(columns) = fleet.columns_mut() {
                columns.count_decisions(&name, count);
            }
            changed.push(name);
        }
    }
    changed
}

fn fold_scores(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |_, view: kind::AddOnPlacementScore| {
        Ok(Scores::new(&key.namespace, &key.name, &view))
    });
    let old = match &new {
        Some(scores) => fleet.scores.insert(key.clone(), Arc::clone(scores)),
        None => fleet.scores.remove(key),
    };
    if old == new {
        return Consequences::nothing();
    }
    fleet.gather_scores(&key.namespace);
    if let Some(columns) = fleet.columns_mut() {
        columns.change_scores(old.as_deref(), new.as_deref());
    }
    due::affected_by_scores(fleet, &key.namespace, &key.name)
}
