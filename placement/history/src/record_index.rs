//! Index of the records: their age and size, and the last record of each decision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Object, Timestamp};
use berth_scheduling_api::record::RecordSpec;
use berth_scheduling_rest::records::Bounds;
use berth_storage::Name;

use super::decision_states::DecisionStates;
use super::record::counts_after;
use super::state::{self, DecisionState, DecisionSubject};

#[derive(Clone, Copy, Debug)]
struct IndexEntry {
    at: Timestamp,
    bytes: usize,
}

/// Content of a decision's newest record.
#[derive(Clone, Debug)]
pub(crate) struct LastRecord {
    /// The record's name.
    pub(crate) name: Arc<str>,
    /// Subject of the decision.
    pub(crate) subject: DecisionSubject,
    /// State after the recorded change, with the counts.
    pub(crate) to: Option<Arc<DecisionState>>,
}

/// All records, by decision, and by namespace with their age and size.
#[derive(Default)]
pub(crate) struct RecordIndex {
    /// The records of each decision, sorted by name and so by age. They are few.
    records: BTreeMap<Name, Vec<(Arc<str>, IndexEntry)>>,
    /// The newest record of each decision.
    last: BTreeMap<Name, LastRecord>,
    /// The records of each namespace.
    by_namespace: BTreeMap<Arc<str>, NamespaceRecords>,
    /// The namespaces, sorted by the bytes of their records.
    sizes: BTreeSet<(usize, Arc<str>)>,
    /// Total size of all records.
    bytes: usize,
}

/// The records of one namespace.
#[derive(Default)]
struct NamespaceRecords {
    /// The records, sorted by age, then by decision and name.
    ages: BTreeSet<(Timestamp, Arc<str>, Arc<str>)>,
    bytes: usize,
}

impl RecordIndex {
    /// Adds the record `object`. Its state shares memory with the state in `states`, where both are equal.
    pub(crate) fn add(&mut self, object: &Object, states: &DecisionStates) {
        #[derive(serde::Deserialize)]
        struct RecordFields {
            spec: RecordSpec,
        }
        let meta = object.meta();
        let Some(place) = place(object) else { return };
        let known = self.records.get(&place);
        if known.is_some_and(|records| find(records, meta.name()).is_ok()) {
            return;
        }
        match object.view::<RecordFields>() {
            Ok(RecordFields { spec }) => {
                let created = meta.creation_timestamp().unwrap_or_default();
                self.put(place, meta.name(), &spec, object.len(), created, states);
            }
            Err(error) => {
                tracing::warn!(name = meta.name(), namespace = meta.namespace(), %error, "this DecisionRecord cannot be read and is not counted or removed by age; delete it");
            }
        }
    }

    /// Adds the record `name` of the decision at `place`, with a size of `bytes`, which was created at `at`.
    pub(crate) fn put(
        &mut self,
        place: Name,
        name: &str,
        spec: &RecordSpec,
        bytes: usize,
        at: Timestamp,
        states: &DecisionStates,
    ) {
        let name: Arc<str> = name.into();
        let entry = IndexEntry { at, bytes };
        let records = self.records.entry(place.clone()).or_default();
        match find(records, &name) {
            Ok(_) => return,
            Err(index) => records.insert(index, (Arc::clone(&name), entry)),
        }
        let age_key = (at, Arc::clone(&place.name), Arc::clone(&name));
        self.change_namespace(&place.namespace, |records| {
            records.bytes += bytes;
            records.ages.insert(age_key);
        });
        if self.last.get(&place).is_none_or(|last| last.name <= name) {
            let to = spec.to.as_ref().map(|to| {
                let reasons = counts_after(spec);
                state::shared(DecisionState { reasons, ..to.into() }, states.state(&place))
            });
            let subject = DecisionSubject {
                dialect: Arc::clone(&spec.dialect),
                source_ref: Arc::clone(&spec.source_ref),
            };
            self.last.insert(place, LastRecord { name, subject, to });
        }
    }

    /// Removes the record `name` of the decision at `place` from the index.
    pub(crate) fn remove(&mut self, place: &Name, name: &str) {
        let Some(records) = self.records.get_mut(place) else {
            return;
        };
        let Ok(index) = find(records, name) else {
            return;
        };
        let (name, entry) = records.remove(index);
        if records.is_empty() {
            self.records.remove(place);
            self.last.remove(place);
        }
        let age_key = (entry.at, Arc::clone(&place.name), name);
        self.change_namespace(&place.namespace, |records| {
            records.bytes -= entry.bytes;
            records.ages.remove(&age_key);
        });
    }

    /// Changes the records of `namespace`, and updates the sizes of the namespace and of all records.
    fn change_namespace(&mut self, namespace: &Arc<str>, change: impl FnOnce(&mut NamespaceRecords)) {
        let records = self.by_namespace.entry(Arc::clone(namespace)).or_default();
        self.sizes.remove(&(records.bytes, Arc::clone(namespace)));
        self.bytes -= records.bytes;
        change(records);
        self.bytes += records.bytes;
        if records.ages.is_empty() {
            self.by_namespace.remove(namespace);
        } else {
            self.sizes.insert((records.bytes, Arc::clone(namespace)));
        }
    }

