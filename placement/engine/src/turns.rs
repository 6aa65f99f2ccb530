//! Work that several callers request at once: the first one does it, and the others wait for the answer.

use std::collections::HashMap;

use berth_apimachinery::Key;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Work in progress, by the key of its subject.
pub(crate) struct Turns<T>(Mutex<HashMap<Key, watch::Receiver<Option<T>>>>);

/// Role of a caller in one piece of work.
pub(crate) enum Role<'a, T> {
    /// The caller does the work, and no other caller does.
    Do(Turn<'a, T>),
    /// Another caller does the work.
    Wait(watch::Receiver<Option<T>>),
}

/// The right to do one piece of work. [`Turn::end`] sends the answer to the waiting callers. If the turn is
/// dropped without that call, the callers get no answer.
pub(crate) struct Turn<'a, T> {
    turns: &'a Turns<T>,
    key: &'a Key,
    sender: watch::Sender<Option<T>>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Turns<T> {
    /// Returns the caller's role in the work on `key`.
    pub(crate) fn join<'a>(&'a self, key: &'a Key) -> Role<'a, T> {
        let mut turns = self.0.lock();
        if let Some(receiver) = turns.get(key) {
            return Role::Wait(receiver.clone());
        }
        let (sender, receiver) = watch::channel(None);
        turns.insert(key.clone(), receiver);
        Role::Do(Turn {
            turns: self,
            key,
            sender,
        })
    }
}

impl<T> Turn<'_, T> {
    /// Ends the work with `answer`, which the waiting callers get.
    pub(crate) fn end(self, answer: T) {
        self.sender.send_replace(Some(answer));
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.turns.0.lock().remove(self.key);
    }
}
