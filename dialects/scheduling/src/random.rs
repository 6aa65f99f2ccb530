//! Seeded randomness: equal seeds give equal picks on every machine.

/// SplitMix64: small, fast, and good enough to spread picks. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence for `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `bound`, or 0 if `bound` is 0. The bias is negligible.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.below(10), random.below(10), random.below(10)]
        };
        assert_eq!(draw(7), draw(7));
        assert!(draw(7).iter().all(|&number| number < 10));
        assert_eq!(Random::new(1).below(0), 0);
    }
}
