//! Wake-ups of waiters for changes: by resource, so that a write of one resource does not wake the watchers
//! of another.

use std::collections::HashMap;

use berth_apimachinery::{GroupResource, Revision};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::source::Scope;

/// Channels that wake waiters. The value of a channel is the revision of the store at the last wake-up, or at
/// the creation of the channel.
pub(crate) struct WakeChannels {
    /// Channel for waiters for changes of any resource.
    any: watch::Sender<Revision>,
    /// Channels for waiters for changes of one resource.
    each: Mutex<HashMap<GroupResource, watch::Sender<Revision>>>,
}

impl WakeChannels {
    /// Creates channels with the newest revision `revision`.
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            any: watch::Sender::new(revision),
            each: Mutex::default(),
        }
    }

    /// Returns a receiver that is notified of every change of `scope`, and perhaps more often.
    pub(crate) fn subscribe(&self, scope: &Scope) -> watch::Receiver<Revision> {
        match scope {
            Scope::One(resource) => {
                let mut each = self.each.lock();
                let revision = *self.any.borrow();
                each.entry(*resource)
                    .or_insert_with(|| watch::Sender::new(revision))
                    .subscribe()
            }
            Scope::Many(_) | Scope::All => self.any.subscribe(),
        }
    }

    /// Notifies the waiters for `resources`, which changed up to `revision`.
    pub(crate) fn wake(&self, resources: impl IntoIterator<Item = GroupResource>, revision: Revision) {
        // The senders (shared pointers) are cloned first, so that a subscriber never waits for a long loop of
        // notifications.
        let senders: Vec<_> = {
            let each = self.each.lock();
            resources
                .into_iter()
                .filter_map(|resource| each.get(&resource).cloned())
                .collect()
        };
        for sender in senders {
            notify(&sender, revision);
        }
        notify(&self.any, revision);
    }
}

/// Sets the value of `sender` to `revision`, unless the value is higher: two writers may notify in another
/// order than they published, and a waiter must not miss the higher revision. The notification with the
/// higher revision has woken the waiters already.
fn notify(sender: &watch::Sender<Revision>, revision: Revision) {
    sender.send_if_modified(|at| {
        let newer = revision > *at;
        *at = revision.max(*at);
        newer
    });
}
