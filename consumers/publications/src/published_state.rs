//! State of the published objects, which computed objects and the outcomes of writes change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use berth_apimachinery::{Key, Revision, Timestamp};
use berth_multicluster::CLUSTER_PROFILES;
use berth_scheduling_rest::updater::{AGAIN, Alarms, Item, Subject};

use super::deed::{Change, Task};
use super::make::{AllProfiles, MadeProfiles};
use super::outlet::Obstacle;
use super::pace::Pace;
use super::work::{DoneSlices, Outcome, Trouble};

/// Delay before a refused write is tried again.
const RETRY: jiff::SignedDuration = jiff::SignedDuration::from_secs(10);

/// State of the published objects, while this server publishes.
#[derive(Default)]
pub(super) struct PublishedState {
    pub(super) profiles: Arc<AllProfiles>,
    /// Subject of each object.
    pub(super) subjects: HashMap<Key, Item>,
    /// Obstacles of the objects that are not up to date.
    pub(super) problems: BTreeMap<Key, Obstacle>,
    /// The revisions that this publisher wrote.
    pub(super) written: HashMap<Key, Revision>,
    pub(super) paces: HashMap<Key, Pace>,
    pub(super) alarms: Alarms,
    /// The dialects whose objects are not completely known yet.
    pub(super) waiting: BTreeSet<&'static str>,
}

impl PublishedState {
    /// Records the profiles of one cluster: adds writes to `changes`, and the keys of unwanted profiles
    /// to `unwanted`. Returns whether the profiles differ from before.
    pub(super) fn take_profiles(
        &mut self,
        dialect: &'static str,
        profiles: MadeProfiles,
        changes: &mut Vec<Change>,
        unwanted: &mut Vec<Key>,
        now: Timestamp,
    ) -> bool {
        let item = (dialect, Subject::Target(Arc::clone(&profiles.cluster)));
        let mut alarm = profiles.due_at.map(|due| due.max(after(now, AGAIN)));
        for (key, deed) in profiles.deeds {
            self.subjects.insert(key.clone(), item.clone());
            match deed {
                Task::Nothing | Task::Leaving => {
                    self.problems.remove(&key);
                }
                Task::Foreign(maker) => {
                    self.problems.insert(key.clone(), name_conflict(&key, &maker));
                }
                Task::Write(change) => {
                    let pace = self.paces.get(&key).filter(|_| change.base.is_some());
                    match pace.and_then(|pace| pace.due(change.is_fast, now)) {
                        Some(due) => alarm = Some(alarm.map_or(due, |alarm| alarm.min(due))),
                        None => changes.push(change),
                    }
                }
            }
        }
        self.alarms.set(item, alarm);
        let all = Arc::make_mut(&mut self.profiles);
        let place = (dialect, profiles.cluster);
        let before = all.remove(&place).unwrap_or_default();
        let moved = before != profiles.profiles;
        let former = before
            .into_iter()
            .filter(|(namespace, name)| profiles.profiles.get(namespace) != Some(name));
        unwanted.extend(former.map(|(namespace, name)| Key::new(CLUSTER_PROFILES, &namespace, &name)));
        if !profiles.profiles.is_empty() {
            all.insert(place, profiles.profiles);
        }
        moved
    }

    /// Records the outcome for a decision's slices, and adds the namespaces with failures to
    /// `unfinished`.
    pub(super) fn take_slices(
        &mut self,
        dialect: &'static str,
        done: DoneSlices,
        unfinished: &mut HashSet<Arc<str>>,
        now: Timestamp,
    ) {
        let item = (dialect, Subject::Demand(done.demand));
        let current: HashSet<&Key> = done.slices.iter().collect();
        for key in &done.slices {
            self.subjects.insert(key.clone(), item.clone());
        }
        for (key, result) in done.outcomes {
            let is_done = result.is_ok();
            if !is_done {
                unfinished.insert(Arc::clone(&key.namespace));
                self.subjects.insert(key.clone(), item.clone());
            }
            let is_gone = is_done && !current.contains(&key);
            self.note((key.clone(), result), now);
            if is_gone {
                self.subjects.remove(&key);
                self.written.remove(&key);
            }
        }
    }

    /// Records the outcome for one object.
    pub(super) fn note(&mut self, (key, result): Outcome, now: Timestamp) {
        let known = self;
        let item = known.subjects.get(&key).cloned();
        let again = match result {
            Ok(revision) => {
                known.problems.remove(&key);
                known.written.insert(key, revision);
                None
            }
            Err(Trouble::Moved) => Some(AGAIN),
            Err(Trouble::Foreign(maker)) => {
                let problem = name_conflict(&key, &maker);
                known.problems.insert(key, problem);
                None
            }
            Err(Trouble::Refused(problem)) => {
                tracing::warn!(%key, problem, "cannot publish; retrying");
                known.problems.insert(key, ("Refused", problem));
                Some(RETRY)
            }
        };
        if let (Some(pause), Some(item)) = (again, item) {
            known.alarms.set(item, Some(after(now, pause)));
        }
    }
}

fn name_conflict(key: &Key, maker: &str) -> Obstacle {
    let text = format!("{key} is not Berth's, but was made by {maker}, and is left alone");
    ("NameTaken", text)
}

fn after(now: Timestamp, pause: jiff::SignedDuration) -> Timestamp {
    now.saturating_add(pause).unwrap_or(now)
}
