//! How many requests may be in flight, reads and writes counted apart, so that neither starves the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A bound on requests in flight.
///
/// A request holds its place from admission until its answer is there, or, where that is made while it is read, until the
/// last byte is handed over. A client that stops reading would hold it for ever, so a place older than the request
/// time-out can be taken over when there is no other; no timers are needed for that.
#[derive(Debug)]
pub(crate) struct Limiter {
    most: usize,
    longest: Duration,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    /// When each place was taken; ids increase, so the first entry is the oldest.
    since: BTreeMap<u64, Instant>,
}

/// A place among the requests in flight, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: Arc<Limiter>,
    id: u64,
}

impl Limiter {
    /// At most `most` requests, each for at most `longest` while others wait; 0 means no bound.
    pub(crate) fn new(most: usize, longest: Duration) -> Arc<Self> {
        Arc::new(Self {
            most,
            longest,
            held: Mutex::default(),
        })
    }

    /// A place, unless all are taken.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Place> {
        let now = Instant::now();
        let mut held = self.held.lock();
        if self.most > 0 && held.since.len() >= self.most {
            let (&oldest, &since) = held.since.first_key_value()?;
            if now.duration_since(since) < self.longest {
                return None;
            }
            held.since.remove(&oldest);
        }
        let id = held.next;
        held.next += 1;
        held.since.insert(id, now);
        drop(held);
        Some(Place {
            limiter: self.clone(),
            id,
        })
    }

    /// How many places are taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.held.lock().since.len()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.limiter.held.lock().since.remove(&self.id);
    }
}

/// The bounds on one sort of requests: all of them, and those of callers nobody has identified, who get a sixteenth.
#[derive(Debug)]
pub(crate) struct Limiters {
    all: Arc<Limiter>,
    unauthenticated: Arc<Limiter>,
}

/// A place among all, and for the unidentified one among theirs; held until dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "places are held, not looked at")]
pub(crate) struct Places(Place, Option<Place>);

impl Limiters {
    /// At most `most` requests, each for at most `longest` while others wait; 0 means no bound.
    pub(crate) fn new(most: usize, longest: Duration) -> Self {
        Self {
            all: Limiter::new(most, longest),
            unauthenticated: Limiter::new(most.div_ceil(16), longest),
        }
    }

    /// A place, unless all are taken that the caller may have.
    pub(crate) fn admit(&self, unauthenticated: bool) -> Option<Places> {
        let own = match unauthenticated {
            true => Some(self.unauthenticated.admit()?),
            false => None,
        };
        Some(Places(self.all.admit()?, own))
    }

    /// How many places are taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.all.in_flight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let limiter = Limiter::new(2, Duration::from_mins(1));
        let first = limiter.admit().unwrap();
        let second = limiter.admit().unwrap();
        assert!(limiter.admit().is_none());
        drop(first);
        assert_eq!(limiter.in_flight(), 1);
        assert!(limiter.admit().is_some());
        drop(second);
    }

    #[test]
    fn a_place_held_too_long_can_be_taken_over() {
        let limiter = Limiter::new(1, Duration::ZERO);
        let stuck = limiter.admit().unwrap();
        let next = limiter.admit().unwrap();
        drop(stuck);
        assert_eq!(limiter.in_flight(), 1);
        drop(next);
        assert_eq!(limiter.in_flight(), 0);
    }

    #[test]
    fn zero_is_no_bound() {
        let limiter = Limiter::new(0, Duration::from_mins(1));
        let places: Vec<_> = (0..1000).map(|_| limiter.admit().unwrap()).collect();
        assert_eq!(places.len(), 1000);
    }

    #[test]
    fn callers_nobody_knows_get_a_small_share() {
        let limiters = Limiters::new(32, Duration::from_mins(1));
        let strangers: Vec<_> = (0..32).filter_map(|_| limiters.admit(true)).collect();
        assert_eq!(strangers.len(), 2);
        let users: Vec<_> = (0..32).filter_map(|_| limiters.admit(false)).collect();
        assert_eq!(users.len(), 30);
        drop((strangers, users));
        assert_eq!(limiters.in_flight(), 0);
        assert!(limiters.admit(true).is_some());
    }
}
