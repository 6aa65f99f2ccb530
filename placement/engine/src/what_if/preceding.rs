//! Reconcilers that act before decisions
//! ([`Controllers::preceding`](berth_dialect_contract::Controllers::preceding)): after a change of a world,
//! the steps that the system's own controllers would take are applied to the world.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Change, DraftError, GroupResource, Key, Object, Timestamp, budget};
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
    /// When a written object is invalid, which is an error of the dialect, or when the result is no longer
    /// needed ([`budget::check_needed`]).
    pub(crate) fn carry_out(&mut self) -> Result<BTreeSet<Key>, DraftError> {
        let mut written = BTreeSet::new();
        let mut attempts: BTreeMap<(usize, Key), u32> = BTreeMap::new();
        while let Some(next) = self.next_due() {
            let count = attempts.entry(next.due.clone()).or_default();
            *count += 1;
            if *count > MAX_STEPS {
                continue;
            }
            budget::check_needed().map_err(|ended| DraftError {
                path: String::new(),
                problem: ended.to_string(),
            })?;
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
        let Some(base) = self.base.get(&resource) else {
            return Box::new(own.filter_map(|(_, object)| object.as_ref()));
        };
        // Both are in the order of their names, which stays.
        let (mut own, mut base) = (own.peekable(), base.iter(namespace, None).peekable());
        Box::new(std::iter::from_fn(move || {
            loop {
                let order = match (base.peek(), own.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((name, _)), Some((key, _))) => {
                        (&name.namespace, &name.name).cmp(&(&key.namespace, &key.name))
                    }
                };
                if order == Ordering::Less {
                    return base.next().map(|(_, object)| object);
                }
                if order == Ordering::Equal {
                    base.next();
                }
                // A deleted object is passed over.
                if let Some((_, Some(object))) = own.next() {
                    return Some(object);
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Revision;
    use berth_dialect_toy::{BOXES, Toys, object};
    use berth_storage::{Collection, Name};
    use serde_json::json;

    use super::*;

    fn shelf(name: &str) -> Arc<Object> {
        let value = object("Box", "", name, json!({"capacity": 1}));
        Arc::new(Object::new(&value, Revision(1)).unwrap())
    }

    #[test]
    fn changed_objects_are_listed_among_the_others_in_the_order_of_their_names() {
        let key = |name: &str| Key::new(BOXES, "", name);
        let (mut first, mut base) = (World::empty(Arc::new(Toys)), Collection::default());
        for name in ["a", "c", "d"] {
            first.put(&key(name), shelf(name)).unwrap();
            base.items.insert(Name::new("", name), shelf(name));
        }
        let mut world = World::over(first.snapshot().clone(), BTreeMap::from([(BOXES, base)]));
        let names = |world: &World| -> Vec<String> {
            let listed = world.list(BOXES, None);
            listed.map(|object| object.meta().name().to_owned()).collect()
        };
        assert_eq!(names(&world), ["a", "c", "d"]);
        for name in ["b", "c", "e"] {
            world.put(&key(name), shelf(name)).unwrap();
        }
        world.remove(&key("d"));
        assert_eq!(names(&world), ["a", "b", "c", "e"]);
        world.remove(&key("e"));
        world.remove(&key("a"));
        assert_eq!(names(&world), ["b", "c"]);
    }
}