    /// Removes the record `object` from the index.
    pub(crate) fn remove_object(&mut self, object: &Object) {
        if let Some(place) = place(object) {
            self.remove(&place, object.meta().name());
        }
    }

    /// Content of the newest record of the decision at `place`.
    pub(crate) fn last(&self, place: &Name) -> Option<&LastRecord> {
        self.last.get(place)
    }

    /// The decisions with records, each with its newest record.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Name, &LastRecord)> {
        self.last.iter()
    }

    /// The namespaces with records.
    pub(crate) fn namespaces(&self) -> BTreeSet<Arc<str>> {
        self.records
            .keys()
            .map(|place| Arc::clone(&place.namespace))
            .filter(|namespace| !namespace.is_empty())
            .collect()
    }

    /// Removes all records in `namespace` from the index, and returns them.
    pub(crate) fn take_namespace(&mut self, namespace: &str) -> Vec<(Name, Arc<str>)> {
        let of = |place: &&Name| *place.namespace == *namespace;
        let places: Vec<Name> = self.records.keys().filter(of).cloned().collect();
        let named = |place: Name| {
            let names: Vec<Arc<str>> = names(&self.records[&place]).cloned().collect();
            names.into_iter().map(move |name| (place.clone(), name))
        };
        let all: Vec<_> = places.into_iter().flat_map(named).collect();
        self.forget(&all);
        all
    }

    /// Removes the oldest records of the decision at `place` beyond the limit for a decision from the index,
    /// and returns them.
    pub(crate) fn take_surplus_of(&mut self, place: &Name, bounds: &Bounds) -> Vec<(Name, Arc<str>)> {
        let Some(records) = self.records.get(place) else {
            return Vec::new();
        };
        let surplus = records.len().saturating_sub(bounds.per_decision);
        let oldest = names(records).take(surplus);
        let all: Vec<_> = oldest.map(|name| (place.clone(), Arc::clone(name))).collect();
        self.forget(&all);
        all
    }

    /// Removes records that are too old at `now` from the index. Then, while all records together have too
    /// many bytes, removes the oldest record of the namespace whose records have the most bytes, so that a
    /// namespace with flapping decisions does not displace the history of others. Returns the removed
    /// records.
    pub(crate) fn take_surplus(&mut self, bounds: &Bounds, now: Timestamp) -> Vec<(Name, Arc<str>)> {
        let mut all = Vec::new();
        if bounds.max_age != Duration::ZERO
            && let Ok(limit) = now.checked_sub(bounds.max_age)
        {
            for (namespace, records) in &self.by_namespace {
                let old = records.ages.iter().take_while(|(at, ..)| *at < limit);
                let named = old.map(|(_, decision, name)| (Name::new(namespace, decision), Arc::clone(name)));
                all.extend(named);
            }
            self.forget(&all);
        }
        while self.bytes > bounds.bytes
            && let Some((_, namespace)) = self.sizes.last().cloned()
            && let Some((_, decision, name)) = self.by_namespace[&namespace].ages.first().cloned()
        {
            let oldest = (Name::new(&namespace, &decision), name);
            self.forget(std::slice::from_ref(&oldest));
            all.push(oldest);
        }
        all
    }

    /// Removes all records beyond the limits from the index, and returns them.
    pub(crate) fn take_all_surplus(&mut self, bounds: &Bounds, now: Timestamp) -> Vec<(Name, Arc<str>)> {
        let over = |(_, records): &(&Name, &Vec<(Arc<str>, IndexEntry)>)| records.len() > bounds.per_decision;
        let places: Vec<Name> = self
            .records
            .iter()
            .filter(over)
            .map(|(place, _)| place.clone())
            .collect();
        let mut all: Vec<_> = places
            .iter()
            .flat_map(|place| self.take_surplus_of(place, bounds))
            .collect();
        all.extend(self.take_surplus(bounds, now));
        all
    }

    fn forget(&mut self, records: &[(Name, Arc<str>)]) {
        for (place, name) in records {
            self.remove(place, name);
        }
    }
}

/// Position of the record `name`, or the position at which it would be inserted.
fn find(records: &[(Arc<str>, IndexEntry)], name: &str) -> Result<usize, usize> {
    records.binary_search_by(|(known, _)| (**known).cmp(name))
}

/// The names of records.
fn names(records: &[(Arc<str>, IndexEntry)]) -> impl Iterator<Item = &Arc<str>> {
    records.iter().map(|(name, _)| name)
}

