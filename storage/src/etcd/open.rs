//! Opening a store: checks of etcd's version and of the prefix, and reading the content.

use std::sync::Arc;

use berth_apimachinery::Revision;
use etcd_client::{Compare, CompareOp, KvClient, Txn, TxnOp};

use crate::error::{NotReady, StoreError};
use crate::etcd::config::EtcdConfig;
use crate::etcd::feed::Feed;
use crate::etcd::follow::{Reflector, newest};
use crate::etcd::layout::{Layout, Marker};
use crate::etcd::link::{Failure, Link, header_revision};
use crate::etcd::load::{LoadedObjects, load, unreadable};
use crate::etcd::newest::NewestRevision;
use crate::etcd::{EtcdStore, compact};
use crate::history::Limits;
use crate::state::State;

/// Oldest releases of 3.4 and 3.5 with reliable progress reports: a report arrives after all earlier changes
/// of the watch.
const OLDEST: [(u64, u64, u64); 2] = [(3, 4, 25), (3, 5, 8)];

/// Opens a store: see [`EtcdStore::open`].
pub(crate) async fn open(config: &EtcdConfig, limits: Limits) -> Result<EtcdStore, StoreError> {
    let link = Arc::new(Link::new(config)?);
    let layout = Layout::new(&config.prefix, &config.encryption);
    check_version(&link).await?;
    let (marker, since) = store_marker(&link, &layout).await?;
    if marker.copying {
        return Err(StoreError::Unavailable(format!(
            "{}: a copy into {} was begun and not finished: run the migration again",
            link.place(),
            config.prefix
        )));
    }
    let read_error = |failure: Failure| link.read_error(&failure);
    let now = newest(&link, &layout).await.map_err(read_error)?;
    let (start_revision, loaded) = read(&link, &layout, now, since, config.replay)
        .await
        .map_err(read_error)?;
    let mut state = State::new(start_revision);
    if let Some((key, problem)) = loaded.unreadable.into_iter().next() {
        return Err(unreadable(&link, &layout, &key, problem));
    }
    for (resource, items) in loaded.objects {
        state.load(resource, items);
    }
    let feed = Arc::new(Feed::new(state, limits));
    let store = start(config, link, layout, feed, since);
    catch_up(&store, now).await?;
    match store.feed.unreadable() {
        Some((key, problem)) => Err(unreadable(&store.link, &store.layout, &key, problem)),
        None => Ok(store),
    }
}

/// Waits until the cache has reached `now`.
///
/// # Errors
/// `Unavailable` when the watch makes no progress.
async fn catch_up(store: &EtcdStore, now: Revision) -> Result<(), StoreError> {
    loop {
        let before = store.feed.cache().revision();
        match store.feed.wait_for(now).await {
            Ok(()) => return Ok(()),
            Err(_behind) if store.feed.cache().revision() > before => {}
            Err(_behind) => {
                let place = store.link.place();
                return Err(StoreError::Unavailable(match store.feed.ready() {
                    // This message names the servers itself.
                    Err(NotReady::Unreachable(why)) => why,
                    Err(why) => format!("{place}: {why}"),
                    Ok(()) => format!("{place}: its watch makes no progress"),
                }));
            }
        }
    }
}

/// Creates the store and starts its tasks: the watch, the requests of the newest revision, and compaction.
fn start(
    config: &EtcdConfig,
    link: Arc<Link>,
    layout: Layout,
    feed: Arc<Feed>,
    since: Revision,
) -> EtcdStore {
    let (newest_revision, answering) = NewestRevision::new(Arc::clone(&link), layout.clone());
    let reflector = Reflector {
        link: Arc::clone(&link),
        layout: layout.clone(),
        feed: Arc::clone(&feed),
    };
    let mut tasks = vec![tokio::spawn(reflector.run()), tokio::spawn(answering)];
    if !config.compaction_interval.is_zero() {
        let compacting = compact::run(Arc::clone(&link), layout.clone(), config.compaction_interval);
        tasks.push(tokio::spawn(compacting));
    }
    EtcdStore {
        link,
        layout,
        feed,
        newest_revision,
        since,
        tasks,
    }
}

