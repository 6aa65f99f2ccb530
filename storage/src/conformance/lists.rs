//! Requirements of lists: order, ranges, freshness, past revisions.

use std::sync::Arc;

use berth_apimachinery::Revision;

use super::*;
use crate::collection::{Collection, Name};
use crate::source::At;

fn names(collection: &Collection) -> Vec<String> {
    collection
        .iter(None, None)
        .map(|(name, _)| format!("{}/{}", name.namespace, name.name))
        .collect()
}

async fn fill(store: &Arc<dyn Store>) {
    for (namespace, name) in [
        ("b", "a"),
        ("a-b", "z"),
        ("a", "z"),
        ("a", "b"),
        ("", "cluster"),
        ("a", "b.c"),
    ] {
        put(store, create(&thing(namespace, name), 1)).await;
    }
}

/// Checks that lists are in byte order, independent of the order of writes.
pub async fn lists_are_ordered_by_namespace_then_name(store: Arc<dyn Store>) {
    fill(&store).await;
    let listed = store.list(THINGS, At::Latest).await.expect("listed");
    assert_eq!(
        names(&listed),
        ["/cluster", "a/b", "a/b.c", "a/z", "a-b/z", "b/a"]
    );
}

/// Checks lists of one namespace, also after a given name.
pub async fn a_namespace_is_a_range(store: Arc<dyn Store>) {
    fill(&store).await;
    let listed = store.list(THINGS, At::Any).await.expect("listed");
    let within = |namespace, after: Option<Name>| -> Vec<String> {
        listed
            .iter(Some(namespace), after.as_ref())
            .map(|(name, _)| name.name.to_string())
            .collect()
    };
    assert_eq!(within("a", None), ["b", "b.c", "z"]);
    assert_eq!(within("a", Some(Name::new("a", "b"))), ["b.c", "z"]);
    assert_eq!(
        within("a", Some(Name::new("a", "bb"))),
        ["z"],
        "the name itself may be gone"
    );
    assert_eq!(within("nowhere", None), [""; 0]);
    let rest = Name::new("a", "z");
    assert_eq!(listed.iter(None, Some(&rest)).count(), 2);
}

/// Checks that a list of each freshness has the acknowledged writes.
pub async fn every_freshness_shows_acknowledged_writes(store: Arc<dyn Store>) {
    let at = put(&store, create(&thing("a", "x"), 1)).await.object.revision();
    for freshness in [
        At::Latest,
        At::Any,
        At::NotOlderThan(at),
        At::NotOlderThan(Revision(1)),
        At::Exact(at),
    ] {
        let listed = store.list(THINGS, freshness).await.expect("listed");
        assert_eq!((listed.items.len(), listed.revision), (1, at), "{freshness:?}");
    }
}

/// Checks that `Exact` needs no held list while the history is long enough.
pub async fn a_past_revision_is_shown_as_it_was(store: Arc<dyn Store>) {
    let (x, y) = (thing("a", "x"), thing("a", "y"));
    let first = put(&store, create(&x, 1)).await.object.revision();
    let then = put(&store, create(&y, 2)).await.object.revision();
    put(&store, delete(&x, Expect::Present)).await;
    put(&store, update(&y, 3, Expect::Present)).await;
    put(&store, create(&thing("a", "z"), 4)).await;
    let past = store
        .list(THINGS, At::Exact(then))
        .await
        .expect("the past is known");
    assert_eq!(past.revision, then);
    assert_eq!(names(&past), ["a/x", "a/y"]);
    let x = past.get("a", "x").expect("it was there");
    assert_eq!(
        (x.revision(), value(x)),
        (first, 1),
        "what was deleted since is back as it was"
    );
    assert_eq!(value(past.get("a", "y").expect("it was there")), 2);
    let elsewhere = store
        .list(QUIET, At::Exact(then))
        .await
        .expect("nothing ever happened there");
    assert_eq!((elsewhere.revision, elsewhere.items.len()), (then, 0));
}

/// Checks that `Exact` does not wait.
pub async fn an_exact_revision_ahead_is_too_new(store: Arc<dyn Store>) {
    let current = store.revision();
    let asked = Revision(current.0 + 1);
    let result = store.list(THINGS, At::Exact(asked)).await;
    assert_eq!(
        result.expect_err("it is ahead"),
        StoreError::TooNew { asked, current }
    );
}

/// Checks that a list waits for a newer revision, which a client may have seen on another replica.
pub async fn a_future_revision_is_waited_for(store: Arc<dyn Store>) {
    let asked = Revision(store.revision().0 + 2);
    let waiting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.list(THINGS, At::NotOlderThan(asked)).await }
    });
    put(&store, create(&thing("a", "x"), 1)).await;
    put(&store, create(&Key::new(OTHERS, "", "o"), 1)).await;
    let listed = waiting.await.expect("the task ends").expect("the revision came");
    assert!(listed.revision >= asked);
    assert_eq!(listed.items.len(), 1);
}

/// Checks that the wait for a revision ends in time.
pub async fn a_revision_that_does_not_come_is_too_new(store: Arc<dyn Store>) {
    let current = store.revision();
    let asked = Revision(current.0 + 1_000_000);
    let result = tokio::time::timeout(MAX_WAIT, store.list(THINGS, At::NotOlderThan(asked))).await;
    let result = result.expect("it gives up in time");
    assert_eq!(
        result.expect_err("it did not come"),
        StoreError::TooNew { asked, current }
    );
}

/// Checks that a list does not change after it was returned.
pub async fn a_list_does_not_move(store: Arc<dyn Store>) {
    put(&store, create(&thing("a", "x"), 1)).await;
    let list = store.cached(THINGS);
    put(&store, update(&thing("a", "x"), 2, Expect::Present)).await;
    put(&store, create(&thing("a", "y"), 1)).await;
    assert_eq!(list.items.len(), 1);
    assert_eq!(value(list.get("a", "x").expect("it is there")), 1);
}

/// Checks that the pages of one list agree even when the history no longer has its revision.
pub async fn a_held_list_stays_readable(store: Arc<dyn Store>) {
    fill(&store).await;
    let page = store.list(THINGS, At::Latest).await.expect("listed");
    store.hold(THINGS, &page);
    for round in 0..10 {
        put(&store, update(&thing("a", "b"), 100 + round, Expect::Present)).await;
    }
    put(&store, delete(&thing("a", "z"), Expect::Present)).await;
    let again = store
        .list(THINGS, At::Exact(page.revision))
        .await
        .expect("it is held");
    assert_eq!(again.revision, page.revision);
    assert_eq!(names(&again), names(&page));
    assert_eq!(value(again.get("a", "b").expect("it was there")), 1);
}

/// Checks the error for a revision that is neither held nor in the history.
pub async fn a_forgotten_revision_is_expired(store: Arc<dyn Store>) {
    let then = put(&store, create(&thing("a", "x"), 1)).await.object.revision();
    for round in 0..10 {
        put(&store, update(&thing("a", "x"), 100 + round, Expect::Present)).await;
    }
    let result = store.list(THINGS, At::Exact(then)).await;
    assert!(
        matches!(result, Err(StoreError::Expired { asked, oldest }) if asked == then && oldest > then),
        "{result:?}"
    );
}
