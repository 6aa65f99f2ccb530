//! A set of candidates, with one bit for each candidate.

use std::ops::Range;

use berth_scheduling::{Ix, ones};

/// A set of candidates of a fleet with a fixed number of candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    count: Ix,
}

impl Bits {
    /// The empty set for `count` candidates.
    pub fn none(count: Ix) -> Self {
        Self {
            words: vec![0; (count as usize).div_ceil(64)],
            count,
        }
    }

    /// The set of all `count` candidates.
    pub fn all(count: Ix) -> Self {
        let mut bits = Self {
            words: vec![u64::MAX; (count as usize).div_ceil(64)],
            count,
        };
        let rest = count % 64;
        if let Some(last) = bits.words.last_mut().filter(|_| rest > 0) {
            *last = (1 << rest) - 1;
        }
        bits
    }

    /// The members as bits: the lowest bit of the first word belongs to the first candidate.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether `candidate` is in the set.
    #[inline]
    pub fn has(&self, candidate: Ix) -> bool {
        self.words[(candidate / 64) as usize] >> (candidate % 64) & 1 == 1
    }

    /// Adds `candidate` if `is_member` is set; removes it otherwise.
    #[inline]
    pub fn set(&mut self, candidate: Ix, is_member: bool) {
        let word = &mut self.words[(candidate / 64) as usize];
        let bit = 1 << (candidate % 64);
        *word = if is_member { *word | bit } else { *word & !bit };
    }

    /// Adds the members of `other` in `range`, shifted so that the first candidate of `range` becomes `to`.
    pub fn copy(&mut self, to: Ix, other: &Self, range: Range<Ix>) {
        let (mut from, mut to) = (range.start, to);
        while from < range.end {
            let fitting = (64 - to % 64).min(range.end - from);
            let mask = u64::MAX >> (64 - fitting);
            self.words[(to / 64) as usize] |= (other.word(from) & mask) << (to % 64);
            from += fitting;
            to += fitting;
        }
    }

    /// The bits of the 64 candidates from `candidate` on.
    fn word(&self, candidate: Ix) -> u64 {
        let (place, offset) = ((candidate / 64) as usize, candidate % 64);
        let low = self.words[place] >> offset;
        match self.words.get(place + 1) {
            Some(next) if offset > 0 => low | next << (64 - offset),
            _ => low,
        }
    }

    /// Adds all members of `other`.
    pub fn unite(&mut self, other: &Self) {
        for (word, other_word) in self.words.iter_mut().zip(&other.words) {
            *word |= other_word;
        }
    }

    /// Removes all members that are not in `other`.
    pub fn intersect(&mut self, other: &Self) {
        for (word, other_word) in self.words.iter_mut().zip(&other.words) {
            *word &= other_word;
        }
    }

    /// Removes all members of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, other_word) in self.words.iter_mut().zip(&other.words) {
            *word &= !other_word;
        }
    }

    /// Whether any candidate is in this set but not in `other`.
    pub fn exceeds(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .any(|(word, other)| word & !other != 0)
    }

    /// Number of members.
    pub fn member_count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The members, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = Ix> + '_ {
        let words = (0..).step_by(64).zip(&self.words);
        words.flat_map(|(first, &word)| ones(word).map(move |bit| first + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_added_and_removed() {
        let mut some = Bits::none(130);
        for candidate in [0, 63, 64, 129] {
            some.set(candidate, true);
        }
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        some.set(63, false);
        assert!(!some.has(63) && some.has(64));
        assert_eq!(
            (
                Bits::all(130).iter().count(),
                Bits::all(130).member_count(),
                some.member_count()
            ),
            (130, 130, 3)
        );
        assert!(Bits::all(130).exceeds(&some) && !some.exceeds(&Bits::all(130)));
        let mut both = Bits::all(130);
        both.intersect(&some);
        assert_eq!(both, some);
        both.unite(&Bits::all(130));
        assert_eq!(both, Bits::all(130));
        both.subtract(&some);
        assert!(!both.has(0) && both.has(63));
    }
}
