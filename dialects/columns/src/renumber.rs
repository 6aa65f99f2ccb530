//! New numbers of candidates after clusters are added or removed. Columns are copied range by range, and not
//! rebuilt.

use berth_scheduling::Ix;

use crate::{Bits, Chunks};

/// A range of candidates that stay, with the new number of the first candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RangeShift {
    /// The first candidate.
    start: Ix,
    /// The candidate after the last one.
    end: Ix,
    /// The new number of the first candidate.
    to: Ix,
}

/// An entry of a sparse column: a column in which only some candidates have entries.
pub trait NumberedEntry: Copy {
    /// Returns the number of the candidate to which the entry belongs.
    fn number(self) -> Ix;

    /// Returns the entry as an entry of `candidate`.
    fn with_number(self, candidate: Ix) -> Self;
}

/// A pair of candidate and value.
impl NumberedEntry for (Ix, u32) {
    fn number(self) -> Ix {
        self.0
    }

    fn with_number(self, candidate: Ix) -> Self {
        (candidate, self.1)
    }
}

/// A mapping from old numbers of candidates to new ones.
#[derive(Clone, Debug)]
pub struct Renumbering {
    ranges: Vec<RangeShift>,
    /// Count of the candidates after the renumbering.
    count: Ix,
}

impl Renumbering {
    /// Creates the renumbering of `count` candidates after a removal of the candidates in `removed`, and an
    /// insertion of one new candidate before each old number in `added`; the number `count` appends a
    /// candidate. Both lists are ascending.
    pub fn new(count: Ix, removed: &[Ix], added: &[Ix]) -> Self {
        let mut ranges = Vec::with_capacity(removed.len() + added.len() + 1);
        let (mut removed, mut added) = (
            removed.iter().copied().peekable(),
            added.iter().copied().peekable(),
        );
        let (mut start, mut to) = (0, 0);
        while start < count || added.peek().is_some() {
            while added.next_if_eq(&start).is_some() {
                to += 1;
            }
            if removed.next_if_eq(&start).is_some() {
                start += 1;
                continue;
            }
            let next = [removed.peek(), added.peek()].into_iter().flatten().min();
            let end = next.copied().unwrap_or(count).min(count);
            if end > start {
                ranges.push(RangeShift { start, end, to });
                to += end - start;
            }
            start = end;
        }
        Self { ranges, count: to }
    }

    /// The numbers of the added candidates. `removed` and `added` are the arguments of [`Renumbering::new`].
    pub fn added_numbers(&self, removed: &[Ix], added: &[Ix]) -> Vec<Ix> {
        let number = |(earlier, &place): (Ix, &Ix)| {
            let removed_before = removed.partition_point(|&other| other < place);
            place + earlier - Ix::try_from(removed_before).unwrap_or(Ix::MAX)
        };
        (0..).zip(added).map(number).collect()
    }

    /// The new numbers of the candidates in `numbers`, which may be in any order. The results for removed
    /// candidates have no meaning.
    pub fn numbers(&self, numbers: &[Ix]) -> Vec<Ix> {
        let before = self.ranges.last().map_or(0, |range| range.end);
        let mut table = vec![0; before as usize];
        for range in &self.ranges {
            let places = &mut table[range.start as usize..range.end as usize];
            places
                .iter_mut()
                .zip(range.to..)
                .for_each(|(place, new)| *place = new);
        }
        numbers
            .iter()
            .map(|&old| table.get(old as usize).copied().unwrap_or(0))
            .collect()
    }

    /// Returns a renumbered sparse column: the `entries` of candidates that stay, merged with `more`, the
    /// entries of added candidates. All lists are in ascending order of the candidates.
    pub fn entries<T: NumberedEntry>(&self, entries: &[T], more: Vec<T>) -> Vec<T> {
        let mut moved = Vec::with_capacity(entries.len() + more.len());
        let mut more = more.into_iter().peekable();
        let mut ranges = self.ranges.iter();
        let mut current = ranges.next();
        for entry in entries {
            let old = entry.number();
            while current.is_some_and(|range| range.end <= old) {
                current = ranges.next();
            }
            let Some(range) = current.filter(|range| range.start <= old) else {
                continue;
            };
            let new = old - range.start + range.to;
            while let Some(earlier) = more.next_if(|other| other.number() < new) {
                moved.push(earlier);
            }
            moved.push(entry.with_number(new));
        }
        moved.extend(more);
        moved
    }

