//! The published objects of one target or one decision in the namespaces of all Publications, and the tasks
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

use super::in_force::PublicationInForce;
use super::task::{self, Task};

/// The names of the ClusterProfiles of one cluster, by namespace.
pub(super) type Profiles = BTreeMap<String, String>;
/// The ClusterProfiles of every cluster, by dialect and the system's own name of the cluster.
pub(super) type AllProfiles = HashMap<(&'static str, Arc<str>), Profiles>;

/// The computed ClusterProfiles of a cluster, one for each Publication that shows the cluster.
pub(super) struct ComputedProfiles {
    /// The system's own name of the cluster.
    pub(super) cluster: Arc<str>,
    /// Names of the wanted profiles of the cluster.
    pub(super) profiles: Profiles,
    /// The task for each wanted profile.
    pub(super) tasks: Vec<(Key, Task)>,
    /// Next time at which the profiles may change without a write.
    pub(super) due_at: Option<Timestamp>,
}

/// Computes the profiles of `cluster`. `stored` are the stored profiles.
pub(super) fn profiles(
    snapshot: &Snapshot,
    in_force: &[PublicationInForce],
    stored: &Collection,
    cluster: Arc<str>,
    now: Timestamp,
) -> ComputedProfiles {
    let mut result = ComputedProfiles {
        cluster,
        profiles: Profiles::new(),
        tasks: Vec::new(),
        due_at: None,
    };
    let Some((target, view)) = snapshot.inventory.target_of(&result.cluster, now) else {
        return result;
    };
    let system = snapshot.dialect.name();
    let wanted: Vec<&PublicationInForce> = in_force
        .iter()
        .filter(|publication| {
            !publication.is_frozen(system) && publication.rules.shows_target(system, &view.labels)
        })
        .collect();
    if wanted.is_empty() {
        // `due_at` is not set: the target is not published, so that its changes by time do not matter.
        return result;
    }
    result.due_at = view.due_at;
    let facts = (snapshot.dialect.shown().facts)(&view.object.parse());
    for publication in wanted {
        let settings = &publication.rules.settings;
        let name = name::profile(settings, system, &target);
        let key = Key::new(CLUSTER_PROFILES, &settings.namespace, &name);
        let old = stored.get(&settings.namespace, &name);
        let before = old.map(|old| old.parse_unmanaged());
        let target = Target {
            system,
            name: &target,
            view: &view,
            facts: &facts,
        };
        let value = profile::render(settings, target, before.as_ref(), now);
        result.profiles.insert(settings.namespace.clone(), name);
        let task = task::of(key.clone(), old.map(|old| &**old), &value);
        result.tasks.push((key, task));
    }
    result
}

/// Task for one slice.
pub(super) enum SliceTask {
    /// The slice has to be written.
    Put(Key, Task),
    /// The slice has to be deleted, at this revision.
    Delete(Key, Revision),
}

/// The computed slices of a decision, in the namespaces of all Publications.
pub(super) struct ComputedSlices {
    /// The demand of the decision.
    pub(super) demand: Key,
    /// Keys of the slices that stay or are added.
    pub(super) slices: Vec<Key>,
    /// Tasks, in an order in which readers of the slices never miss a decided cluster.
    pub(super) tasks: Vec<SliceTask>,
}

/// Computes the slices of the decision about `demand` from the stored slices and profiles. `profiles` are the
/// names of the wanted profiles.
pub(super) fn slices(
    snapshot: &Snapshot,
    in_force: &[PublicationInForce],
    stored_slices: &Collection,
    stored_profiles: &Collection,
    profiles: &AllProfiles,
    demand: Key,
    now: Timestamp,
) -> ComputedSlices {
    let mut result = ComputedSlices {
        demand,
        slices: Vec::new(),
        tasks: Vec::new(),
    };
    let system = snapshot.dialect.name();
    let (namespace, decision) = names::place(&*snapshot.dialect, &result.demand);
    let key = name::decision(&namespace, &decision);
    let view = snapshot.inventory.demand(&result.demand, now);
    for publication in in_force
        .iter()
        .filter(|publication| !publication.is_frozen(system))
    {
        let settings = &publication.rules.settings;
        let planner = SlicePlanner {
            existing: ExistingSlices::of(stored_slices, &settings.namespace, &key),
            stored_slices,
            publication,
            key: &key,
        };
        let labels = view.as_ref().map(|view| view.object.meta().labels());
        match (&view, labels) {
            (Some(view), Some(labels)) if publication.rules.shows_decision(system, labels) => {
                let wanted = clusters(system, view, &settings.namespace, profiles, stored_profiles);
                planner.add_tasks(system, view, &wanted, &mut result);
            }
            _ => result.tasks.extend(planner.existing.deletions()),
        }
    }
    result
}

/// The clusters that a decision shows in `namespace`, by profile name, with the reasons. Clusters without a
/// stored profile of Berth in the namespace are left out, since consumers could not find them.
fn clusters(
    system: &'static str,
    view: &DemandView,
    namespace: &str,
    profiles: &AllProfiles,
    stored_profiles: &Collection,
) -> BTreeMap<String, String> {
    let entries = decision::reasons(view).filter_map(|(cluster, reason)| {
        let name = profiles.get(&(system, Arc::from(cluster)))?.get(namespace)?;
        let profile = stored_profiles.get(namespace, name)?;
        task::is_ours(profile).then(|| (name.clone(), reason))
    });
    entries.collect()
}

/// The existing slices of one decision in one namespace.
struct ExistingSlices<'a> {
    /// The writable slices.
    open: Vec<(Key, &'a Arc<Object>, Slice)>,
    /// The indices of slices that are being deleted.
    closed: BTreeSet<u32>,
}

impl<'a> ExistingSlices<'a> {
    fn of(stored: &'a Collection, namespace: &str, key: &str) -> Self {
        let prefix = format!("{key}-");
        let first = Name::new(namespace, &prefix);
        let from = stored.items.range(first..);
        let candidates =
            from.take_while(|(name, _)| *name.namespace == *namespace && name.name.starts_with(&prefix));
        let (mut open, mut closed) = (Vec::new(), BTreeSet::new());
        for (name, object) in candidates {
            if object.meta().labels().get(KEY_LABEL) != Some(key) || !task::is_ours(object) {
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

    fn deletions(&self) -> impl Iterator<Item = SliceTask> {
        let all = self.open.iter();
        all.map(|(key, object, _)| SliceTask::Delete(key.clone(), object.revision()))
    }
}

/// Planner of the slices of one decision in the namespace of one Publication.
struct SlicePlanner<'a> {
    existing: ExistingSlices<'a>,
    stored_slices: &'a Collection,
    publication: &'a PublicationInForce,
    key: &'a str,
}

impl SlicePlanner<'_> {
    /// The indices of all slices in the order of their writes, and the slices that remain afterwards, by
    /// index.
    fn plan(&self, wanted: &BTreeMap<String, String>) -> (Vec<u32>, BTreeMap<u32, Slice>) {
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
        // Slices with unchanged clusters are compared, too, since their labels may change.
        let planned: BTreeSet<u32> = order.iter().copied().collect();
        order.extend(remaining.keys().filter(|index| !planned.contains(index)));
        (order, remaining)
    }

    /// Adds to `result` the slices that show exactly the `wanted` clusters, and the tasks that write them.
    fn add_tasks(
        &self,
        system: &'static str,
        view: &DemandView,
        wanted: &BTreeMap<String, String>,
        result: &mut ComputedSlices,
    ) {
        let (order, remaining) = self.plan(wanted);
        let shared = SliceParts {
            system,
            key: self.key,
            source: &view.object,
            kind: view.kind,
        };
        let settings = &self.publication.rules.settings;
        for index in order {
            let slice_key = Key::new(
                PLACEMENT_DECISIONS,
                &settings.namespace,
                &name::slice(self.key, index),
            );
            let old = self
                .stored_slices
                .get(&slice_key.namespace, &slice_key.name)
                .map(|object| &**object);
            match (remaining.get(&index), old) {
                (Some(slice), old) => {
                    let value = decision::render(settings, &shared, slice);
                    result.slices.push(slice_key.clone());
                    result.tasks.push(SliceTask::Put(
                        slice_key.clone(),
                        task::of(slice_key, old, &value),
                    ));
                }
                (None, Some(old)) if task::is_ours(old) => {
                    result.tasks.push(SliceTask::Delete(slice_key, old.revision()));
                }
                (None, _) => {}
            }
        }
    }
}
