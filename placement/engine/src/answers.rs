//! Recent decisions on demands, as answers for the controller. If a change makes a demand due, but the demand
//! was already decided on a world with that change, the controller takes the answer and does not decide
//! again.
//!
//! A demand may also be decided before it is created. That answer is valid once the created demand is folded,
//! if no other change was folded since the decision.

use std::collections::HashMap;

use berth_apimachinery::{Change, Key, Revision, Timestamp};
use berth_dialect_contract::Outcome;
use parking_lot::Mutex;

/// Highest number of answers. Beyond that, all answers are dropped, and their demands are decided once more
/// when they are due.
const MAX_ANSWERS: usize = 1024;

/// Recent decisions on demands.
#[derive(Default)]
pub(crate) struct Answers {
    /// Answers by demand. An answer is removed when it is taken.
    latest: Mutex<HashMap<Key, Answer>>,
    /// Decisions on demands that are being created, by uid. A decision is removed when the demand is folded,
    /// or the create has failed.
    foreseen: Mutex<HashMap<String, Answer>>,
}

/// Result of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Revision of the world of the decision, which has every change up to this revision.
    pub(crate) through: Revision,
    /// The outcome of the decision.
    pub(crate) outcome: Outcome,
    /// Time at which the demand is due again even without a change; `None` if there is no such time.
    pub(crate) due_at: Option<Timestamp>,
}

impl Answers {
    /// Records the `answer` about `demand`.
    pub(crate) fn put(&self, demand: Key, answer: Answer) {
        let mut answers = self.latest.lock();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(demand, answer);
    }

    /// Records the `answer` about the demand with this `uid`, which is about to be created.
    pub(crate) fn foresee(&self, uid: String, answer: Answer) {
        self.foreseen.lock().insert(uid, answer);
    }

    /// Drops the answer about the demand with this `uid`, whose create has ended or failed.
    pub(crate) fn forget(&self, uid: &str) {
        self.foreseen.lock().remove(uid);
    }

    /// Records that `change` is folded, and that the last change before it was at revision `before`. If
    /// `change` creates a demand that was decided before its create, the answer is valid, unless another
    /// change was folded since the decision.
    pub(crate) fn created(&self, change: &Change, before: Revision) {
        let (None, Some(new)) = (&change.old, &change.new) else {
            return;
        };
        let foreseen = self.foreseen.lock().remove(new.meta().uid());
        if let Some(answer) = foreseen.filter(|answer| before <= answer.through) {
            let through = change.revision;
            self.put(change.key.clone(), Answer { through, ..answer });
        }
    }

    /// Takes the answer about `demand`. Returns `None` unless the world of the decision had every change up
    /// to `since`, and the demand is not due again at `now`.
    pub(crate) fn take(&self, demand: &Key, since: Revision, now: Timestamp) -> Option<Answer> {
        let answer = self.latest.lock().remove(demand)?;
        let is_due = answer.due_at.is_some_and(|due| due <= now);
        (answer.through >= since && !is_due).then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_apimachinery::{GroupResource, Object};
    use serde_json::json;

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
    fn what_was_foreseen_is_an_answer_once_the_demand_is_made_in_the_same_world() {
        let created = |uid: &str| {
            let object = json!({"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "t", "uid": uid}});
            let object = Object::new(&object, Revision(9)).unwrap();
            Change::added(key("t"), Arc::new(object))
        };
        for (foreseen, folded, before, holds) in [
            ("a", "a", 7, true),
            ("a", "a", 6, true),
            ("a", "a", 8, false),
            ("a", "another of the same name", 7, false),
        ] {
            let answers = Answers::default();
            answers.foresee(foreseen.to_owned(), answer(None));
            answers.created(&created(folded), Revision(before));
            let found = answers.take(&key("t"), Revision(9), Timestamp::UNIX_EPOCH);
            assert_eq!(found.is_some(), holds, "{foreseen} {folded} {before}");
            answers.forget(foreseen);
            assert!(answers.foreseen.lock().is_empty());
        }
    }

    #[test]
    fn the_memory_of_answers_is_bounded() {
        let answers = Answers::default();
        for number in 0..3 * MAX_ANSWERS {
            answers.put(key(&number.to_string()), answer(None));
            assert!(answers.latest.lock().len() <= MAX_ANSWERS);
        }
    }
}
