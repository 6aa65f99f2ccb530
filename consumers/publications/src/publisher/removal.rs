//! Deletion of objects that are no longer published.

use std::collections::HashSet;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object};
use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS, SYSTEM_LABEL};

use super::Publisher;
use crate::{task, work};

impl Publisher {
    /// Deletes `unwanted` profiles of `dialect`, except in namespaces whose objects of the system are left
    /// unchanged. In an `unfinished` namespace, a decision may still refer to a profile, so its deletion is
    /// tried again later.
    pub(super) async fn remove_profiles(
        &mut self,
        dialect: &'static str,
        mut unwanted: Vec<Key>,
        unfinished: &HashSet<Arc<str>>,
    ) {
        unwanted.retain(|key| {
            let mut published = self.in_force().iter();
            let place = published.find(|publication| publication.rules.settings.namespace == *key.namespace);
            !place.is_some_and(|place| place.is_frozen(dialect))
        });
        self.postpone(&mut unwanted, unfinished);
        self.remove(unwanted).await;
    }

    /// Leaves out the `unwanted` profiles in `unfinished` namespaces, so that they are deleted later.
    fn postpone(&mut self, unwanted: &mut Vec<Key>, unfinished: &HashSet<Arc<str>>) {
        let count = unwanted.len();
        unwanted.retain(|key| !unfinished.contains(&key.namespace));
        self.has_leftovers |= unwanted.len() < count;
    }

    /// Deletes the objects at `keys`, and forgets them, also those that do not exist or belong to another
    /// client. Returns the namespaces of those that could not be deleted.
    async fn remove(&mut self, keys: Vec<Key>) -> HashSet<Arc<str>> {
        let mut failed = HashSet::new();
        let Some(resource) = keys.first().map(|key| key.resource) else {
            return failed;
        };
        self.published_state.forget(&keys);
        let stored = self.source().cached(resource);
        for (key, result) in work::delete(&*self.writer, keys, &stored).await {
            if let Err(failure) = result {
                tracing::warn!(%key, ?failure, "cannot delete an object that is no longer published; retrying");
                self.has_leftovers = true;
                failed.insert(key.namespace);
            }
        }
        failed
    }

    /// Deletes stored objects that Berth published and that no Publication wants any more: decisions, then
    /// profiles. Deletes nothing while some wanted objects may be unknown, and no profile in an `unfinished`
    /// namespace, or beside a decision that could not be deleted, since a decision may still refer to it.
    pub(super) async fn sweep(&mut self, mut unfinished: HashSet<Arc<str>>) {
        if self.repeats_all || self.is_incomplete {
            return;
        }
        let decisions = self.unwanted(PLACEMENT_DECISIONS);
        unfinished.extend(self.remove(decisions).await);
        let mut profiles = self.unwanted(CLUSTER_PROFILES);
        self.postpone(&mut profiles, &unfinished);
        self.remove(profiles).await;
    }

    /// The stored objects of `resource` that Berth published and that no Publication wants any more.
    fn unwanted(&self, resource: GroupResource) -> Vec<Key> {
        let stored = self.source().cached(resource);
        let own = stored.items.iter().filter(|(_, object)| task::is_ours(object));
        let keys = own.map(|(name, object)| {
            let key = Key::new(resource, &name.namespace, &name.name);
            (key, object)
        });
        keys.filter(|(key, object)| {
            !self.published_state.subjects.contains_key(key) && self.may_delete(object)
        })
        .map(|(key, _)| key)
        .collect()
    }

    /// Whether the unwanted `object` certainly has to be deleted: no Publication names its namespace, or the
    /// Publication in force there excludes the object and all objects of the system are known.
    fn may_delete(&self, object: &Object) -> bool {
        let meta = object.meta();
        let Some(judgement) = &self.judgement else {
            return false;
        };
        if !judgement.namespaces.contains(meta.namespace()) {
            return true;
        }
        let mut published = judgement.in_force.iter();
        let place = published.find(|publication| publication.rules.settings.namespace == meta.namespace());
        let system = meta.labels().get(SYSTEM_LABEL);
        let is_whole = system.is_some_and(|system| {
            let served = self.dialects.iter().any(|dialect| dialect.name() == system);
            served && !self.published_state.waiting.contains(system)
        });
        is_whole && place.is_some_and(|place| !place.is_frozen(system.unwrap_or_default()))
    }
}
