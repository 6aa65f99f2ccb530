//! The conformance suite on the store in memory.

use std::sync::Arc;

use berth_apimachinery::Revision;
use berth_storage::{Limits, MemoryStore, Store};

async fn make(limits: Limits) -> (Arc<dyn Store>, ()) {
    (Arc::new(MemoryStore::new(Revision(1), limits)), ())
}

berth_storage::conformance!(make);
berth_storage::conformance_atomic!(make);
