//! Content of a store in a file after a restart, and content that does not survive it.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::path::PathBuf;

use berth_apimachinery::{GroupResource, Key, Revision};
use berth_storage::conformance::{THINGS, create, delete, fence, guarded, thing, update, value};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{At, Expect, Limits, Scope, Source, StoreError, Writer};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    (folder, file)
}

fn open(file: &std::path::Path) -> EmbeddedStore {
    EmbeddedStore::open(file, Limits::default()).unwrap()
}

#[tokio::test]
async fn everything_comes_back_byte_for_byte() {
    let (_folder, file) = place();
    let store = open(&file);
    let core = GroupResource::new("", "namespaces");
    store
        .apply(vec![create(&Key::new(core, "", "default"), 1)])
        .await
        .unwrap();
    for index in 0..700 {
        store
            .apply(vec![create(
                &thing(&format!("n{}", index % 3), &format!("x{index}")),
                index,
            )])
            .await
            .unwrap();
    }
    store
        .apply(vec![update(&thing("n0", "x0"), 9, Expect::Present)])
        .await
        .unwrap();
    let before = [store.cached(core), store.cached(THINGS)];
    drop(store);
    let store = open(&file);
    for (resource, before) in [core, THINGS].into_iter().zip(before) {
        let after = store.cached(resource);
        assert_eq!(after.revision, before.revision);
        assert_eq!(after.items.len(), before.items.len());
        for ((name, old), (again, new)) in before.iter(None, None).zip(after.iter(None, None)) {
            assert_eq!((name, old.bytes(), old.meta()), (again, new.bytes(), new.meta()));
            assert_eq!(old.metadata_bytes(), new.metadata_bytes());
            assert_eq!(
                (old.revision(), old.api_version()),
                (new.revision(), new.api_version())
            );
            assert!(old.draft().same_as(new));
        }
    }
}

#[tokio::test]
async fn of_several_changes_of_an_object_in_one_step_the_last_comes_back() {
    let (_folder, file) = place();
    let store = open(&file);
    let [made, gone, replaced, kept] = ["made", "gone", "replaced", "kept"].map(|name| thing("n", name));
    store
        .apply(vec![create(&replaced, 1), create(&kept, 1)])
        .await
        .unwrap();
    let steps = vec![
        create(&made, 1),
        create(&gone, 1),
        update(&made, 2, Expect::Present),
        delete(&gone, Expect::Present),
        delete(&replaced, Expect::Present),
        create(&replaced, 3),
        update(&made, 4, Expect::Present),
    ];
    store.apply(steps).await.unwrap();
    let before = store.cached(THINGS);
    assert_eq!(before.items.len(), 3);
    drop(store);
    // Opening sums up all records and compares the sum with the stored one.
    let store = open(&file);
    let after = store.cached(THINGS);
    assert_eq!(after.revision, before.revision);
    for ((name, old), (again, new)) in before.iter(None, None).zip(after.iter(None, None)) {
        assert_eq!(
            (name, old.bytes(), old.revision()),
            (again, new.bytes(), new.revision())
        );
    }
    store
        .apply(vec![
            delete(&made, Expect::Present),
            delete(&replaced, Expect::Present),
        ])
        .await
        .unwrap();
}

#[tokio::test]
async fn the_revision_goes_on_even_when_nothing_is_left() {
    let (_folder, file) = place();
    let store = open(&file);
    let key = thing("a", "x");
    store.apply(vec![create(&key, 1)]).await.unwrap();
    let last = store.apply(vec![delete(&key, Expect::Present)]).await.unwrap()[0]
        .object
        .revision();
    drop(store);
    let store = open(&file);
    assert_eq!(store.revision(), last);
    assert!(store.cached(THINGS).items.is_empty());
    let next = store.apply(vec![create(&key, 2)]).await.unwrap()[0]
        .object
        .revision();
    assert!(next > last);
}

#[tokio::test]
async fn the_history_before_a_restart_is_expired() {
    let (_folder, file) = place();
    let store = open(&file);
    let first = store.apply(vec![create(&thing("a", "x"), 1)]).await.unwrap()[0]
        .object
        .revision();
    let last = store.apply(vec![create(&thing("a", "y"), 1)]).await.unwrap()[0]
        .object
        .revision();
    drop(store);
    let store = open(&file);
    for scope in [Scope::One(THINGS), Scope::All] {
        let refused = store.watch(scope.clone(), first).err();
        assert_eq!(
            refused,
            Some(StoreError::Expired {
                asked: first,
                oldest: last
            })
        );
        assert!(store.watch(scope, last).is_ok());
    }
    let refused = store.list(THINGS, At::Exact(first)).await.err();
    assert_eq!(
        refused,
        Some(StoreError::Expired {
            asked: first,
            oldest: last
        })
    );
    let old_decision = store
        .apply(vec![guarded(create(&thing("a", "z"), 1), fence("f", first))])
        .await;
    assert!(
        matches!(old_decision, Err(StoreError::Fenced { .. })),
        "a decision of another process is refused"
    );
    store
        .apply(vec![guarded(create(&thing("a", "z"), 1), fence("f", last))])
        .await
        .unwrap();
}

#[tokio::test]
async fn a_second_opener_is_told_that_the_file_is_in_use() {
    let (_folder, file) = place();
    let store = open(&file);
    let refused = EmbeddedStore::open(&file, Limits::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("berth.redb") && refused.contains("in use"),
        "{refused}"
    );
    store.apply(vec![create(&thing("a", "x"), 1)]).await.unwrap();
}

#[tokio::test]
async fn dropping_the_store_finishes_what_is_queued_and_ends_watches() {
    let (_folder, file) = place();
    let store = open(&file);
    let mut watch = store.watch(Scope::All, store.revision()).unwrap();
    let mut writes = Vec::new();
    for index in 0..20 {
        let mut write = Box::pin(store.apply(vec![create(&thing("a", &format!("x{index}")), index)]));
        // Polled once, so that it is queued, and then abandoned.
        if let Ok(answer) = tokio::time::timeout(std::time::Duration::ZERO, &mut write).await {
            answer.unwrap();
        }
        writes.push(write);
    }
    drop(writes);
    drop(store);
    let mut seen = 0;
    let end = loop {
        match watch.next(100).await {
            Ok(events) => seen += events.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(seen, 20);
    assert!(matches!(end, StoreError::Unavailable(_)), "{end}");
    let store = open(&file);
    assert_eq!(
        store
            .cached(THINGS)
            .items
            .values()
            .map(|object| value(object))
            .sum::<i64>(),
        (0..20).sum::<i64>()
    );
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, file) = place();
    let store = open(&file);
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(store.revision() > Revision(0));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let error = EmbeddedStore::open(
        std::path::Path::new("/no/such/folder/berth.redb"),
        Limits::default(),
    )
    .err();
    let error = error.unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(
        error.to_string().contains("/no/such/folder/berth.redb"),
        "{error}"
    );
}
