//! The feeder: it lists and watches the resources that the dialects read, and folds all changes into the
//! inventories.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_apimachinery::write::Write;
use berth_apimachinery::{Change, GroupResource, Key, Revision};
use berth_dialect_contract::{AffectedDemands, Inventory};
use berth_storage::{At, Collection, Event, Scope, StoreError, Watch};

use crate::blocking::{self, run_blocking};
use crate::dirty::Dirty;
use crate::engine::{Engine, Slot, Witness};
use crate::in_force::{Configurations, is_configuration};
use crate::mandate::NAMESPACES;
use crate::snapshot::writable;

/// Highest number of changes that are folded under one lock.
const BATCH: usize = 512;
/// Delay before the next attempt at a source that does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// The collections of one load, by resource.
type Lists = BTreeMap<GroupResource, Collection>;

impl Engine {
    /// Watches the source for ever, and loads it again when the watch is lost.
    pub(crate) async fn feed(self: Arc<Self>) {
        loop {
            let Err(error) = self.follow().await;
            if matches!(error, StoreError::Expired { .. }) {
                tracing::warn!(%error, "scheduling inventory missed changes; listing again");
            } else {
                tracing::error!(%error, "cannot load the scheduling inventory; retrying");
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Loads the source, and folds all changes until the watch is lost.
    async fn follow(&self) -> Result<Infallible, StoreError> {
        let (mut watch, listed) = self.load().await?;
        let mut times = ChangeTimes::default();
        loop {
            // The watch is polled first, so that after a nudge its revision is not below that of any change
            // that existed before the nudge.
            let events = tokio::select! {
                biased;
                events = watch.next(BATCH) => events?,
                () = self.nudge.notified() => Vec::new(),
            };
            times.run(&events, || self.fold_events(&events, watch.revision(), &listed));
        }
    }

    /// Loads every inventory from lists, and opens the watch that continues them. The lists may have
    /// different revisions, and the watch begins at the oldest. The returned revisions of the lists
    /// identify changes that a list already contains.
    async fn load(&self) -> Result<(Box<dyn Watch>, BTreeMap<GroupResource, Revision>), StoreError> {
        let read = self.slots.iter().flat_map(|slot| slot.reads.iter().copied());
        // The labels of namespaces may select the requests that are decided here.
        let resources: BTreeSet<GroupResource> = read.chain([NAMESPACES]).collect();
        let start = self.source.revision();
        let mut lists = Lists::new();
        for &resource in &resources {
            lists.insert(resource, self.source.list(resource, At::Latest).await?);
        }
        let listed: BTreeMap<_, _> = lists
            .iter()
            .map(|(&resource, list)| (resource, list.revision))
            .collect();
        let after = listed.values().copied().min().unwrap_or(start);
        let newest = listed.values().copied().max().unwrap_or(start);
        let watch = self
            .source
            .watch(Scope::Many(resources.into_iter().collect()), after)?;
        for slot in &self.slots {
            let inventory = run_blocking(u32::MAX, || slot.build(&lists, &self.configurations));
            let mut state = slot.state.lock();
            state.inventory = inventory;
            state.revision = after;
            state.changed = newest;
            drop(state);
            // A lost watch may have missed deletions.
            let is_listed = |key: &Key| {
                let list = lists.get(&key.resource);
                list.is_some_and(|list| list.get(&key.namespace, &key.name).is_some())
            };
            slot.contests.retain(is_listed);
        }
        self.publish(after, &self.everything());
        Ok((watch, listed))
    }

    /// Folds the changes of `events` that are newer than the lists, and publishes the objects that became
    /// stale.
    fn fold_events(
        &self,
        events: &[Arc<Event>],
        through: Revision,
        listed: &BTreeMap<GroupResource, Revision>,
    ) {
        let is_new = |change: &Change| {
            listed
                .get(&change.key.resource)
                .is_none_or(|&revision| change.revision > revision)
        };
        let changes: Vec<&Change> = events
            .iter()
            .map(|event| &event.change)
            .filter(|c| is_new(c))
            .collect();
        let mut dirty = Vec::new();
        for slot in &self.slots {
            let folded = self.in_force(slot, &changes);
            let decides = self.decides(slot.dialect.name());
            let witness = self.witness.get().map(|witness| &**witness);
            let mut due = slot.fold(&folded, through, decides, witness);
            due.merge(self.reassigned_demands(slot, &changes));
            if !due.is_empty() {
                dirty.push((slot.dialect.name(), due));
            }
        }
        let advanced = self.folded.borrow().is_none_or(|have| have < through);
        if advanced || !dirty.is_empty() {
            self.publish(through, &dirty);
        }
    }

    /// The changes that `slot` folds for `changes`. A change of the dialect's stored configuration is
    /// replaced by the change of the configuration in force.
    fn in_force<'a>(&self, slot: &Slot, changes: &[&'a Change]) -> Vec<Cow<'a, Change>> {
        let dialect = &*slot.dialect;
        let folded = changes
            .iter()
            .filter_map(|&change| match is_configuration(change, dialect) {
                true => self.configurations.folded(dialect, change).map(Cow::Owned),
                false => Some(Cow::Borrowed(change)),
            });
        folded.collect()
    }
}

/// Recent durations of folding a change, by resource. Most changes take microseconds, but a change of a
/// cluster set may go through all clusters of the set.
#[derive(Default)]
struct ChangeTimes(HashMap<GroupResource, Duration>);

