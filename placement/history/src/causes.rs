//! Causes of changed decisions: the changes of objects that made the decisions due, remembered when they are
//! folded.
//!
//! For each decision, the last few changes that made it due are remembered. Revisions distinguish changes in
//! quick succession. A change is forgotten after its use, or when it is too old. The number of changes for
//! each decision, and the number of decisions with changes, are limited.

mod recent_changes;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Change, Clock, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{AffectedDemands, Consequences};
use berth_engine::Witness;
use berth_scheduling_api::record::{CauseType, RecordCause};
use parking_lot::Mutex;
use serde::Deserialize;

use self::recent_changes::{DueChanges, ViewChanges};

/// Longest time between a change and an observed decision, which Berth did not make, for the change to count
/// as the cause. A change that made this very decision due may be older, up to [`MAX_WAIT`].
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Longest time between a change that made a decision due and the decision.
const MAX_WAIT: Duration = Duration::from_mins(10);
/// Highest number of decisions with recent changes of their own. Beyond that, all of these changes are
/// forgotten, and some causes are missing.
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

/// A change of an object that may be the cause of a changed decision.
#[derive(Clone, Debug)]
struct RecentChange {
    change: Arc<ObjectChange>,
    /// Time at which the change was folded.
    at: Timestamp,
}

/// Recent changes about one demand, or about all demands of a dialect.
#[derive(Clone, Debug, Default)]
struct DemandChanges {
    /// Changes that made the demand due.
    decide: DueChanges,
    /// Changes that may have altered the demand's Decision without a new decision.
    view: ViewChanges,
    /// The creation of the newest object with the demand's name.
    creation: Option<RecentChange>,
    /// The deletion of the demand. Later changes are not causes of its end, and the deletion is not a
    /// cause for the next object of that name.
    deletion: Option<RecentChange>,
}

/// The possible causes of future decisions.
pub(crate) struct Causes {
    clock: Arc<dyn Clock>,
    /// Resources whose object names may be shown to readers of any namespace.
    public_resources: BTreeSet<GroupResource>,
    managers: Option<Managers>,
    recent: Mutex<RecentChanges>,
}

#[derive(Default)]
struct RecentChanges {
    by_demand: HashMap<Key, DemandChanges>,
    /// Changes that concern all demands of a dialect, by the dialect's name.
    by_dialect: HashMap<&'static str, DemandChanges>,
}

impl Causes {
    /// Causes without changes so far. The names of objects of `public_resources` may be shown to readers of
    /// any namespace. `managers` looks up the field managers of objects that do not name them.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        public_resources: BTreeSet<GroupResource>,
        managers: Option<Managers>,
    ) -> Self {
        Self {
            clock,
            public_resources,
            managers,
            recent: Mutex::default(),
        }
    }

    /// Takes the cause of the decision on `demand`, from the changes up to `through`.
    pub(crate) fn take_due(&self, dialect: &str, demand: &Key, through: Revision) -> Option<RecordCause> {
        let mut all = self.recent.lock();
        let now = self.clock.now();
        let known = |changes: &DemandChanges| changes.decide.newest(through, now);
        let own = all.by_demand.get(demand).and_then(known);
        let of_dialect = all.by_dialect.get(dialect).and_then(known);
        let (recent, more) = newest(own, of_dialect)?;
        if let Some(changes) = all.by_demand.get_mut(demand) {
            changes.decide.drop_through(through);
        }
        drop(all);
        Some(self.shown_to(demand, &recent.change, more))
    }

    /// Records that the decision on `demand` at `through` had nothing to write.
    pub(crate) fn settled(&self, demand: &Key, through: Revision) {
        let now = self.clock.now();
        if let Some(changes) = self.recent.lock().by_demand.get_mut(demand) {
            changes.decide.settle(through, now);
        }
    }

    /// Takes the cause of a change of the decision on `demand` that was not decided here and was
    /// observed at `seen_at`. Of several changes that may be the cause, the newest one before that time
    /// counts; later ones are kept for their own consequences.
    pub(crate) fn take_seen(&self, dialect: &str, demand: &Key, seen_at: Timestamp) -> Option<RecordCause> {
        let mut all = self.recent.lock();
        let now = self.clock.now();
        let is_recent = |recent: &RecentChange| within(recent.at, seen_at, MAX_DELAY);
        let of_dialect = all
            .by_dialect
            .get(dialect)
            .and_then(|changes| changes.decide.newest_at(seen_at, now, is_recent));
        let changes = all.by_demand.get_mut(demand);
        let own = changes.and_then(|changes| {
            let deletion = changes.deletion.as_ref().map(|recent| recent.change.revision);
            let is_other = |recent: &RecentChange| Some(recent.change.revision) != deletion;
            let due = changes.decide.newest_at(seen_at, now, is_other);
            let view = changes
                .view
                .newest_at(seen_at, |recent| is_recent(recent) && is_other(recent));
            let found = newest_until(due, view.map(|recent| (recent, 0)), seen_at);
            if let Some((recent, _)) = &found {
                changes.decide.drop_through(recent.change.revision);
                changes.view.drop_through(recent.change.revision);
            }
            let creation = changes.creation.clone().filter(is_recent);
            found.or(creation.map(|recent| (recent, 0)))
        });
        let found = newest_until(own, of_dialect, seen_at);
        drop(all);
        found.map(|(recent, more)| self.shown_to(demand, &recent.change, more))
    }

    /// Takes the deletion of `demand`, whose end was observed at `seen_at`.
    pub(crate) fn take_gone(&self, demand: &Key, seen_at: Timestamp) -> Option<RecordCause> {
        let mut all = self.recent.lock();
        let changes = all.by_demand.get_mut(demand)?;
        let deletion = changes.deletion.take()?;
        let is_replaced = changes
            .creation
            .as_ref()
            .is_some_and(|creation| creation.change.revision > deletion.change.revision);
        match is_replaced {
            true => {
                changes.decide.drop_through(deletion.change.revision);
                changes.view.drop_through(deletion.change.revision);
            }
            false => drop(all.by_demand.remove(demand)),
        }
        drop(all);
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
        if !is_foreign || self.public_resources.contains(&change.key.resource) {
            return cause;
        }
        RecordCause {
            namespace: String::new(),
            name: String::new(),
            field_manager: String::new(),
            ..cause
        }
    }

    /// Forgets changes that can no longer be causes.
    pub(crate) fn sweep(&self) {
        let mut all = self.recent.lock();
        let now = self.clock.now();
        let keep = |changes: &mut DemandChanges| {
            changes.decide.drop_over(now);
            changes.view.drop_over(now);
            let moments = [&changes.creation, &changes.deletion].into_iter().flatten();
            let is_recent = moments
                .into_iter()
                .any(|recent| within(recent.at, now, MAX_DELAY));
            is_recent || !changes.decide.is_empty() || !changes.view.is_empty()
        };
        all.by_demand.retain(|_, changes| keep(changes));
        all.by_dialect.retain(|_, changes| keep(changes));
    }
}

