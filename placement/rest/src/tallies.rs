//! Numbers of Decisions, which are updated with each change, so that no read has to count.

use std::collections::BTreeMap;

/// Properties of a Decision for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// The phase.
    pub phase: &'static str,
    /// The status of the condition Agrees; empty without this condition.
    pub agrees: &'static str,
}

/// The counts, by system. A count that falls to 0 stays in the list.
#[derive(Clone, Debug, Default)]
pub struct Tallies(BTreeMap<(&'static str, Tally), isize>);

impl Tallies {
    /// Counts `by` more Decisions of `system`; -1 counts one less.
    pub(crate) fn add(&mut self, system: &'static str, tally: Tally, by: isize) {
        *self.0.entry((system, tally)).or_default() += by;
    }

    /// The counts, by system, phase and agreement.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Tally, isize)> {
        self.0
            .iter()
            .map(|(&(system, tally), &count)| (system, tally, count))
    }
}
