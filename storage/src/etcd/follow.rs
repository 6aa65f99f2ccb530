//! The only watch of etcd: it covers every object below the prefix, in one order, from the revision of the
//! cache on.
//!
//! A broken watch is opened again on the next member, from the revision after the last published one, so no
//! change is missed or repeated. When etcd has compacted the missed changes, everything is read again, and
//! earlier watchers get `Expired`.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Revision;
use etcd_client::{EventType, WatchOptions, WatchResponse, WatchStream};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::etcd::feed::{CorruptValue, Feed, ObjectState};
use crate::etcd::layout::Layout;
use crate::etcd::link::{Failure, Link, header_revision, logged_out, number};
use crate::etcd::load::{self, load};
use crate::state::State;

/// Interval of progress requests on an idle watch: they advance bookmarks, and detect a failed member.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Longest silence of a watch before another member is used.
const MAX_SILENCE: Duration = Duration::from_secs(4);
/// Timeout of opening a watch.
const OPEN_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause before a watch is opened again.
const PAUSE: Duration = Duration::from_millis(200);

/// Reflector: the task that watches etcd and feeds the cache.
pub(crate) struct Reflector {
    /// Connection to etcd.
    pub(crate) link: Arc<Link>,
    /// Layout of the keys.
    pub(crate) layout: Layout,
    /// Feed that receives the changes.
    pub(crate) feed: Arc<Feed>,
}

impl Reflector {
    /// Runs until the future is dropped.
    pub(crate) async fn run(self) {
        loop {
            let member = self.link.current();
            let mut failure = self.follow(member).await;
            if matches!(failure, Failure::Compacted) {
                match self.read_again().await {
                    Ok(()) => continue,
                    Err(again) => failure = again,
                }
            }
            let place = self.link.place();
            self.feed
                .set_watch_result(Err(format!("{place} cannot be watched: {}", failure.text())));
            match failure {
                Failure::LoggedOut(_) => self.link.disconnect(member).await,
                _ => self.link.switch_from(member),
            }
            sleep(PAUSE).await;
        }
    }

    /// Watches `member` from the cache's revision on; returns the reason why the watch ended.
    async fn follow(&self, member: usize) -> Failure {
        let mut stream = match self.open(member).await {
            Ok(stream) => stream,
            Err(failure) => return failure,
        };
        let mut ticks = interval(PROGRESS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_message = Instant::now();
        loop {
            let requests_progress = tokio::select! {
                biased;
                message = stream.message() => {
                    last_message = Instant::now();
                    match message {
                        Ok(Some(response)) => match self.apply(&response) {
                            Ok(()) => false,
                            Err(failure) => return failure,
                        },
                        Ok(None) => return Failure::Unknown("the watch was ended".to_owned()),
                        Err(error) => return Failure::of(&error),
                    }
                }
                () = self.feed.progress_wanted() => true,
                _ = ticks.tick() => {
                    if last_message.elapsed() > MAX_SILENCE {
                        return Failure::Unknown(format!("the watch is silent for {} s", MAX_SILENCE.as_secs()));
                    }
                    true
                }
            };
            // The channel of requests has a capacity of a hundred; it is full only when the stream no longer
            // progresses.
            if requests_progress
                && !matches!(
                    timeout(PROGRESS_INTERVAL, stream.request_progress()).await,
                    Ok(Ok(()))
                )
            {
                return Failure::Unknown("the watch takes no requests".to_owned());
            }
        }
    }

    async fn open(&self, member: usize) -> Result<WatchStream, Failure> {
        let mut client = self.link.watch_client(member).await?;
        let after = self.feed.cache().revision();
        let options = WatchOptions::new()
            .with_prefix()
            .with_progress_notify()
            .with_start_revision(number(Revision(after.0 + 1)));
        let opening = client.watch(self.layout.objects(), Some(options));
        timeout(OPEN_TIMEOUT, opening)
            .await
            .map_err(|_elapsed| Failure::Unknown("the watch does not open".to_owned()))?
            .map_err(|error| Failure::of(&error))
    }

    /// Applies one message of the watch.
    fn apply(&self, response: &WatchResponse) -> Result<(), Failure> {
        if response.compact_revision() > 0 {
            return Err(Failure::Compacted);
        }
        if response.canceled() {
            let reason = response.cancel_reason();
            let text = format!("the watch was cancelled: {reason}");
            return Err(if logged_out(reason) {
                Failure::LoggedOut(text)
            } else {
                Failure::Unknown(text)
            });
        }
        if response.created() {
            self.feed.set_watch_result(Ok(()));
            return Ok(());
        }
        self.feed.set_watch_result(Ok(()));
        let Some(last) = response.events().last() else {
            // A message without events means that no change is missing up to its revision.
            self.feed
                .apply_changes(Vec::new(), Vec::new(), Some(header_revision(response.header())));
            return Ok(());
        };
        let reached = last.kv().map(|kv| revision(kv.mod_revision()));
        let (mut changes, mut invalid) = (Vec::new(), Vec::new());
        for event in response.events() {
            match self.change(event) {
                Some(Ok(change)) => changes.push(change),
                Some(Err(problem)) => invalid.push(problem),
                None => {}
            }
        }
        self.feed.apply_changes(changes, invalid, reached);
        Ok(())
    }

    /// Returns the change of `event`; `None` if it is already published or is not about an object.
    fn change(&self, event: &etcd_client::Event) -> Option<Result<ObjectState, CorruptValue>> {
        let kv = event.kv()?;
        let revision = revision(kv.mod_revision());
        if let Some(known) = self.feed.known_change(revision) {
            return known.map(Ok);
        }
        let key = self.layout.parse(kv.key())?;
        let new = match event.event_type() {
            EventType::Delete => None,
            EventType::Put => match load::object(&self.layout, &key, kv) {
                Ok(object) => Some(Arc::new(object)),
                Err(problem) => {
                    return Some(Err(CorruptValue {
                        revision,
                        key,
                        problem,
                    }));
                }
            },
        };
        Some(Ok(ObjectState { revision, key, new }))
    }

    /// Reads all objects again, since etcd has compacted the missed changes.
    async fn read_again(&self) -> Result<(), Failure> {
        let revision = newest(&self.link, &self.layout).await?;
        let loaded = load(&self.link, &self.layout, self.layout.objects(), revision).await?;
        tracing::warn!(%revision, "missed changes that etcd has compacted; all objects were listed again");
        let mut state = State::new(revision);
        for (resource, items) in loaded.objects {
            state.load(resource, items);
        }
        self.feed.replace(state, loaded.unreadable);
        Ok(())
    }
}

/// Returns the newest revision, which is at least the revision of the newest write that etcd acknowledged to
/// any client.
pub(crate) async fn newest(link: &Link, layout: &Layout) -> Result<Revision, Failure> {
    let call = |mut kv: etcd_client::KvClient| {
        let options = etcd_client::GetOptions::new().with_count_only();
        async move { kv.get(layout.store(), Some(options)).await }
    };
    link.read(call)
        .await
        .map(|answer| header_revision(answer.header()))
}

fn revision(number: i64) -> Revision {
    Revision(u64::try_from(number).unwrap_or_default())
}
