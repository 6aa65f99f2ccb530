//! Connections of unidentified peers: their number is limited, so that they can exhaust neither memory nor
//! file descriptors.
//!
//! A peer is identified by a trusted certificate, or by its first authenticated request. No new connection is
//! refused: instead, the connection with the longest idle time is closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;

/// The connections of unidentified peers, up to a limit.
#[derive(Debug)]
pub(crate) struct UnidentifiedConnections {
    /// Highest number of connections; 0 means unlimited.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    /// Connections in the order of arrival.
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    activity: Arc<Activity>,
    /// Token that closes the connection.
    close: CancellationToken,
}

/// Registration of one connection among the [`UnidentifiedConnections`], which ends when this value is
/// dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    connections: Arc<UnidentifiedConnections>,
    id: u64,
}

impl UnidentifiedConnections {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
        })
    }

    /// Adds a connection with `activity`; `close` is cancelled when the connection must close in favour of a
    /// new connection.
    pub(crate) fn add(self: &Arc<Self>, activity: Arc<Activity>, close: CancellationToken) -> Registration {
        let mut state = self.state.lock();
        if self.limit > 0 && state.entries.len() >= self.limit {
            state.close_idlest();
        }
        let id = state.next_id;
        state.next_id += 1;
        state.entries.insert(id, Entry { activity, close });
        Registration {
            connections: Arc::clone(self),
            id,
        }
    }

    /// Number of connections of unidentified peers.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

impl State {
    /// Closes the connection with the longest idle time; among equal idle times, the oldest connection.
    fn close_idlest(&mut self) {
        let mut longest: Option<(Duration, u64)> = None;
        for (&id, connection) in &self.entries {
            let quiet = connection.activity.quiet_for();
            if longest.is_none_or(|(duration, _)| quiet > duration) {
                longest = Some((quiet, id));
            }
        }
        if let Some(connection) = longest.and_then(|(_, id)| self.entries.remove(&id)) {
            connection.close.cancel();
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.connections.state.lock().entries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_connection_makes_room_and_identified_connections_stay() {
        let connections = UnidentifiedConnections::new(2);
        let add = || {
            let (activity, close) = (Activity::new(), CancellationToken::new());
            (connections.add(activity.clone(), close.clone()), activity, close)
        };
        let (_first, busy, first) = add();
        let request = busy.begin();
        let (second_registration, _, second) = add();
        let (third_registration, _, third) = add();
        assert!(second.is_cancelled(), "the first has a request under way");
        assert!(!first.is_cancelled());
        drop(third_registration);
        assert_eq!(connections.len(), 1, "identified peers do not count");
        let (_fourth, ..) = add();
        let (_fifth, ..) = add();
        assert!(!third.is_cancelled());
        drop((request, second_registration));
        assert_eq!(connections.len(), 2);
    }
}
