//! Numbers of Decisions, which are updated with each change, so that no read has to count.

use std::collections::BTreeMap;

/// Properties of a Decision by which Decisions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// The phase of the Decision.
    pub phase: &'static str,
    /// The status of the condition `Agrees`; empty without this condition.
    pub agrees: &'static str,
}

/// Numbers of Decisions, by system and [`Tally`]. A count that falls to 0 stays in the list.
#[derive(Clone, Debug, Default)]
pub struct Tallies(BTreeMap<(&'static str, Tally), isize>);

impl Tallies {
    /// Adds `by` to the number of Decisions of `system` with the properties `tally`.
    pub(crate) fn add(&mut self, system: &'static str, tally: Tally, by: isize) {
        *self.0.entry((system, tally)).or_default() += by;
    }

    /// Iterates over the counts, with system and properties.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Tally, isize)> {
        self.0
            .iter()
            .map(|(&(system, tally), &count)| (system, tally, count))
    }
}
