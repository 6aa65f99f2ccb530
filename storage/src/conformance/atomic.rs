//! Requirements of atomic lists of steps.

use std::sync::Arc;

use super::*;
use crate::source::Scope;

/// Checks that a refused list changes neither objects nor the revision, and sends no events.
pub async fn a_refused_list_leaves_no_trace(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let revision = put(&store, create(&key, 1)).await.object.revision();
    let mut watch = store.watch(Scope::All, revision).expect("the watch starts");
    let fenced = guarded(create(&thing("a", "new"), 1), fence("f", revision));
    let result = store
        .apply(vec![
            fenced,
            update(&key, 2, Expect::At(revision)),
            delete(&thing("a", "gone"), Expect::Present),
        ])
        .await;
    assert_eq!(
        result.expect_err("a step fails"),
        StoreError::NotFound {
            key: thing("a", "gone")
        }
    );
    assert_eq!(store.revision(), revision);
    assert_eq!(store.cached(THINGS).items.len(), 1);
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 1);
    no_event(&mut watch).await;
    put(
        &store,
        guarded(create(&thing("a", "later"), 1), fence("f", revision)),
    )
    .await;
}

/// Checks that `Expect::Present` refers to the state after the earlier steps.
pub async fn a_step_sees_the_earlier_ones_of_its_list(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let applied = store
        .apply(vec![
            create(&key, 1),
            update(&key, 2, Expect::Present),
            create(&thing("a", "y"), 3),
            delete(&thing("a", "y"), Expect::Present),
        ])
        .await
        .expect("the list is applied");
    let revisions: Vec<_> = applied.iter().map(|applied| applied.object.revision()).collect();
    assert!(
        revisions.is_sorted_by(|a, b| a < b),
        "each step has a revision of its own: {revisions:?}"
    );
    assert_eq!(store.revision(), revisions[3]);
    let listed = store.cached(THINGS);
    assert_eq!(listed.items.len(), 1);
    assert_eq!(value(listed.get("a", "x").expect("it is there")), 2);
}

/// Checks that two steps of one list can have the same fence.
pub async fn a_list_does_not_stand_in_its_own_way(store: Arc<dyn Store>) {
    let snapshot = store.revision();
    let steps = ["x", "y"].map(|name| guarded(create(&thing("a", name), 1), fence("f", snapshot)));
    store
        .apply(steps.to_vec())
        .await
        .expect("its own passing does not count");
    let result = apply_one(&store, guarded(create(&thing("a", "z"), 1), fence("f", snapshot))).await;
    assert!(matches!(result, Err(StoreError::Fenced { at, .. }) if at == store.revision()));
}

/// Checks that a refused list does not affect others that are applied at the same time.
pub async fn a_refused_list_does_not_disturb_others(store: Arc<dyn Store>) {
    let writes = (0..50).map(|index| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let key = thing("a", &format!("n{index}"));
            let mut steps = vec![create(&key, index)];
            if index % 2 == 1 {
                steps.push(delete(&thing("a", "nothing"), Expect::Present));
            }
            store.apply(steps).await.is_ok()
        })
    });
    for (index, write) in writes.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(write.await.expect("the task ends"), index % 2 == 0);
    }
    assert_eq!(store.cached(THINGS).items.len(), 25);
}

/// Checks that a list of steps without changes keeps the revision.
pub async fn a_list_that_changes_nothing_keeps_the_revision(store: Arc<dyn Store>) {
    let keys = ["x", "y"].map(|name| thing("a", name));
    store
        .apply(keys.iter().map(|key| create(key, 1)).collect())
        .await
        .expect("created");
    let before = store.revision();
    let same = keys.iter().map(|key| update(key, 1, Expect::Present)).collect();
    let applied = store.apply(same).await.expect("nothing is refused");
    assert!(applied.iter().all(|applied| !applied.changed));
    assert_eq!(store.revision(), before);
}
