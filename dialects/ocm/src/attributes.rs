//! Labels or claims of all clusters, by key: who has it and with which value, so that a selector is judged for the
//! whole fleet in one pass per requirement, comparing small integers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use meta::selector::{Operator, Requirement, Selector};
use scheduling::Ix;

use crate::bits::Bits;
use crate::renumber::Renumbering;

/// Every key with its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(imbl::HashMap<Arc<str>, Arc<Attribute>>);

/// One key: the distinct values, and which candidate has which.
#[derive(Clone, Debug, Default)]
struct Attribute {
    values: imbl::Vector<Arc<str>>,
    ids: imbl::HashMap<Arc<str>, u32>,
    /// Candidate and value id, by candidate.
    entries: Vec<(Ix, u32)>,
}

impl Attributes {
    /// The attributes of a whole fleet, given in candidate order.
    pub(crate) fn build<'a>(rows: impl Iterator<Item = &'a BTreeMap<String, String>>) -> Self {
        let mut keys: HashMap<&str, Attribute> = HashMap::new();
        for (candidate, row) in (0..).zip(rows) {
            for (key, value) in row {
                let attribute = keys.entry(key.as_str()).or_default();
                let id = attribute.id(value);
                attribute.entries.push((candidate, id));
            }
        }
        Self(
            keys.into_iter()
                .map(|(key, attribute)| (key.into(), Arc::new(attribute)))
                .collect(),
        )
    }

    /// Takes in that the attributes of `candidate` changed from `old` to `new`.
    pub(crate) fn change(
        &mut self,
        candidate: Ix,
        old: &BTreeMap<String, String>,
        new: &BTreeMap<String, String>,
    ) {
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            self.edit(key, |attribute| attribute.remove(candidate));
        }
        for (key, value) in new.iter().filter(|(key, value)| old.get(*key) != Some(*value)) {
            self.edit(key, |attribute| attribute.put(candidate, value));
        }
    }

    /// The attributes after clusters came and went; `came` has the new numbers, ascending.
    pub(crate) fn moved(
        &self,
        renumbering: &Renumbering,
        came: Vec<(Ix, &BTreeMap<String, String>)>,
    ) -> Self {
        let mut added: BTreeMap<&str, Vec<(Ix, &str)>> = BTreeMap::new();
        for (candidate, row) in came {
            for (key, value) in row {
                added.entry(key).or_default().push((candidate, value));
            }
        }
        let mut keys = imbl::HashMap::new();
        for (key, attribute) in &self.0 {
            let more = added.remove(&**key).unwrap_or_default();
            let attribute = attribute.moved(renumbering, more);
            if !attribute.entries.is_empty() {
                keys.insert(Arc::clone(key), Arc::new(attribute));
            }
        }
        for (key, more) in added {
            keys.insert(
                key.into(),
                Arc::new(Attribute::default().moved(renumbering, more)),
            );
        }
        Self(keys)
    }

    fn edit(&mut self, key: &str, edit: impl FnOnce(&mut Attribute)) {
        if !self.0.contains_key(key) {
            self.0.insert(key.into(), Arc::default());
        }
        if let Some(attribute) = self.0.get_mut(key) {
            edit(Arc::make_mut(attribute));
            if attribute.entries.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The candidates of `count` that `selector` matches.
    pub(crate) fn select(&self, selector: &Selector, count: Ix) -> Bits {
        let mut matching = Bits::all(count);
        for requirement in &selector.requirements {
            let attribute = self.0.get(requirement.key.as_str());
            if matches!(requirement.operator, Operator::NotIn | Operator::DoesNotExist) {
                if let Some(attribute) = attribute {
                    attribute.each_hit(requirement, |candidate| matching.set(candidate, false));
                }
            } else {
                let mut hits = Bits::none(count);
                if let Some(attribute) = attribute {
                    attribute.each_hit(requirement, |candidate| hits.set(candidate, true));
                }
                matching.intersect(&hits);
            }
        }
        matching
    }
}

impl Attribute {
    fn moved(&self, renumbering: &Renumbering, more: Vec<(Ix, &str)>) -> Self {
        let mut moved = Self {
            values: self.values.clone(),
            ids: self.ids.clone(),
            entries: Vec::new(),
        };
        let more = more
            .into_iter()
            .map(|(candidate, value)| (candidate, moved.id(value)))
            .collect();
        moved.entries = renumbering.entries(&self.entries, more);
        moved.compact();
        moved
    }

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

    fn put(&mut self, candidate: Ix, value: &str) {
        let id = self.id(value);
        match self.entries.binary_search_by_key(&candidate, |&(known, _)| known) {
            Ok(place) => self.entries[place].1 = id,
            Err(place) => self.entries.insert(place, (candidate, id)),
        }
        self.compact();
    }

    fn remove(&mut self, candidate: Ix) {
        if let Ok(place) = self.entries.binary_search_by_key(&candidate, |&(known, _)| known) {
            self.entries.remove(place);
        }
    }

    /// Drops values nobody has any more, once they outnumber the entries: a label may change forever.
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

    /// Calls `each` for every candidate whose value the positive form of `requirement` names.
    fn each_hit(&self, requirement: &Requirement, mut each: impl FnMut(Ix)) {
        match requirement.operator {
            Operator::Exists | Operator::DoesNotExist => {
                self.entries.iter().for_each(|&(candidate, _)| each(candidate));
            }
            Operator::In | Operator::NotIn => {
                let wanted: Vec<u32> = requirement
                    .values
                    .iter()
                    .filter_map(|value| self.ids.get(value.as_str()).copied())
                    .collect();
                if wanted.is_empty() {
                    return;
                }
                let hits = self.entries.iter().filter(|(_, id)| wanted.contains(id));
                hits.for_each(|&(candidate, _)| each(candidate));
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

    fn row(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn selectors_judge_the_whole_fleet() {
        let rows = [
            row(&[("env", "prod"), ("gpu", "yes")]),
            row(&[("env", "dev")]),
            row(&[]),
        ];
        let mut attributes = Attributes::build(rows.iter());
        let check = |attributes: &Attributes, rows: &[BTreeMap<String, String>]| {
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
                let selected: Vec<Ix> = attributes.select(&selector, 3).iter().collect();
                let expected: Vec<Ix> = (0..3)
                    .filter(|&candidate| selector.matches(&rows[candidate as usize]))
                    .collect();
                assert_eq!(selected, expected, "{text}");
            }
        };
        check(&attributes, &rows);
        let changed = [
            rows[0].clone(),
            row(&[("gpu", "no"), ("n", "5")]),
            row(&[("env", "prod")]),
        ];
        attributes.change(1, &rows[1], &changed[1]);
        attributes.change(2, &rows[2], &changed[2]);
        check(&attributes, &changed);
    }

    #[test]
    fn values_that_nobody_has_are_dropped() {
        let mut attributes = Attributes::build([row(&[("beat", "0")])].iter());
        for beat in 0..500 {
            let value = |beat: i32| row(&[("beat", beat.to_string().as_str())]);
            attributes.change(0, &value(beat), &value(beat + 1));
        }
        assert!(attributes.0.get("beat").unwrap().values.len() < 100);
        assert!(attributes.select(&Selector::parse("beat=500").unwrap(), 1).has(0));
    }
}