/// Reads the objects at a revision up to `replay` before `now`, so that the watch adds the history since
/// then; or the objects at `now` when etcd no longer has that history. Returns the revision and the objects.
async fn read(
    link: &Link,
    layout: &Layout,
    now: Revision,
    since: Revision,
    replay: u64,
) -> Result<(Revision, LoadedObjects), Failure> {
    let then = Revision(now.0.saturating_sub(replay)).max(since);
    let old = load(link, layout, layout.objects(), then).await;
    match old {
        Ok(loaded) if loaded.unreadable.is_empty() => Ok((then, loaded)),
        // Values that were unreadable at that revision may have been repaired since.
        Ok(_) | Err(Failure::Compacted) => {
            let loaded = load(link, layout, layout.objects(), now).await?;
            Ok((now, loaded))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the marker of the store, and the marker's revision. A missing marker is created.
async fn store_marker(link: &Link, layout: &Layout) -> Result<(Marker, Revision), StoreError> {
    if let Some(found) = find_marker(link, layout).await? {
        return Ok(found);
    }
    let key = layout.store();
    let make = Txn::new()
        .when([Compare::mod_revision(key, CompareOp::Equal, 0)])
        .and_then([TxnOp::put(key, Marker::encode(false), None)]);
    // The transaction is retried if no answer arrives: an existing marker is equivalent.
    let create_marker = |mut kv: KvClient| {
        let make = make.clone();
        async move { kv.txn(make).await }
    };
    let answer = link.read(create_marker).await;
    let answer = answer.map_err(|failure| link.read_error(&failure))?;
    tracing::info!(key, revision = %header_revision(answer.header()), "initialized an empty store in etcd");
    let created = find_marker(link, layout).await?;
    created.ok_or_else(|| {
        invalid_marker(
            link,
            layout,
            "it was deleted right after it was created".to_owned(),
        )
    })
}

/// Returns the marker of the store, and the marker's revision; `None` when there is no marker.
pub(crate) async fn find_marker(
    link: &Link,
    layout: &Layout,
) -> Result<Option<(Marker, Revision)>, StoreError> {
    let key = layout.store();
    let get = |mut kv: KvClient| async move { kv.get(key, None).await };
    let found = link.read(get).await;
    let found = found.map_err(|failure| link.read_error(&failure))?;
    let Some(kv) = found.kvs().first() else {
        return Ok(None);
    };
    let marker = Marker::decode(kv.value()).map_err(|problem| invalid_marker(link, layout, problem))?;
    let since = Revision(u64::try_from(kv.mod_revision()).unwrap_or_default());
    Ok(Some((marker, since)))
}

/// Returns the error of an invalid marker.
fn invalid_marker(link: &Link, layout: &Layout, problem: String) -> StoreError {
    StoreError::Unreadable {
        place: link.place().to_owned(),
        key: layout.store().to_owned(),
        problem,
    }
}

async fn check_version(link: &Link) -> Result<(), StoreError> {
    let read_version = async |link: &Link| -> Result<String, Failure> {
        let mut client = link.current_client().await?;
        let status = client.status().await;
        status
            .map(|status| status.version().to_owned())
            .map_err(|error| Failure::of(&error))
    };
    let version = match read_version(link).await {
        Ok(version) => version,
        // The following reads wait for a member that answers, and report the problem.
        Err(failure) => {
            tracing::debug!(problem = failure.text(), "etcd has not returned its version");
            return Ok(());
        }
    };
    if too_old(&version) {
        return Err(StoreError::Unavailable(format!(
            "{}: version {version} reports the progress of a watch before it has sent all changes, so reads would miss \
             writes: upgrade etcd to 3.4.25, 3.5.8 or newer",
            link.place()
        )));
    }
    Ok(())
}

fn too_old(version: &str) -> bool {
    let mut parts = version
        .split(['.', '-'])
        .map_while(|part| part.parse::<u64>().ok());
    let (Some(major), Some(minor), Some(patch)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let line = OLDEST
        .iter()
        .find(|oldest| (oldest.0, oldest.1) == (major, minor));
    line.map_or((major, minor) < (3, 4), |oldest| patch < oldest.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_with_unreliable_progress_reports_are_too_old() {
        for old in ["3.3.27", "3.4.23", "3.5.0", "3.5.7", "2.3.8"] {
            assert!(too_old(old), "{old}");
        }
        for good in [
            "3.4.25",
            "3.5.8",
            "3.5.21",
            "3.6.0",
            "3.6.8-rc.1",
            "3.7.3",
            "4.0.0",
            "unknown",
        ] {
            assert!(!too_old(good), "{good}");
        }
    }
}
