//! A checker of recorded histories: is there one order of all operations on a key that agrees with all their
//! answers and times (linearizability)?
//!
//! Operations whose outcome nobody knows may have happened at any time after their call, or not at all. The
//! search is that of Wing and Gong with remembered dead ends: which operations are done and what the key
//! holds.

use std::collections::HashSet;

/// Operation with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads; the value.
    Read(Option<i64>),
    /// Writes this if the key is empty; whether it was.
    Create(i64, bool),
    /// Overwrites with this; whether there was a value.
    Replace(i64, bool),
    /// Replaces the first with the second; whether the first was there.
    Swap(i64, i64, bool),
    /// Deletes; whether there was a value.
    Delete(bool),
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Time of the call, in nanoseconds since the beginning.
    pub called: u64,
    /// Time of the answer; `None` if the outcome is unknown.
    pub answered: Option<u64>,
    /// Operation (if the outcome is unknown, the intended one).
    pub action: Action,
}

impl Action {
    /// Value of the key afterwards; `None` if the answer would be different.
    fn after(self, held: Option<i64>) -> Option<Option<i64>> {
        let (done, new) = match self {
            Self::Read(seen) => return (seen == held).then_some(held),
            Self::Create(new, done) => (held.is_none() == done, done.then_some(Some(new))),
            Self::Replace(new, done) => (held.is_some() == done, done.then_some(Some(new))),
            Self::Swap(old, new, done) => ((held == Some(old)) == done, done.then_some(Some(new))),
            Self::Delete(done) => (held.is_some() == done, done.then_some(None)),
        };
        done.then(|| new.unwrap_or(held))
    }
}

/// Checks the operations of one key, which is empty at first.
///
/// # Errors
/// The operations among which no order can be found, around the first one that cannot be placed.
pub fn check(operations: &[Operation]) -> Result<(), String> {
    let (mut definite, mut unknown): (Vec<_>, Vec<_>) = operations
        .iter()
        .copied()
        .partition(|operation| operation.answered.is_some());
    definite.sort_by_key(|operation| operation.called);
    unknown.sort_by_key(|operation| operation.called);
    let mut search = Search {
        done: vec![false; definite.len() + unknown.len()],
        definite: definite.len(),
        operations: [definite, unknown].concat(),
        first: 0,
        deepest: 0,
        dead: HashSet::new(),
    };
    if search.run() {
        return Ok(());
    }
    let from = search.deepest.saturating_sub(3);
    let around = search.operations.iter().skip(from).take(10);
    let around: Vec<_> = around.map(|operation| format!("{operation:?}")).collect();
    Err(format!(
        "no order agrees with the answers around\n{}",
        around.join("\n")
    ))
}

/// State of a search: the definite operations before this number are done, and these others; and the value of
/// the key.
type Place = (usize, Vec<usize>, Option<i64>);

struct Search {
    /// Operations with an answer, in the order of their calls; then those without.
    operations: Vec<Operation>,
    /// Number of operations with an answer.
    definite: usize,
    done: Vec<bool>,
    /// The first pending operation with an answer.
    first: usize,
    deepest: usize,
    dead: HashSet<Place>,
}

impl Search {
    /// Depth first, with an explicit stack: histories are long.
    fn run(&mut self) -> bool {
        let mut held = None;
        let mut path: Vec<(usize, Option<i64>)> = Vec::new();
        let mut tried = None;
        loop {
            if self.first == self.definite {
                return true;
            }
            let (candidates, end) = self.candidates();
            let rest = candidates
                .iter()
                .copied()
                .skip_while(|&index| tried.is_some_and(|tried| index != tried));
            let rest = rest.skip(usize::from(tried.is_some()));
            let step = rest
                .filter_map(|index| Some((index, self.operations[index].action.after(held)?)))
                .next();
            if let Some((index, after)) = step {
                self.set(index, true);
                if self.dead.insert(self.place(end, after)) {
                    path.push((index, held));
                    held = after;
                    tried = None;
                } else {
                    self.set(index, false);
                    tried = Some(index);
                }
            } else {
                let Some((index, before)) = path.pop() else {
                    return false;
                };
                self.set(index, false);
                held = before;
                tried = Some(index);
            }
        }
    }

