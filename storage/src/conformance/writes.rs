//! Requirements of writes of single objects: expectations, guards, fences, revisions.

use std::sync::Arc;

use berth_apimachinery::{Key, Revision};

use super::*;
use crate::source::At;
use crate::stage::MAX_OBJECT_BYTES;

/// Checks that a created object exists, with the revision in its bytes.
pub async fn a_created_object_is_listed_at_its_revision(store: Arc<dyn Store>) {
    let applied = put(&store, create(&thing("a", "x"), 1)).await;
    assert!(applied.changed);
    let listed = store.list(THINGS, At::Latest).await.expect("the list is there");
    let object = listed.get("a", "x").expect("the object is listed");
    assert_eq!(object.revision(), applied.object.revision());
    assert_eq!(
        object.value()["metadata"]["resourceVersion"],
        object.revision().to_string()
    );
    assert_eq!(listed.revision, object.revision());
    assert_eq!(store.revision(), object.revision());
    assert!(store.cached(OTHERS).items.is_empty());
    assert!(store.ready().is_ok());
}

/// Checks that two objects never have the same name.
pub async fn creating_what_exists_is_refused(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await;
    let again = apply_one(&store, create(&key, 2)).await;
    assert_eq!(
        again.expect_err("it exists"),
        StoreError::AlreadyExists { key: key.clone() }
    );
    assert_eq!(
        store.revision(),
        first.object.revision(),
        "a refusal moves nothing"
    );
    put(&store, create(&thing("b", "x"), 2)).await;
}

/// Checks that an update that expects the current revision is applied.
pub async fn an_update_at_its_revision_replaces(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object;
    let second = put(&store, update(&key, 2, Expect::At(first.revision())))
        .await
        .object;
    assert!(second.revision() > first.revision());
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 2);
}

/// Checks that an update that expects another revision is refused.
pub async fn an_update_at_another_revision_conflicts(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object.revision();
    let second = put(&store, update(&key, 2, Expect::At(first)))
        .await
        .object
        .revision();
    let stale = apply_one(&store, update(&key, 3, Expect::At(first))).await;
    assert_eq!(
        stale.expect_err("it moved"),
        StoreError::Conflict {
            key: key.clone(),
            have: Some(second),
            want: Some(first)
        }
    );
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 2);
}

/// Checks that an update that expects only presence is applied at any revision.
pub async fn an_update_expecting_presence_ignores_the_revision(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    put(&store, create(&key, 1)).await;
    put(&store, update(&key, 2, Expect::Present)).await;
    put(&store, update(&key, 3, Expect::Present)).await;
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 3);
}

/// Checks that an update that expects absence is refused.
pub async fn an_update_expecting_absence_conflicts(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let have = Some(put(&store, create(&key, 1)).await.object.revision());
    let result = apply_one(&store, update(&key, 2, Expect::Absent)).await;
    assert_eq!(
        result.expect_err("it is there"),
        StoreError::Conflict {
            key,
            have,
            want: None
        }
    );
}

/// Checks that updates and deletes of missing objects are refused.
pub async fn what_is_not_there_is_not_found(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let missing = StoreError::NotFound { key: key.clone() };
    for step in [
        update(&key, 1, Expect::Present),
        update(&key, 1, Expect::At(Revision(1))),
        delete(&key, Expect::Present),
        delete(&key, Expect::At(Revision(1))),
    ] {
        assert_eq!(
            apply_one(&store, step).await.expect_err("nothing is there"),
            missing
        );
    }
}

/// Checks that an update without changes keeps the revision and the object.
pub async fn an_update_that_changes_nothing_writes_nothing(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object;
    let same = put(&store, update(&key, 1, Expect::At(first.revision()))).await;
    assert!(!same.changed);
    assert_eq!(same.object.revision(), first.revision());
    assert_eq!(store.revision(), first.revision());
    let stale = apply_one(
        &store,
        update(&key, 1, Expect::At(Revision(first.revision().0 + 9))),
    )
    .await;
    assert!(
        matches!(stale, Err(StoreError::Conflict { .. })),
        "the expectation is judged all the same"
    );
}

