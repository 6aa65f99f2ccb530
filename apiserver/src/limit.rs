//! How many requests may be in flight, reads and writes counted apart, so that neither starves the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A bound on requests in flight.
///
/// A request holds its place from admission until the last byte of its answer is handed over. A client that stops
/// reading would hold it for ever, so a place older than the request time-out can be taken over when there is no
/// other; no timers are needed for that.
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
}
