//! Connections of unauthenticated peers: their number is limited, so that they can exhaust neither memory nor
//! file descriptors.
//!
//! A peer leaves the crowd with a trusted certificate, or with the first authenticated request. No new
//! connection is refused: instead, the connection with the longest idle time is closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;

/// Limit of connections of unauthenticated peers.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// Highest number of connections; 0 means unlimited.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    /// Connections in the order of arrival.
    strangers: BTreeMap<u64, Stranger>,
}

#[derive(Debug)]
struct Stranger {
    activity: Arc<Activity>,
    leave: CancellationToken,
}

/// Place of a connection in the crowd, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    crowd: Arc<Crowd>,
    id: u64,
}

impl Crowd {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
        })
    }

    /// Adds a connection with `activity`; `leave` is cancelled when the connection must close in favour of a
    /// new connection.
    pub(crate) fn enter(self: &Arc<Self>, activity: Arc<Activity>, leave: CancellationToken) -> Seat {
        let mut state = self.state.lock();
        if self.limit > 0 && state.strangers.len() >= self.limit {
            state.close_idlest();
        }
        let id = state.next_id;
        state.next_id += 1;
        state.strangers.insert(id, Stranger { activity, leave });
        Seat {
            crowd: Arc::clone(self),
            id,
        }
    }

    /// Number of connections of unauthenticated peers.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().strangers.len()
    }
}

impl State {
    /// Closes the connection with the longest idle time; among equal idle times, the oldest connection.
    fn close_idlest(&mut self) {
        let mut longest: Option<(Duration, u64)> = None;
        for (&id, connection) in &self.strangers {
            let quiet = connection.activity.quiet_for();
            if longest.is_none_or(|(duration, _)| quiet > duration) {
                longest = Some((quiet, id));
            }
        }
        if let Some(connection) = longest.and_then(|(_, id)| self.strangers.remove(&id)) {
            connection.leave.cancel();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.crowd.state.lock().strangers.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quietest_stranger_makes_room_and_who_is_identified_stays() {
        let crowd = Crowd::new(2);
        let enter = || {
            let (activity, leave) = (Activity::new(), CancellationToken::new());
            (crowd.enter(activity.clone(), leave.clone()), activity, leave)
        };
        let (_first, busy, first) = enter();
        let request = busy.begin();
        let (second_seat, _, second) = enter();
        let (third_seat, _, third) = enter();
        assert!(second.is_cancelled(), "the first has a request under way");
        assert!(!first.is_cancelled());
        drop(third_seat);
        assert_eq!(crowd.len(), 1, "identified peers are no strangers");
        let (_fourth, ..) = enter();
        let (_fifth, ..) = enter();
        assert!(!third.is_cancelled());
        drop((request, second_seat));
        assert_eq!(crowd.len(), 2);
    }
}
