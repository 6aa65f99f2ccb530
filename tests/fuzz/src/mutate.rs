//! Generator of inputs from seeds: bytes and words are inserted, removed, doubled and swapped, and
//! seeds are spliced.

use berth_scheduling::Random;

/// The longest input, which is far longer than a seed.
const LONGEST: usize = 64 * 1024;
/// The most changes to one seed.
const CHANGES: u64 = 8;

/// Generator of inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    random: Random,
    seeds: &'static [&'static str],
    words: &'static [&'static str],
}

impl Mutator {
    /// A generator of inputs from `seeds`, which inserts `words` of the format.
    #[must_use]
    pub const fn new(random: Random, seeds: &'static [&'static str], words: &'static [&'static str]) -> Self {
        Self { random, seeds, words }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.one_of(self.seeds).as_bytes().to_vec();
        for _ in 0..=self.random.below(CHANGES) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(16)).min(input.len());
        match self.random.below(7) {
            0 => input.insert(at, self.byte()),
            1 => {
                let byte = self.byte();
                if let Some(old) = input.get_mut(at) {
                    *old = byte;
                }
            }
            2 => drop(input.drain(at..end)),
            3 => {
                let part = input[at..end].to_vec();
                put(input, at, &part);
            }
            4 => {
                let word = self.one_of(self.words);
                put(input, at, word.as_bytes());
            }
            5 => {
                let other = self.one_of(self.seeds).as_bytes();
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let with = self.below(input.len().max(1));
                if at < input.len() {
                    input.swap(at, with);
                }
            }
        }
    }

    /// A random byte, mostly of text.
    fn byte(&mut self) -> u8 {
        const USUAL: &[u8] = b"\"{}[]:,+-./!=()<> \n\\0aZ";
        match self.random.below(4) {
            0 => self.random.next_u64().to_le_bytes()[0],
            _ => USUAL[self.below(USUAL.len())],
        }
    }

    fn one_of(&mut self, list: &'static [&'static str]) -> &'static str {
        let index = self.below(list.len());
        list.get(index).copied().unwrap_or_default()
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.random.below(bound)).unwrap_or_default()
    }
}

fn put(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    drop(input.splice(at..at, part.iter().copied()));
}
