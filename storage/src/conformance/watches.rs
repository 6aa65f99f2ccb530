//! Requirements of watches: order, replay, scopes, expiry.

use std::sync::Arc;

use berth_apimachinery::Revision;

use super::*;
use crate::source::Scope;

fn watch(store: &Arc<dyn Store>, scope: Scope, after: Revision) -> Box<dyn Watch> {
    store.watch(scope, after).expect("the watch starts")
}

fn other(name: &str) -> Key {
    Key::new(OTHERS, "", name)
}

/// Checks that a creation, a change and a deletion are sent once each, with the former object.
pub async fn changes_come_once_in_order(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let mut watch = watch(&store, Scope::One(THINGS), store.revision());
    let created = put(&store, create(&key, 1)).await.object;
    let changed = put(&store, update(&key, 2, Expect::Present)).await.object;
    put(&store, create(&other("o"), 1)).await;
    put(&store, delete(&key, Expect::Present)).await;
    let events = take(&mut watch, 3).await;
    let received: Vec<_> = events
        .iter()
        .map(|event| {
            (
                event.change.old.as_deref().map(value),
                event.change.new.as_deref().map(value),
            )
        })
        .collect();
    assert_eq!(received, [(None, Some(1)), (Some(1), Some(2)), (Some(2), None)]);
    assert_eq!(events[0].change.revision, created.revision());
    assert_eq!(events[1].change.revision, changed.revision());
    assert_eq!(
        events[1].change.old.as_ref().map(|old| old.revision()),
        Some(created.revision())
    );
    assert!(events.iter().all(|event| event.change.key == key));
    no_event(&mut watch).await;
}

/// Checks that a watch from the revision of a list misses no change.
pub async fn a_watch_replays_what_came_after_its_start(store: Arc<dyn Store>) {
    let start = put(&store, create(&thing("a", "x"), 1)).await.object.revision();
    let missed = put(&store, create(&thing("a", "y"), 2)).await.object.revision();
    let mut watch = watch(&store, Scope::One(THINGS), start);
    assert_eq!(take(&mut watch, 1).await[0].change.revision, missed);
    no_event(&mut watch).await;
}

/// Checks that a deletion has its own revision, as the `DELETED` event needs it.
pub async fn a_deletion_carries_its_own_revision(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    put(&store, create(&key, 1)).await;
    let mut watch = watch(&store, Scope::One(THINGS), store.revision());
    let deletion = put(&store, delete(&key, Expect::Present)).await.object.revision();
    let events = take(&mut watch, 1).await;
    let change = &events[0].change;
    assert_eq!(change.revision, deletion);
    assert!(change.new.is_none());
    assert_eq!(change.old.as_ref().map(|old| old.revision()), Some(deletion));
}

/// Checks that watches of several resources get all changes in one order, and only those of their scope.
pub async fn many_resources_come_in_one_order(store: Arc<dyn Store>) {
    let start = store.revision();
    let both = Scope::Many(vec![OTHERS, THINGS, OTHERS]);
    let scopes = [
        both,
        Scope::All,
        Scope::One(OTHERS),
        Scope::Many(vec![QUIET, OTHERS]),
    ];
    let mut watches = scopes.map(|scope| watch(&store, scope, start));
    let mut expected = Vec::new();
    for index in 0..6 {
        let name = format!("n{index}");
        let key = if index % 3 == 0 {
            other(&name)
        } else {
            thing("a", &name)
        };
        put(&store, create(&key, 1)).await;
        expected.push(key);
    }
    for (index, watch) in watches.iter_mut().enumerate() {
        let expected: Vec<_> = expected
            .iter()
            .filter(|key| index < 2 || key.resource == OTHERS)
            .cloned()
            .collect();
        let events = take(watch, expected.len()).await;
        let keys: Vec<_> = events.iter().map(|event| event.change.key.clone()).collect();
        assert_eq!(keys, expected);
        no_event(watch).await;
        assert_eq!(watch.revision(), store.revision());
    }
    let mut none = watch(&store, Scope::Many(Vec::new()), start);
    no_event(&mut none).await;
}

/// Checks that the caller can limit the number of changes in one batch.
pub async fn at_most_max_changes_come_at_once(store: Arc<dyn Store>) {
    let start = store.revision();
    for index in 0..5 {
        put(&store, create(&thing("a", &format!("x{index}")), 1)).await;
        put(&store, create(&other(&format!("o{index}")), 1)).await;
    }
    for scope in [Scope::All, Scope::Many(vec![THINGS, OTHERS])] {
        let mut watch = watch(&store, scope, start);
        let mut last = start;
        for size in [3, 3, 3, 1] {
            let events = watch.next(3).await.expect("events are there");
            assert_eq!(events.len(), size);
            for event in &events {
                assert_eq!(event.change.revision.0, last.0 + 1, "none is left out");
                last = event.change.revision;
            }
            assert_eq!(watch.revision(), last);
        }
    }
}

/// Checks the error for a client that knows a later revision, for example of a store before its restore.
pub async fn a_watch_ahead_of_the_store_is_too_new(store: Arc<dyn Store>) {
    let current = store.revision();
    let asked = Revision(current.0 + 1);
    let error = store.watch(Scope::All, asked).err();
    assert_eq!(error, Some(StoreError::TooNew { asked, current }));
}

