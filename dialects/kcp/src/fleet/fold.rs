//! Folding changes of workload clusters, locations and the configuration into the fleet.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::config;
use berth_dialect_contract::{AffectedDemands, Consequences};

use super::Fleet;
use super::cluster::Row;
use super::location::LocationRecord;
use crate::config::Config;
use crate::names::{DIALECT, LOCATIONS, NAMESPACES, WORKLOAD_CLUSTERS};

/// The number of names of locations, and of sets of locations, that may have numbers in addition to twice
/// those in use.
const SPARE_NUMBERS: usize = 64;

impl Fleet {
    /// Folds one change of any resource that the dialect reads.
    pub(crate) fn apply_change(&mut self, change: &Change) -> Consequences {
        let (key, new) = (&change.key, change.new.as_ref());
        if key.resource == NAMESPACES {
            return self.fold_namespace(key, new);
        }
        let had_compute = self.has_compute();
        let mut due = if key.resource == WORKLOAD_CLUSTERS {
            self.fold_cluster(key, new)
        } else if key.resource == LOCATIONS {
            self.fold_location(key, new)
        } else if *key == config::key(DIALECT) {
            self.fold_config(key, new)
        } else {
            return Consequences::nothing();
        };
        self.renumber_locations();
        if had_compute != self.has_compute() {
            // All namespaces become demands, or are no longer demands.
            due.decide = AffectedDemands::All;
            due.demands = AffectedDemands::All;
        }
        due
    }

    fn fold_cluster(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let mut due = self.put_cluster(key, new);
        // A cluster that waited for the released identifier can take it now.
        if let Some((next, object)) = self.next_shadowed() {
            let further = self.put_cluster(&next, Some(&object));
            due = Consequences {
                decide: union(due.decide, further.decide),
                demands: union(due.demands, further.demands),
                targets: due.targets.zip(further.targets).map(|(mut one, two)| {
                    one.extend(two);
                    one
                }),
            };
        }
        due
    }

    /// A workload cluster whose identifier is no longer taken by another workload cluster.
    fn next_shadowed(&self) -> Option<(Key, Arc<Object>)> {
        let free = self
            .shadowed
            .iter()
            .find(|((identifier, _), _)| !self.names.contains_key(identifier));
        free.map(|((_, name), object)| (Key::new(WORKLOAD_CLUSTERS, "", name), Arc::clone(object)))
    }

    fn put_cluster(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        self.unusable.forget(key);
        let shadow = self.shadowed.keys().find(|(_, name)| *name == key.name).cloned();
        if let Some(shadow) = shadow {
            self.shadowed.remove(&shadow);
        }
        let row = new.and_then(|object| {
            let read = self.read_cluster(object);
            self.unusable.record(key, read)
        });
        if let Some(problem) = row.as_ref().and_then(|row| row.record.problem.as_ref()) {
            self.unusable.record(key, Err::<(), _>(problem));
        }
        let old = match (self.row_index(&key.name), row.clone()) {
            (Ok(index), Some(row)) => Some(self.rows.set(index, row)),
            (Ok(index), None) => Some(self.rows.remove(index)),
            (Err(index), Some(row)) => {
                self.rows.insert(index, row);
                None
            }
            (Err(_), None) => return Consequences::nothing(),
        };
        if let Some(old) = &old {
            self.names.remove(&old.identifier);
        }
        if let Some(row) = &row {
            self.names
                .insert(Arc::clone(&row.identifier), Arc::clone(&row.name));
        }
        self.due_by_cluster(old.as_ref(), row.as_ref())
    }

    fn read_cluster(&mut self, object: &Arc<Object>) -> Result<Row, String> {
        let locations = self.location_set(object);
        let row = Row::read(object, self.config.heartbeat_threshold, locations)?;
        match self.names.get(&row.identifier) {
            Some(holder) if *holder != row.name => {
                let problem = format!(
                    "the identifier \"{}\" already belongs to WorkloadCluster \"{holder}\"; identifiers must be unique",
                    row.identifier
                );
                let entry = (Arc::clone(&row.identifier), Arc::clone(&row.name));
                self.shadowed.insert(entry, Arc::clone(object));
                Err(problem)
            }
            _ => Ok(row),
        }
    }

    /// The number of the set of locations that match `object`.
    fn location_set(&mut self, object: &Object) -> u32 {
        let member = self.locations.values().filter(|location| location.has(object));
        let mut numbers: Vec<u32> = member.map(|location| location.number).collect();
        numbers.sort_unstable();
        self.sets.number(numbers)
    }

