//! A column of values, in chunks that older snapshots share.

use std::sync::Arc;

/// Number of values in a chunk.
const CHUNK: usize = 1024;

/// A column with one value for each candidate. A clone shares all chunks; a change copies only the chunk of
/// the changed value, if a clone shares the chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunks<T>(Vec<Arc<[T]>>);

impl<T: Copy> Chunks<T> {
    /// The value of `candidate`.
    ///
    /// # Panics
    /// When there is no such candidate.
    #[inline]
    pub fn get(&self, candidate: u32) -> T {
        let place = candidate as usize;
        self.0[place / CHUNK][place % CHUNK]
    }

    /// Replaces the value of `candidate` by `value`.
    ///
    /// # Panics
    /// When there is no such candidate.
    pub fn set(&mut self, candidate: u32, value: T) {
        let place = candidate as usize;
        Arc::make_mut(&mut self.0[place / CHUNK])[place % CHUNK] = value;
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.0.iter().flat_map(|chunk| chunk.iter().copied())
    }
}

impl<T: Copy> FromIterator<T> for Chunks<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let chunks = std::iter::from_fn(|| {
            let chunk: Vec<T> = values.by_ref().take(CHUNK).collect();
            (!chunk.is_empty()).then(|| chunk.into())
        });
        Self(chunks.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_does_not_affect_earlier_clones() {
        let mut column: Chunks<u32> = (0..3000).collect();
        let before = column.clone();
        column.set(2047, 7);
        assert_eq!((column.get(2047), before.get(2047)), (7, 2047));
        assert_eq!(
            (column.get(0), column.get(1024), column.get(2999)),
            (0, 1024, 2999)
        );
        let expected = (0..3000).map(|number| if number == 2047 { 7 } else { number });
        assert!(column.iter().eq(expected) && before.iter().eq(0..3000));
        assert!(Arc::ptr_eq(&column.0[0], &before.0[0]) && !Arc::ptr_eq(&column.0[1], &before.0[1]));
    }
}
