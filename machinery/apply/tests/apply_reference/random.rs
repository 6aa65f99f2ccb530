//! Small random numbers that are reproducible from a seed.

/// A generator (splitmix64).
pub(crate) struct Random {
    state: u64,
    /// Whether the sequence has writes in several versions. The reference cannot convert objects with
    /// duplicate items, so a sequence has only one of the two.
    pub(crate) versions: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self {
            state: seed,
            versions: false,
        };
        random.versions = random.chance(50);
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).expect("it is below a usize")
    }

    /// True in `percent` of the cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}
