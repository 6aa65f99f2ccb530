//! The prioritizers Balance, Steady, ResourceAllocatableCPU, ResourceAllocatableMemory and AddOn
//! (docs/systems/ocm.md, "Scores").
//!
//! Formulas with a division are computed in 64-bit floats, with the documented sequence of operations: in
//! edge cases, exact fractions would be rounded differently from OCM.

use berth_apimachinery::Timestamp;
use berth_dialect_columns::{Bits, Chunks};
use berth_scheduling::{Ix, Scorer};

use crate::columns::kept::Values;
use crate::columns::{Columns, ScoreColumn};
use crate::fleet::Fleet;
use crate::outline::Range;

/// The prioritizer Balance: fewer decisions on a cluster are better.
pub(crate) struct Balance<'a> {
    /// The weight.
    pub(crate) weight: i64,
    /// Number of counted decisions of this placement itself, by candidate.
    pub(crate) own: &'a [(Ix, u32)],
    /// The highest count of any cluster, without this placement's own decisions.
    pub(crate) highest: u32,
}

/// The value of a cluster with `count` decisions, if no cluster has more than `highest`.
pub(crate) fn balance(count: u32, highest: u32) -> i64 {
    if count == 0 || highest == 0 {
        return 100;
    }
    2 * truncated(100.0 * (0.5 - f64::from(count) / f64::from(highest)))
}

impl Scorer<Columns> for Balance<'_> {
    fn weight(&self) -> i64 {
        self.weight
    }

    fn score(&self, columns: &Columns, feasible: &[Ix], values: &mut [Option<i64>]) {
        // The last value is cached: most fleets have few distinct counts, and the formula has a division.
        let mut last = (0, 100);
        for (value, &candidate) in values.iter_mut().zip(feasible) {
            let count = columns.counts.get(candidate);
            if count != last.0 {
                last = (count, balance(count, self.highest));
            }
            *value = Some(last.1);
        }
        for &(candidate, own) in self.own {
            if let Ok(row) = feasible.binary_search(&candidate) {
                let count = columns.counts.get(candidate).saturating_sub(own);
                values[row] = Some(balance(count, self.highest));
            }
        }
    }
}

/// The prioritizer Steady: clusters that are selected already are better.
pub(crate) struct Steady<'a> {
    /// The weight.
    pub(crate) weight: i64,
    /// The clusters that this placement has selected.
    pub(crate) held: &'a Bits,
}

impl Scorer<Columns> for Steady<'_> {
    fn weight(&self) -> i64 {
        self.weight
    }

    fn score(&self, _columns: &Columns, feasible: &[Ix], values: &mut [Option<i64>]) {
        for (value, &candidate) in values.iter_mut().zip(feasible) {
            *value = Some(if self.held.has(candidate) { 100 } else { 0 });
        }
    }
}

/// The prioritizers by an allocatable resource: more is better.
pub(crate) struct Allocatable<'a> {
    /// The weight.
    pub(crate) weight: i64,
    /// The amounts by candidate; NaN where allocatable or capacity is not reported.
    pub(crate) amounts: &'a Chunks<f64>,
    /// The range of the whole fleet, if these clusters are only a part of it.
    pub(crate) range: Option<Range>,
    /// The values, if these clusters are the whole fleet and another decision has computed them.
    pub(crate) known: &'a Values,
}

/// The value of an `amount` between `least` and `most`.
pub(crate) fn allocatable(amount: f64, least: f64, most: f64) -> i64 {
    if least == most {
        return 100;
    }
    truncated(((amount - least) / (most - least) - 0.5) * 200.0)
}

impl Scorer<Columns> for Allocatable<'_> {
    fn weight(&self) -> i64 {
        self.weight
    }

    fn score(&self, _columns: &Columns, feasible: &[Ix], values: &mut [Option<i64>]) {
        let amounts = || feasible.iter().map(|&candidate| self.amounts.get(candidate));
        let scored = |Range { least, most }| {
            let score = move |amount: f64| (!amount.is_nan()).then(|| allocatable(amount, least, most));
            amounts().map(score)
        };
        match self.range {
            Some(range) => values
                .iter_mut()
                .zip(scored(range))
                .for_each(|(value, score)| *value = score),
            None => {
                let known = self.known.get_or_init(|| scored(Range::of(amounts())).collect());
                values.copy_from_slice(known);
            }
        }
    }
}

