//! One target or one decision as the objects that Publications show of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dialect_contract::DemandView;
use engine::Snapshot;
use meta::{Draft, Key, Timestamp};
use multicluster::decision::{self, Decided};
use multicluster::profile::{self, Target};
use multicluster::slices::{self, Slice, Write};
use multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS, name};
use storage::Collection;

use super::spec::Rules;
use crate::virtual_api::names;

/// What an object becomes; `None` is deleted.
pub(super) type Change = (Key, Option<Draft>);
/// The names of the profiles of a cluster, by namespace.
pub(super) type Profiles = BTreeMap<String, String>;
/// The profiles of every cluster, by dialect and the system's own name.
pub(super) type AllProfiles = HashMap<(&'static str, Arc<str>), Profiles>;

/// The profiles of a cluster.
pub(super) struct MadeProfiles {
    /// The system's own name of it.
    pub(super) cluster: Arc<str>,
    /// All of them.
    pub(super) profiles: Profiles,
    /// Those that are new or may differ.
    pub(super) changes: Vec<Change>,
    /// When time alone may change them.
    pub(super) due_at: Option<Timestamp>,
}

/// The profiles of `cluster`, where those that are published stand in `shown`.
pub(super) fn profiles(
    snapshot: &Snapshot,
    rules: &[Arc<Rules>],
    shown: &Collection,
    cluster: Arc<str>,
    now: Timestamp,
) -> MadeProfiles {
    let mut made = MadeProfiles {
        cluster,
        profiles: Profiles::new(),
        changes: Vec::new(),
        due_at: None,
    };
    let Some((target, view)) = snapshot.inventory.target_of(&made.cluster, now) else {
        return made;
    };
    let system = snapshot.dialect.name();
    let wanted: Vec<&Arc<Rules>> = rules
        .iter()
        .filter(|rules| rules.shows_target(system, &view.labels))
        .collect();
    if wanted.is_empty() {
        // Time may change its standing, but nobody is shown that.
        return made;
    }
    made.due_at = view.due_at;
    let facts = snapshot.dialect.facts(&view.object.parse());
    for rules in wanted {
        let settings = &rules.settings;
        let name = name::profile(settings, system, &target);
        let uid = names::uid(
            view.object.meta(),
            &format!("ClusterProfile/{}", settings.namespace),
        );
        let old = shown.get(&settings.namespace, &name).map(|old| old.parse());
        let target = Target {
            system,
            name: &target,
            view: &view,
            facts: &facts,
        };
        let value = profile::render(settings, target, &uid, old.as_ref(), now);
        let key = Key::new(CLUSTER_PROFILES, &settings.namespace, &name);
        if let Some(draft) = draft(&key, &value) {
            made.profiles.insert(settings.namespace.clone(), name);
            made.changes.push((key, Some(draft)));
        }
    }
    made
}

/// The slices of a decision.
pub(super) struct MadeSlices {
    /// The demand.
    pub(super) demand: Key,
    /// All of them.
    pub(super) slices: Vec<Key>,
    /// What changes, in the order in which it may be shown.
    pub(super) changes: Vec<Change>,
}

/// The slices of the decision about `demand`, which were `before` and stand in `shown`.
pub(super) fn slices(
    snapshot: &Snapshot,
    rules: &[Arc<Rules>],
    shown: &Collection,
    profiles: &AllProfiles,
    (demand, before): (Key, Vec<Key>),
    now: Timestamp,
) -> MadeSlices {
    let mut made = MadeSlices {
        demand,
        slices: Vec::new(),
        changes: Vec::new(),
    };
    if let Some(view) = snapshot.inventory.demand(&made.demand, now) {
        let system = snapshot.dialect.name();
        let labels = &view.object.meta().labels;
        for rules in rules.iter().filter(|rules| rules.shows_decision(system, labels)) {
            one(snapshot, rules, shown, profiles, &view, &before, &mut made);
        }
    }
    let kept = &made.slices;
    let gone: Vec<Change> = before
        .into_iter()
        .filter(|key| !kept.contains(key) && !made.changes.iter().any(|(other, _)| other == key))
        .map(|key| (key, None))
        .collect();
    made.changes.extend(gone);
    made
}

/// The slices in one namespace.
fn one(
    snapshot: &Snapshot,
    rules: &Rules,
    shown: &Collection,
    profiles: &AllProfiles,
    view: &DemandView,
    before: &[Key],
    made: &mut MadeSlices,
) {
    let (system, settings) = (snapshot.dialect.name(), &rules.settings);
    let (namespace, decision) = names::place(&*snapshot.dialect, &made.demand);
    let key = name::decision(&namespace, &decision);
    let source = view.object.meta();
    let decided = Decided {
        system,
        key: &key,
        labels: &source.labels,
        created: source.creation_timestamp,
    };
    // What is not published as a profile (any more) cannot be referred to.
    let wanted: BTreeMap<String, String> = decision::reasons(view)
        .filter_map(|(cluster, reason)| {
            let published = profiles.get(&(system, Arc::from(cluster)))?;
            Some((published.get(&settings.namespace)?.clone(), reason))
        })
        .collect();
    let mine = before.iter().filter(|key| *key.namespace == *settings.namespace);
    let old: Vec<Slice> = mine
        .filter_map(|key| decision::read(&shown.get(&key.namespace, &key.name)?.parse()))
        .collect();
    let mut left: BTreeMap<u32, Slice> = old.iter().map(|slice| (slice.index, slice.clone())).collect();
    let mut order = Vec::new();
    for write in slices::plan(&old, &wanted) {
        match write {
            Write::Put(slice) => {
                order.push(slice.index);
                left.insert(slice.index, slice);
            }
            Write::Delete(index) => {
                order.push(index);
                left.remove(&index);
            }
        }
    }
    // Those whose clusters stay may have other labels.
    order.extend(
        left.keys()
            .filter(|index| !order.contains(index))
            .copied()
            .collect::<Vec<_>>(),
    );
    for index in order {
        let at = Key::new(
            PLACEMENT_DECISIONS,
            &settings.namespace,
            &name::slice(&key, index),
        );
        let Some(slice) = left.get(&index) else {
            made.changes.push((at, None));
            continue;
        };
        let uid = names::uid(
            source,
            &format!("PlacementDecision/{}/{index}", settings.namespace),
        );
        let value = decision::render(settings, &decided, slice, &uid);
        if let Some(draft) = draft(&at, &value) {
            made.slices.push(at.clone());
            made.changes.push((at, Some(draft)));
        }
    }
}

fn draft(key: &Key, value: &serde_json::Value) -> Option<Draft> {
    match Draft::new(value) {
        Ok(draft) => Some(draft),
        Err(error) => {
            tracing::error!(%key, %error, "an object is malformed and not published");
            None
        }
    }
}
