//! History of a store, and its age, with tokio's paused clock.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Key, Revision};
use berth_storage::conformance::{OTHERS, THINGS, create, thing, update};
use berth_storage::{At, Expect, Limits, MemoryStore, Scope, Source, Step, Store, StoreError};

/// A store with a history of one change per resource, so that only retained lists have the past.
fn forgetful() -> MemoryStore {
    MemoryStore::new(
        Revision(10),
        Limits {
            events: 1,
            ..Limits::default()
        },
    )
}

/// Replaces the thing with one of about `bytes` bytes.
fn large(name: &str, bytes: usize, round: usize) -> Step {
    let key = thing("a", name);
    let value = serde_json::json!({
        "apiVersion": "conformance.example/v1", "kind": "Thing",
        "metadata": {"namespace": "a", "name": name}, "spec": {"value": round, "text": "x".repeat(bytes)},
    });
    let object = Some(berth_apimachinery::Draft::new(&value).unwrap());
    Step {
        verb: Verb::Update,
        key,
        subresource: "",
        object,
        expect: Expect::Present,
        guards: Vec::new(),
    }
}

fn churn(store: &MemoryStore) {
    for value in 100..103 {
        store
            .commit(&[update(&thing("a", "x"), value, Expect::Present)])
            .unwrap();
    }
}

async fn expired(store: &MemoryStore, revision: Revision) -> bool {
    match store.list(THINGS, At::Exact(revision)).await {
        Ok(listed) => {
            assert_eq!(listed.revision, revision);
            false
        }
        Err(StoreError::Expired { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_list_is_let_go_after_five_minutes_however_often_it_is_read() {
    let store = forgetful();
    store.commit(&[create(&thing("a", "x"), 1)]).unwrap();
    let page = store.cached(THINGS);
    store.hold(THINGS, &page);
    churn(&store);
    for _ in 0..4 {
        tokio::time::advance(Duration::from_secs(74)).await;
        assert!(!expired(&store, page.revision).await);
        store.hold(THINGS, &page);
    }
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(expired(&store, page.revision).await);
}

#[tokio::test(start_paused = true)]
async fn held_lists_keep_at_most_64_mib_alive_oldest_first_out() {
    let store = forgetful();
    store
        .commit(&[create(&thing("a", "x"), 1), create(&Key::new(OTHERS, "", "o"), 1)])
        .unwrap();
    let first = store.cached(THINGS);
    store.hold(THINGS, &first);
    for round in 0..40 {
        store.commit(&[large("x", 1 << 20, round)]).unwrap();
    }
    let second = store.cached(THINGS);
    store.hold(THINGS, &second);
    assert!(!expired(&store, first.revision).await, "40 MiB");
    for round in 40..70 {
        store.commit(&[large("x", 1 << 20, round)]).unwrap();
    }
    assert!(expired(&store, first.revision).await, "70 MiB");
    assert!(!expired(&store, second.revision).await, "30 MiB of its own");
}

#[tokio::test(start_paused = true)]
async fn a_revision_ahead_is_waited_for_three_seconds() {
    let store = forgetful();
    let started = tokio::time::Instant::now();
    let refused = store.list(THINGS, At::NotOlderThan(Revision(11))).await;
    assert_eq!(
        refused.err(),
        Some(StoreError::TooNew {
            asked: Revision(11),
            current: Revision(10)
        })
    );
    assert_eq!(started.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn a_projection_starts_where_it_is_told() {
    let store = forgetful();
    assert_eq!(store.revision(), Revision(10));
    assert!(store.watch(Scope::All, Revision(10)).is_ok());
    let older = store.watch(Scope::All, Revision(9)).err();
    assert_eq!(
        older,
        Some(StoreError::Expired {
            asked: Revision(9),
            oldest: Revision(10)
        })
    );
    let first = store.commit(&[create(&thing("a", "x"), 1)]).unwrap();
    assert_eq!(first[0].object.revision(), Revision(11));
}

#[tokio::test]
async fn history_is_bounded_in_bytes_per_resource_and_in_all() {
    let limits = Limits {
        events: 1000,
        bytes: 20 << 20,
        total_bytes: 30 << 20,
        ..Limits::default()
    };
    let store = MemoryStore::new(Revision(1), limits);
    store
        .commit(&[create(&thing("a", "x"), 1), create(&Key::new(OTHERS, "", "o"), 1)])
        .unwrap();
    let start = store.revision();
    for round in 0..25 {
        store.commit(&[large("x", 1 << 20, round)]).unwrap();
    }
    assert!(
        store.watch(Scope::One(THINGS), start).is_err(),
        "25 MiB in one resource"
    );
    assert!(store.watch(Scope::One(OTHERS), start).is_ok());
    let recent = Revision(store.revision().0 - 18);
    assert!(store.watch(Scope::One(THINGS), recent).is_ok());
    for round in 0..15 {
        let mut step = large("o", 1 << 20, round);
        step.key = Key::new(OTHERS, "a", "o");
        step.verb = if round == 0 { Verb::Create } else { Verb::Update };
        store.commit(&[step]).unwrap();
    }
    assert!(
        store.watch(Scope::One(THINGS), recent).is_err(),
        "33 MiB in all: the oldest go first"
    );
    assert!(
        store
            .watch(Scope::One(OTHERS), Revision(store.revision().0 - 15))
            .is_ok()
    );
}
