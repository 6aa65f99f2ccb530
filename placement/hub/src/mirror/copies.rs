//! The copies, together with the versions of the hub's objects.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Key, Object, Revision};
use berth_storage::{Scope, Store};

use super::versions::{HubVersion, HubVersions};

/// Copies of the hub's objects.
#[derive(Clone)]
pub struct Copies {
    store: Arc<dyn Store>,
    versions: Arc<HubVersions>,
}

impl Copies {
    /// The copies in `store`, with the hub's versions in `versions`.
    pub fn new(store: Arc<dyn Store>, versions: Arc<HubVersions>) -> Self {
        Self { store, versions }
    }

    /// The copy at `key`.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let copies = self.store.cached(key.resource);
        copies.get(&key.namespace, &key.name).map(Arc::clone)
    }

    /// The revision that the copies have reached.
    pub fn revision(&self) -> Revision {
        self.store.revision()
    }

    /// The hub's resourceVersion of `copy`, the copy at `key`; `None` unless `copy` equals the newest
    /// observed state of the hub's object.
    pub fn version(&self, key: &Key, copy: &Object) -> Option<String> {
        let hub_version = self.versions.get(key)?;
        hub_version.is_copied_by(copy).then_some(hub_version.version)
    }

    /// Waits, at most `limit`, until the hub's object at `key` passes `test` and the copy equals the object,
    /// or until the watch of the copies ends. Returns false if neither happens in time.
    pub async fn until(
        &self,
        key: &Key,
        limit: Duration,
        test: impl Fn(Option<&HubVersion>) -> bool + Send,
    ) -> bool {
        let arrival = async {
            self.versions.until(key, test).await;
            self.wait_for_copy(key).await;
        };
        tokio::time::timeout(limit, arrival).await.is_ok()
    }

    /// Waits until the copy at `key` equals the hub's object, or the watch of the copies ends.
    async fn wait_for_copy(&self, key: &Key) {
        // The watch begins before the first read, so that no change in between is missed.
        let Ok(mut changes) = self.store.watch(Scope::One(key.resource), self.store.revision()) else {
            return;
        };
        loop {
            let is_equal = match (self.get(key), self.versions.get(key)) {
                (Some(copy), Some(hub_version)) => hub_version.is_copied_by(&copy),
                (None, None) => true,
                _ => false,
            };
            if is_equal || changes.next(64).await.is_err() {
                return;
            }
        }
    }
}
