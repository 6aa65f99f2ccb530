//! The conformance suite on the store in memory.

use std::sync::Arc;

use meta::Revision;
use storage::{Limits, MemoryStore, Store};

async fn make(limits: Limits) -> (Arc<dyn Store>, ()) {
    (Arc::new(MemoryStore::new(Revision(1), limits)), ())
}

storage::conformance!(make);
storage::conformance_atomic!(make);