impl ChangeTimes {
    /// Runs `fold`, which folds `events`. Where this is expected to take long, the other tasks of this thread
    /// move to another thread.
    fn run(&mut self, events: &[Arc<Event>], fold: impl FnOnce()) {
        let resources: BTreeSet<GroupResource> =
            events.iter().map(|event| event.change.key.resource).collect();
        let start = Instant::now();
        match self.is_quick(&resources) {
            true => fold(),
            false => run_blocking(u32::MAX, fold),
        }
        self.record(resources, start.elapsed());
    }

    /// Whether changes of all `resources` are known to be quick.
    fn is_quick(&self, resources: &BTreeSet<GroupResource>) -> bool {
        let known = |resource| {
            self.0
                .get(resource)
                .is_some_and(|time| *time < blocking::LONG_WORK)
        };
        resources.iter().all(known)
    }

    /// Records the `duration` of a fold with changes of `resources`. After a long one, the next dozens of
    /// folds are expected to take long, too.
    fn record(&mut self, resources: BTreeSet<GroupResource>, duration: Duration) {
        for resource in resources {
            let recent = self.0.entry(resource).or_default();
            *recent = duration.max(*recent - *recent / 16);
        }
    }
}

impl Slot {
    /// A new inventory with the objects of `lists` that the dialect reads.
    fn build(&self, lists: &Lists, configurations: &Configurations) -> Arc<dyn Inventory> {
        let mut inventory = self.dialect.inventory();
        let writable = writable(&mut inventory);
        if self.on_hub.load(Ordering::Relaxed) {
            writable.set_on_hub();
        }
        for (&resource, list) in lists.iter().filter(|(resource, _)| self.reads.contains(resource)) {
            for (name, object) in list.iter(None, None) {
                let key = Key {
                    resource,
                    namespace: Arc::clone(&name.namespace),
                    name: Arc::clone(&name.name),
                };
                let change = Change::added(key, Arc::clone(object));
                let folded = match is_configuration(&change, &*self.dialect) {
                    true => configurations.folded(&*self.dialect, &change),
                    false => Some(change),
                };
                if let Some(change) = folded {
                    writable.fold(&change);
                }
            }
        }
        inventory
    }

    /// Folds the changes that the dialect reads, and returns the objects that they made stale. Where
    /// `decides` is true, a demand whose decision another program changed is due again.
    fn fold(
        &self,
        changes: &[Cow<'_, Change>],
        through: Revision,
        decides: bool,
        witness: Option<&dyn Witness>,
    ) -> Dirty {
        let mut dirty = Dirty::default();
        let mut state = self.state.lock();
        for change in changes
            .iter()
            .filter(|change| self.reads.contains(&change.key.resource))
        {
            self.answers.created(change, state.changed);
            if change.new.is_none() && self.places(change.key.resource) {
                self.contests.forget(&change.key);
            }
            let mut due = writable(&mut state.inventory).fold(change);
            if decides && due.decide == AffectedDemands::None {
                due.decide = self.changed_by_others(change, &due.demands);
            }
            if let Some(witness) = witness {
                witness.folded(self.dialect.name(), change, &due);
            }
            dirty.add(due, change.revision);
            state.changed = state.changed.max(change.revision);
        }
        state.revision = through;
        dirty
    }

    /// The demands among `owners` whose decision `change` changes, if another program made the change.
    fn changed_by_others(&self, change: &Change, owners: &AffectedDemands) -> AffectedDemands {
        let AffectedDemands::Some(owners) = owners else {
            return AffectedDemands::None;
        };
        if !self.dialect.guarded().reserves.contains(&change.key.resource) {
            return AffectedDemands::None;
        }
        let demands = owners
            .iter()
            .filter(|demand| self.contests.is_foreign_change(demand, change));
        match demands.cloned().collect::<Vec<Key>>() {
            none if none.is_empty() => AffectedDemands::None,
            demands => AffectedDemands::Some(demands),
        }
    }

    /// Whether the objects of `resource` are demands.
    fn places(&self, resource: GroupResource) -> bool {
        let mut kinds = self.dialect.demands().iter();
        kinds.any(|kind| kind.resource == resource)
    }

    /// Whether any of `writes` is to an object of a kind that only holds decisions.
    pub(crate) fn holds_decisions(&self, writes: &[Write]) -> bool {
        let reserves = self.dialect.guarded().reserves;
        writes.iter().any(|write| reserves.contains(&write.key.resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_resource_are_quick_when_they_were_lately() {
        let [sets, toys] = ["sets", "toys"].map(|plural| GroupResource::new("toys.example", plural));
        let of = |resources: &[GroupResource]| resources.iter().copied().collect::<BTreeSet<_>>();
        let mut times = ChangeTimes::default();
        assert!(times.is_quick(&of(&[])), "there is nothing to fold");
        assert!(!times.is_quick(&of(&[toys])), "no change was seen yet");
        let quick = blocking::LONG_WORK / 50;
        times.record(of(&[toys, sets]), quick);
        assert!(times.is_quick(&of(&[toys, sets])));
        times.record(of(&[sets]), blocking::LONG_WORK * 8);
        assert!(!times.is_quick(&of(&[toys, sets])) && times.is_quick(&of(&[toys])));
        for _ in 0..60 {
            times.record(of(&[sets]), quick);
        }
        assert!(times.is_quick(&of(&[toys, sets])), "it is quick again");
    }
}
