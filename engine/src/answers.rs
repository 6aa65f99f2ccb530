//! What was decided last about demands, for a controller that comes too late to wait for it: what made a demand due is
//! dealt with by any decision on a world that holds it.

use std::collections::HashMap;

use dialect_contract::Outcome;
use meta::{Key, Revision, Timestamp};
use parking_lot::Mutex;

/// How many are remembered at most; then all are forgotten, and decided once more when they are due.
const MOST: usize = 1024;

/// The answers, each until somebody asks for it.
#[derive(Default)]
pub(crate) struct Answers(Mutex<HashMap<Key, Answer>>);

/// What a decision came to that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Up to where every change was in the world that was decided on.
    pub(crate) through: Revision,
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// When the demand is looked at again, whatever happens.
    pub(crate) due_at: Option<Timestamp>,
}

impl Answers {
    /// `demand` was decided.
    pub(crate) fn put(&self, demand: Key, answer: Answer) {
        let mut answers = self.0.lock();
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(demand, answer);
    }

    /// What was decided about `demand` with every change up to `since`, if its time has not come at `now`. Said once.
    pub(crate) fn take(&self, demand: &Key, since: Revision, now: Timestamp) -> Option<Answer> {
        let answer = self.0.lock().remove(demand)?;
        let is_due = answer.due_at.is_some_and(|due| due <= now);
        (answer.through >= since && !is_due).then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use meta::GroupResource;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new(GroupResource::new("toys.example", "toys"), "ns", name)
    }

    fn answer(due_at: Option<Timestamp>) -> Answer {
        Answer {
            through: Revision(7),
            outcome: Outcome::Scheduled,
            due_at,
        }
    }

    #[test]
    fn an_answer_holds_for_what_was_known_until_its_time_comes() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let answers = Answers::default();
        for (due_at, since, now, holds) in [
            (None, 7, 1_000, true),
            (None, 6, 1_000, true),
            (None, 8, 1_000, false),
            (Some(at(100)), 7, 99, true),
            (Some(at(100)), 7, 100, false),
        ] {
            answers.put(key("t"), answer(due_at));
            let found = answers.take(&key("t"), Revision(since), at(now));
            assert_eq!(found, holds.then(|| answer(due_at)), "{due_at:?} {since} {now}");
            assert_eq!(
                answers.take(&key("t"), Revision(since), at(now)),
                None,
                "said once"
            );
        }
    }

    #[test]
    fn the_memory_of_answers_is_bounded() {
        let answers = Answers::default();
        for number in 0..3 * MOST {
            answers.put(key(&number.to_string()), answer(None));
            assert!(answers.0.lock().len() <= MOST);
        }
    }
}
