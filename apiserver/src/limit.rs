//! Limits of requests in flight. Reads and writes have separate limits, so that neither blocks the other.
//! Each user (the *holder* of places) has a share, so that no user blocks the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Number of shares into which all places are divided. A holder of less than one share gets any free place.
const SHARES: usize = 8;
/// Number of shares that are reserved for holders of less than one share. Other holders get a place only
/// while more places are free than are reserved.
const RESERVED: usize = 4;

/// Limit of requests in flight.
///
/// A request occupies a place from the last received byte to the answer, or, for answers of unknown length,
/// to the last sent byte. If the authorizer asks another server, the request also occupies a place during the
/// authorization. A client that stops reading would occupy the place forever. So a request that would be
/// refused takes over the oldest place if that place is older than `max_age`. This needs no timers.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: usize,
    max_age: Duration,
    usage: Mutex<Usage>,
}

#[derive(Debug, Default)]
struct Usage {
    next: u64,
    /// Start and holder of each occupied place by id. Ids increase, so the first entry is the oldest.
    occupied: BTreeMap<u64, (Instant, Arc<str>)>,
    by_holder: HashMap<Arc<str>, usize>,
}

/// A place among the requests in flight. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: Arc<Limiter>,
    id: u64,
}

impl Limiter {
    /// Creates a limit of `limit` requests, each for at most `max_age` while others wait; 0 means no limit.
    pub(crate) fn new(limit: usize, max_age: Duration) -> Arc<Self> {
        Arc::new(Self {
            limit,
            max_age,
            usage: Mutex::default(),
        })
    }

    /// Reserves a place for `holder`; `None` if the limit or the holder's share is used up, and the oldest
    /// place cannot be taken over yet.
    pub(crate) fn admit(self: &Arc<Self>, holder: &str) -> Option<Place> {
        let now = Instant::now();
        let mut usage = self.usage.lock();
        if !self.has_room(&usage, holder) {
            let (&oldest, &(since, _)) = usage.occupied.first_key_value()?;
            if now.duration_since(since) < self.max_age {
                return None;
            }
            usage.give_back(oldest);
        }
        let id = usage.take(holder, now);
        drop(usage);
        Some(Place {
            limiter: self.clone(),
            id,
        })
    }

    fn has_room(&self, usage: &Usage, holder: &str) -> bool {
        let (limit, all) = (self.limit, usage.occupied.len());
        let holder_places = usage.by_holder.get(holder).copied().unwrap_or_default();
        let reserved = limit / SHARES * RESERVED;
        limit == 0 || all < limit && (holder_places < limit / SHARES || all < limit - reserved)
    }

    /// Number of occupied places.
    pub(crate) fn in_flight(&self) -> usize {
        self.usage.lock().occupied.len()
    }
}

impl Usage {
    fn take(&mut self, holder: &str, now: Instant) -> u64 {
        let holder: Arc<str> = match self.by_holder.get_key_value(holder) {
            Some((known, _)) => Arc::clone(known),
            None => holder.into(),
        };
        *self.by_holder.entry(Arc::clone(&holder)).or_default() += 1;
        let id = self.next;
        self.next += 1;
        self.occupied.insert(id, (now, holder));
        id
    }

    /// Frees the place `id`, unless another request has taken it over.
    fn give_back(&mut self, id: u64) {
        let Some((_, holder)) = self.occupied.remove(&id) else {
            return;
        };
        if let Some(own) = self.by_holder.get_mut(&holder) {
            *own -= 1;
            if *own == 0 {
                self.by_holder.remove(&holder);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.limiter.usage.lock().give_back(self.id);
    }
}

/// Limits of one class of requests (reads or writes): one for all requests, and a sixteenth of it for
/// requests of unauthenticated callers.
#[derive(Debug)]
pub(crate) struct Limiters {
    all: Arc<Limiter>,
    unauthenticated: Arc<Limiter>,
}

/// Places of one request: one among all requests, and for an unauthenticated caller another one among the
/// requests of unauthenticated callers.
#[derive(Debug)]
#[expect(dead_code, reason = "only the drop of the places has an effect")]
pub(crate) struct Places(Place, Option<Place>);

impl Limiters {
    /// Allows `limit` requests, each for at most `max_age` while others wait; 0 means no limit.
    pub(crate) fn new(limit: usize, max_age: Duration) -> Self {
        Self {
            all: Limiter::new(limit, max_age),
            unauthenticated: Limiter::new(limit.div_ceil(16), max_age),
        }
    }

    /// Reserves places for `holder`; `None` if a limit or the holder's share is used up, and no place can be
    /// taken over.
    pub(crate) fn admit(&self, holder: &str, unauthenticated: bool) -> Option<Places> {
        let own = match unauthenticated {
            true => Some(self.unauthenticated.admit(holder)?),
            false => None,
        };
        Some(Places(self.all.admit(holder)?, own))
    }

    /// Number of occupied places.
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
        let first = limiter.admit("ann").unwrap();
        let second = limiter.admit("ann").unwrap();
        assert!(limiter.admit("ann").is_none());
        drop(first);
        assert_eq!(limiter.in_flight(), 1);
        assert!(limiter.admit("ann").is_some());
        drop(second);
    }

    #[test]
    fn a_place_held_too_long_can_be_taken_over() {
        let limiter = Limiter::new(1, Duration::ZERO);
        let stuck = limiter.admit("ann").unwrap();
        let next = limiter.admit("ann").unwrap();
        drop(stuck);
        assert_eq!(limiter.in_flight(), 1);
        drop(next);
        assert_eq!(limiter.in_flight(), 0);
    }

    #[test]
    fn zero_is_no_bound() {
        let limiter = Limiter::new(0, Duration::from_mins(1));
        let places: Vec<_> = (0..1000).map(|_| limiter.admit("ann").unwrap()).collect();
        assert_eq!(places.len(), 1000);
    }

    #[test]
    fn callers_nobody_knows_get_a_small_share() {
        let limiters = Limiters::new(32, Duration::from_mins(1));
        let strangers: Vec<_> = (0..32).filter_map(|_| limiters.admit("", true)).collect();
        assert_eq!(strangers.len(), 2);
        let users = ["ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal"];
        let users: Vec<_> = (0..32)
            .filter_map(|turn| limiters.admit(users[turn % 8], false))
            .collect();
        assert_eq!(users.len(), 30);
        drop((strangers, users));
        assert_eq!(limiters.in_flight(), 0);
        assert!(limiters.admit("", true).is_some());
    }

    #[test]
    fn one_user_cannot_take_the_places_of_the_others() {
        let limiter = Limiter::new(32, Duration::from_mins(1));
        let greedy: Vec<_> = (0..32).filter_map(|_| limiter.admit("ann")).collect();
        assert_eq!(greedy.len(), 16, "half of them");
        let second: Vec<_> = (0..32).filter_map(|_| limiter.admit("bob")).collect();
        assert_eq!(second.len(), 4, "an eighth");
        let others: Vec<_> = ["cid", "dan", "eve"]
            .iter()
            .flat_map(|user| (0..4).map(|_| limiter.admit(user).unwrap()))
            .collect();
        assert_eq!(limiter.in_flight(), 32);
        assert!(limiter.admit("fay").is_none(), "all are taken");
        drop((greedy, second, others));
        assert_eq!(limiter.in_flight(), 0);
        assert!(limiter.usage.lock().by_holder.is_empty());
    }
}
