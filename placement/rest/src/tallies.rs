//! Numbers of Decisions, kept current when they change, so that a reader counts nothing.

use std::collections::BTreeMap;

/// Properties of a Decision for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// Its phase.
    pub phase: &'static str,
    /// The status of its condition Agrees; empty where it has none.
    pub agrees: &'static str,
}

/// The counts, by system. A count that falls to 0 stays in the list.
#[derive(Clone, Debug, Default)]
pub struct Tallies(BTreeMap<(&'static str, Tally), isize>);

impl Tallies {
    /// Counts one more Decision of `system`, or with -1 one less.
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
