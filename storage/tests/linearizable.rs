//! Recorded histories of concurrent operations are linearizable, key by key, and watchers receive every
//! change once and in order: on the stores of one process.

use std::sync::Arc;

use berth_apimachinery::Revision;
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Limits, MemoryStore, Store};
use tempfile::TempDir;
use workload::Workload;

#[expect(unreachable_pub, reason = "shared with other tests")]
#[path = "support/linear.rs"]
mod linear;
#[expect(unreachable_pub, reason = "shared with other tests")]
#[path = "support/workload.rs"]
mod workload;

async fn check(store: Arc<dyn Store>) {
    let work = Workload::start(&[Arc::clone(&store), store], 8);
    work.answers(1000).await;
    let summary = work.finish().await;
    assert_eq!(summary.unknown, 0);
    assert!(summary.acknowledged > 100, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_memory_is_linearizable() {
    check(Arc::new(MemoryStore::new(Revision(1), Limits::default()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_is_linearizable() {
    let folder = TempDir::new().expect("a temporary folder");
    let store =
        EmbeddedStore::open(&folder.path().join("berth.redb"), Limits::default()).expect("a new store");
    check(Arc::new(store)).await;
}
