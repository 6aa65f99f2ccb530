//! A thread that commits and panics: the store is not ready from then on, and writes return the reason.
//!
//! The panic comes from a log subscriber that fails at every event. A process has one subscriber, hence the
//! separate test.

use std::time::{Duration, Instant};

use berth_storage::conformance::{create, thing};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Limits, Store, StoreError, Writer};
use futures::FutureExt as _;
use tempfile::TempDir;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Panics at every event of the thread that commits.
struct Panicking;

impl Subscriber for Panicking {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("berth_storage")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        let is_committer = std::thread::current().name() == Some("berth-commit");
        assert!(!is_committer, "a log line that cannot be written");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_dead_committer_is_not_ready() {
    let folder = TempDir::new().unwrap();
    let store = EmbeddedStore::open(&folder.path().join("berth.redb"), Limits::default()).unwrap();
    tracing::subscriber::set_global_default(Panicking).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut index = 0;
    let why = loop {
        if let Err(why) = store.ready() {
            break why;
        }
        assert!(Instant::now() < deadline, "the committer lives");
        // Sent without waiting: the answer has no receiver, which the committer logs.
        drop(
            store
                .apply(vec![create(&thing("a", &format!("x{index}")), 1)])
                .now_or_never(),
        );
        index += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let why = why.to_string();
    assert!(why.contains("ended by a panic"), "{why}");
    let refused = store.apply(vec![create(&thing("a", "y"), 1)]).await;
    assert_eq!(refused.unwrap_err(), StoreError::Unavailable(why));
}
