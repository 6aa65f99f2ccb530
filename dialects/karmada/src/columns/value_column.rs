//! A column in which many clusters have equal values: each value is stored once, and judged once per
//! decision.

use std::hash::Hash;
use std::sync::Arc;

use berth_scheduling::Ix;

/// A column in which many clusters have equal values. Each different value has a number.
#[derive(Clone, Debug)]
pub(crate) struct ValueColumn<T> {
    /// The number of the value of each cluster.
    numbers: Arc<Vec<u32>>,
    /// The number of each value.
    numbers_by_value: imbl::HashMap<Arc<T>, u32>,
    /// The values by number.
    values: imbl::Vector<Arc<T>>,
}

impl<T> Default for ValueColumn<T> {
    fn default() -> Self {
        Self {
            numbers: Arc::default(),
            numbers_by_value: imbl::HashMap::new(),
            values: imbl::Vector::new(),
        }
    }
}

impl<T: Eq + Hash> ValueColumn<T> {
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

    /// The number of the value of `candidate`, which is the index of its verdict in the result of
    /// [`ValueColumn::judge`].
    #[inline]
    pub(crate) fn number_of(&self, candidate: Ix) -> usize {
        self.numbers[candidate as usize] as usize
    }

    /// The verdicts of `judge` on all values, by the number of the value.
    pub(crate) fn judge<V>(&self, judge: impl Fn(&T) -> V) -> Vec<V> {
        self.values.iter().map(|value| judge(value)).collect()
    }

    /// The candidates with the verdicts of `judge` on their values. Candidates without a verdict are omitted.
    pub(crate) fn judge_candidates<V: Copy>(&self, judge: impl Fn(&T) -> Option<V>) -> Vec<(Ix, V)> {
        let verdicts = self.judge(judge);
        let all = (0..).zip(&*self.numbers);
        all.filter_map(|(candidate, &number)| Some((candidate, verdicts[number as usize]?)))
            .collect()
    }

    /// The number of `value`, which gets the next number if it is new.
    fn number(&mut self, value: &Arc<T>) -> u32 {
        if let Some(&known) = self.numbers_by_value.get(value) {
            return known;
        }
        let number = u32::try_from(self.values.len()).expect("a fleet has fewer than 2^32 clusters");
        self.numbers_by_value.insert(Arc::clone(value), number);
        self.values.push_back(Arc::clone(value));
        number
    }
}