/// Checks that a delete returns the last state of the object, at the revision of the deletion.
pub async fn a_delete_answers_the_last_state_at_its_own_revision(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object.revision();
    let deletion = put(&store, delete(&key, Expect::At(first))).await;
    assert!(deletion.changed);
    assert!(deletion.object.revision() > first);
    assert_eq!(deletion.object.revision(), store.revision());
    assert_eq!(
        deletion.object.value()["metadata"]["resourceVersion"],
        store.revision().to_string()
    );
    assert_eq!(value(&deletion.object), 1);
    assert!(store.cached(THINGS).items.is_empty());
}

/// Checks that a delete that expects another revision is refused.
pub async fn a_delete_at_another_revision_conflicts(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object.revision();
    put(&store, update(&key, 2, Expect::Present)).await;
    let stale = apply_one(&store, delete(&key, Expect::At(first))).await;
    assert!(matches!(stale, Err(StoreError::Conflict { want: Some(want), .. }) if want == first));
    assert_eq!(store.cached(THINGS).items.len(), 1);
}

/// Checks that a name can be used again after its object is deleted.
pub async fn a_deleted_object_can_be_made_again(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await.object.revision();
    put(&store, delete(&key, Expect::Present)).await;
    let again = put(&store, create(&key, 1)).await.object;
    assert!(again.revision() > first);
    let stale = apply_one(&store, update(&key, 2, Expect::At(first))).await;
    assert!(
        matches!(stale, Err(StoreError::Conflict { .. })),
        "the old revision never comes back"
    );
}

/// Checks that a contradictory step is refused, not stored.
pub async fn a_step_that_contradicts_itself_is_refused(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let elsewhere = Step {
        object: Some(draft(&thing("a", "y"), 1)),
        ..create(&key, 1)
    };
    let other_namespace = Step {
        object: Some(draft(&thing("b", "x"), 1)),
        ..create(&key, 1)
    };
    let empty = Step {
        object: None,
        ..create(&key, 1)
    };
    for step in [elsewhere, other_namespace, empty] {
        let result = apply_one(&store, step).await;
        assert!(
            matches!(&result, Err(StoreError::Misuse { key: at, .. }) if *at == key),
            "{result:?}"
        );
    }
    assert!(store.cached(THINGS).items.is_empty());
}

/// Checks that no write makes an object larger than [`MAX_OBJECT_BYTES`].
pub async fn an_object_above_the_limit_is_refused_by_its_size(store: Arc<dyn Store>) {
    let key = thing("a", "x");
    let object = json!({
        "apiVersion": "conformance.example/v1", "kind": "Thing",
        "metadata": {"namespace": "a", "name": "x"},
        "spec": {"value": 2, "text": "x".repeat(MAX_OBJECT_BYTES)},
    });
    let large = Draft::new(&object).expect("the suite's own object is valid");
    let refused = StoreError::TooLarge {
        key: key.clone(),
        bytes: large.len(),
    };
    let with_large = |step: Step| Step {
        object: Some(large.clone()),
        ..step
    };
    let created = apply_one(&store, with_large(create(&key, 1))).await;
    assert_eq!(created.expect_err("too large"), refused);
    put(&store, create(&key, 1)).await;
    let before = store.revision();
    let updated = apply_one(&store, with_large(update(&key, 1, Expect::Present))).await;
    assert_eq!(updated.expect_err("too large"), refused);
    assert_eq!(store.revision(), before);
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 1);
    put(&store, delete(&key, Expect::Present)).await;
}