    /// Returns the renumbered column, in which added candidates have the value `default`.
    pub fn column<T: Copy>(&self, column: &[T], default: T) -> Vec<T> {
        let mut moved = Vec::with_capacity(self.count as usize);
        for range in &self.ranges {
            moved.resize(range.to as usize, default);
            moved.extend_from_slice(&column[range.start as usize..range.end as usize]);
        }
        moved.resize(self.count as usize, default);
        moved
    }

    /// Returns the renumbered column of chunks, in which added candidates have the value `default`.
    pub fn chunks<T: Copy>(&self, column: &Chunks<T>, default: T) -> Chunks<T> {
        let values: Vec<T> = column.iter().collect();
        self.column(&values, default).into_iter().collect()
    }

    /// Returns the renumbered set, without added candidates.
    pub fn bits(&self, bits: &Bits) -> Bits {
        let mut moved = Bits::none(self.count);
        for range in &self.ranges {
            moved.copy(range.to, bits, range.start..range.end);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old numbers of the candidates in the new order, computed in a simple way; `None` for an added
    /// candidate.
    fn expected_order(count: Ix, removed: &[Ix], added: &[Ix]) -> Vec<Option<Ix>> {
        let mut list = Vec::new();
        for old in 0..=count {
            list.extend(added.iter().filter(|place| **place == old).map(|_| None));
            if old < count && !removed.contains(&old) {
                list.push(Some(old));
            }
        }
        list
    }

    #[test]
    fn columns_entries_and_bits_are_renumbered_alike() {
        let mut random = berth_scheduling::Random::new(7);
        for round in 0..400_u64 {
            let count = Ix::try_from(random.below(200)).unwrap();
            let few = round % 5 * 20;
            let mut pick = |bound: Ix| -> Vec<Ix> {
                let mut list: Vec<Ix> = (0..few)
                    .map(|_| Ix::try_from(random.below(u64::from(bound))).unwrap())
                    .collect();
                list.sort_unstable();
                list
            };
            let mut removed = if count > 0 { pick(count) } else { Vec::new() };
            removed.dedup();
            let added = pick(count + 1);
            let expected = expected_order(count, &removed, &added);
            let renumbering = Renumbering::new(count, &removed, &added);
            let column: Vec<Option<Ix>> = (0..count).map(Some).collect();
            assert_eq!(renumbering.column(&column, None), expected);
            let chunks = renumbering.chunks(&column.iter().copied().collect(), None);
            assert!(chunks.iter().eq(expected.iter().copied()));
            let some: Vec<(Ix, u32)> = (0..count)
                .filter(|candidate| candidate % 3 == 1)
                .map(|candidate| (candidate, candidate))
                .collect();
            let mut bits = Bits::none(count);
            some.iter().for_each(|&(candidate, _)| bits.set(candidate, true));
            let new = |old: &Option<Ix>| old.is_none_or(|old| old % 3 == 1);
            let expected_entries: Vec<(Ix, u32)> = (0..)
                .zip(&expected)
                .filter(|(_, old)| new(old))
                .map(|(new, old)| (new, old.unwrap_or(Ix::MAX)))
                .collect();
            let added_numbers = renumbering.added_numbers(&removed, &added);
            let more = added_numbers
                .iter()
                .map(|&candidate| (candidate, Ix::MAX))
                .collect();
            assert_eq!(renumbering.entries(&some, more), expected_entries);
            let numbers = renumbering.numbers(&(0..count).collect::<Vec<_>>());
            for (old, new) in (0..).zip(numbers).filter(|(old, _)| !removed.contains(old)) {
                assert_eq!(expected[new as usize], Some(old));
            }
            let members: Vec<Ix> = renumbering.bits(&bits).iter().collect();
            let stayed = expected_entries.iter().filter(|(_, old)| *old != Ix::MAX);
            assert_eq!(members, stayed.map(|&(new, _)| new).collect::<Vec<_>>());
        }
    }
}
