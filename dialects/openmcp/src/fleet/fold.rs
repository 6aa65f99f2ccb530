//! Folding of changes into the inventory, and the requests that become due.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{AffectedDemands, Consequences, config};
use imbl::OrdSet;
use serde_json::Value;

use super::intern::InternedTexts;
use super::row::{Row, holders_of};
use super::{Fleet, Operation, Place, Record};
use crate::config::Config;
use crate::names::{CLUSTERS, DIALECT, REQUESTS};
use crate::naming;

/// A change of one Cluster, as far as it matters to requests.
struct ClusterChange {
    place: Place,
    existed: bool,
    exists: bool,
    /// Number of finalizers, of requests and of others, that the former Cluster had, if it is gone: there is
    /// none any more, or another one of this name.
    finalizers_of_gone: Option<usize>,
    /// Whether the Cluster existed before, but could not be parsed until this change.
    became_readable: bool,
    /// Holders whose finalizers were removed.
    removed_holders: BTreeSet<Arc<str>>,
    /// Holders whose finalizers were added.
    added_holders: BTreeSet<Arc<str>>,
    /// The purposes of requests that the Cluster may fit since the change.
    fitting_purposes: BTreeSet<Arc<str>>,
}

impl Fleet {
    /// Applies one change of any resource that is read, and returns the consequences.
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
            self.fold_cluster(&change.key, new.filter(|object| !ended(object)))
        } else if resource == REQUESTS {
            self.fold_request(&change.key, new.filter(|object| !ended(object)))
        } else if change.key == config::key(DIALECT) {
            self.fold_config(&change.key, new)
        } else {
            Consequences::nothing()
        }
    }

    fn fold_cluster(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let place = Place::from(key);
        let before = self.cluster(&place).cloned();
        let holders = |object: Option<&Arc<Object>>| -> BTreeSet<Arc<str>> {
            let names = object.map(|object| holders_of(object.meta()));
            names.into_iter().flatten().map(Arc::from).collect()
        };
        let (had, has) = (holders(before.as_ref()), holders(new));
        let old = self.find(&place).map(|(_, row)| row.clone());
        self.unparsed.remove(&place);
        let row = match new {
            Some(object) => {
                let read = Row::read(place.clone(), object, &mut self.texts);
                let row = self.unusable.record(key, read);
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
        let change = ClusterChange {
            place: place.clone(),
            existed: before.is_some(),
            exists: new.is_some(),
            finalizers_of_gone: finalizers_of_gone(before.as_ref(), new),
            became_readable: before.is_some() && old.is_none() && row.is_some(),
            removed_holders: had.difference(&has).cloned().collect(),
            added_holders: has.difference(&had).cloned().collect(),
            fitting_purposes: fitting_purposes(old.as_ref(), row.as_ref()),
        };
        self.update_holders(&change);
        let cluster_name: Arc<str> = place.to_string().into();
        match (self.position(&place), row) {
            (Ok(position), Some(row)) => {
                self.rows.set(position, row);
            }
            (Ok(position), None) => {
                self.rows.remove(position);
            }
            (Err(position), Some(row)) => self.rows.insert(position, row),
            (Err(_), None) => {}
        }
        self.forget_unused_texts();
        let (decide, mut demands) = self.affected_by(&change, &had);
        demands.extend(decide.iter().cloned());
        Consequences {
            decide: affected(decide),
            demands: affected(demands),
            targets: Some(vec![cluster_name]),
        }
    }

    /// Numbers the texts of all Clusters again once most known texts may be unused. Otherwise, labels whose
    /// values change often would fill the memory.
    fn forget_unused_texts(&mut self) {
        if !self.texts.needs_cleanup(self.rows.len()) {
            return;
        }
        let mut texts = InternedTexts::default();
        self.rows = self.rows.iter().map(|row| row.renumbered(&mut texts)).collect();
        texts.end_cleanup();
        self.texts = texts;
    }

    fn update_holders(&mut self, change: &ClusterChange) {
        for holder in &change.removed_holders {
            if let Some(places) = self.holders.get_mut(holder) {
                places.remove(&change.place);
                if places.is_empty() {
                    self.holders.remove(holder);
                }
            }
        }
        for holder in &change.added_holders {
            self.holders
                .entry(Arc::clone(holder))
                .or_default()
                .insert(change.place.clone());
        }
    }

    /// The requests to decide again, and the requests with a changed view. `had` are the former holders. The
    /// scheduler's own writes for a request do not make the request due again: they add the request's
    /// finalizer, or remove it while the request is being deleted. After a gap in the watch, the Cluster that
    /// a request waits for may go in the same change as the request's finalizer. The scheduler removes only
    /// that finalizer, so a Cluster that had others went by itself.
    fn affected_by(
        &self,
        change: &ClusterChange,
        had: &BTreeSet<Arc<str>>,
    ) -> (BTreeSet<Key>, BTreeSet<Key>) {
        let (mut decide, mut demands) = (BTreeSet::new(), BTreeSet::new());
        let place = &change.place;
        let is_added_or_removed = change.existed != change.exists;
        for (key, record) in
            keys_of(&self.by_cluster, place).filter_map(|key| Some((key, self.request(key)?)))
        {
            let had_finalizer = had.contains(&record.requirements.holder);
            let lacks_finalizer = !self.holds(&record.requirements.holder, place);
            let is_due = if record.requirements.deleting {
                let finalizers = change.finalizers_of_gone;
                finalizers.is_some_and(|count| !had_finalizer || count > 1)
            } else {
                let is_lost = lacks_finalizer && (had_finalizer || is_added_or_removed);
                (is_lost || change.became_readable) && !self.ignores(record)
            };
            if is_due {
                decide.insert(key.clone());
            }
            if is_added_or_removed {
                demands.insert(key.clone());
            }
        }
        let known = |holder: &Arc<str>| {
            let key = self.by_holder.get(holder)?;
            Some((key, self.request(key)?))
        };
        for (key, record) in change.added_holders.iter().filter_map(known) {
            demands.insert(key.clone());
            if record.requirements.deleting {
                decide.insert(key.clone());
            }
        }
        for (key, record) in change.removed_holders.iter().filter_map(known) {
            demands.insert(key.clone());
            if !record.requirements.deleting && record.status.cluster.is_none() {
                decide.insert(key.clone());
            }
        }
        if self.config.is_some() {
            let own = |key: &Key| {
                let record = self.request(key);
                record.is_some_and(|record| change.added_holders.contains(&record.requirements.holder))
            };
            let by_purpose = change
                .fitting_purposes
                .iter()
                .flat_map(|purpose| keys_of(&self.waiting, purpose));
            let by_name = (is_added_or_removed || change.became_readable)
                .then(|| keys_of(&self.planned, place))
                .into_iter()
                .flatten();
            decide.extend(by_purpose.chain(by_name).filter(|key| !own(key)).cloned());
        }
        (decide, demands)
    }

    fn fold_request(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let old = self.requests.remove(key);
        let old_holder = match &old {
            Some(old) => {
                self.unindex_request(key, old);
                Some(Arc::clone(&old.requirements.holder))
            }
            None => self.unparsed_requests.remove(key),
        };
        let record = match new {
            Some(object) => self.unusable.record(key, Record::read(object)).map(Arc::new),
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
        let holder = match (&record, new) {
            (Some(record), _) => Some(Arc::clone(&record.requirements.holder)),
            (None, Some(object)) => Some(naming::holder_of(object.meta()).into()),
            (None, None) => None,
        };
        let is_known_as_before = old_holder == holder && old.is_some() == record.is_some();
        match (record, &holder) {
            (Some(record), _) => {
                self.index_request(key, &record);
                self.requests.insert(key.clone(), record);
            }
            (None, Some(holder)) => {
                self.unparsed_requests.insert(key.clone(), Arc::clone(holder));
            }
            (None, None) => {}
        }
        self.replace_holder(key, old_holder.as_ref(), holder.as_ref());
        // The view of a Cluster that is being deleted tells which of its requests exist and can be read.
        let holders: BTreeSet<&Arc<str>> = old_holder.iter().chain(&holder).collect();
        let places = holders
            .into_iter()
            .filter(|_| !is_known_as_before)
            .flat_map(|holder| self.clusters_held_by(holder));
        let targets = places.map(|place| self.cluster_name_of(place)).collect();
        Consequences {
            decide: if is_due {
                AffectedDemands::Some(vec![key.clone()])
            } else {
                AffectedDemands::None
            },
            demands: AffectedDemands::Some(vec![key.clone()]),
            targets: Some(targets),
        }
    }

    /// Replaces the holder of the request at `key`. A request has no holder before it exists and after it is
    /// gone.
    fn replace_holder(&mut self, key: &Key, old: Option<&Arc<str>>, new: Option<&Arc<str>>) {
        if old == new {
            return;
        }
        if let Some(holder) = old
            && self.by_holder.get(holder) == Some(key)
        {
            self.by_holder.remove(holder);
        }
        if let Some(holder) = new {
            self.by_holder.insert(Arc::clone(holder), key.clone());
        }
    }

    /// Whether the change from `old` to `new` makes the request due. The scheduler's own writes do not: they
    /// lead to a status for which `RequestStatus::is_settled` is true, or only add or remove the scheduler's
    /// finalizer, or remove the annotation `reconcile`.
    fn makes_due(&self, old: &Record, new: &Record) -> bool {
        if new.requirements.deleting {
            return !old.requirements.deleting
                || old.requirements.wait_for_deletion != new.requirements.wait_for_deletion
                || old.requirements.holder != new.requirements.holder;
        }
        if self.ignores(new) {
            return false;
        }
        let mut expected = old.requirements.clone();
        if new.requirements.operation == Operation::None {
            // The scheduler itself removes `reconcile`.
            expected.operation = match expected.operation {
                Operation::Reconcile => Operation::None,
                other => other,
            };
        }
        let holder = &new.requirements.holder;
        let lacks_finalizer = |record: &Record| {
            let granted = record.status.cluster.as_ref();
            granted.is_some_and(|granted| !self.holds(holder, &granted.place))
        };
        self.ignores(old)
            || expected != new.requirements
            || (old.has_finalizer && !new.has_finalizer)
            || (old.status != new.status
                && (!new.status.is_settled()
                    || (old.status.cluster != new.status.cluster && lacks_finalizer(new))))
            || (old.status.cluster.is_some() && old.status.cluster != new.status.cluster)
    }

    /// Adds the request at `key` to the indices, except the holders.
    fn index_request(&mut self, key: &Key, record: &Record) {
        if let Some(granted) = &record.status.cluster {
            self.by_cluster.insert((granted.place.clone(), key.clone()));
        } else if !record.requirements.deleting && !self.ignores(record) {
            self.waiting
                .insert((Arc::clone(&record.requirements.purpose), key.clone()));
            if let Some(place) = self.planned_place(record) {
                self.planned.insert((place, key.clone()));
            }
        }
    }

    /// Removes the request at `key` from the indices, except the holders.
    fn unindex_request(&mut self, key: &Key, record: &Record) {
        if let Some(granted) = &record.status.cluster {
            self.by_cluster.remove(&(granted.place.clone(), key.clone()));
        } else {
            self.waiting
                .remove(&(Arc::clone(&record.requirements.purpose), key.clone()));
            if let Some(place) = self.planned_place(record) {
                self.planned.remove(&(place, key.clone()));
            }
        }
    }

    /// The place that a new Cluster for the request would have if its name is not random.
    fn planned_place(&self, record: &Record) -> Option<Place> {
        let mapping = self.mapping(record)?;
        let meta = record.object.meta();
        let name = mapping.naming.name(meta.namespace(), meta.name()).ok()?;
        Some(Place::new(mapping.cluster_namespace(meta.namespace()), &name))
    }

    /// Applies a configuration. If the configuration is invalid, the former configuration stays in force. As
    /// long as there is no valid configuration, no request gets a Cluster.
    fn fold_config(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let before = (
            self.config.clone(),
            self.config_problem.clone(),
            self.rules_choice,
        );
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
                self.rules_choice =
                    new.map_or(RulesChoice::default(), |object| RulesChoice::of(object.value()));
                self.config = config.map(Arc::new);
                self.config_problem = None;
            }
            Err(errors) => {
                let problem: Arc<str> = berth_apimachinery::field::aggregate(&errors).into();
                self.unusable.record::<()>(key, Err(problem.to_string()));
                self.config_problem = self.config.is_none().then_some(problem);
            }
        }
        if before
            == (
                self.config.clone(),
                self.config_problem.clone(),
                self.rules_choice,
            )
        {
            return Consequences::nothing();
        }
        // The waiting requests, and the places of their new Clusters, depend on the configuration.
        self.by_cluster = OrdSet::new();
        self.waiting = OrdSet::new();
        self.planned = OrdSet::new();
        for (key, record) in self.requests.clone() {
            self.index_request(&key, &record);
        }
        Consequences {
            decide: AffectedDemands::All,
            demands: AffectedDemands::All,
            // The limits of Clusters depend on the configuration.
            targets: None,
        }
    }
}

/// The number of finalizers of the Cluster `old`, if it is gone; `new` may be another one of its name.
fn finalizers_of_gone(old: Option<&Arc<Object>>, new: Option<&Arc<Object>>) -> Option<usize> {
    let uid = |object: &Arc<Object>| object.meta().uid().to_owned();
    let is_gone = new.is_none() || old.is_some_and(|old| new.map(uid) != Some(uid(old)));
    is_gone.then(|| old.map_or(0, |old| old.meta().finalizers().len()))
}

/// The purposes of requests that a Cluster may fit since its change from `old` to `new`.
fn fitting_purposes(old: Option<&Row>, new: Option<&Row>) -> BTreeSet<Arc<str>> {
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

/// The keys of the entries of `index` that begin with `first`.
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
