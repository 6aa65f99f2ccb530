//! Refusals of a run, stored as the filters return them.
//!
//! A run may refuse nearly every cluster, and most callers do not read the single refusals. So their list is
//! built when it is first read.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::candidate::{Ix, Reason};

/// One plugin's refusal of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejection {
    /// The refused candidate.
    pub candidate: Ix,
    /// The number of the filter, assigned by [`filters!`](crate::filters).
    pub plugin: u16,
    /// The reason of the refusal.
    pub reason: Reason,
}

/// Candidates that one filter refuses.
#[derive(Clone, Debug)]
pub enum Refusals<'a> {
    /// The refused candidates in fleet order, each with its reason.
    List(Vec<(Ix, Reason)>),
    /// All candidates whose bits are not set, for one reason. The lowest bit of the first word belongs to
    /// the first candidate.
    AllBut(&'a [u64], Reason),
}

/// Every refusal of every filter, by candidate, then by plugin: a slice of [`Rejection`]s that is built when
/// it is first read. Clones share the refusals, and the slice once it is built.
#[derive(Clone, Default)]
pub struct Rejections(Arc<RefusalLists>);

/// The refusals of every filter as the filter returned them, and all refusals as one list.
#[derive(Clone, Default)]
struct RefusalLists {
    /// Number of candidates; 0 if the refusals were created from a list.
    count: Ix,
    /// Filters, by their numbers in ascending order, with their refusals; empty if the refusals were created
    /// from a list.
    lists: Vec<(u16, OwnedRefusals)>,
    /// All refusals, by candidate, then by plugin; built on first use.
    listed: OnceLock<Vec<Rejection>>,
    /// Result of [`Rejections::starts`], computed on first use.
    starts: OnceLock<Vec<u32>>,
}

/// Candidates that one filter refuses, like [`Refusals`] without borrowed bits.
#[derive(Clone, Debug)]
enum OwnedRefusals {
    /// The refused candidates in fleet order, each with its reason.
    List(Vec<(Ix, Reason)>),
    /// All candidates whose bits are not set, for one reason.
    AllBut(Box<[u64]>, Reason),
}

