//! Folding changes, and their effects on other records.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{AffectedDemands, Consequences, config};
use imbl::OrdSet;
use serde_json::Value;

use super::row::{Row, holders_of};
use super::{Fleet, Operation, Place, Record};
use crate::config::Config;
use crate::names::{CLUSTERS, DIALECT, REQUESTS};

/// A change of one Cluster, as far as it matters to requests.
#[derive(Default)]
struct Shift {
    place: Option<Place>,
    existed: bool,
    exists: bool,
    /// Holders whose finalizers were removed.
    lost: BTreeSet<Arc<str>>,
    /// Holders whose finalizers were added.
    gained: BTreeSet<Arc<str>>,
    /// The purposes for which the Cluster may fit requests that it did not fit before.
    better_for: BTreeSet<Arc<str>>,
}

impl Fleet {
    /// Applies one change of any resource that is read.
    pub(crate) fn apply_change(&mut self, change: &Change) -> Consequences {
        // An object that is being deleted and has no finalizers counts as deleted: no API server keeps such
        // an object.
        let ended = |object: &&Arc<Object>| {
            let meta = object.meta();
            meta.deletion_timestamp().is_some() && meta.finalizers().is_empty()
        };
        let resource = change.key.resource;
        let new = change.new.as_ref();
        if resource == CLUSTERS {
            self.take_cluster(&change.key, new.filter(|object| !ended(object)))
        } else if resource == REQUESTS {
            self.take_request(&change.key, new.filter(|object| !ended(object)))
        } else if change.key == config::key(DIALECT) {
            self.take_config(&change.key, new)
        } else {
            Consequences::nothing()
        }
    }

