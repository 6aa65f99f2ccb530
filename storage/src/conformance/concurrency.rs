//! Requirements of every store under concurrent writes: one winner, no lost update, reads after writes,
//! fences.

use std::sync::Arc;

use super::*;
use crate::source::{At, Scope};

/// Runs all futures as separate tasks and returns their results in order.
async fn join_all<T: Send + 'static>(
    futures: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = futures.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.expect("the task ends"));
    }
    results
}

/// Checks that exactly one of several concurrent creates succeeds.
pub async fn one_of_many_creates_wins(store: Arc<dyn Store>) {
    let creates = (0..32).map(|index| {
        let store = Arc::clone(&store);
        async move { apply_one(&store, create(&thing("a", "x"), index)).await }
    });
    let results = join_all(creates).await;
    let won: Vec<_> = results.iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        value(store.cached(THINGS).get("a", "x").expect("it is there")),
        value(&won[0].object)
    );
    assert!(
        results
            .iter()
            .flat_map(|result| result.as_ref().err())
            .all(|error| matches!(error, StoreError::AlreadyExists { .. }))
    );
}

/// Checks that sixteen concurrent writers count to 160, and that a watcher sees every step.
pub async fn concurrent_updates_lose_nothing(store: Arc<dyn Store>) {
    const WRITERS: i64 = 16;
    const ROUNDS: i64 = 10;
    let key = thing("a", "counter");
    put(&store, create(&key, 0)).await;
    let mut watch = store
        .watch(Scope::One(THINGS), store.revision())
        .expect("the watch starts");
    let writers = (0..WRITERS).map(|_| {
        let (store, key) = (Arc::clone(&store), key.clone());
        async move {
            for _ in 0..ROUNDS {
                increment(&store, &key).await;
            }
        }
    });
    join_all(writers).await;
    let events = take(
        &mut watch,
        usize::try_from(WRITERS * ROUNDS).expect("a small number"),
    )
    .await;
    for (index, event) in events.iter().enumerate() {
        let (old, new) = (event.change.old.as_ref(), event.change.new.as_ref());
        assert_eq!(old.map(|old| value(old)), i64::try_from(index).ok());
        assert_eq!(new.map(|new| value(new)), i64::try_from(index + 1).ok());
    }
    assert_eq!(
        value(store.cached(THINGS).get("a", "counter").expect("it is there")),
        WRITERS * ROUNDS
    );
}

async fn increment(store: &Arc<dyn Store>, key: &Key) {
    loop {
        let listed = store.list(key.resource, At::Latest).await.expect("listed");
        let object = listed.get(&key.namespace, &key.name).expect("it is there");
        let step = update(key, value(object) + 1, Expect::At(object.revision()));
        match apply_one(store, step).await {
            Ok(_) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Checks that a writer can read its own writes, by list and by watch.
pub async fn a_write_is_visible_when_it_is_answered(store: Arc<dyn Store>) {
    let writers = (0..8).map(|writer| {
        let store = Arc::clone(&store);
        async move {
            for index in 0..20 {
                let name = format!("w{writer}-{index}");
                let at = put(&store, create(&thing("a", &name), index))
                    .await
                    .object
                    .revision();
                assert!(store.revision() >= at);
                let listed = store.list(THINGS, At::Latest).await.expect("listed");
                assert!(listed.revision >= at);
                assert!(listed.get("a", &name).is_some());
            }
        }
    });
    let start = store.revision();
    join_all(writers).await;
    let mut watch = store.watch(Scope::One(THINGS), start).expect("the watch starts");
    let events = take(&mut watch, 160).await;
    assert!(events.is_sorted_by(|a, b| a.change.revision < b.change.revision));
}

/// Checks that only one of many decisions on the same snapshot is committed.
pub async fn a_fence_lets_one_of_many_through(store: Arc<dyn Store>) {
    let snapshot = store.revision();
    let decisions = (0..32).map(|index| {
        let store = Arc::clone(&store);
        let step = guarded(
            create(&thing("a", &format!("x{index}")), index),
            fence("seed/eu", snapshot),
        );
        async move { apply_one(&store, step).await }
    });
    let results = join_all(decisions).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(
        results
            .iter()
            .flat_map(|result| result.as_ref().err())
            .all(|error| matches!(error, StoreError::Fenced { .. }))
    );
    assert_eq!(store.cached(THINGS).items.len(), 1);
}
