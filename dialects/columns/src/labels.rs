//! The labels (or other pairs of key and value) of all clusters: each key with its clusters and their values.
//! A selector is matched with the whole fleet in one pass per requirement, and the domains of a topology are
//! small integers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use berth_apimachinery::selector::{Operator, Requirement, Selector};
use berth_scheduling::Ix;

use crate::Bits;
use crate::Renumbering;

/// Labels of all clusters, by key.
#[derive(Clone, Debug, Default)]
pub struct Labels(imbl::HashMap<Arc<str>, Arc<LabelColumn>>);

/// The labels with one key: the distinct values, and the value of each candidate.
#[derive(Clone, Debug, Default)]
struct LabelColumn {
    /// The distinct values, by value number. Some may have no candidate any more.
    values: imbl::Vector<Arc<str>>,
    /// The number of each value.
    ids: imbl::HashMap<Arc<str>, u32>,
    /// Pairs of candidate and value number, sorted by candidate.
    entries: Vec<(Ix, u32)>,
    /// The candidates with each value, which are computed at the first use after a change.
    by_value: OnceLock<CandidatesByValue>,
}

/// The candidates with each value, so that a lookup of one value does not read the candidates with other
/// values.
#[derive(Clone, Debug)]
struct CandidatesByValue {
    /// The index in `candidates` at which the candidates of each value begin; at last, the number of
    /// candidates.
    starts: Vec<u32>,
    /// The candidates, grouped by value.
    candidates: Vec<Ix>,
}

impl CandidatesByValue {
    fn of(label: &LabelColumn) -> Self {
        let mut starts = vec![0; label.values.len() + 1];
        for &(_, id) in &label.entries {
            starts[id as usize + 1] += 1;
        }
        let mut so_far = 0;
        for start in &mut starts {
            so_far += *start;
            *start = so_far;
        }
        let mut next = starts.clone();
        let mut candidates = vec![0; label.entries.len()];
        for &(candidate, id) in &label.entries {
            let place = &mut next[id as usize];
            candidates[*place as usize] = candidate;
            *place += 1;
        }
        Self { starts, candidates }
    }

    fn of_value(&self, id: u32) -> &[Ix] {
        let id = id as usize;
        &self.candidates[self.starts[id] as usize..self.starts[id + 1] as usize]
    }
}

/// The number in place of a domain, for a cluster that is in no domain.
pub const NO_DOMAIN: u32 = u32::MAX;

/// The values of one key as domains of a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    /// The number of the domain of each candidate, or [`NO_DOMAIN`].
    pub by_candidate: Vec<u32>,
    /// Number of domains with a cluster; the domains are numbered from 0.
    pub count: usize,
}

