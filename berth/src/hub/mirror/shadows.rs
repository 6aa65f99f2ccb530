//! Which state of which object of the hub a copy is: the hub takes a write only on the state it was made for.

use std::collections::HashMap;
use std::time::Duration;

use meta::{Key, Revision};
use parking_lot::Mutex;
use tokio::sync::watch;

/// One copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shadow {
    /// Its revision in Berth's store.
    pub(crate) revision: Revision,
    /// The resourceVersion of the hub's object.
    pub(crate) version: String,
}

/// All copies.
pub(crate) struct Shadows {
    known: Mutex<HashMap<Key, Shadow>>,
    /// Counts changes.
    changes: watch::Sender<u64>,
}

impl Default for Shadows {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl Shadows {
    /// What the copy at `key` is a copy of.
    pub(crate) fn get(&self, key: &Key) -> Option<Shadow> {
        self.known.lock().get(key).cloned()
    }

    /// Takes note of copies that were stored (`Some`) or removed (`None`).
    pub(super) fn note(&self, copies: impl IntoIterator<Item = (Key, Option<Shadow>)>) {
        let mut known = self.known.lock();
        for (key, shadow) in copies {
            match shadow {
                Some(shadow) => known.insert(key, shadow),
                None => known.remove(&key),
            };
        }
        drop(known);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Waits until the copy at `key` is another than `before`, at most `limit`; whether it is.
    pub(crate) async fn moved_on(&self, key: &Key, before: Option<&Shadow>, limit: Duration) -> bool {
        let mut changes = self.changes.subscribe();
        let other = changes.wait_for(|_| self.get(key).as_ref() != before);
        matches!(tokio::time::timeout(limit, other).await, Ok(Ok(_)))
    }
}
