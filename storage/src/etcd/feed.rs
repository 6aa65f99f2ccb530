//! Feed of the watch cache: the changes and progress of the watch, and the writes of this process.
//!
//! A write of this process is published as soon as it is answered, if no earlier change is missing. When the
//! watch delivers it later, it is not published again. If an earlier change is missing, the write waits until
//! the watch has delivered that change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::cache::{Cache, FUTURE_WAIT};
use crate::error::{NotReady, StoreError};
use crate::etcd::load::ValueError;
use crate::history::Limits;
use crate::stage::StagedChange;
use crate::state::State;

/// Interval of progress requests while a reader waits: etcd does not answer a request while the watch is
/// behind.
const PROGRESS_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// State of an object after a change.
#[derive(Clone, Debug)]
pub(crate) struct ObjectState {
    /// Revision of the change.
    pub(crate) revision: Revision,
    /// Key of the object.
    pub(crate) key: Key,
    /// The object; `None` when it was deleted.
    pub(crate) new: Option<Arc<Object>>,
}

/// A value that is not an object.
#[derive(Clone, Debug)]
pub(crate) struct CorruptValue {
    /// Revision at which the value was written.
    pub(crate) revision: Revision,
    /// Key of the expected object.
    pub(crate) key: Key,
    /// Reason why the value is invalid.
    pub(crate) problem: ValueError,
}

/// The watch cache, and changes that wait for publication.
pub(crate) struct Feed {
    cache: Cache,
    limits: Limits,
    watch_state: Mutex<WatchState>,
    /// Notified when a reader waits for a revision: the watch should request its progress.
    progress_wanted: Notify,
}

/// State of the watch of etcd.
#[derive(Default)]
struct WatchState {
    /// Writes of this process that wait for earlier changes.
    own: BTreeMap<Revision, ObjectState>,
    /// Problem of the watch, which makes the store unready.
    down: Option<String>,
    /// Keys whose values are invalid, with the problem of each.
    unreadable: BTreeMap<Key, ValueError>,
}

impl Feed {
    /// Creates a feed that continues from `state`.
    pub(crate) fn new(state: State, limits: Limits) -> Self {
        Self {
            cache: Cache::new(state),
            limits,
            watch_state: Mutex::default(),
            progress_wanted: Notify::new(),
        }
    }

    /// The published cache.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Records a write of this process, and publishes it if no earlier change is missing.
    pub(crate) fn add_own(&self, observed: ObjectState) {
        let mut watch_state = self.watch_state.lock();
        let state = self.cache.state();
        if observed.revision <= state.revision() {
            return;
        }
        watch_state.unreadable.remove(&observed.key);
        watch_state.own.insert(observed.revision, observed);
        self.advance(watch_state, (*state).clone(), Vec::new(), None);
    }

    /// Returns the change of `revision` if it needs no decoding: `Some(None)` for a published change, the
    /// change itself for a write of this process that waits for publication, and `None` for any other change.
    pub(crate) fn known_change(&self, revision: Revision) -> Option<Option<ObjectState>> {
        let watch_state = self.watch_state.lock();
        if revision <= self.cache.revision() {
            return Some(None);
        }
        watch_state.own.get(&revision).cloned().map(Some)
    }

    /// Applies the changes of the watch, in order. No change up to `reached` is missing. An object in
    /// `invalid` keeps the last valid state, and the store is not ready until its value is valid again, or
    /// deleted.
    pub(crate) fn apply_changes(
        &self,
        changes: Vec<ObjectState>,
        invalid: Vec<CorruptValue>,
        reached: Option<Revision>,
    ) {
        let mut watch_state = self.watch_state.lock();
        let state = (*self.cache.state()).clone();
        for observed in &changes {
            watch_state.unreadable.remove(&observed.key);
        }
        for CorruptValue {
            revision,
            key,
            problem,
        } in invalid
        {
            let repaired = |observed: &ObjectState| observed.key == key && observed.revision > revision;
            if !changes.iter().any(repaired) {
                tracing::error!(%key, %problem, "invalid value in etcd, of some other writer; the last valid object is served until the key is written again or deleted");
                watch_state.unreadable.insert(key, problem);
            }
        }
        self.advance(watch_state, state, changes, reached);
    }

    /// Replaces the published state by `state`, whose history is empty: the changes in between are lost.
    pub(crate) fn replace(&self, state: State, unreadable: Vec<(Key, ValueError)>) {
        let mut watch_state = self.watch_state.lock();
        let revision = state.revision();
        watch_state.own.retain(|own, _| *own > revision);
        watch_state.unreadable = unreadable.into_iter().collect();
        let resources = state.resources();
        let resources: Vec<_> = resources
            .into_iter()
            .chain(self.cache.state().resources())
            .collect();
        self.cache.publish(state);
        drop(watch_state);
        self.cache.wake(resources);
    }