/// Checks that a step with [`Guard::Unchanged`] is refused once the other object has changed.
pub async fn a_guard_holds_while_the_other_object_is_unchanged(store: Arc<dyn Store>) {
    let (key, other) = (thing("a", "x"), Key::new(OTHERS, "", "o"));
    let at = put(&store, create(&other, 1)).await.object.revision();
    let unchanged = |revision| Guard::Unchanged {
        key: other.clone(),
        revision,
    };
    put(&store, guarded(create(&key, 1), unchanged(at))).await;
    let now = put(&store, update(&other, 2, Expect::Present))
        .await
        .object
        .revision();
    let moved = apply_one(&store, guarded(update(&key, 2, Expect::Present), unchanged(at))).await;
    let conflict = StoreError::Conflict {
        key: other.clone(),
        have: Some(now),
        want: Some(at),
    };
    assert_eq!(moved.expect_err("it moved"), conflict);
    put(&store, delete(&other, Expect::Present)).await;
    let result = apply_one(&store, guarded(update(&key, 2, Expect::Present), unchanged(now))).await;
    let conflict = StoreError::Conflict {
        key: other.clone(),
        have: None,
        want: Some(now),
    };
    assert_eq!(result.expect_err("it is gone"), conflict);
    assert_eq!(value(store.cached(THINGS).get("a", "x").expect("it is there")), 1);
}

/// Checks that a step with [`Guard::Fence`] is refused once the fence was passed.
pub async fn a_fence_refuses_a_decision_on_an_older_snapshot(store: Arc<dyn Store>) {
    let snapshot = store.revision();
    let first = put(
        &store,
        guarded(create(&thing("a", "x"), 1), fence("seed/eu", snapshot)),
    )
    .await;
    let passed = first.object.revision();
    let stale = apply_one(
        &store,
        guarded(create(&thing("a", "y"), 1), fence("seed/eu", snapshot)),
    )
    .await;
    let fenced = StoreError::Fenced {
        name: "seed/eu".to_owned(),
        at: passed,
        not_after: snapshot,
    };
    assert_eq!(stale.expect_err("the fence was passed"), fenced);
    put(
        &store,
        guarded(create(&thing("a", "y"), 1), fence("seed/us", snapshot)),
    )
    .await;
    put(
        &store,
        guarded(create(&thing("a", "z"), 1), fence("seed/eu", passed)),
    )
    .await;
}

/// Checks that only committed writes pass a fence.
pub async fn a_refused_step_passes_no_fence(store: Arc<dyn Store>) {
    let (key, snapshot) = (thing("a", "x"), store.revision());
    let result = apply_one(
        &store,
        guarded(delete(&key, Expect::Present), fence("f", snapshot)),
    )
    .await;
    assert!(result.is_err());
    put(&store, create(&key, 1)).await;
    let same = put(
        &store,
        guarded(update(&key, 1, Expect::Present), fence("f", snapshot)),
    )
    .await;
    assert!(!same.changed);
    put(
        &store,
        guarded(update(&key, 2, Expect::Present), fence("f", snapshot)),
    )
    .await;
}

/// Checks that an empty list of steps changes nothing.
pub async fn no_steps_do_nothing(store: Arc<dyn Store>) {
    let before = store.revision();
    assert!(before > Revision(0), "0 is no valid resourceVersion");
    assert!(
        store
            .apply(Vec::new())
            .await
            .expect("nothing is refused")
            .is_empty()
    );
    assert_eq!(store.revision(), before);
}

/// Checks that all resources share one sequence of revisions.
pub async fn revisions_grow_across_resources(store: Arc<dyn Store>) {
    let mut last = store.revision();
    for round in 0..5 {
        for resource in [THINGS, OTHERS] {
            let key = Key::new(resource, "", &format!("n{round}"));
            let now = put(&store, create(&key, round)).await.object.revision();
            assert!(now > last);
            last = now;
        }
    }
    assert_eq!(
        store.cached(QUIET).revision,
        last,
        "every list says the store's revision"
    );
}
