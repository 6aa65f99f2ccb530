//! Turns of concurrent callers: one does the work, and the others wait for its answer.

use std::collections::HashMap;

use berth_apimachinery::Key;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Work in progress, by its subject.
pub(crate) struct Turns<T>(Mutex<HashMap<Key, watch::Receiver<Option<T>>>>);

/// Role of a caller in one piece of work.
pub(crate) enum Part<'a, T> {
    /// The caller does the work, and no other caller does.
    Do(Turn<'a, T>),
    /// Another caller does the work.
    Wait(watch::Receiver<Option<T>>),
}

/// The right to do the work. [`Turn::end`] sends the answer to the waiting callers. If the turn is dropped
/// without that call, they get no answer.
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
    pub(crate) fn join<'a>(&'a self, key: &'a Key) -> Part<'a, T> {
        let mut turns = self.0.lock();
        if let Some(receiver) = turns.get(key) {
            return Part::Wait(receiver.clone());
        }
        let (sender, receiver) = watch::channel(None);
        turns.insert(key.clone(), receiver);
        Part::Do(Turn {
            turns: self,
            key,
            sender,
        })
    }
}

impl<T> Turn<'_, T> {
    pub(crate) fn end(self, answer: T) {
        self.sender.send_replace(Some(answer));
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.turns.0.lock().remove(self.key);
    }
}
