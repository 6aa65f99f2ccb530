//! Watches of single objects, for tasks that would otherwise read the objects at short intervals.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::DynamicObject;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// First and longest pause before the next attempt after a failed watch.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Pause before the next attempt after the server has refused a watch for lack of a right.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(5);
/// Seconds after which the server ends a watch: less than kube's timeout for reads.
const WATCH_SECONDS: u32 = 290;

/// Pauses of a task between two reads of its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Shortest pause, even when an object changes earlier.
    pub least: Duration,
    /// Pause while an object is not watched, such as for lack of a right.
    pub unwatched: Duration,
    /// Pause while all objects are watched and none of them changes.
    pub watched: Duration,
}

/// Running watches of objects. Each watch reads only metadata, and needs the rights to list and watch the
/// object by its name. Dropping the value ends the watches.
pub struct ObjectWatches {
    states: watch::Receiver<Vec<WatchState>>,
    /// Number of changes until the last call of [`ObjectWatches::wait`] returned.
    seen_changes: u64,
    _tasks: JoinSet<()>,
}

/// State of the watch of one object.
#[derive(Clone, Debug, Default)]
struct WatchState {
    is_watched: bool,
    /// The resourceVersion of the object; `Some(None)` if the object does not exist, `None` before the first
    /// answer.
    version: Option<Option<String>>,
    /// Number of changes of `version`.
    changes: u64,
}

impl ObjectWatches {
    /// Begins to watch `objects`, each given by its resource and its name. A watch that fails begins again.
    pub fn start(objects: impl IntoIterator<Item = (Api<DynamicObject>, String)>) -> Self {
        let objects: Vec<_> = objects.into_iter().collect();
        let (sender, states) = watch::channel(vec![WatchState::default(); objects.len()]);
        let mut tasks = JoinSet::new();
        for (index, (api, name)) in objects.into_iter().enumerate() {
            let states = sender.clone();
            tasks.spawn(
                ObjectWatch {
                    api,
                    name,
                    index,
                    states,
                }
                .run(),
            );
        }
        Self {
            states,
            seen_changes: 0,
            _tasks: tasks,
        }
    }

    /// Whether all objects are known not to exist.
    #[must_use]
    pub fn are_absent(&self) -> bool {
        let is_absent = |state: &WatchState| state.is_watched && state.version == Some(None);
        self.states.borrow().iter().all(is_absent)
    }

    /// Waits until an object has changed since the last call, or a pause of `pauses` is over. The first answer
    /// about an object counts as a change, since the caller may have read an older version.
    pub async fn wait(&mut self, pauses: Pauses) {
        let start = Instant::now();
        tokio::time::sleep(pauses.least).await;
        loop {
            let (changes, all_watched) = {
                let states = self.states.borrow_and_update();
                let changes: u64 = states.iter().map(|state| state.changes).sum();
                (changes, states.iter().all(|state| state.is_watched))
            };
            if std::mem::replace(&mut self.seen_changes, changes) != changes {
                return;
            }
            let pause = if all_watched {
                pauses.watched
            } else {
                pauses.unwatched
            };
            tokio::select! {
                () = tokio::time::sleep_until(start + pause) => return,
                // The sender lives as long as the tasks, which never end; without objects there are none.
                Ok(()) = self.states.changed() => {}
            }
        }
    }
}

/// The watch of one object.
struct ObjectWatch {
    api: Api<DynamicObject>,
    name: String,
    /// Index of the object's state in `states`.
    index: usize,
    states: watch::Sender<Vec<WatchState>>,
}

impl ObjectWatch {
    /// Watches until the task is aborted.
    async fn run(self) {
        let mut pause = RETRY_PAUSES.0;
        loop {
            let Err(problem) = self.list_and_watch().await;
            let was_watched = self.set_watched(false);
            if was_watched {
                pause = RETRY_PAUSES.0;
            }
            let is_forbidden = matches!(&problem, kube::Error::Api(status) if status.code == 403);
            tokio::time::sleep(if is_forbidden { FORBIDDEN_PAUSE } else { pause }).await;
            pause = (pause * 2).min(RETRY_PAUSES.1);
        }
    }

    /// Reads the object once and then watches it, until a request fails.
    async fn list_and_watch(&self) -> kube::Result<std::convert::Infallible> {
        let by_name = format!("metadata.name={}", self.name);
        let list = self
            .api
            .list_metadata(&ListParams::default().fields(&by_name))
            .await?;
        let found = list.items.into_iter().next();
        self.set_version(found.and_then(|object| object.metadata.resource_version));
        let mut version = list.metadata.resource_version.unwrap_or_default();
        let params = WatchParams::default().fields(&by_name).timeout(WATCH_SECONDS);
        loop {
            let mut events = self.api.watch_metadata(&params, &version).await?.boxed();
            self.set_watched(true);
            while let Some(event) = events.try_next().await? {
                let (object, is_present) = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
                    WatchEvent::Deleted(object) => (object, false),
                    WatchEvent::Bookmark(bookmark) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                };
                let object_version = object.metadata.resource_version.unwrap_or_default();
                version.clone_from(&object_version);
                self.set_version(is_present.then_some(object_version));
            }
            // A server that ends every watch immediately is not asked without a pause.
            tokio::time::sleep(RETRY_PAUSES.0).await;
        }
    }

    /// Records whether the object is watched, and returns the value before.
    fn set_watched(&self, is_watched: bool) -> bool {
        let mut before = is_watched;
        self.states.send_if_modified(|states| {
            before = std::mem::replace(&mut states[self.index].is_watched, is_watched);
            before != is_watched
        });
        before
    }

    /// Records the resourceVersion of the object; `None` if it does not exist.
    fn set_version(&self, version: Option<String>) {
        self.states.send_if_modified(|states| {
            let state = &mut states[self.index];
            let is_change = state.version.as_ref() != Some(&version);
            if is_change {
                state.version = Some(version);
                state.changes += 1;
            }
            is_change
        });
    }
}

#[cfg(test)]
mod tests;
