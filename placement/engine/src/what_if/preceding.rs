//! Reconcilers that act before decisions
//! ([`Controllers::preceding`](berth_dialect_contract::Controllers::preceding)): after a change of a world,
//! the steps that the system's own controllers would take are applied to the world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Change, DraftError, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Objects, Reconciler};

use super::World;

/// Highest number of steps of a reconciler for one key, so that reconcilers that undo each other's steps end.
const MAX_STEPS: u32 = 8;

/// Due keys of the reconcilers.
#[derive(Clone)]
pub(super) struct DueKeys {
    reconcilers: Arc<[Arc<dyn Reconciler>]>,
    now: Timestamp,
    /// The index of a reconciler, and a key of it that is due.
    due: BTreeSet<(usize, Key)>,
}

/// A due key with its reconciler.
struct DueKey {
    /// The index of the reconciler, and the key.
    due: (usize, Key),
    reconciler: Arc<dyn Reconciler>,
    now: Timestamp,
}

impl World {
    /// Starts to record the keys of reconcilers that changes make due, for [`World::carry_out`].
    pub(crate) fn follow(&mut self, now: Timestamp) {
        let reconcilers = self.snapshot.dialect.controllers().preceding();
        self.preceding = (!reconcilers.is_empty()).then(|| DueKeys {
            reconcilers: reconcilers.into(),
            now,
            due: BTreeSet::new(),
        });
    }

    /// Makes every key of every reconciler due.
    pub(crate) fn mark_all_due(&mut self) {
        self.extend_due(|reconciler, context| reconciler.all(context));
    }

    /// Records the keys that `change`, which is already applied, makes due.
    pub(super) fn record_due(&mut self, change: &Change) {
        self.extend_due(|reconciler, context| reconciler.due(change, context));
    }

    fn extend_due(&mut self, due: impl Fn(&dyn Reconciler, &Context<'_>) -> Vec<Key>) {
        let Some(mut preceding) = self.preceding.take() else {
            return;
        };
        let context = self.context(preceding.now);
        for (index, reconciler) in preceding.reconcilers.iter().enumerate() {
            let keys = due(&**reconciler, &context).into_iter();
            preceding.due.extend(keys.map(|key| (index, key)));
        }
        self.preceding = Some(preceding);
    }

    fn context(&self, now: Timestamp) -> Context<'_> {
        Context {
            objects: self,
            inventory: &*self.snapshot.inventory,
            now,
        }
    }

    /// Applies the steps of the due keys, and of the keys that these steps make due. After that, due keys are
    /// no longer recorded. Returns the keys of the written objects.
    ///
    /// # Errors
    /// When a written object is invalid, which is an error of the dialect.
    pub(crate) fn carry_out(&mut self) -> Result<BTreeSet<Key>, DraftError> {
        let mut written = BTreeSet::new();
        let mut attempts: BTreeMap<(usize, Key), u32> = BTreeMap::new();
        while let Some(next) = self.next_due() {
            let count = attempts.entry(next.due.clone()).or_default();
            *count += 1;
            if *count > MAX_STEPS {
                continue;
            }
            let step = next.reconciler.step(&next.due.1, &self.context(next.now));
            written.extend(step.writes.iter().map(|write| write.key.clone()));
            self.apply(&step.writes, next.now)?;
        }
        self.preceding = None;
        Ok(written)
    }

    fn next_due(&mut self) -> Option<DueKey> {
        let preceding = self.preceding.as_mut()?;
        let due = preceding.due.pop_first()?;
        Some(DueKey {
            reconciler: Arc::clone(&preceding.reconcilers[due.0]),
            due,
            now: preceding.now,
        })
    }
}

impl Objects for World {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        Self::get(self, key)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let first = Key::new(resource, namespace.unwrap_or_default(), "");
        let own = self.objects.range(first..);
        let own = own.take_while(move |(key, _)| {
            key.resource == resource && namespace.is_none_or(|namespace| *key.namespace == *namespace)
        });
        let base = self
            .base
            .get(&resource)
            .filter(|base| base.iter(namespace, None).next().is_some());
        let Some(base) = base else {
            return Box::new(own.filter_map(|(_, object)| object.as_ref()));
        };
        let mut all: BTreeMap<Key, &'a Arc<Object>> = base
            .iter(namespace, None)
            .map(|(_, object)| {
                let meta = object.meta();
                (Key::new(resource, meta.namespace(), meta.name()), object)
            })
            .collect();
        for (key, object) in own {
            match object {
                Some(object) => all.insert(key.clone(), object),
                None => all.remove(key),
            };
        }
        Box::new(all.into_values())
    }
}