/// Place of the decision of the record `object`, whose name consists of the decision's name and a number.
fn place(object: &Object) -> Option<Name> {
    let meta = object.meta();
    let (decision, _) = meta.name().rsplit_once('.')?;
    Some(Name::new(meta.namespace(), decision))
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Draft, Revision};
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A record of `decision` in the namespace `ns`, made at `second`.
    fn record(decision: &str, second: i64) -> Object {
        record_in("ns", decision, second)
    }

    fn record_in(namespace: &str, decision: &str, second: i64) -> Object {
        let value = json!({
            "apiVersion": berth_scheduling_api::API_VERSION, "kind": "DecisionRecord",
            "metadata": {
                "namespace": namespace, "name": format!("{decision}.{second:04}"),
                "creationTimestamp": berth_apimachinery::time::rfc3339(at(second)),
            },
            "spec": {
                "decision": decision, "dialect": "ocm", "at": "", "change": "Bound", "cause": {"type": "Time"},
                "counted": true, "to": {"phase": second.to_string(), "clusterCount": 0, "clusters": []},
                "reasons": [{"plugin": "P", "reason": "R", "to": 2}, {"plugin": "P", "reason": "gone", "from": 1, "to": 0}],
            },
        });
        Draft::new(&value).unwrap().at(Revision(1))
    }

    fn index(records: &[(&str, i64)]) -> RecordIndex {
        let mut index = RecordIndex::default();
        for (decision, second) in records {
            index.add(&record(decision, *second), &DecisionStates::default());
        }
        index
    }

    fn names(taken: &[(Name, Arc<str>)]) -> Vec<&str> {
        taken.iter().map(|(_, name)| &**name).collect()
    }

    #[test]
    fn the_newest_record_says_where_the_decision_stands() {
        let index = index(&[("a", 3), ("a", 1), ("b", 2)]);
        let last = index.last(&Name::new("ns", "a")).unwrap();
        let to = last.to.as_ref().unwrap();
        assert_eq!(to.phase, "3");
        assert_eq!(to.reasons, Some([(("P", "R"), 2)].into_iter().collect()));
        assert!(index.last(&Name::new("ns", "c")).is_none());
    }

    #[test]
    fn what_a_record_says_takes_no_room_where_the_book_says_the_same() {
        let (place, mut states) = (Name::new("ns", "a"), DecisionStates::default());
        let state = DecisionState {
            reasons: Some([(("P", "R"), 2)].into_iter().collect()),
            ..state::state("3", &[])
        };
        states.set_state(place.clone(), DecisionSubject::default(), state.into());
        let mut index = RecordIndex::default();
        let mut shares = |second| {
            index.add(&record("a", second), &states);
            let to = index.last(&place).unwrap().to.as_ref();
            Arc::ptr_eq(to.unwrap(), states.state(&place).unwrap())
        };
        assert!(shares(3));
        assert!(!shares(4));
    }

    #[test]
    fn records_go_by_number_by_age_and_by_bytes_oldest_first() {
        let all = [("a", 1), ("a", 2), ("a", 3), ("b", 4)];
        let bounds = |per_decision, age, bytes| Bounds {
            per_decision,
            max_age: Duration::from_secs(age),
            bytes,
        };
        let taken = |bounds: Bounds| {
            let mut index = index(&all);
            let taken = index.take_all_surplus(&bounds, at(10));
            assert!(index.take_all_surplus(&bounds, at(10)).is_empty(), "once");
            names(&taken).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(taken(bounds(3, 0, usize::MAX)), none);
        assert_eq!(taken(bounds(2, 0, usize::MAX)), ["a.0001"]);
        assert_eq!(taken(bounds(0, 0, usize::MAX)).len(), 4);
        assert_eq!(taken(bounds(3, 7, usize::MAX)), ["a.0001", "a.0002"]);
        let one = record("a", 1).len();
        assert_eq!(taken(bounds(3, 0, 3 * one)), ["a.0001"]);
    }

    #[test]
    fn a_namespace_that_floods_loses_its_own_records_and_nobody_elses() {
        let mut index = RecordIndex::default();
        index.add(&record_in("quiet", "a", 1), &DecisionStates::default());
        for second in 2..10 {
            index.add(&record_in("flood", "a", second), &DecisionStates::default());
        }
        let one = record_in("flood", "a", 2).len();
        let bounds = Bounds {
            per_decision: 100,
            max_age: Duration::ZERO,
            bytes: 4 * one,
        };
        let taken = index.take_surplus(&bounds, at(100));
        assert_eq!(names(&taken), ["a.0002", "a.0003", "a.0004", "a.0005", "a.0006"]);
        assert!(taken.iter().all(|(place, _)| &*place.namespace == "flood"));
        assert!(index.last(&Name::new("quiet", "a")).is_some());
        assert!(index.bytes <= bounds.bytes);
    }

    #[test]
    fn a_namespace_is_taken_out_as_a_whole() {
        let mut index = index(&[("a", 1), ("b", 2)]);
        assert_eq!(index.namespaces().len(), 1);
        assert_eq!(names(&index.take_namespace("ns")), ["a.0001", "b.0002"]);
        assert!(index.namespaces().is_empty() && index.take_namespace("ns").is_empty());
        assert_eq!(
            (
                index.bytes,
                index.by_namespace.len(),
                index.sizes.len(),
                index.all().count()
            ),
            (0, 0, 0, 0)
        );
    }
}
