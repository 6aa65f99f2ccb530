//! The conformance suite on the store in a file.

use std::sync::Arc;

use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Limits, Store};
use tempfile::TempDir;

async fn make(limits: Limits) -> (Arc<dyn Store>, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let store = EmbeddedStore::open(&folder.path().join("berth.redb"), limits).expect("a new store");
    (Arc::new(store), folder)
}

berth_storage::conformance!(make);
berth_storage::conformance_atomic!(make);
