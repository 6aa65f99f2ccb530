//! Steps before decisions ([`Controllers::preceding`](berth_dialect_contract::Controllers::preceding)):
//! the steps of the system's own controllers after a change, applied to a world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Change, DraftError, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Objects, Reconciler};

use super::World;

/// Highest number of steps of a reconciler for one key.
const MAX_STEPS: u32 = 8;

/// Due keys of reconcilers, while they are recorded.
#[derive(Clone)]
pub(super) struct DueKeys {
    reconcilers: Arc<[Arc<dyn Reconciler>]>,
    now: Timestamp,
    /// The number of a reconciler, and one of its keys.
    due: BTreeSet<(usize, Key)>,
}

/// Work on a due key, with its reconciler.
struct Turn {
    /// The number of the reconciler, and the key.
    due: (usize, Key),
    reconciler: Arc<dyn Reconciler>,
    now: Timestamp,
}

impl World {
    /// Starts to record the keys that changes make due before decisions.
    pub(crate) fn follow(&mut self, now: Timestamp) {
        let reconcilers = self.snapshot.dialect.controllers().preceding();
        self.preceding = (!reconcilers.is_empty()).then(|| DueKeys {
            reconcilers: reconcilers.into(),
            now,
            due: BTreeSet::new(),
        });
    }

    /// Makes every key due, so that each gets the step that it needs.
    pub(crate) fn look_at_all(&mut self) {
        self.extend_due(|reconciler, context| reconciler.all(context));
    }

    /// Records the keys that `change`, which is already applied, makes due.
    pub(super) fn note(&mut self, change: &Change) {
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

    /// Carries out the due steps, and the steps that follow from them, and then ends the recording of
    /// due keys. Returns the keys of the written objects.
    ///
    /// # Errors
    /// When a written object is invalid, which is an error of the dialect.
    pub(crate) fn carry_out(&mut self) -> Result<BTreeSet<Key>, DraftError> {
        let mut written = BTreeSet::new();
        let mut attempts: BTreeMap<(usize, Key), u32> = BTreeMap::new();
        while let Some(turn) = self.next_turn() {
            let count = attempts.entry(turn.due.clone()).or_default();
            *count += 1;
            if *count > MAX_STEPS {
                continue;
            }
            let step = turn.reconciler.step(&turn.due.1, &self.context(turn.now));
            written.extend(step.writes.iter().map(|write| write.key.clone()));
            self.make(&step.writes, turn.now)?;
        }
        self.preceding = None;
        Ok(written)
    }

    fn next_turn(&mut self) -> Option<Turn> {
        let preceding = self.preceding.as_mut()?;
        let due = preceding.due.pop_first()?;
        Some(Turn {
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
