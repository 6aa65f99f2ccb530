//! The feeder: lists and watches what the dialects read, and folds it into their inventories.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use dialect_contract::Inventory;
use meta::{Change, GroupResource, Key, Revision};
use storage::{At, Collection, Event, Scope, StoreError, Watch};

use crate::aside::aside;
use crate::dirty::Dirty;
use crate::engine::{Engine, Slot, Witness};

/// How many changes are folded under one lock, at most.
const BATCH: usize = 512;
/// How long the feeder waits before it asks a source again that does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// The collections one load is made of, by resource.
type Lists = BTreeMap<GroupResource, Collection>;

impl Engine {
    /// Follows the source for ever; starts anew whenever its watch is lost.
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

    async fn follow(&self) -> Result<Infallible, StoreError> {
        let (mut watch, listed) = self.load().await?;
        loop {
            // The watch is polled first, so that after a nudge its revision is past every change there is.
            let events = tokio::select! {
                biased;
                events = watch.next(BATCH) => events?,
                () = self.nudge.notified() => Vec::new(),
            };
            aside(self.most_targets(), || {
                self.take_in(&events, watch.revision(), &listed);
            });
        }
    }

    /// Loads every inventory from lists and opens the watch that continues them. The lists may be of different
    /// revisions; the watch begins at the oldest, and `listed` tells which of its changes are in a list already.
    async fn load(&self) -> Result<(Box<dyn Watch>, BTreeMap<GroupResource, Revision>), StoreError> {
        let resources: BTreeSet<GroupResource> = self
            .slots
            .iter()
            .flat_map(|slot| slot.reads.iter().copied())
            .collect();
        let start = self.source.revision();
        let mut lists = Lists::new();
        for &resource in &resources {
            lists.insert(resource, self.source.list(resource, At::Latest).await?);
        }
        let listed: BTreeMap<_, _> = lists.iter().map(|(&name, list)| (name, list.revision)).collect();
        let after = listed.values().copied().min().unwrap_or(start);
        let watch = self
            .source
            .watch(Scope::Many(resources.into_iter().collect()), after)?;
        let size = lists.values().map(|list| list.items.len()).max();
        let size = size.and_then(|size| size.try_into().ok()).unwrap_or(u32::MAX);
        for slot in &self.slots {
            let inventory = aside(size, || slot.build(&lists));
            let mut state = slot.state.lock();
            state.inventory = inventory;
            state.revision = after;
        }
        self.publish(after, &self.everything());
        Ok((watch, listed))
    }

    fn take_in(&self, events: &[Arc<Event>], through: Revision, listed: &BTreeMap<GroupResource, Revision>) {
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
            let due = slot.fold(&changes, through, self.witness.get().map(|witness| &**witness));
            if !due.is_empty() {
                dirty.push((slot.dialect.name(), due));
            }
        }
        let moved = self.folded.borrow().is_none_or(|have| have < through);
        if moved || !dirty.is_empty() {
            self.publish(through, &dirty);
        }
    }
}

impl Slot {
    /// A new inventory of what the lists hold for this dialect.
    fn build(&self, lists: &Lists) -> Arc<dyn Inventory> {
        let mut inventory = self.dialect.inventory();
        let writable = writable(&mut inventory);
        for (&resource, list) in lists.iter().filter(|(resource, _)| self.reads.contains(resource)) {
            for (name, object) in list.iter(None, None) {
                let key = Key {
                    resource,
                    namespace: Arc::clone(&name.namespace),
                    name: Arc::clone(&name.name),
                };
                writable.fold(&Change::added(key, Arc::clone(object)));
            }
        }
        inventory
    }

    /// Folds the changes this dialect reads; gives what they made stale.
    fn fold(&self, changes: &[&Change], through: Revision, witness: Option<&dyn Witness>) -> Dirty {
        let mut dirty = Dirty::default();
        let mut state = self.state.lock();
        for change in changes
            .iter()
            .filter(|change| self.reads.contains(&change.key.resource))
        {
            let due = writable(&mut state.inventory).fold(change);
            if let Some(witness) = witness {
                witness.folded(self.dialect.name(), change, &due);
            }
            dirty.add(due);
        }
        state.revision = through;
        dirty
    }
}

/// The inventory for changing: in place while nobody holds a snapshot of it, else a fork.
pub(crate) fn writable(inventory: &mut Arc<dyn Inventory>) -> &mut dyn Inventory {
    if Arc::get_mut(inventory).is_none() {
        *inventory = inventory.fork();
    }
    Arc::get_mut(inventory).expect("a fork is not shared yet")
}
