//! A column of values that many clusters have in common: each value is stored once, and judged once per
//! decision.

use std::hash::Hash;
use std::sync::Arc;

use berth_scheduling::Ix;

/// A column of values that many clusters have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common<T> {
    /// The number of each cluster's value.
    numbers: Arc<Vec<u32>>,
    known: imbl::HashMap<Arc<T>, u32>,
    /// The values by number.
    values: imbl::Vector<Arc<T>>,
}

impl<T> Default for Common<T> {
    fn default() -> Self {
        Self {
            numbers: Arc::default(),
            known: imbl::HashMap::new(),
            values: imbl::Vector::new(),
        }
    }
}

impl<T: Eq + Hash> Common<T> {
    /// Builds the column from the value of each cluster, in order.
    pub(super) fn build<'a>(rows: impl Iterator<Item = &'a Arc<T>>) -> Self
    where
        T: 'a,
    {
        let mut column = Self::default();
        column.numbers = Arc::new(rows.map(|value| column.number(value)).collect());
        column
    }

    /// Changes the value of `candidate` from `old` to `new`.
    pub(super) fn change(&mut self, candidate: Ix, old: &Arc<T>, new: &Arc<T>) {
        if old == new {
            return;
        }
        let number = self.number(new);
        Arc::make_mut(&mut self.numbers)[candidate as usize] = number;
        // Values that no cluster has any more are dropped once there are many more values than clusters.
        if self.values.len() > 2 * self.numbers.len() + 64 {
            let numbers = Arc::clone(&self.numbers);
            *self = Self::build(numbers.iter().map(|&number| &self.values[number as usize]));
        }
    }

    /// The number of the value of `candidate`: the index of its verdict in the result of [`Common::judge`].
    #[inline]
    pub(crate) fn of(&self, candidate: Ix) -> usize {
        self.numbers[candidate as usize] as usize
    }

    /// Verdicts on all values, by number.
    pub(crate) fn judge<V>(&self, judge: impl Fn(&T) -> V) -> Vec<V> {
        self.values.iter().map(|value| judge(value)).collect()
    }

    /// The clusters for whose value `judge` returns a verdict, with this verdict.
    pub(crate) fn each<V: Copy>(&self, judge: impl Fn(&T) -> Option<V>) -> Vec<(Ix, V)> {
        let verdicts = self.judge(judge);
        let all = (0..).zip(&*self.numbers);
        all.filter_map(|(candidate, &number)| Some((candidate, verdicts[number as usize]?)))
            .collect()
    }

    fn number(&mut self, value: &Arc<T>) -> u32 {
        if let Some(&known) = self.known.get(value) {
            return known;
        }
        let number = u32::try_from(self.values.len()).expect("a fleet has fewer than 2^32 clusters");
        self.known.insert(Arc::clone(value), number);
        self.values.push_back(Arc::clone(value));
        number
    }
}
