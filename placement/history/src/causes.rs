//! Causes of changed decisions: the changes of objects that made the decisions due, noted when they are
//! folded.
//!
//! Each decision has notes of the last few changes that made it due. Revisions distinguish changes in
//! quick succession. A note is forgotten after its use, or when it is too old. The number of notes for each
//! decision, and the number of decisions with notes, are limited.

mod notes;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Change, Clock, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{AffectedDemands, Consequences};
use berth_engine::Witness;
use berth_scheduling_api::record::{CauseType, RecordCause};
use parking_lot::Mutex;
use serde::Deserialize;

use self::notes::{Dues, Views};

/// Longest time between a change and an observed decision that the change may have caused. Only changes that
/// made given decisions due, not all of a dialect, wait longer ([`MAX_WAIT`]).
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Longest wait of a change for its decision.
const MAX_WAIT: Duration = Duration::from_mins(10);
/// Highest number of decisions with notes of their own. Beyond that, all these notes are forgotten, and
/// causes are missing for a moment.
const MAX_DECISIONS: usize = 200_000;

/// A change of an object.
#[derive(Debug)]
pub(crate) struct ObjectChange {
    /// Key of the object.
    key: Key,
    /// `Created`, `Updated` or `Deleted`.
    verb: &'static str,
    /// Revision of the change.
    revision: Revision,
    /// The object after the change; after a deletion, the last object.
    object: Arc<Object>,
    /// Field manager of the change, where the object itself does not name it.
    manager: Option<Arc<str>>,
}

/// Lookup of the field manager of an object whose managed fields are not stored here: a copy of a hub's
/// object.
pub type Managers = Arc<dyn Fn(&Key) -> Option<Arc<str>> + Send + Sync>;

/// A change that may be the cause of another.
#[derive(Clone, Debug)]
struct Note {
    change: Arc<ObjectChange>,
    at: Timestamp,
}

/// Notes about one demand, or about all of a dialect.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Changes that made the demand due.
    decide: Dues,
    /// Changes that may have altered the form of the demand's Decision.
    view: Views,
    /// The creation of the newest object with the demand's name.
    creation: Option<Note>,
    /// The deletion of the demand. Later changes are not causes of its end, and the deletion is not a
    /// cause for the next object of that name.
    deletion: Option<Note>,
}

/// The causes of future decisions.
pub(crate) struct Causes {
    clock: Arc<dyn Clock>,
    /// Resources whose object names may be shown to readers of any namespace.
    of_clusters: BTreeSet<GroupResource>,
    managers: Option<Managers>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    of: HashMap<Key, Slot>,
    of_all: HashMap<&'static str, Slot>,
}