/// The prioritizer by an AddOnPlacementScore, whose value is 0 where it is missing or has expired.
pub(crate) struct AddOn<'a> {
    /// The weight.
    pub(crate) weight: i64,
    /// The values; `None` where no cluster has one.
    pub(crate) column: Option<&'a ScoreColumn>,
    /// The instant of the decision.
    pub(crate) now: Timestamp,
}

impl AddOn<'_> {
    /// The first instant at which a value in use is no longer valid: one nanosecond after its `validUntil`.
    pub(crate) fn expires(&self, feasible: &[Ix]) -> Option<Timestamp> {
        let mut first: Option<Timestamp> = None;
        self.each(feasible, |_, entry_until, _| {
            let counts = self.now <= entry_until && entry_until != Timestamp::MAX;
            if counts && first.is_none_or(|known| entry_until < known) {
                first = Some(entry_until);
            }
        });
        first.and_then(|until| until.checked_add(jiff::SignedDuration::from_nanos(1)).ok())
    }

    /// Calls `each` with the row, the last valid instant and the value of every feasible candidate with an
    /// entry.
    fn each(&self, feasible: &[Ix], mut each: impl FnMut(usize, Timestamp, i32)) {
        let Some(column) = self.column else { return };
        // Entries and feasible clusters are both sorted by candidate.
        let mut entries = column.iter().peekable();
        for (row, &candidate) in feasible.iter().enumerate() {
            while entries.next_if(|entry| entry.candidate < candidate).is_some() {}
            if let Some(entry) = entries.next_if(|entry| entry.candidate == candidate) {
                each(row, entry.until, entry.value);
            }
        }
    }
}

impl Scorer<Columns> for AddOn<'_> {
    fn weight(&self) -> i64 {
        self.weight
    }

    fn score(&self, _columns: &Columns, feasible: &[Ix], values: &mut [Option<i64>]) {
        values.fill(Some(0));
        self.each(feasible, |row, until, value| {
            if self.now <= until {
                values[row] = Some(value.into());
            }
        });
    }
}

/// Reason why the value of an AddOn score of a cluster counts as 0 instead of its measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Absence {
    /// The score has expired: this was the last instant at which it counted.
    Expired(Timestamp),
    /// The cluster has no AddOnPlacementScore with this name.
    NoObject,
    /// The object has no score of this name.
    NoScore,
}

impl Absence {
    /// Reason why `candidate` has no valid value of the score in `column`; `None` where it has one. `column`
    /// is the column of `fleet` for that score in the objects named `resource`.
    pub(crate) fn of(
        fleet: &Fleet,
        column: Option<&ScoreColumn>,
        resource: &str,
        candidate: Ix,
        now: Timestamp,
    ) -> Option<Self> {
        let column = column.map(Vec::as_slice).unwrap_or_default();
        if let Ok(place) = column.binary_search_by_key(&candidate, |entry| entry.candidate) {
            let until = column[place].until;
            return (until < now).then_some(Self::Expired(until));
        }
        let scored = fleet.scored.get(&fleet.columns().row(candidate).name);
        let object = scored.and_then(|scored| scored.object(resource));
        Some(if object.is_some() {
            Self::NoScore
        } else {
            Self::NoObject
        })
    }
}

/// Truncates `value` toward zero; values are at most a few hundred.
#[expect(
    clippy::cast_possible_truncation,
    reason = "cutting toward zero is the formula"
)]
fn truncated(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_follows_the_table() {
        for (count, highest, value) in [
            (0, 0, 100),
            (0, 3, 100),
            (3, 3, -100),
            (1, 1, -100),
            (1, 2, 0),
            (1, 3, 32),
            (2, 3, -32),
            (2, 4, 0),
        ] {
            assert_eq!(balance(count, highest), value, "{count} of {highest}");
        }
        for (count, highest) in
            (0..50).flat_map(|count| (count.max(1)..50).map(move |highest| (count, highest)))
        {
            let value = balance(count, highest);
            assert!(
                value % 2 == 0 && (-100..=100).contains(&value),
                "{count} of {highest}: {value}"
            );
        }
    }

    #[test]
    fn allocatable_follows_the_table() {
        for (amount, least, most, value) in [
            (4.0, 4.0, 4.0, 100),
            (0.0, 0.0, 10.0, -100),
            (10.0, 0.0, 10.0, 100),
            (5.0, 0.0, 10.0, 0),
            (1.0, 0.0, 3.0, -33),
            (2.0, 0.0, 3.0, 33),
        ] {
            assert_eq!(
                allocatable(amount, least, most),
                value,
                "{amount} in {least}..{most}"
            );
        }
    }
}