    /// Records whether the watch of etcd works, or the reason why not.
    pub(crate) fn set_watch_result(&self, result: Result<(), String>) {
        let mut watch_state = self.watch_state.lock();
        match result {
            Ok(()) if watch_state.down.is_some() => tracing::warn!("etcd is reachable again"),
            Err(ref why) if watch_state.down.is_none() => tracing::error!(why, "cannot watch etcd; retrying"),
            _ => {}
        }
        watch_state.down = result.err();
    }

    /// Checks that the store is ready.
    ///
    /// # Errors
    /// Reason why the store is not ready.
    pub(crate) fn ready(&self) -> Result<(), NotReady> {
        let watch_state = self.watch_state.lock();
        if let Some(why) = &watch_state.down {
            return Err(NotReady::Unreachable(why.clone()));
        }
        match watch_state.unreadable.first_key_value() {
            Some((key, problem)) => Err(NotReady::Unreadable {
                key: key.clone(),
                problem: problem.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the first key whose value is invalid, and the reason.
    pub(crate) fn unreadable(&self) -> Option<(Key, ValueError)> {
        let watch_state = self.watch_state.lock();
        let (key, problem) = watch_state.unreadable.first_key_value()?;
        Some((key.clone(), problem.clone()))
    }

    /// Waits up to three seconds until `revision` is published.
    ///
    /// # Errors
    /// `TooNew` when it is not published in time.
    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), StoreError> {
        if self.cache.revision() >= revision {
            return Ok(());
        }
        let request_progress = async {
            loop {
                self.progress_wanted.notify_one();
                tokio::time::sleep(PROGRESS_INTERVAL).await;
            }
        };
        tokio::select! {
            result = self.cache.wait_for(revision) => result,
            () = request_progress => Ok(()),
        }
    }

    /// Waits until a reader waits for a revision.
    pub(crate) async fn progress_wanted(&self) {
        self.progress_wanted.notified().await;
    }

    /// Longest wait of [`Feed::wait_for`].
    pub(crate) const WAIT: std::time::Duration = FUTURE_WAIT;

    /// Publishes `state` with `changes`, and with the writes of this process before which no change is
    /// missing any more. No change up to `reached` is missing.
    fn advance(
        &self,
        mut watch_state: parking_lot::MutexGuard<'_, WatchState>,
        mut state: State,
        changes: Vec<ObjectState>,
        reached: Option<Revision>,
    ) {
        let before = state.revision();
        let mut revision = before;
        let mut staged = Vec::with_capacity(changes.len());
        for observed in changes {
            // A transaction of another program may change several objects at one revision.
            if observed.revision > before {
                revision = observed.revision;
                staged.extend(set(&mut state, observed));
            }
        }
        revision = revision.max(reached.unwrap_or_default());
        watch_state.own.retain(|own, _| *own > revision);
        while let Some(entry) = watch_state.own.first_entry() {
            if entry.key().0 != revision.0 + 1 {
                break;
            }
            revision = *entry.key();
            staged.extend(set(&mut state, entry.remove()));
        }
        if revision == before {
            return;
        }
        let changed_resources: Vec<GroupResource> =
            staged.iter().map(|(change, _)| change.key.resource).collect();
        state.record(staged, &self.limits, Instant::now());
        state.reach(revision);
        self.cache.publish(state);
        drop(watch_state);
        self.cache.wake(changed_resources);
    }
}

/// Applies one change to `state`; returns the change for the history, or `None` for the deletion of an object
/// that was never published.
fn set(state: &mut State, observed: ObjectState) -> Option<StagedChange> {
    let ObjectState { revision, key, new } = observed;
    let before = state.set(&key, new.clone());
    let old = match (&new, &before) {
        (Some(_), _) => before.clone(),
        (None, Some(last)) => Some(Arc::new(last.draft().at(revision))),
        (None, None) => return None,
    };
    let change = Change {
        revision,
        key,
        old,
        new,
    };
    Some((change, before))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::Scope;

    const THINGS: GroupResource = GroupResource::new("", "things");
    const OTHERS: GroupResource = GroupResource::new("", "others");

    fn created(resource: GroupResource, name: &str, revision: u64) -> ObjectState {
        let value = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": name}});
        let revision = Revision(revision);
        ObjectState {
            revision,
            key: Key::new(resource, "", name),
            new: Some(Arc::new(Object::new(&value, revision).unwrap())),
        }
    }

    #[tokio::test]
    async fn every_change_of_one_revision_is_applied_and_watched() {
        let feed = Feed::new(State::new(Revision(1)), Limits::default());
        let changes = vec![
            created(THINGS, "a", 2),
            created(THINGS, "b", 2),
            created(OTHERS, "c", 2),
            created(THINGS, "d", 3),
        ];
        feed.apply_changes(changes, Vec::new(), Some(Revision(3)));
        let listed = [THINGS, OTHERS].map(|resource| feed.cache().collection(resource).items.len());
        assert_eq!(listed, [3, 1]);
        let mut watch = feed.cache().watch(Scope::All, Revision(1)).unwrap();
        for (count, reached) in [(3, 2), (1, 3)] {
            assert_eq!(watch.next(1).await.unwrap().len(), count);
            assert_eq!(watch.revision(), Revision(reached));
        }
    }
}