impl Rejections {
    /// Creates the refusals over `count` candidates from the refusals of each filter, which are in the order
    /// of the filters' numbers.
    pub(crate) fn new(count: Ix, lists: Vec<(u16, Refusals<'_>)>) -> Self {
        let owned = |(plugin, refused)| {
            let list = match refused {
                Refusals::List(list) => OwnedRefusals::List(list),
                Refusals::AllBut(passing, reason) => OwnedRefusals::AllBut(passing.into(), reason),
            };
            (plugin, list)
        };
        Self(Arc::new(RefusalLists {
            count,
            lists: lists.into_iter().map(owned).collect(),
            ..RefusalLists::default()
        }))
    }

    /// Number of refusals.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0.listed.get() {
            Some(listed) => listed.len(),
            None => self
                .0
                .lists
                .iter()
                .map(|(_, list)| list.refused_count(self.0.count))
                .sum(),
        }
    }

    /// Whether no candidate is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The refusals of `candidate`, in pipeline order. For a candidate without refusals, the list of all
    /// refusals is not built.
    #[must_use]
    pub fn of_candidate(&self, candidate: Ix) -> &[Rejection] {
        if self.0.listed.get().is_none() && !self.0.lists.iter().any(|(_, list)| list.has(candidate)) {
            return &[];
        }
        let listed = self.as_slice();
        let start = listed.partition_point(|rejection| rejection.candidate < candidate);
        let end = listed.partition_point(|rejection| rejection.candidate <= candidate);
        &listed[start..end]
    }

    /// Numbers of refused candidates by filter and reason; reasons with different details are separate. A
    /// candidate that the filter `scope` refuses is counted for that filter alone. The list of all refusals
    /// is not built for this.
    #[must_use]
    pub fn groups(&self, scope: Option<u16>) -> Vec<Group> {
        let mut groups = Groups::default();
        if let Some(listed) = self.0.listed.get() {
            for refusals in listed.chunk_by(|one, next| one.candidate == next.candidate) {
                let outside = refusals.iter().find(|refusal| Some(refusal.plugin) == scope);
                let counted = outside.map_or(refusals, std::slice::from_ref);
                counted.iter().for_each(|refusal| groups.add(*refusal, 1));
            }
            return groups.all;
        }
        let outside = self.0.lists.iter().find(|(plugin, _)| Some(*plugin) == scope);
        let outside = outside.map(|(_, list)| list.words(self.0.count));
        let inside = |word: usize| outside.as_ref().map_or(u64::MAX, |outside| !outside[word]);
        for (plugin, list) in &self.0.lists {
            let mask = |word| {
                if Some(*plugin) == scope {
                    u64::MAX
                } else {
                    inside(word)
                }
            };
            match list {
                OwnedRefusals::List(these) => {
                    let counted = these.iter().filter(|(candidate, _)| {
                        let word = (candidate / u64::BITS) as usize;
                        mask(word) >> (candidate % u64::BITS) & 1 == 1
                    });
                    counted.for_each(|&(candidate, reason)| {
                        let refusal = Rejection {
                            candidate,
                            plugin: *plugin,
                            reason,
                        };
                        groups.add(refusal, 1);
                    });
                }
                OwnedRefusals::AllBut(_, reason) => {
                    let words = list.words(self.0.count);
                    let counted = |(word, bits): (usize, u64)| bits & mask(word);
                    let mut words = (0..)
                        .step_by(u64::BITS as usize)
                        .zip(words.into_iter().enumerate().map(counted));
                    let Some((start, bits)) = words.find(|(_, bits)| *bits != 0) else {
                        continue;
                    };
                    let first = Rejection {
                        candidate: start + bits.trailing_zeros(),
                        plugin: *plugin,
                        reason: *reason,
                    };
                    let rest: usize = words.map(|(_, bits)| bits.count_ones() as usize).sum();
                    groups.add(first, rest + bits.count_ones() as usize);
                }
            }
        }
        groups.all
    }

    /// All refusals, by candidate, then by plugin.
    #[must_use]
    pub fn as_slice(&self) -> &[Rejection] {
        self.0.listed.get_or_init(|| self.list_all())
    }

    /// The start of each candidate's refusals in the list of all refusals, followed by the end of the last
    /// candidate's: `count` + 1 positions, for the number of targets over which the filters ran.
    #[must_use]
    pub fn starts(&self, count: Ix) -> &[u32] {
        self.0.starts.get_or_init(|| {
            let mut starts = Vec::with_capacity(count as usize + 1);
            let mut rest = (0..).zip(self.as_slice()).peekable();
            // Even if every filter refuses every target, there are fewer than 2^32 refusals.
            let all = u32::try_from(self.len()).unwrap_or(u32::MAX);
            for candidate in 0..count {
                starts.push(rest.peek().map_or(all, |&(at, _)| at));
                while rest
                    .next_if(|(_, refusal)| refusal.candidate <= candidate)
                    .is_some()
                {}
            }
            starts.push(all);
            starts
        })
    }

    /// The candidates that no filter refuses, in fleet order.
    pub(crate) fn feasible(&self) -> Vec<Ix> {
        let max_refused = self
            .0
            .lists
            .iter()
            .map(|(_, list)| list.refused_count(self.0.count))
            .max();
        let mut feasible =
            Vec::with_capacity((self.0.count as usize).saturating_sub(max_refused.unwrap_or_default()));
        let mut cursors = self.cursors();
        self.each_word(|word, first, existing| {
            let refused = cursors.iter_mut().fold(0, |refused, cursor| {
                let bits = cursor.refused_bits(word, first, existing);
                cursor.skip(bits);
                refused | bits
            });
            feasible.extend(ones(existing & !refused).map(|bit| first + bit));
        });
        feasible
    }

    fn list_all(&self) -> Vec<Rejection> {
        let mut rejections = Vec::with_capacity(self.len());
        let mut cursors = self.cursors();
        let mut refusing = Vec::with_capacity(cursors.len());
        self.each_word(|word, first, existing| {
            let mut refused = 0;
            refusing.clear();
            for (place, cursor) in cursors.iter().enumerate() {
                let bits = cursor.refused_bits(word, first, existing);
                refused |= bits;
                if bits != 0 {
                    refusing.push((place, bits));
                }
            }
            // In most words, only one filter refuses candidates.
            if let [(place, bits)] = *refusing {
                let cursor = &mut cursors[place];
                rejections.extend(ones(bits).map(|bit| cursor.next_refusal(first + bit)));
                return;
            }
            for bit in ones(refused) {
                for (place, _) in refusing.iter().filter(|(_, bits)| bits >> bit & 1 == 1) {
                    rejections.push(cursors[*place].next_refusal(first + bit));
                }
            }
        });
        rejections
    }

    fn cursors(&self) -> Vec<Cursor<'_>> {
        self.0
            .lists
            .iter()
            .map(|(plugin, list)| Cursor::new(*plugin, list))
            .collect()
    }

    /// Calls `each` for every word of 64 candidates, with the number of the word, its first candidate, and
    /// the bits of its existing candidates.
    fn each_word(&self, mut each: impl FnMut(usize, Ix, u64)) {
        for (word, first) in (0..self.0.count).step_by(u64::BITS as usize).enumerate() {
            each(
                word,
                first,
                u64::MAX >> (u64::BITS - (self.0.count - first).min(u64::BITS)),
            );
        }
    }
}

/// Candidates that one filter refuses for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The refusal of the first candidate of the group.
    pub first: Rejection,
    /// Number of candidates in the group.
    pub count: usize,
}

/// Groups in the order of their creation, with the position of each group by filter and reason.
#[derive(Default)]
struct Groups {
    all: Vec<Group>,
    positions: HashMap<(u16, Reason), usize>,
    /// Position of the group that was used last: consecutive candidates mostly have the same refusal.
    last: usize,
}

