//! The objects of one target or one decision in every namespace where it is published, and the tasks
//! that write them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision, Timestamp};
use berth_dialect_contract::DemandView;
use berth_engine::Snapshot;
use berth_multicluster::decision::{self, KEY_LABEL, SliceParts};
use berth_multicluster::profile::{self, Target};
use berth_multicluster::slices::{self, Slice, Write};
use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS, name};
use berth_scheduling_rest::names;
use berth_storage::{Collection, Name};

use super::deed::{self, Task};
use super::in_force::InForce;

/// The names of the profiles of a cluster, by namespace.
pub(super) type Profiles = BTreeMap<String, String>;
/// The profiles of every cluster, by dialect and the system's own name.
pub(super) type AllProfiles = HashMap<(&'static str, Arc<str>), Profiles>;

/// The profiles of a cluster.
pub(super) struct MadeProfiles {
    /// The system's own name of the cluster.
    pub(super) cluster: Arc<str>,
    /// All profiles of the cluster.
    pub(super) profiles: Profiles,
    /// The task for each object.
    pub(super) deeds: Vec<(Key, Task)>,
    /// Next time at which the profiles may change without a write.
    pub(super) due_at: Option<Timestamp>,
}

/// The profiles of `cluster`. `shown` has the published objects.
pub(super) fn profiles(
    snapshot: &Snapshot,
    in_force: &[InForce],
    shown: &Collection,
    cluster: Arc<str>,
    now: Timestamp,
) -> MadeProfiles {
    let mut result = MadeProfiles {
        cluster,
        profiles: Profiles::new(),
        deeds: Vec::new(),
        due_at: None,
    };
    let Some((target, view)) = snapshot.inventory.target_of(&result.cluster, now) else {
        return result;
    };
    let system = snapshot.dialect.name();
    let wanted: Vec<&InForce> = in_force
        .iter()
        .filter(|published| {
            !published.is_frozen(system) && published.rules.shows_target(system, &view.labels)
        })
        .collect();
    if wanted.is_empty() {
        // The state may change with time, but the target is not published.
        return result;
    }
    result.due_at = view.due_at;
    let facts = (snapshot.dialect.shown().facts)(&view.object.parse());
    for published in wanted {
        let settings = &published.rules.settings;
        let name = name::profile(settings, system, &target);
        let key = Key::new(CLUSTER_PROFILES, &settings.namespace, &name);
        let old = shown.get(&settings.namespace, &name);
        let before = old.map(|old| old.parse_unmanaged());
        let target = Target {
            system,
            name: &target,
            view: &view,
            facts: &facts,
        };
        let value = profile::render(settings, target, before.as_ref(), now);
        result.profiles.insert(settings.namespace.clone(), name);
        let deed = deed::of(key.clone(), old.map(|old| &**old), &value);
        result.deeds.push((key, deed));
    }
    result
}

/// Task for one slice.
pub(super) enum SliceDeed {
    /// The slice has to be written.
    Put(Key, Task),
    /// The slice has to be deleted, at this revision.
    Delete(Key, Revision),
}

/// The slices of a decision.
pub(super) struct MadeSlices {
    /// The demand.
    pub(super) demand: Key,
    /// Keys of the slices that stay or are added.
    pub(super) slices: Vec<Key>,
    /// Tasks, in an order whose intermediate states readers may see.
    pub(super) deeds: Vec<SliceDeed>,
}

/// The slices of the decision about `demand`. `shown` has the published slices, and `published` the
/// published profiles.
pub(super) fn slices(
    snapshot: &Snapshot,
    in_force: &[InForce],
    shown: &Collection,
    published: &Collection,
    profiles: &AllProfiles,
    demand: Key,
    now: Timestamp,
) -> MadeSlices {
    let mut result = MadeSlices {
        demand,
        slices: Vec::new(),
        deeds: Vec::new(),
    };
    let system = snapshot.dialect.name();
    let (namespace, decision) = names::place(&*snapshot.dialect, &result.demand);
    let key = name::decision(&namespace, &decision);
    let view = snapshot.inventory.demand(&result.demand, now);
    for publication in in_force.iter().filter(|published| !published.is_frozen(system)) {
        let settings = &publication.rules.settings;
        let place = Place {
            existing: Slices::of(shown, &settings.namespace, &key),
            shown,
            publication,
            key: &key,
        };
        let labels = view.as_ref().map(|view| view.object.meta().labels());
        match (&view, labels) {
            (Some(view), Some(labels)) if publication.rules.shows_decision(system, labels) => {
                let wanted = clusters(system, view, &settings.namespace, profiles, published);
                place.fill(system, view, &wanted, &mut result);
            }
            _ => result.deeds.extend(place.existing.deletions()),
        }
    }
    result
}

/// The clusters that a decision shows in `namespace`, with reasons: clusters with a profile there,
/// which a consumer can find.
fn clusters(
    system: &'static str,
    view: &DemandView,
    namespace: &str,
    profiles: &AllProfiles,
    published: &Collection,
) -> BTreeMap<String, String> {
    let shown = decision::reasons(view).filter_map(|(cluster, reason)| {
        let name = profiles.get(&(system, Arc::from(cluster)))?.get(namespace)?;
        let profile = published.get(namespace, name)?;
        deed::is_ours(profile).then(|| (name.clone(), reason))
    });
    shown.collect()
}

/// The existing slices of one decision.
struct Slices<'a> {
    /// The writable slices.
    open: Vec<(Key, &'a Arc<Object>, Slice)>,
    /// The indices of slices that are being deleted.
    closed: BTreeSet<u32>,
}

impl<'a> Slices<'a> {
    fn of(shown: &'a Collection, namespace: &str, key: &str) -> Self {
        let prefix = format!("{key}-");
        let first = Name::new(namespace, &prefix);
        let from = shown.items.range(first..);
        let named =
            from.take_while(|(name, _)| *name.namespace == *namespace && name.name.starts_with(&prefix));
        let (mut open, mut closed) = (Vec::new(), BTreeSet::new());
        for (name, object) in named {
            if object.meta().labels().get(KEY_LABEL) != Some(key) || !deed::is_ours(object) {
                continue;
            }
            let Some(slice) = decision::read(&object.parse_unmanaged()) else {
                continue;
            };
            if object.meta().deletion_timestamp().is_some() {
                closed.insert(slice.index);
                continue;
            }
            open.push((
                Key::new(PLACEMENT_DECISIONS, namespace, &name.name),
                object,
                slice,
            ));
        }
        Self { open, closed }
    }

    fn deletions(&self) -> impl Iterator<Item = SliceDeed> {
        let all = self.open.iter();
        all.map(|(key, object, _)| SliceDeed::Delete(key.clone(), object.revision()))
    }
}

/// One decision in one namespace.
struct Place<'a> {
    existing: Slices<'a>,
    shown: &'a Collection,
    publication: &'a InForce,
    key: &'a str,
}