    fn set(&mut self, index: usize, done: bool) {
        self.done[index] = done;
        if !done && index < self.definite {
            self.first = self.first.min(index);
        }
        while self.first < self.definite && self.done[self.first] {
            self.first += 1;
        }
        self.deepest = self.deepest.max(self.first);
    }

    /// Next steps of the search, in a fixed order, and the end of the possible ones: a call after another
    /// operation's answer comes after that operation.
    fn candidates(&self) -> (Vec<usize>, usize) {
        let mut bound = u64::MAX;
        let mut candidates = Vec::new();
        let mut end = self.definite;
        for index in self.first..self.definite {
            let operation = &self.operations[index];
            if operation.called > bound {
                end = index;
                break;
            }
            if !self.done[index] {
                bound = bound.min(operation.answered.unwrap_or(u64::MAX));
                candidates.push(index);
            }
        }
        let unknown = self.definite..self.operations.len();
        candidates.retain(|&index| self.operations[index].called <= bound);
        candidates
            .extend(unknown.filter(|&index| !self.done[index] && self.operations[index].called <= bound));
        (candidates, end)
    }

    /// State of the search; no operation with an answer from `end` on is done.
    fn place(&self, end: usize, held: Option<i64>) -> Place {
        let beyond = (self.first..end).chain(self.definite..self.operations.len());
        (
            self.first,
            beyond.filter(|&index| self.done[index]).collect(),
            held,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(called: u64, answered: u64, action: Action) -> Operation {
        Operation {
            called,
            answered: Some(answered),
            action,
        }
    }

    #[test]
    fn an_order_is_found_where_there_is_one() {
        // The read runs beside the write and may see it or not.
        for seen in [None, Some(1)] {
            let history = [at(0, 10, Action::Create(1, true)), at(5, 6, Action::Read(seen))];
            assert_eq!(check(&history), Ok(()));
        }
        let swaps = [
            at(0, 1, Action::Create(1, true)),
            at(2, 9, Action::Swap(1, 2, true)),
            at(3, 8, Action::Swap(1, 3, false)),
            at(10, 11, Action::Read(Some(2))),
            at(12, 13, Action::Delete(true)),
            at(14, 15, Action::Replace(4, false)),
        ];
        assert_eq!(check(&swaps), Ok(()));
    }

    #[test]
    fn stale_reads_lost_writes_and_double_wins_are_found() {
        let stale = [
            at(0, 1, Action::Create(1, true)),
            at(2, 3, Action::Replace(2, true)),
            at(4, 5, Action::Read(Some(1))),
        ];
        assert!(check(&stale).is_err());
        let lost = [at(0, 1, Action::Create(1, true)), at(2, 3, Action::Read(None))];
        assert!(check(&lost).is_err());
        let both = [
            at(0, 1, Action::Create(1, true)),
            at(2, 9, Action::Swap(1, 2, true)),
            at(3, 8, Action::Swap(1, 3, true)),
        ];
        assert!(check(&both).is_err());
        let back = [
            at(0, 9, Action::Create(1, true)),
            at(1, 2, Action::Read(Some(1))),
            at(3, 4, Action::Read(None)),
        ];
        assert!(check(&back).is_err());
    }

    #[test]
    fn an_unknown_outcome_may_come_late_or_never_but_not_before_its_call() {
        let unknown = |called| Operation {
            called,
            answered: None,
            action: Action::Replace(2, true),
        };
        let made = at(0, 1, Action::Create(1, true));
        assert_eq!(
            check(&[made, unknown(2), at(3, 4, Action::Read(Some(1)))]),
            Ok(())
        );
        let late = [
            made,
            unknown(2),
            at(3, 4, Action::Read(Some(1))),
            at(5, 6, Action::Read(Some(2))),
        ];
        assert_eq!(check(&late), Ok(()));
        assert!(check(&[made, at(2, 3, Action::Read(Some(2))), unknown(4)]).is_err());
    }
}