impl Labels {
    /// Builds the labels of a whole fleet from the labels of each candidate, in order.
    pub fn build<'a>(rows: impl Iterator<Item = &'a berth_apimachinery::Labels>) -> Self {
        let mut keys: HashMap<&str, LabelColumn> = HashMap::new();
        for (candidate, row) in (0..).zip(rows) {
            for (key, value) in row.iter() {
                let label = keys.entry(key).or_default();
                let id = label.id(value);
                label.entries.push((candidate, id));
            }
        }
        Self(
            keys.into_iter()
                .map(|(key, label)| (key.into(), Arc::new(label)))
                .collect(),
        )
    }

    /// Changes the labels of `candidate` from `old` to `new`.
    pub fn change(
        &mut self,
        candidate: Ix,
        old: &berth_apimachinery::Labels,
        new: &berth_apimachinery::Labels,
    ) {
        for key in old.keys().filter(|key| !new.contains_key(key)) {
            self.edit(key, |label| label.remove(candidate));
        }
        for (key, value) in new.iter().filter(|(key, value)| old.get(key) != Some(*value)) {
            self.edit(key, |label| label.set(candidate, value));
        }
    }

    /// Returns the labels after clusters were added and removed. `new_labels` has the labels of the added
    /// clusters with their new numbers, ascending.
    pub fn renumbered(
        &self,
        renumbering: &Renumbering,
        new_labels: Vec<(Ix, &berth_apimachinery::Labels)>,
    ) -> Self {
        let mut added: BTreeMap<&str, Vec<(Ix, &str)>> = BTreeMap::new();
        for (candidate, row) in new_labels {
            for (key, value) in row.iter() {
                added.entry(key).or_default().push((candidate, value));
            }
        }
        let mut keys = imbl::HashMap::new();
        for (key, label) in &self.0 {
            let more = added.remove(&**key).unwrap_or_default();
            let label = label.renumbered(renumbering, more);
            if !label.entries.is_empty() {
                keys.insert(Arc::clone(key), Arc::new(label));
            }
        }
        for (key, more) in added {
            keys.insert(
                key.into(),
                Arc::new(LabelColumn::default().renumbered(renumbering, more)),
            );
        }
        Self(keys)
    }

    /// Applies `edit` to the column of `key`, which is created if it is missing, and removed if it becomes
    /// empty.
    fn edit(&mut self, key: &str, edit: impl FnOnce(&mut LabelColumn)) {
        if !self.0.contains_key(key) {
            self.0.insert(key.into(), Arc::default());
        }
        if let Some(label) = self.0.get_mut(key) {
            edit(Arc::make_mut(label));
            if label.entries.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The values of `key` as domains over all of `count` candidates.
    pub fn domains(&self, key: &str, count: Ix) -> Domains {
        let mut by_candidate = vec![NO_DOMAIN; count as usize];
        let Some(label) = self.0.get(key) else {
            return Domains {
                by_candidate,
                count: 0,
            };
        };
        // Values that no cluster has any more must not count as empty domains.
        let mut numbers = vec![NO_DOMAIN; label.values.len()];
        let mut used = 0;
        for &(candidate, id) in &label.entries {
            let number = &mut numbers[id as usize];
            if *number == NO_DOMAIN {
                *number = used;
                used += 1;
            }
            by_candidate[candidate as usize] = *number;
        }
        Domains {
            by_candidate,
            count: used as usize,
        }
    }

    /// The candidates among `count` that `selector` matches.
    pub fn select(&self, selector: &Selector, count: Ix) -> Bits {
        let mut matching = Bits::all(count);
        for requirement in &selector.requirements {
            let label = self.0.get(requirement.key.as_str());
            if matches!(requirement.operator, Operator::NotIn | Operator::DoesNotExist) {
                if let Some(label) = label {
                    label.for_each_match(requirement, |candidate| matching.set(candidate, false));
                }
            } else {
                let mut hits = Bits::none(count);
                if let Some(label) = label {
                    label.for_each_match(requirement, |candidate| hits.set(candidate, true));
                }
                matching.intersect(&hits);
            }
        }
        matching
    }
}

impl LabelColumn {
    fn renumbered(&self, renumbering: &Renumbering, more: Vec<(Ix, &str)>) -> Self {
        let mut new = Self {
            values: self.values.clone(),
            ids: self.ids.clone(),
            ..Self::default()
        };
        let more = more
            .into_iter()
            .map(|(candidate, value)| (candidate, new.id(value)))
            .collect();
        new.entries = renumbering.entries(&self.entries, more);
        new.compact();
        new
    }

    /// The number of `value`, which is assigned when the value is seen for the first time.
    fn id(&mut self, value: &str) -> u32 {
        if let Some(&id) = self.ids.get(value) {
            return id;
        }
        let id = u32::try_from(self.values.len()).expect("a fleet has fewer than 2^32 values");
        let value: Arc<str> = value.into();
        self.values.push_back(Arc::clone(&value));
        self.ids.insert(value, id);
        id
    }

    fn set(&mut self, candidate: Ix, value: &str) {
        self.by_value.take();
        let id = self.id(value);
        match self.entries.binary_search_by_key(&candidate, |&(known, _)| known) {
            Ok(place) => self.entries[place].1 = id,
            Err(place) => self.entries.insert(place, (candidate, id)),
        }
        self.compact();
    }

    fn remove(&mut self, candidate: Ix) {
        self.by_value.take();
        if let Ok(place) = self.entries.binary_search_by_key(&candidate, |&(known, _)| known) {
            self.entries.remove(place);
        }
    }

    /// Drops values that no cluster has any more, once the number of values exceeds twice the number of
    /// entries plus 64. Otherwise the column of a label that gets new values all the time would grow without
    /// limit.
    fn compact(&mut self) {
        if self.values.len() <= 2 * self.entries.len() + 64 {
            return;
        }
        let known = std::mem::take(self);
        for (candidate, id) in known.entries {
            let id = self.id(&known.values[id as usize]);
            self.entries.push((candidate, id));
        }
    }

    /// Calls `each` for every candidate that meets `requirement`. For `NotIn` and `DoesNotExist`, it is
    /// called for the candidates that meet `In` and `Exists` instead, which the caller removes.
    fn for_each_match(&self, requirement: &Requirement, mut each: impl FnMut(Ix)) {
        match requirement.operator {
            Operator::Exists | Operator::DoesNotExist => {
                self.entries.iter().for_each(|&(candidate, _)| each(candidate));
            }
            Operator::In | Operator::NotIn => {
                let values = requirement.values.iter();
                for id in values.filter_map(|value| self.ids.get(value.as_str())) {
                    let by_value = self.by_value.get_or_init(|| CandidatesByValue::of(self));
                    by_value
                        .of_value(*id)
                        .iter()
                        .for_each(|&candidate| each(candidate));
                }
            }
            Operator::GreaterThan | Operator::LessThan => {
                let fits: Vec<bool> = self
                    .values
                    .iter()
                    .map(|value| requirement.matches(Some(value)))
                    .collect();
                let hits = self.entries.iter().filter(|&&(_, id)| fits[id as usize]);
                hits.for_each(|&(candidate, _)| each(candidate));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pairs: &[(&str, &str)]) -> berth_apimachinery::Labels {
        pairs.iter().copied().collect()
    }

    #[test]
    fn selectors_select_from_the_whole_fleet() {
        let rows = [
            row(&[("env", "prod"), ("gpu", "yes")]),
            row(&[("env", "dev")]),
            row(&[]),
        ];
        let mut labels = Labels::build(rows.iter());
        let check = |labels: &Labels, rows: &[berth_apimachinery::Labels]| {
            for text in [
                "env=prod",
                "env in (prod,dev)",
                "env!=prod",
                "gpu",
                "!gpu",
                "",
                "env=prod,!gpu",
                "x notin (y)",
                "n>3",
            ] {
                let selector = Selector::parse(text).unwrap();
                let selected: Vec<Ix> = labels.select(&selector, 3).iter().collect();
                let expected: Vec<Ix> = (0..3)
                    .filter(|&candidate| selector.matches(&rows[candidate as usize]))
                    .collect();
                assert_eq!(selected, expected, "{text}");
            }
        };
        check(&labels, &rows);
        let changed = [
            rows[0].clone(),
            row(&[("gpu", "no"), ("n", "5")]),
            row(&[("env", "prod")]),
        ];
        labels.change(1, &rows[1], &changed[1]);
        labels.change(2, &rows[2], &changed[2]);
        check(&labels, &changed);
    }

    #[test]
    fn a_value_without_clusters_is_no_domain() {
        let rows = [row(&[("zone", "a")]), row(&[("zone", "b")]), row(&[])];
        let mut labels = Labels::build(rows.iter());
        assert_eq!(labels.domains("zone", 3).by_candidate, [0, 1, NO_DOMAIN]);
        labels.change(0, &rows[0], &row(&[("zone", "b")]));
        let domains = labels.domains("zone", 3);
        assert_eq!((domains.by_candidate, domains.count), (vec![0, 0, NO_DOMAIN], 1));
        assert_eq!(labels.domains("region", 3).count, 0);
    }

    #[test]
    fn values_without_clusters_are_dropped() {
        let mut labels = Labels::build([row(&[("beat", "0")])].iter());
        for beat in 0..500 {
            let value = |beat: i32| row(&[("beat", beat.to_string().as_str())]);
            labels.change(0, &value(beat), &value(beat + 1));
        }
        assert!(labels.0.get("beat").unwrap().values.len() < 100);
        assert!(labels.select(&Selector::parse("beat=500").unwrap(), 1).has(0));
    }
}