    /// The consequences of a change of a workload cluster from `old` to `new`; `None` if it does not exist or
    /// its identifier cannot be used. If the change affects decisions, the namespaces on the cluster are due,
    /// and, if there is a `new` version, also the namespaces that lack a cluster.
    fn due_by_cluster(&self, old: Option<&Row>, new: Option<&Row>) -> Consequences {
        let both = [old, new];
        let mut targets: Vec<Arc<str>> = both
            .into_iter()
            .flatten()
            .map(|row| Arc::clone(&row.identifier))
            .collect();
        targets.dedup();
        let mut due = BTreeSet::new();
        if !matches!((old, new), (Some(old), Some(new)) if new.decides_like(old)) {
            due.extend(targets.iter().flat_map(|identifier| self.placed_on(identifier)));
            if new.is_some() {
                due.extend(self.waiting());
            }
        }
        let decide = affected(due.into_iter().collect());
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(targets),
        }
    }

    fn fold_location(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        self.unusable.forget(key);
        let selector = new.map(|object| self.unusable.record(key, LocationRecord::read(object)));
        let old = self
            .locations
            .get(&key.name)
            .map(|location| location.selector.clone());
        if old == selector {
            return Consequences::nothing();
        }
        let number = self.numbers.number(&key.name);
        match selector {
            Some(selector) => {
                let record = Arc::new(LocationRecord { number, selector });
                self.locations.insert(Arc::clone(&key.name), record);
            }
            None => {
                self.locations.remove(&key.name);
            }
        }
        self.update_membership(&key.name, number);
        Consequences {
            decide: AffectedDemands::All,
            demands: AffectedDemands::All,
            targets: Some(Vec::new()),
        }
    }

    /// Updates the sets of all workload clusters after a change of the location `name`, which has `number`.
    fn update_membership(&mut self, name: &Arc<str>, number: u32) {
        let location = self.locations.get(name).cloned();
        let member = |row: &Row| {
            let location = location.as_ref();
            location.is_some_and(|location| location.has(&row.record.object))
        };
        let sets_inside = self.sets.map(|set| set.contains(&number));
        let membership_changes: Vec<(usize, bool)> = self
            .rows
            .iter()
            .enumerate()
            .map(|(index, row)| (index, member(row), sets_inside[row.facts.locations as usize]))
            .filter(|(_, is_member, was_member)| is_member != was_member)
            .map(|(index, is_member, _)| (index, is_member))
            .collect();
        for (row_index, is_member) in membership_changes {
            let Some(row) = self.rows.get_mut(row_index) else {
                continue;
            };
            let mut numbers = self.sets.get(row.facts.locations).to_vec();
            match numbers.binary_search(&number) {
                Err(index) if is_member => numbers.insert(index, number),
                Ok(index) if !is_member => drop(numbers.remove(index)),
                _ => {}
            }
            row.facts.locations = self.sets.number(numbers);
        }
    }

    /// Numbers the locations and their sets anew once most numbers are no longer used: each decision judges
    /// every set with a number, and labels of workload clusters make ever new sets.
    fn renumber_locations(&mut self) {
        let is_tidy = |count: usize, used: usize| count <= 2 * used + SPARE_NUMBERS;
        if is_tidy(self.sets.count(), self.rows.len()) && is_tidy(self.numbers.count(), self.locations.len())
        {
            return;
        }
        let (numbers, sets) = (std::mem::take(&mut self.numbers), std::mem::take(&mut self.sets));
        let records = self.locations.iter().map(|(name, location)| {
            let record = LocationRecord {
                number: self.numbers.number(name),
                selector: location.selector.clone(),
            };
            (Arc::clone(name), Arc::new(record))
        });
        self.locations = records.collect();
        for row in self.rows.iter_mut() {
            let old = sets.get(row.facts.locations).iter();
            let new = old.map(|&number| self.numbers.number(numbers.name(number)));
            let mut set: Vec<u32> = new.collect();
            set.sort_unstable();
            row.facts.locations = self.sets.number(set);
        }
    }

    /// Folds a change of the configuration. While it is invalid, the last valid configuration stays in force.
    fn fold_config(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        self.unusable.forget(key);
        let spec = new.and_then(|object| object.value().get("spec")?.get(DIALECT));
        let result = Config::read_within(spec, &format!("spec.{DIALECT}"), self.syncable.as_deref());
        let result = result.map_err(|errors| berth_apimachinery::field::aggregate(&errors));
        let Some(mut config) = self.unusable.record(key, result) else {
            return Consequences::nothing();
        };
        let is_absent = |field: &str| spec.is_none_or(|spec| spec[field].is_null());
        if is_absent("namespaceSelector") {
            config.namespace_selector = self.defaults.namespace_selector.clone();
        }
        if is_absent("locationCluster") {
            config.location_cluster = Arc::clone(&self.defaults.location_cluster);
        }
        if config == self.config {
            return Consequences::nothing();
        }
        let threshold = config.heartbeat_threshold;
        let threshold_changed = threshold != self.config.heartbeat_threshold;
        self.config = config;
        if threshold_changed {
            self.rows.iter_mut().for_each(|row| {
                row.facts.fresh_until = crate::readiness::fresh_until(&row.record.view.status, threshold);
            });
        }
        Consequences {
            decide: AffectedDemands::All,
            demands: AffectedDemands::All,
            targets: if threshold_changed { None } else { Some(Vec::new()) },
        }
    }
}

fn affected(keys: Vec<Key>) -> AffectedDemands {
    if keys.is_empty() {
        AffectedDemands::None
    } else {
        AffectedDemands::Some(keys)
    }
}

fn union(one: AffectedDemands, two: AffectedDemands) -> AffectedDemands {
    match (one, two) {
        (AffectedDemands::All, _) | (_, AffectedDemands::All) => AffectedDemands::All,
        (AffectedDemands::None, other) | (other, AffectedDemands::None) => other,
        (AffectedDemands::Some(mut keys), AffectedDemands::Some(more)) => {
            keys.extend(more);
            keys.sort_unstable();
            keys.dedup();
            AffectedDemands::Some(keys)
        }
    }
}