/// Checks that watchers receive no event for a write without changes.
pub async fn an_update_that_changes_nothing_sends_no_event(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    put(&store, create(&key, 1)).await;
    let mut watch = watch(&store, Scope::All, store.revision());
    put(&store, update(&key, 1, Expect::Present)).await;
    no_event(&mut watch).await;
}

/// Checks that `next` may be dropped at any time, as `select!` does.
pub async fn a_dropped_wait_loses_nothing(store: Arc<dyn Store>) {
    let mut watch = watch(&store, Scope::One(THINGS), store.revision());
    let writer = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            for index in 0..100 {
                put(&store, create(&thing("a", &format!("x{index}")), index)).await;
            }
        }
    });
    let mut revisions = Vec::new();
    while revisions.len() < 100 {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            events = watch.next(7) => {
                revisions.extend(events.expect("the watch goes on").iter().map(|event| event.change.revision));
            }
        }
        if let Ok(events) = tokio::time::timeout(Duration::from_micros(50), watch.next(7)).await {
            revisions.extend(
                events
                    .expect("the watch goes on")
                    .iter()
                    .map(|event| event.change.revision),
            );
        }
    }
    writer.await.expect("the writer ends");
    assert!(revisions.is_sorted_by(|a, b| a < b), "each once, in order");
    no_event(&mut watch).await;
}

/// Checks that all watchers share an event, so that its frame is encoded once.
pub async fn all_watchers_share_the_same_event(store: Arc<dyn Store>) {
    let start = store.revision();
    let mut watches: Vec<_> = [Scope::One(THINGS), Scope::All, Scope::One(THINGS)]
        .map(|scope| watch(&store, scope, start))
        .into();
    put(&store, create(&thing("a", "x"), 1)).await;
    let mut events = Vec::new();
    for watch in &mut watches {
        events.append(&mut take(watch, 1).await);
    }
    assert!(events.iter().all(|event| Arc::ptr_eq(event, &events[0])));
}

/// Checks that the revision of a watch follows the store's, but never passes a pending change.
pub async fn a_bookmark_never_runs_ahead_of_events(store: Arc<dyn Store>) {
    let start = store.revision();
    let mut watch = watch(&store, Scope::One(THINGS), start);
    assert_eq!(watch.revision(), start);
    let elsewhere = put(&store, create(&other("o"), 1)).await.object.revision();
    assert_eq!(
        watch.revision(),
        elsewhere,
        "nothing in its scope changed, so it is up to date"
    );
    let pending = put(&store, create(&thing("a", "x"), 1)).await.object.revision();
    put(&store, create(&other("p"), 1)).await;
    assert_eq!(watch.revision(), elsewhere, "a change is pending");
    assert_eq!(take(&mut watch, 1).await[0].change.revision, pending);
    assert_eq!(watch.revision(), store.revision());
}

/// Checks the error of a watch from a revision before the four kept changes.
pub async fn a_watch_from_a_forgotten_revision_is_expired(store: Arc<dyn Store>) {
    let start = store.revision();
    for index in 0..10 {
        put(&store, create(&thing("a", &format!("x{index}")), 1)).await;
    }
    for scope in [Scope::One(THINGS), Scope::All, Scope::Many(vec![QUIET, THINGS])] {
        let error = store.watch(scope, start).err();
        assert!(
            matches!(error, Some(StoreError::Expired { asked, oldest }) if asked == start && oldest > start),
            "{error:?}"
        );
    }
    let mut recent = watch(&store, Scope::One(THINGS), Revision(store.revision().0 - 4));
    take(&mut recent, 4).await;
    watch(&store, Scope::One(QUIET), start);
}

/// Checks that an expired watcher stays expired, and never sees a gap.
pub async fn a_watcher_that_falls_behind_is_expired_for_good(store: Arc<dyn Store>) {
    let mut slow = watch(&store, Scope::One(THINGS), store.revision());
    let mut quick = watch(&store, Scope::One(THINGS), store.revision());
    put(&store, create(&thing("a", "first"), 1)).await;
    let revision = take(&mut slow, 1).await[0].change.revision;
    take(&mut quick, 1).await;
    for index in 0..10 {
        put(&store, create(&thing("a", &format!("x{index}")), 1)).await;
        take(&mut quick, 1).await;
    }
    for _ in 0..2 {
        let result = slow.next(100).await;
        assert!(
            matches!(result, Err(StoreError::Expired { asked, .. }) if asked == revision),
            "{result:?}"
        );
    }
    assert_eq!(slow.revision(), revision, "nothing it has not given out");
}

/// Checks that a watcher which has seen everything of its scope does not expire, even after many changes of
/// other resources.
pub async fn a_watcher_of_a_quiet_resource_outlives_the_noise(store: Arc<dyn Store>) {
    put(&store, create(&other("o"), 1)).await;
    let mut watch = watch(&store, Scope::One(OTHERS), store.revision());
    for index in 0..20 {
        put(&store, create(&thing("a", &format!("x{index}")), 1)).await;
    }
    no_event(&mut watch).await;
    put(&store, update(&other("o"), 2, Expect::Present)).await;
    assert_eq!(take(&mut watch, 1).await[0].change.revision, store.revision());
}