impl Place<'_> {
    /// Adds the tasks after which the slices show exactly the `wanted` clusters.
    fn fill(
        &self,
        system: &'static str,
        view: &DemandView,
        wanted: &BTreeMap<String, String>,
        result: &mut MadeSlices,
    ) {
        let old: Vec<Slice> = self
            .existing
            .open
            .iter()
            .map(|(_, _, slice)| slice.clone())
            .collect();
        let mut remaining: BTreeMap<u32, Slice> =
            old.iter().map(|slice| (slice.index, slice.clone())).collect();
        let mut order = Vec::new();
        for write in slices::plan(&old, wanted, &self.existing.closed) {
            match write {
                Write::Put(slice) => {
                    order.push(slice.index);
                    remaining.insert(slice.index, slice);
                }
                Write::Delete(index) => {
                    order.push(index);
                    remaining.remove(&index);
                }
            }
        }
        // Slices whose clusters stay may have other labels.
        let planned: BTreeSet<u32> = order.iter().copied().collect();
        order.extend(remaining.keys().filter(|index| !planned.contains(index)));
        let decided = SliceParts {
            system,
            key: self.key,
            source: &view.object,
            kind: view.kind,
        };
        let settings = &self.publication.rules.settings;
        for index in order {
            let at = Key::new(
                PLACEMENT_DECISIONS,
                &settings.namespace,
                &name::slice(self.key, index),
            );
            let old = self.shown.get(&at.namespace, &at.name).map(|object| &**object);
            match (remaining.get(&index), old) {
                (Some(slice), old) => {
                    let value = decision::render(settings, &decided, slice);
                    result.slices.push(at.clone());
                    result
                        .deeds
                        .push(SliceDeed::Put(at.clone(), deed::of(at, old, &value)));
                }
                (None, Some(old)) => result.deeds.push(SliceDeed::Delete(at, old.revision())),
                (None, None) => {}
            }
        }
    }
}
