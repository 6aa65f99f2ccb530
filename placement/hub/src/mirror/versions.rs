//! The newest observed state of the hub's objects. A write is accepted only if the decision read this state.
//!
//! A copy is compared with a state by its content: where several replicas share a store, only one of them
//! writes the copies, but each watches the hub and observes the states itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use berth_apimachinery::{Draft, Key, Object};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The newest observed state of one object of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubVersion {
    /// Fingerprint of the object's copy.
    fingerprint: u64,
    /// The object's resourceVersion.
    pub(crate) version: String,
    /// The object's last field manager, from its managed fields, which copies do not have.
    manager: Option<Arc<str>>,
}

impl HubVersion {
    /// The state of an object with the resourceVersion `version`, whose copy is `draft`.
    pub fn of(draft: &Draft, version: String) -> Self {
        Self {
            fingerprint: fingerprint(draft),
            version,
            manager: None,
        }
    }

    /// Returns the state with `manager` as the last field manager.
    pub fn with_manager(mut self, manager: Option<Arc<str>>) -> Self {
        self.manager = manager;
        self
    }

    /// Whether `copy` is a copy of this state.
    pub fn is_copied_by(&self, copy: &Object) -> bool {
        Draft::new(&copy.parse()).is_ok_and(|draft| fingerprint(&draft) == self.fingerprint)
    }

    /// Whether this state has the resourceVersion `version` or a later one. The hub's versions are numbers
    /// that increase.
    pub fn reached(&self, version: &str) -> bool {
        match (self.version.parse::<u64>(), version.parse::<u64>()) {
            (Ok(have), Ok(wanted)) => have >= wanted,
            _ => self.version == version,
        }
    }
}

fn fingerprint(draft: &Draft) -> u64 {
    let mut hasher = DefaultHasher::new();
    draft.bytes().hash(&mut hasher);
    hasher.finish()
}

/// The newest observed state of each object of the hub.
pub struct HubVersions {
    known: Mutex<HashMap<Key, HubVersion>>,
    /// Number of recorded changes, which wakes waiting tasks.
    changes: watch::Sender<u64>,
}

impl Default for HubVersions {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl HubVersions {
    /// The newest observed state of the object at `key`; `None` when no object is known there.
    pub fn get(&self, key: &Key) -> Option<HubVersion> {
        self.known.lock().get(key).cloned()
    }

    /// The last field manager of the object at `key`, where it is known.
    pub fn manager(&self, key: &Key) -> Option<Arc<str>> {
        self.known.lock().get(key)?.manager.clone()
    }

    /// Records states that were observed; `None` for a deleted object.
    pub fn record(&self, observed: impl IntoIterator<Item = (Key, Option<HubVersion>)>) {
        let mut known = self.known.lock();
        for (key, hub_version) in observed {
            match hub_version {
                Some(hub_version) => known.insert(key, hub_version),
                None => known.remove(&key),
            };
        }
        drop(known);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Waits until the newest observed state of the object at `key` passes `test`.
    pub async fn until(&self, key: &Key, test: impl Fn(Option<&HubVersion>) -> bool) {
        let mut changes = self.changes.subscribe();
        // This fails only when the sender is dropped, which is borrowed here.
        drop(changes.wait_for(|_| test(self.known.lock().get(key))).await);
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{GroupResource, Revision};
    use serde_json::json;

    use super::*;

    fn draft(labels: serde_json::Value) -> Draft {
        let value = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "labels": labels}});
        Draft::new(&value).unwrap()
    }

    #[test]
    fn a_copy_is_known_by_its_content_whatever_its_revision() {
        let hub_version = HubVersion::of(&draft(json!({"a": "b"})), "17".to_owned());
        assert!(hub_version.is_copied_by(&draft(json!({"a": "b"})).at(Revision(3))));
        assert!(hub_version.is_copied_by(&draft(json!({"a": "b"})).at(Revision(4711))));
        assert!(!hub_version.is_copied_by(&draft(json!({"a": "c"})).at(Revision(3))));
        assert!(hub_version.reached("9") && hub_version.reached("17") && !hub_version.reached("18"));
    }

    #[tokio::test]
    async fn whoever_waits_hears_of_what_is_noted() {
        let versions = HubVersions::default();
        let key = Key::new(GroupResource::new("", "things"), "", "a");
        let hub_version = HubVersion::of(&draft(json!({})), "2".to_owned());
        let is_there = |hub_version: Option<&HubVersion>| {
            hub_version.is_some_and(|hub_version| hub_version.reached("2"))
        };
        let waiting = versions.until(&key, is_there);
        let noted = async {
            tokio::task::yield_now().await;
            versions.record([(key.clone(), Some(hub_version.clone()))]);
        };
        tokio::join!(waiting, noted);
        assert_eq!(versions.get(&key), Some(hub_version.clone()));
    }
}