impl Groups {
    fn add(&mut self, refusal: Rejection, count: usize) {
        let key = (refusal.plugin, refusal.reason);
        let is_last = |group: &Group| (group.first.plugin, group.first.reason) == key;
        if !self.all.get(self.last).is_some_and(is_last) {
            self.last = *self.positions.entry(key).or_insert(self.all.len());
        }
        match self.all.get_mut(self.last) {
            Some(group) => group.count += count,
            None => self.all.push(Group {
                first: refusal,
                count,
            }),
        }
    }
}

impl OwnedRefusals {
    /// The refused candidates among `count` as bits.
    fn words(&self, count: Ix) -> Vec<u64> {
        match self {
            Self::List(list) => {
                let mut words = vec![0; (count as usize).div_ceil(u64::BITS as usize)];
                for (candidate, _) in list {
                    words[(candidate / u64::BITS) as usize] |= 1 << (candidate % u64::BITS);
                }
                words
            }
            Self::AllBut(passing, _) => {
                let mut words: Vec<u64> = passing.iter().map(|word| !word).collect();
                let rest = count % u64::BITS;
                if let Some(last) = words.last_mut().filter(|_| rest > 0) {
                    *last &= (1 << rest) - 1;
                }
                words
            }
        }
    }

    /// Number of refused candidates among `count`.
    fn refused_count(&self, count: Ix) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::AllBut(passing, _) => {
                let passing: usize = passing.iter().map(|word| word.count_ones() as usize).sum();
                (count as usize).saturating_sub(passing)
            }
        }
    }

    fn has(&self, candidate: Ix) -> bool {
        match self {
            Self::List(list) => list
                .binary_search_by_key(&candidate, |(refused, _)| *refused)
                .is_ok(),
            Self::AllBut(passing, _) => {
                let word = passing.get((candidate / u64::BITS) as usize);
                word.is_some_and(|word| word >> (candidate % u64::BITS) & 1 == 0)
            }
        }
    }
}

/// The positions of the bits that are set, lowest first.
pub fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(lowest)
    })
}

/// A position in the refusals of one filter.
struct Cursor<'a> {
    plugin: u16,
    refused: &'a OwnedRefusals,
    /// The remaining refusals of a list; empty for [`OwnedRefusals::AllBut`].
    rest: &'a [(Ix, Reason)],
}

impl<'a> Cursor<'a> {
    fn new(plugin: u16, refused: &'a OwnedRefusals) -> Self {
        let rest = match refused {
            OwnedRefusals::List(list) => list.as_slice(),
            OwnedRefusals::AllBut(..) => &[],
        };
        Self {
            plugin,
            refused,
            rest,
        }
    }

    /// Bits of the refused candidates in the word `word`, whose first candidate is `first` and whose existing
    /// candidates have the bits `existing`.
    fn refused_bits(&self, word: usize, first: Ix, existing: u64) -> u64 {
        match self.refused {
            OwnedRefusals::AllBut(passing, _) => existing & !passing[word],
            OwnedRefusals::List(_) => {
                let own = self.rest.iter().map(|(candidate, _)| candidate - first);
                own.take_while(|bit| *bit < u64::BITS)
                    .fold(0, |bits, bit| bits | 1 << bit)
            }
        }
    }

    /// Skips the refusals of the candidates in `bits`, which are the next ones of the list.
    fn skip(&mut self, bits: u64) {
        if let OwnedRefusals::List(_) = self.refused {
            self.rest = &self.rest[bits.count_ones() as usize..];
        }
    }

    /// Returns the next refusal, which is the refusal of `candidate`.
    #[inline]
    fn next_refusal(&mut self, candidate: Ix) -> Rejection {
        let reason = match (self.refused, self.rest) {
            (OwnedRefusals::AllBut(_, reason), _) => *reason,
            (OwnedRefusals::List(_), [(_, reason), rest @ ..]) => {
                self.rest = rest;
                *reason
            }
            (OwnedRefusals::List(_), []) => {
                unreachable!("every bit of `refused_bits` belongs to a refusal in `rest`")
            }
        };
        Rejection {
            candidate,
            plugin: self.plugin,
            reason,
        }
    }
}

impl Deref for Rejections {
    type Target = [Rejection];

    fn deref(&self) -> &[Rejection] {
        self.as_slice()
    }
}

impl<'a> IntoIterator for &'a Rejections {
    type Item = &'a Rejection;
    type IntoIter = std::slice::Iter<'a, Rejection>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

/// Converts a list of refusals that is sorted by candidate, then by plugin.
impl From<Vec<Rejection>> for Rejections {
    fn from(listed: Vec<Rejection>) -> Self {
        Self(Arc::new(RefusalLists {
            listed: OnceLock::from(listed),
            ..RefusalLists::default()
        }))
    }
}

impl From<Rejections> for Vec<Rejection> {
    fn from(rejections: Rejections) -> Self {
        match Arc::try_unwrap(rejections.0) {
            Ok(mut refused) => match refused.listed.take() {
                Some(listed) => listed,
                None => Rejections(Arc::new(refused)).list_all(),
            },
            Err(shared) => Rejections(shared).as_slice().to_vec(),
        }
    }
}

impl PartialEq for Rejections {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl fmt::Debug for Rejections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
