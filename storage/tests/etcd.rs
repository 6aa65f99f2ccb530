//! The conformance suite on the store in etcd.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use berth_storage::etcd::{EtcdConfig, EtcdStore};
use berth_storage::{Limits, Store};
use etcd_process::Etcd;

#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../tests/src/etcd.rs"]
mod etcd_process;

/// An etcd that no other case uses at the same time: all its keys share one sequence of revisions.
struct Lent(Option<Etcd>);

static IDLE: Mutex<Vec<Etcd>> = Mutex::new(Vec::new());

impl Lent {
    fn new() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(Some(idle.unwrap_or_else(Etcd::start)))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        IDLE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(self.0.take());
    }
}

async fn make(limits: Limits) -> (Arc<dyn Store>, Lent) {
    let etcd = Lent::new();
    let url = etcd.0.as_ref().map(Etcd::url);
    let mut config = EtcdConfig::new(url);
    config.prefix = format!("/case-{}", RandomState::new().hash_one(0));
    let store = EtcdStore::open(&config, limits).await.expect("a new store");
    (Arc::new(store), etcd)
}

berth_storage::conformance!(make);