impl Causes {
    /// Causes without notes. The names of objects of `of_clusters` may be shown to readers of any namespace.
    /// `managers` has the field managers of objects that do not name them.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        of_clusters: BTreeSet<GroupResource>,
        managers: Option<Managers>,
    ) -> Self {
        Self {
            clock,
            of_clusters,
            managers,
            notes: Mutex::default(),
        }
    }

    /// Takes the cause of the decision on `demand`, from the changes up to `through`.
    pub(crate) fn take_due(&self, dialect: &str, demand: &Key, through: Revision) -> Option<RecordCause> {
        let mut notes = self.notes.lock();
        let now = self.clock.now();
        let known = |slot: &Slot| slot.decide.newest(through, now);
        let own = notes.of.get(demand).and_then(known);
        let of_all = notes.of_all.get(dialect).and_then(known);
        let (note, more) = newest(own, of_all)?;
        if let Some(slot) = notes.of.get_mut(demand) {
            slot.decide.drop_through(through);
        }
        drop(notes);
        Some(self.shown_to(demand, &note.change, more))
    }

    /// Records that the decision on `demand` at `through` had nothing to write.
    pub(crate) fn settled(&self, demand: &Key, through: Revision) {
        let now = self.clock.now();
        if let Some(slot) = self.notes.lock().of.get_mut(demand) {
            slot.decide.settle(through, now);
        }
    }

    /// Takes the cause of a change of the decision on `demand` that was not decided here and was
    /// observed at `seen_at`. Of several changes that may be the cause, the newest one before that time
    /// counts; later ones are kept for their own consequences.
    pub(crate) fn take_seen(&self, dialect: &str, demand: &Key, seen_at: Timestamp) -> Option<RecordCause> {
        let mut notes = self.notes.lock();
        let now = self.clock.now();
        let is_recent = |note: &Note| within(note.at, seen_at, MAX_DELAY);
        let of_all = notes
            .of_all
            .get(dialect)
            .and_then(|slot| slot.decide.newest_at(seen_at, now, is_recent));
        let slot = notes.of.get_mut(demand);
        let own = slot.and_then(|slot| {
            let deletion = slot.deletion.as_ref().map(|note| note.change.revision);
            let is_other = |note: &Note| Some(note.change.revision) != deletion;
            let due = slot.decide.newest_at(seen_at, now, is_other);
            let view = slot
                .view
                .newest_at(seen_at, |note| is_recent(note) && is_other(note));
            let found = newest_until(due, view.map(|note| (note, 0)), seen_at);
            if let Some((note, _)) = &found {
                slot.decide.drop_through(note.change.revision);
                slot.view.drop_through(note.change.revision);
            }
            let creation = slot.creation.clone().filter(is_recent);
            found.or(creation.map(|note| (note, 0)))
        });
        let found = newest_until(own, of_all, seen_at);
        drop(notes);
        found.map(|(note, more)| self.shown_to(demand, &note.change, more))
    }

    /// Takes the deletion of `demand`, whose end was observed at `seen_at`.
    pub(crate) fn take_gone(&self, demand: &Key, seen_at: Timestamp) -> Option<RecordCause> {
        let mut notes = self.notes.lock();
        let slot = notes.of.get_mut(demand)?;
        let deletion = slot.deletion.take()?;
        let is_replaced = slot
            .creation
            .as_ref()
            .is_some_and(|creation| creation.change.revision > deletion.change.revision);
        match is_replaced {
            true => {
                slot.decide.drop_through(deletion.change.revision);
                slot.view.drop_through(deletion.change.revision);
            }
            false => drop(notes.of.remove(demand)),
        }
        drop(notes);
        within(deletion.at, seen_at, MAX_DELAY).then(|| self.shown_to(demand, &deletion.change, 0))
    }

    /// The cause `change`, with the fields that readers of the decision on `demand` may see. `more` is the
    /// number of earlier changes that waited for the same decision.
    fn shown_to(&self, demand: &Key, change: &ObjectChange, more: u64) -> RecordCause {
        let cause = change.as_cause(more);
        let namespace = match demand.namespace.is_empty() {
            // The demand may itself be a namespace.
            true => &demand.name,
            false => &demand.namespace,
        };
        let is_foreign = !cause.namespace.is_empty() && *cause.namespace != **namespace;
        if !is_foreign || self.of_clusters.contains(&change.key.resource) {
            return cause;
        }
        RecordCause {
            namespace: String::new(),
            name: String::new(),
            field_manager: String::new(),
            ..cause
        }
    }

    /// Forgets notes that can no longer be causes.
    pub(crate) fn sweep(&self) {
        let mut notes = self.notes.lock();
        let now = self.clock.now();
        let keep = |slot: &mut Slot| {
            slot.decide.drop_over(now);
            slot.view.drop_over(now);
            let moments = [&slot.creation, &slot.deletion].into_iter().flatten();
            let is_soon = moments.into_iter().any(|note| within(note.at, now, MAX_DELAY));
            is_soon || !slot.decide.is_empty() || !slot.view.is_empty()
        };
        notes.of.retain(|_, slot| keep(slot));
        notes.of_all.retain(|_, slot| keep(slot));
    }
}

fn within(then: Timestamp, now: Timestamp, span: Duration) -> bool {
    Duration::try_from(now.duration_since(then)).is_ok_and(|passed| passed <= span) || then >= now
}

fn newest(one: Option<(Note, u64)>, other: Option<(Note, u64)>) -> Option<(Note, u64)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0.change.revision > one.0.change.revision => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// The newer of two notes. A note from after the observation counts only if no note from before it is given.
fn newest_until(
    one: Option<(Note, u64)>,
    other: Option<(Note, u64)>,
    seen_at: Timestamp,
) -> Option<(Note, u64)> {
    let is_late = |found: &Option<(Note, u64)>| found.as_ref().is_some_and(|(note, _)| note.at > seen_at);
    match (is_late(&one), is_late(&other)) {
        (true, false) if other.is_some() => other,
        (false, true) if one.is_some() => one,
        _ => newest(one, other),
    }
}