fn within(then: Timestamp, now: Timestamp, span: Duration) -> bool {
    Duration::try_from(now.duration_since(then)).is_ok_and(|passed| passed <= span) || then >= now
}

fn newest(
    one: Option<(RecentChange, u64)>,
    other: Option<(RecentChange, u64)>,
) -> Option<(RecentChange, u64)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0.change.revision > one.0.change.revision => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// The newer of two changes, where a change up to `seen_at` is preferred to a later one.
fn newest_until(
    one: Option<(RecentChange, u64)>,
    other: Option<(RecentChange, u64)>,
    seen_at: Timestamp,
) -> Option<(RecentChange, u64)> {
    let is_late =
        |found: &Option<(RecentChange, u64)>| found.as_ref().is_some_and(|(recent, _)| recent.at > seen_at);
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
        let recent = RecentChange {
            change: Arc::new(changed),
            at: self.clock.now(),
        };
        let mut all = self.recent.lock();
        if all.by_demand.len() >= MAX_DECISIONS {
            all.by_demand.clear();
        }
        match &consequences.decide {
            AffectedDemands::None => {}
            AffectedDemands::Some(keys) => {
                for key in keys {
                    all.changes_of(key).decide.add(recent.clone());
                }
            }
            AffectedDemands::All => all
                .by_dialect
                .entry(dialect)
                .or_default()
                .decide
                .add(recent.clone()),
        }
        match &consequences.demands {
            AffectedDemands::None => {}
            AffectedDemands::Some(keys) => {
                for key in keys {
                    all.changes_of(key).view.add(recent.clone());
                }
            }
            AffectedDemands::All => all
                .by_dialect
                .entry(dialect)
                .or_default()
                .view
                .add(recent.clone()),
        }
        // The changed object may itself be a demand with recent changes.
        if let Some(changes) = all.by_demand.get_mut(&change.key) {
            match (&change.old, &change.new) {
                (_, None) => changes.deletion = Some(recent),
                (None, Some(_)) => changes.creation = Some(recent),
                (Some(_), Some(_)) => {}
            }
        }
    }
}

impl RecentChanges {
    fn changes_of(&mut self, key: &Key) -> &mut DemandChanges {
        if !self.by_demand.contains_key(key) {
            self.by_demand.insert(key.clone(), DemandChanges::default());
        }
        self.by_demand.entry(key.clone()).or_default()
    }
}

#[cfg(test)]
mod tests;