    fn take_cluster(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let place = Place::from(key);
        let before = self.cluster(&place).cloned();
        let holders = |object: Option<&Arc<Object>>| -> BTreeSet<Arc<str>> {
            let names = object.map(|object| holders_of(object.meta()));
            names.into_iter().flatten().map(Arc::from).collect()
        };
        let (had, has) = (holders(before.as_ref()), holders(new));
        let old = self
            .position(&place)
            .ok()
            .map(|position| self.rows.remove(position));
        self.unparsed.remove(&place);
        let row = match new {
            Some(object) => {
                let read = Row::read(place.clone(), object, &mut self.names);
                let row = self.unusable.note(key, read);
                if row.is_none() {
                    self.unparsed.insert(place.clone(), Arc::clone(object));
                }
                row
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let shift = Shift {
            existed: before.is_some(),
            exists: new.is_some(),
            lost: had.difference(&has).cloned().collect(),
            gained: has.difference(&had).cloned().collect(),
            better_for: better_for(old.as_ref(), row.as_ref()),
            place: Some(place.clone()),
        };
        self.move_holders(&place, &shift);
        let cluster_name: Arc<str> = place.to_string().into();
        if let (Some(row), Err(position)) = (row, self.position(&place)) {
            self.rows.insert(position, row);
        }
        let (decide, mut demands) = self.affected_by(&shift, &had);
        demands.extend(decide.iter().cloned());
        Consequences {
            decide: affected(decide),
            demands: affected(demands),
            targets: Some(vec![cluster_name]),
        }
    }

    fn move_holders(&mut self, place: &Place, shift: &Shift) {
        for holder in &shift.lost {
            if let Some(places) = self.holders.get_mut(holder) {
                places.remove(place);
                if places.is_empty() {
                    self.holders.remove(holder);
                }
            }
        }
        for holder in &shift.gained {
            self.holders
                .entry(Arc::clone(holder))
                .or_default()
                .insert(place.clone());
        }
    }

    /// The requests to decide again, and the requests with a changed view. `had` are the former holders. The
    /// scheduler's own writes for a request do not make it due again: they add its finalizer, or remove it
    /// while the request is being deleted.
    fn affected_by(&self, shift: &Shift, had: &BTreeSet<Arc<str>>) -> (BTreeSet<Key>, BTreeSet<Key>) {
        let (mut decide, mut demands) = (BTreeSet::new(), BTreeSet::new());
        let Some(place) = &shift.place else {
            return (decide, demands);
        };
        let moved = shift.existed != shift.exists;
        for (key, record) in
            keys_of(&self.by_cluster, place).filter_map(|key| Some((key, self.request(key)?)))
        {
            let had_finalizer = had.contains(&record.wants.holder);
            let lacks = !self.holds(&record.wants.holder, place);
            let is_due = if record.wants.deleting {
                !had_finalizer && !shift.exists
            } else {
                lacks && (had_finalizer || moved) && !self.ignores(record)
            };
            if is_due {
                decide.insert(key.clone());
            }
            if moved {
                demands.insert(key.clone());
            }
        }
        let known = |holder: &Arc<str>| {
            let key = self.by_holder.get(holder)?;
            Some((key, self.request(key)?))
        };
        for (key, record) in shift.gained.iter().filter_map(known) {
            demands.insert(key.clone());
            if record.wants.deleting {
                decide.insert(key.clone());
            }
        }
        for (key, record) in shift.lost.iter().filter_map(known) {
            demands.insert(key.clone());
            if !record.wants.deleting && record.status.cluster.is_none() {
                decide.insert(key.clone());
            }
        }
        if self.config.is_some() {
            let own = |key: &Key| {
                let record = self.request(key);
                record.is_some_and(|record| shift.gained.contains(&record.wants.holder))
            };
            let by_purpose = shift
                .better_for
                .iter()
                .flat_map(|purpose| keys_of(&self.waiting, purpose));
            let by_name = moved.then(|| keys_of(&self.planned, place)).into_iter().flatten();
            decide.extend(by_purpose.chain(by_name).filter(|key| !own(key)).cloned());
        }
        (decide, demands)
    }

    fn take_request(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let old = self.requests.remove(key);
        if let Some(old) = &old {
            self.unlink(key, old);
        }
        let record = match new {
            Some(object) => self.unusable.note(key, Record::read(object)).map(Arc::new),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let is_due = match (&old, &record) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => self.makes_due(old, new),
        };
        if let Some(record) = record {
            self.link(key, &record);
            self.requests.insert(key.clone(), record);
        }
        Consequences {
            decide: if is_due {
                AffectedDemands::Some(vec![key.clone()])
            } else {
                AffectedDemands::None
            },
            demands: AffectedDemands::Some(vec![key.clone()]),
            targets: Some(Vec::new()),
        }
    }

    /// Whether the change from `old` to `new` makes the request due. The scheduler's own writes do not: they
    /// end in a state for which `RequestStatus::settled` is true, or only add or remove its finalizer or
    /// remove the annotation `reconcile`.
    fn makes_due(&self, old: &Record, new: &Record) -> bool {
        if new.wants.deleting {
            return !old.wants.deleting
                || old.wants.wait != new.wants.wait
                || old.wants.holder != new.wants.holder;
        }
        if self.ignores(new) {
            return false;
        }
        let mut expected = old.wants.clone();
        if new.wants.operation == Operation::None {
            // The scheduler itself removes `reconcile`.
            expected.operation = match expected.operation {
                Operation::Reconcile => Operation::None,
                other => other,
            };
        }
        let holder = &new.wants.holder;
        let lacks_finalizer = |record: &Record| {
            let granted = record.status.cluster.as_ref();
            granted.is_some_and(|granted| !self.holds(holder, &granted.place))
        };
        self.ignores(old)
            || expected != new.wants
            || (old.finalized && !new.finalized)
            || (old.status != new.status
                && (!new.status.settled()
                    || (old.status.cluster != new.status.cluster && lacks_finalizer(new))))
            || (old.status.cluster.is_some() && old.status.cluster != new.status.cluster)
    }

    fn link(&mut self, key: &Key, record: &Record) {
        self.by_holder
            .insert(Arc::clone(&record.wants.holder), key.clone());
        if let Some(granted) = &record.status.cluster {
            self.by_cluster.insert((granted.place.clone(), key.clone()));
        } else if !record.wants.deleting && !self.ignores(record) {
            self.waiting
                .insert((Arc::clone(&record.wants.purpose), key.clone()));
            if let Some(place) = self.plan(record) {
                self.planned.insert((place, key.clone()));
            }
        }
    }

    fn unlink(&mut self, key: &Key, record: &Record) {
        if self.by_holder.get(&record.wants.holder) == Some(key) {
            self.by_holder.remove(&record.wants.holder);
        }
        if let Some(granted) = &record.status.cluster {
            self.by_cluster.remove(&(granted.place.clone(), key.clone()));
        } else {
            self.waiting
                .remove(&(Arc::clone(&record.wants.purpose), key.clone()));
            if let Some(place) = self.plan(record) {
                self.planned.remove(&(place, key.clone()));
            }
        }
    }

    /// The place that a new Cluster for the request would have, without a random name.
    fn plan(&self, record: &Record) -> Option<Place> {
        let mapping = self.mapping(record)?;
        let meta = record.object.meta();
        let name = mapping.naming.name(meta.namespace(), meta.name()).ok()?;
        Some(Place::new(mapping.home(meta.namespace()), &name))
    }

    /// Applies a configuration. If it is invalid, the configuration in force stays; without one, no request
    /// gets a Cluster.
    fn take_config(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let before = (self.config.clone(), self.config_problem.clone(), self.choice);
        self.unusable.forget(key);
        let path = format!("spec.{DIALECT}");
        let read = match new {
            None => Ok(None),
            Some(object) => {
                let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
                Config::read(spec.unwrap_or(&Value::Null), &path)
            }
        };
        match read {
            Ok(config) => {
                self.choice = new.map_or(RulesChoice::default(), |object| RulesChoice::of(object.value()));
                self.config = config.map(Arc::new);
                self.config_problem = None;
            }
            Err(errors) => {
                let problem: Arc<str> = berth_apimachinery::field::aggregate(&errors).into();
                self.unusable.note::<()>(key, Err(problem.to_string()));
                self.config_problem = self.config.is_none().then_some(problem);
            }
        }
        if before == (self.config.clone(), self.config_problem.clone(), self.choice) {
            return Consequences::nothing();
        }
        // The waiting requests, and the places of new Clusters for them, depend on the configuration.
        self.by_cluster = OrdSet::new();
        self.waiting = OrdSet::new();
        self.planned = OrdSet::new();
        for (key, record) in self.requests.clone() {
            self.link(&key, &record);
        }
        Consequences {
            decide: AffectedDemands::All,
            demands: AffectedDemands::All,
            // The limits of Clusters depend on the configuration.
            targets: None,
        }
    }
}

/// The purposes for which a Cluster may fit requests that it did not fit before.
fn better_for(old: Option<&Row>, new: Option<&Row>) -> BTreeSet<Arc<str>> {
    let purposes = |row: Option<&Row>| -> BTreeSet<Arc<str>> {
        let list = row.map(Row::purposes).unwrap_or_default();
        list.iter().map(|purpose| Arc::from(purpose.as_str())).collect()
    };
    match (old, new) {
        (Some(old), Some(new)) if old.facts == new.facts && old.used <= new.used => BTreeSet::new(),
        (_, Some(_)) => purposes(new),
        (_, None) => BTreeSet::new(),
    }
}

/// The keys of the entries that begin with `first`.
pub(super) fn keys_of<'a, T: Ord + Clone>(
    index: &'a OrdSet<(T, Key)>,
    first: &'a T,
) -> impl Iterator<Item = &'a Key> {
    let least = Key::new(REQUESTS, "", "");
    index
        .range((first.clone(), least)..)
        .take_while(move |(start, _)| start == first)
        .map(|(_, key)| key)
}

fn affected(keys: BTreeSet<Key>) -> AffectedDemands {
    if keys.is_empty() {
        AffectedDemands::None
    } else {
        AffectedDemands::Some(keys.into_iter().collect())
    }
}
