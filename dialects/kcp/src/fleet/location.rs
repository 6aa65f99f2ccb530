//! Locations as scheduling uses them.

use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::selector::Selector;
use imbl::{HashMap, Vector};

use crate::kind::location::Location;

/// A Location with its number.
pub(crate) struct LocationRecord {
    /// The number of the location in [`LocationSets`].
    pub(crate) number: u32,
    /// The label selector of the location's workload clusters; `None` if the Location cannot be parsed. Such
    /// a location still exists: it keeps its namespaces, and gets no others.
    pub(crate) selector: Option<Selector>,
}

impl LocationRecord {
    /// Parses the selector of a Location.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Object) -> Result<Selector, String> {
        let location: Location = object.view().map_err(|error| error.to_string())?;
        Selector::compile(&location.spec.instance_selector, "spec.instanceSelector")
            .map_err(|errors| berth_apimachinery::field::aggregate(&errors))
    }

    /// Whether the location has the workload cluster `cluster`.
    pub(crate) fn has(&self, cluster: &Object) -> bool {
        let selector = self.selector.as_ref();
        selector.is_some_and(|selector| selector.matches(cluster.meta().labels()))
    }
}

/// Small numbers for the names of locations, as used in [`LocationSets`]. A clone shares the content.
#[derive(Clone, Default)]
pub(crate) struct LocationNumbers {
    numbers: HashMap<Arc<str>, u32>,
    names: Vector<Arc<str>>,
}

impl LocationNumbers {
    /// The number of `name`, which is assigned at the first call.
    pub(crate) fn number(&mut self, name: &Arc<str>) -> u32 {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(Arc::clone(name), number);
        self.names.push_back(Arc::clone(name));
        number
    }

    /// Number of names, including those of locations that no longer exist.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The name with this number.
    pub(crate) fn name(&self, number: u32) -> &Arc<str> {
        &self.names[number as usize]
    }
}

/// Small numbers for sets of locations. Each workload cluster has the number of its set, and a decision
/// judges each distinct set once instead of once per cluster. A clone shares the content.
#[derive(Clone, Default)]
pub(crate) struct LocationSets {
    numbers: HashMap<Arc<[u32]>, u32>,
    sets: Vector<Arc<[u32]>>,
}

impl LocationSets {
    /// The number of `set`, which is ascending. The number is assigned at the first call.
    pub(crate) fn number(&mut self, set: Vec<u32>) -> u32 {
        let set: Arc<[u32]> = set.into();
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        let number = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.numbers.insert(Arc::clone(&set), number);
        self.sets.push_back(set);
        number
    }

    /// Number of sets, including those that no workload cluster has any more.
    pub(super) fn count(&self) -> usize {
        self.sets.len()
    }

    /// The locations of the set with this number.
    pub(crate) fn get(&self, number: u32) -> &[u32] {
        &self.sets[number as usize]
    }

    /// The results of `judge` for each set, by the number of the set.
    pub(crate) fn map<T>(&self, judge: impl FnMut(&[u32]) -> T) -> Vec<T> {
        let mut judge = judge;
        self.sets.iter().map(|set| judge(set)).collect()
    }
}
