//! The number of decisions on each cluster, over all PlacementDecisions of the hub. The numbers are updated
//! when a decision changes, so that Balance only looks up the feasible clusters.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of decisions on each cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Number of decisions by cluster name, including names without a cluster.
    counts: imbl::HashMap<Arc<str>, u32>,
    /// Number of cluster names for each number of decisions above 0.
    histogram: imbl::OrdMap<u32, u32>,
}

impl Tally {
    /// Number of decisions on `cluster`.
    pub(crate) fn of(&self, cluster: &str) -> u32 {
        self.counts.get(cluster).copied().unwrap_or(0)
    }

    /// Adds one decision on `cluster`; returns the new count.
    pub(crate) fn add(&mut self, cluster: &Arc<str>) -> u32 {
        let count = self.of(cluster);
        self.set_count(cluster, count, count + 1);
        count + 1
    }

    /// Removes one decision on `cluster`; returns the new count.
    pub(crate) fn remove(&mut self, cluster: &Arc<str>) -> u32 {
        let count = self.of(cluster);
        self.set_count(cluster, count, count.saturating_sub(1));
        count.saturating_sub(1)
    }

    /// Changes the count of `cluster`.
    fn set_count(&mut self, cluster: &Arc<str>, from: u32, to: u32) {
        if let Some(names) = self.histogram.get_mut(&from) {
            *names -= 1;
            if *names == 0 {
                self.histogram.remove(&from);
            }
        }
        if to == 0 {
            self.counts.remove(cluster);
        } else {
            *self.histogram.entry(to).or_insert(0) += 1;
            self.counts.insert(Arc::clone(cluster), to);
        }
    }

    /// The highest number of decisions on any cluster, without the decisions in `own`, which has numbers by
    /// cluster name.
    pub(crate) fn highest_without(&self, own: &BTreeMap<&str, u32>) -> u32 {
        let mut own_histogram: BTreeMap<u32, u32> = BTreeMap::new();
        let mut highest = 0;
        for (name, own_count) in own {
            let count = self.of(name);
            *own_histogram.entry(count).or_default() += 1;
            highest = highest.max(count.saturating_sub(*own_count));
        }
        let own_names = |count: &u32| own_histogram.get(count).copied().unwrap_or(0);
        let mut counts = self.histogram.iter().rev();
        let highest_other = counts.find(|(count, names)| **names > own_names(count));
        highest.max(highest_other.map_or(0, |(&count, _)| count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_count_leaves_own_decisions_out() {
        let mut tally = Tally::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for name in [&a, &a, &a, &b, &b] {
            tally.add(name);
        }
        assert_eq!((tally.of("a"), tally.of("b"), tally.of("c")), (3, 2, 0));
        assert_eq!(tally.highest_without(&BTreeMap::new()), 3);
        assert_eq!(tally.highest_without(&BTreeMap::from([("a", 1)])), 2);
        assert_eq!(tally.highest_without(&BTreeMap::from([("a", 3), ("b", 1)])), 1);
        for name in [&a, &a, &a, &b, &b] {
            tally.remove(name);
        }
        assert_eq!(tally, Tally::default());
    }
}
