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
use crate::etcd::load::Unreadable;
use crate::history::Limits;
use crate::stage::StagedChange;
use crate::state::State;

/// Interval of progress requests while a reader waits: etcd does not answer a request while the watch is
/// behind.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

/// New state of an object at a revision; `None` when it was deleted.
#[derive(Clone, Debug)]
pub(crate) struct ObjectState {
    /// Revision of the change.
    pub(crate) revision: Revision,
    /// Key of the object.
    pub(crate) key: Key,
    /// Present object.
    pub(crate) new: Option<Arc<Object>>,
}

/// A value that is not an object.
#[derive(Clone, Debug)]
pub(crate) struct CorruptValue {
    /// Revision at which the value was written.
    pub(crate) revision: Revision,
    /// Key of the object that the value should be.
    pub(crate) key: Key,
    /// Reason why the value is invalid.
    pub(crate) problem: Unreadable,
}

/// The cache and its sources.
pub(crate) struct Feed {
    cache: Cache,
    limits: Limits,
    watched: Mutex<WatchState>,
    /// Notified when a reader waits for a revision: the watch should request its progress.
    wanted: Notify,
}

#[derive(Default)]
struct WatchState {
    /// Writes of this process that wait for earlier changes.
    own: BTreeMap<Revision, ObjectState>,
    /// Problem of the connection, which makes the store unready.
    down: Option<String>,
    /// Keys whose values are invalid.
    unreadable: BTreeMap<Key, Unreadable>,
}

impl Feed {
    /// Creates a feed that continues from `state`.
    pub(crate) fn new(state: State, limits: Limits) -> Self {
        Self {
            cache: Cache::new(state),
            limits,
            watched: Mutex::default(),
            wanted: Notify::new(),
        }
    }

    /// The published cache.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Records a write of this process.
    pub(crate) fn own(&self, observed: ObjectState) {
        let mut watched = self.watched.lock();
        let state = self.cache.state();
        if observed.revision <= state.revision() {
            return;
        }
        watched.unreadable.remove(&observed.key);
        watched.own.insert(observed.revision, observed);
        self.advance(watched, (*state).clone(), Vec::new(), None);
    }

    /// Returns `Some` if the change of `revision` needs no decoding: it is already published (`None` inside),
    /// or it is a write of this process.
    pub(crate) fn known(&self, revision: Revision) -> Option<Option<ObjectState>> {
        let watched = self.watched.lock();
        if revision <= self.cache.revision() {
            return Some(None);
        }
        watched.own.get(&revision).cloned().map(Some)
    }

    /// Applies the changes of the watch, in order. No change up to `reached` is missing. Objects in `invalid`
    /// keep their last valid state, and the store is not ready until they are repaired.
    pub(crate) fn apply_changes(
        &self,
        changes: Vec<ObjectState>,
        invalid: Vec<CorruptValue>,
        reached: Option<Revision>,
    ) {
        let mut watched = self.watched.lock();
        let state = (*self.cache.state()).clone();
        for observed in &changes {
            watched.unreadable.remove(&observed.key);
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
                watched.unreadable.insert(key, problem);
            }
        }
        self.advance(watched, state, changes, reached);
    }

    /// Replaces the published state by `state`: the changes between the two are lost, and `state` starts with
    /// an empty history.
    pub(crate) fn replace(&self, state: State, unreadable: Vec<(Key, Unreadable)>) {
        let mut watched = self.watched.lock();
        let revision = state.revision();
        watched.own.retain(|own, _| *own > revision);
        watched.unreadable = unreadable.into_iter().collect();
        let resources = state.resources();
        let resources: Vec<_> = resources
            .into_iter()
            .chain(self.cache.state().resources())
            .collect();
        self.cache.publish(state);
        drop(watched);
        self.cache.wake(resources);
    }

    /// Records whether the watch of etcd works.
    pub(crate) fn follows(&self, result: Result<(), String>) {
        let mut watched = self.watched.lock();
        match result {
            Ok(()) if watched.down.is_some() => tracing::warn!("etcd is reachable again"),
            Err(ref why) if watched.down.is_none() => tracing::error!(why, "cannot watch etcd; retrying"),
            _ => {}
        }
        watched.down = result.err();
    }

    /// Returns the reason why the store is not ready.
    pub(crate) fn ready(&self) -> Result<(), NotReady> {
        let watched = self.watched.lock();
        if let Some(why) = &watched.down {
            return Err(NotReady::Unreachable(why.clone()));
        }
        match watched.unreadable.first_key_value() {
            Some((key, problem)) => Err(NotReady::Unreadable {
                key: key.clone(),
                problem: problem.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Returns a key whose value is invalid, and the reason.
    pub(crate) fn unreadable(&self) -> Option<(Key, Unreadable)> {
        let watched = self.watched.lock();
        let (key, problem) = watched.unreadable.first_key_value()?;
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
        let asking = async {
            loop {
                self.wanted.notify_one();
                tokio::time::sleep(ASK_AGAIN).await;
            }
        };
        tokio::select! {
            result = self.cache.wait_for(revision) => result,
            () = asking => Ok(()),
        }
    }

    /// Ends when a reader waits for progress.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Longest wait of [`Feed::wait_for`].
    pub(crate) const WAIT: std::time::Duration = FUTURE_WAIT;

    /// Publishes `state` with `changes`, and with the writes of this process that no longer miss an earlier
    /// change, up to `reached`.
    fn advance(
        &self,
        mut watched: parking_lot::MutexGuard<'_, WatchState>,
        mut state: State,
        changes: Vec<ObjectState>,
        reached: Option<Revision>,
    ) {
        let before = state.revision();
        let mut revision = before;
        let mut staged = Vec::with_capacity(changes.len());
        for observed in changes {
            if observed.revision > revision {
                revision = observed.revision;
                staged.extend(set(&mut state, observed));
            }
        }
        revision = revision.max(reached.unwrap_or_default());
        watched.own.retain(|own, _| *own > revision);
        while let Some(entry) = watched.own.first_entry() {
            if entry.key().0 != revision.0 + 1 {
                break;
            }
            revision = *entry.key();
            staged.extend(set(&mut state, entry.remove()));
        }
        if revision == before {
            return;
        }
        let touched: Vec<GroupResource> = staged.iter().map(|(change, _)| change.key.resource).collect();
        state.record(staged, &self.limits, Instant::now());
        state.reach(revision);
        self.cache.publish(state);
        drop(watched);
        self.cache.wake(touched);
    }
}

/// Applies one change to `state`; returns the change for its history. Deleting an unpublished object is no
/// change.
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