impl ObjectChange {
    fn of(change: &Change, managers: Option<&Managers>) -> Option<Self> {
        let verb = match (&change.old, &change.new) {
            (_, None) => "Deleted",
            (None, Some(_)) => "Created",
            (Some(_), Some(_)) => "Updated",
        };
        Some(Self {
            key: change.key.clone(),
            verb,
            revision: change.revision,
            object: Arc::clone(change.new.as_ref().or(change.old.as_ref())?),
            manager: managers.and_then(|managers| managers(&change.key)),
        })
    }

    fn as_cause(&self, more: u64) -> RecordCause {
        RecordCause {
            r#type: CauseType::Object,
            verb: self.verb.to_owned(),
            api_version: self.object.api_version().to_owned(),
            kind: kind(&self.object),
            namespace: self.key.namespace.to_string(),
            name: self.key.name.to_string(),
            resource_version: self.revision.to_string(),
            field_manager: match self.verb {
                // A deletion has no field manager.
                "Deleted" => String::new(),
                _ => match &self.manager {
                    Some(manager) => manager.to_string(),
                    None => manager(&self.object),
                },
            },
            more,
        }
    }
}

fn kind(object: &Object) -> String {
    #[derive(Deserialize)]
    struct KindField {
        kind: String,
    }
    object
        .view()
        .map_or_else(|_| String::new(), |KindField { kind }| kind)
}

/// Last field manager of `object`; empty where its managed fields name none.
fn manager(object: &Object) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Entry {
        manager: String,
        time: String,
    }
    let bytes = object.managers();
    if bytes.is_empty() {
        return String::new();
    }
    let entries: Vec<Entry> = serde_json::from_slice(bytes).unwrap_or_default();
    // Times are in whole seconds: of several entries in one second, the last of the list counts.
    let newest = entries.into_iter().max_by(|a, b| a.time.cmp(&b.time));
    newest.map(|entry| entry.manager).unwrap_or_default()
}

impl Witness for Causes {
    fn folded(&self, dialect: &'static str, change: &Change, consequences: &Consequences) {
        let idle = |affected: &AffectedDemands| match affected {
            AffectedDemands::None => true,
            AffectedDemands::Some(keys) => keys.is_empty(),
            AffectedDemands::All => false,
        };
        if idle(&consequences.decide) && idle(&consequences.demands) {
            return;
        }
        let Some(changed) = ObjectChange::of(change, self.managers.as_ref()) else {
            return;
        };
        let note = Note {
            change: Arc::new(changed),
            at: self.clock.now(),
        };
        let mut notes = self.notes.lock();
        if notes.of.len() >= MAX_DECISIONS {
            notes.of.clear();
        }
        match &consequences.decide {
            AffectedDemands::None => {}
            AffectedDemands::Some(keys) => {
                for key in keys {
                    notes.slot(key).decide.add(note.clone());
                }
            }
            AffectedDemands::All => notes.of_all.entry(dialect).or_default().decide.add(note.clone()),
        }
        match &consequences.demands {
            AffectedDemands::None => {}
            AffectedDemands::Some(keys) => {
                for key in keys {
                    notes.slot(key).view.add(note.clone());
                }
            }
            AffectedDemands::All => notes.of_all.entry(dialect).or_default().view.add(note.clone()),
        }
        // The changed object may itself be a demand with notes.
        if let Some(slot) = notes.of.get_mut(&change.key) {
            match (&change.old, &change.new) {
                (_, None) => slot.deletion = Some(note),
                (None, Some(_)) => slot.creation = Some(note),
                (Some(_), Some(_)) => {}
            }
        }
    }
}

impl Notes {
    fn slot(&mut self, key: &Key) -> &mut Slot {
        if !self.of.contains_key(key) {
            self.of.insert(key.clone(), Slot::default());
        }
        self.of.entry(key.clone()).or_default()
    }
}

#[cfg(test)]
mod tests;
