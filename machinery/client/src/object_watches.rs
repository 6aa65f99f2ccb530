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
/// Pause before the next attempt after the server has refused a watch for lack of a right, or does not serve
/// the resource.
const REFUSED_PAUSE: Duration = Duration::from_mins(5);
/// Seconds after which the server ends a watch, and a new watch begins.
const WATCH_SECONDS: u32 = 290;
/// Longest time in which the server answers. Later, the connection counts as lost: kube has no time limit of
/// its own for reads.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// Begins to watch `objects`, each given by its resource and its name. A watch that fails begins again. A
    /// connection that is lost without a sign is noticed within five minutes.
    pub fn start(objects: impl IntoIterator<Item = (Api<DynamicObject>, String)>) -> Self {
        Self::start_with(objects, WATCH_SECONDS)
    }

    /// As [`ObjectWatches::start`], with watches that the server ends after `watch_seconds`: a lost connection
    /// is noticed within this time and ten seconds.
    pub fn start_with(
        objects: impl IntoIterator<Item = (Api<DynamicObject>, String)>,
        watch_seconds: u32,
    ) -> Self {
        let objects: Vec<_> = objects.into_iter().collect();
        let (sender, states) = watch::channel(vec![WatchState::default(); objects.len()]);
        let mut tasks = JoinSet::new();
        for (index, (api, name)) in objects.into_iter().enumerate() {
            let watch = ObjectWatch {
                api,
                name,
                watch_seconds,
                index,
                states: sender.clone(),
            };
            tasks.spawn(watch.run());
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
    /// Seconds after which the server ends a watch.
    watch_seconds: u32,
    /// Index of the object's state in `states`.
    index: usize,
    states: watch::Sender<Vec<WatchState>>,
}

impl ObjectWatch {
    /// Watches until the task is aborted.
    async fn run(self) {
        let mut pause = RETRY_PAUSES.0;
        loop {
            let start = Instant::now();
            let Err(problem) = self.list_and_watch().await;
            self.set_watched(false);
            if start.elapsed() > RETRY_PAUSES.1 {
                pause = RETRY_PAUSES.0;
            }
            let is_refused =
                matches!(&problem, Some(kube::Error::Api(status)) if [403, 404].contains(&status.code));
            tokio::time::sleep(if is_refused { REFUSED_PAUSE } else { pause }).await;
            pause = (pause * 2).min(RETRY_PAUSES.1);
        }
    }

    /// Reads the object once and then watches it, until a request fails. The error is `None` if the server
    /// does not answer in time.
    async fn list_and_watch(&self) -> Result<std::convert::Infallible, Option<kube::Error>> {
        let by_name = format!("metadata.name={}", self.name);
        let params = ListParams::default().fields(&by_name);
        let list = in_time(ANSWER_TIMEOUT, self.api.list_metadata(&params)).await?;
        let found = list.items.into_iter().next();
        self.set_version(found.and_then(|object| object.metadata.resource_version));
        let mut version = list.metadata.resource_version.unwrap_or_default();
        let params = WatchParams::default()
            .fields(&by_name)
            .timeout(self.watch_seconds);
        loop {
            let watch = self.api.watch_metadata(&params, &version);
            let mut events = in_time(ANSWER_TIMEOUT, watch).await?.boxed();
            let end = Instant::now() + Duration::from_secs(self.watch_seconds.into()) + ANSWER_TIMEOUT;
            self.set_watched(true);
            while let Some(event) = in_time(end - Instant::now(), events.try_next()).await? {
                let (object, is_present) = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
                    WatchEvent::Deleted(object) => (object, false),
                    WatchEvent::Bookmark(bookmark) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    WatchEvent::Error(status) => return Err(Some(kube::Error::Api(status))),
                };
                let object_version = object.metadata.resource_version.unwrap_or_default();
                version.clone_from(&object_version);
                self.set_version(is_present.then_some(object_version));
            }
            // A server that ends every watch immediately is not asked without a pause.
            tokio::time::sleep(RETRY_PAUSES.0).await;
        }
    }

    /// Records whether the object is watched.
    fn set_watched(&self, is_watched: bool) {
        self.states.send_if_modified(|states| {
            let before = std::mem::replace(&mut states[self.index].is_watched, is_watched);
            before != is_watched
        });
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

/// Waits for `answer`. The error is `None` if it does not come within `limit`.
async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = kube::Result<T>>,
) -> Result<T, Option<kube::Error>> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(Some),
        Err(_) => Err(None),
    }
}

#[cfg(test)]
mod tests;
