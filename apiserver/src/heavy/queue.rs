//! Queue of requests, in which users take turns: a user with many waiting requests does not delay others.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Limit of running requests, as a multiple of the number of places. Up to this limit, a request of a user
/// without running requests begins although all places are occupied; all running requests then share the
/// processors.
const OVERCOMMIT: usize = 2;

/// Places, and the queue of requests that wait for a place.
#[derive(Debug)]
pub(super) struct Queue {
    places: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    next_ticket: u64,
    users: HashMap<Arc<str>, User>,
    /// Users with waiting requests, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

#[derive(Debug, Default)]
struct User {
    running: usize,
    waiting: BTreeMap<u64, oneshot::Sender<Place>>,
}

/// Place of a running request. Dropping it lets the next request begin.
#[derive(Debug)]
pub(super) struct Place {
    queue: Arc<Queue>,
    user: Arc<str>,
}

/// A waiting request. Dropping it removes the request from the queue.
struct Waiter<'a> {
    queue: &'a Queue,
    user: Arc<str>,
    ticket: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().leave(&self.user, self.ticket);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.state.lock().end(&self.user);
        self.queue.admit();
    }
}

impl Queue {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            state: Mutex::default(),
        })
    }

    /// Returns a place, once it is the turn of `user`.
    pub(super) async fn turn(self: &Arc<Self>, user: &str) -> Place {
        let (sender, receiver) = oneshot::channel();
        let (user, ticket) = self.state.lock().join(user, sender);
        let _waiting = Waiter {
            queue: self,
            user: Arc::clone(&user),
            ticket,
        };
        self.admit();
        match receiver.await {
            Ok(place) => place,
            // Does not happen: the sender stays in the queue while the request waits.
            Err(_) => std::future::pending().await,
        }
    }

    /// Lets waiting requests begin while there is room.
    fn admit(self: &Arc<Self>) {
        loop {
            // The place is sent outside of the lock: if the receiver is dropped, the place is dropped too,
            // and takes the lock.
            let Some((user, sender)) = self.state.lock().begin(self.places) else {
                return;
            };
            let queue = Arc::clone(self);
            drop(sender.send(Place { queue, user }));
        }
    }
}

impl State {
    fn join(&mut self, user: &str, sender: oneshot::Sender<Place>) -> (Arc<str>, u64) {
        let name: Arc<str> = match self.users.get_key_value(user) {
            Some((known, _)) => Arc::clone(known),
            None => user.into(),
        };
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let entry = self.users.entry(Arc::clone(&name)).or_default();
        if entry.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&name));
        }
        entry.waiting.insert(ticket, sender);
        (name, ticket)
    }

    fn leave(&mut self, user: &Arc<str>, ticket: u64) {
        let Some(entry) = self.users.get_mut(user) else {
            return;
        };
        if entry.waiting.remove(&ticket).is_some() && entry.waiting.is_empty() {
            self.turns.retain(|waiting| waiting != user);
        }
        self.forget(user);
    }

    /// Removes the next request that may begin from the queue, and counts it as running. Returns the user and
    /// the sender of the place.
    fn begin(&mut self, places: usize) -> Option<(Arc<str>, oneshot::Sender<Place>)> {
        let (is_free, is_below_limit) = (self.running < places, self.running < places * OVERCOMMIT);
        let users = &self.users;
        let can_begin = |user: &Arc<str>| {
            is_free || is_below_limit && users.get(user).is_some_and(|entry| entry.running == 0)
        };
        let turn = self.turns.iter().position(can_begin)?;
        let user = self.turns.remove(turn)?;
        let entry = self.users.get_mut(&user)?;
        let (_, sender) = entry.waiting.pop_first()?;
        entry.running += 1;
        self.running += 1;
        if !entry.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&user));
        }
        Some((user, sender))
    }

    fn end(&mut self, user: &Arc<str>) {
        self.running -= 1;
        if let Some(entry) = self.users.get_mut(user) {
            entry.running -= 1;
        }
        self.forget(user);
    }

    fn forget(&mut self, user: &Arc<str>) {
        if self
            .users
            .get(user)
            .is_some_and(|entry| entry.running == 0 && entry.waiting.is_empty())
        {
            self.users.remove(user);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn is_empty(queue: &Queue) -> bool {
        let state = queue.state.lock();
        state.running == 0 && state.users.is_empty() && state.turns.is_empty()
    }

    #[test]
    fn users_take_turns_however_many_requests_each_has() {
        let queue = Queue::new(1);
        let first = queue.turn("ann").now_or_never().unwrap();
        let mut anns: Vec<_> = (0..100).map(|_| Box::pin(queue.turn("ann"))).collect();
        for waiting in &mut anns {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        let bob = queue.turn("bob").now_or_never().expect("bob has nothing running");
        let mut next = Box::pin(queue.turn("bob"));
        assert!(next.as_mut().now_or_never().is_none());
        drop((first, bob));
        let second = anns[0].as_mut().now_or_never().expect("it is the turn of ann");
        let other = next.as_mut().now_or_never().expect("then of bob");
        drop((anns, next));
        drop((second, other));
        assert!(is_empty(&queue));
    }

    #[test]
    fn a_user_alone_has_the_places_and_all_together_no_more_than_twice_as_many() {
        let queue = Queue::new(2);
        let turn = |user: &str| queue.turn(user).now_or_never();
        let running = [turn("ann"), turn("ann"), turn("bob"), turn("cid")];
        assert!(running.iter().all(Option::is_some));
        assert!(turn("ann").is_none() && turn("dan").is_none());
        drop(running);
        assert!(is_empty(&queue));
    }

    #[test]
    fn who_stops_waiting_leaves_the_queue_and_a_place_on_its_way_to_the_next() {
        let queue = Queue::new(1);
        let running = queue.turn("ann").now_or_never().unwrap();
        let mut cancelled = Box::pin(queue.turn("ann"));
        assert!(cancelled.as_mut().now_or_never().is_none());
        let mut receiver = Box::pin(queue.turn("ann"));
        assert!(receiver.as_mut().now_or_never().is_none());
        let mut next = Box::pin(queue.turn("ann"));
        assert!(next.as_mut().now_or_never().is_none());
        drop(cancelled);
        drop(running);
        // The place was already sent to this request, which ends without having received it.
        drop(receiver);
        let next = next.as_mut().now_or_never().expect("the place went on");
        drop(next);
        assert!(is_empty(&queue));
    }
}
