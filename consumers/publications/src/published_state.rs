//! State of the published objects. Computed objects and the outcomes of writes change it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use berth_apimachinery::{Key, Revision, Timestamp};
use berth_multicluster::CLUSTER_PROFILES;
use berth_scheduling_rest::updater::{AGAIN, Alarms, Item, Subject};

use super::deed::{Change, Task};
use super::make::{AllProfiles, ComputedProfiles};
use super::outlet::Obstacle;
use super::pace::Pace;
use super::work::{Outcome, SliceResults, Trouble};

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
    /// The dialects whose objects are not all known yet.
    pub(super) waiting: BTreeSet<&'static str>,
}

impl PublishedState {
    /// Records the profiles of one cluster: adds writes to `changes`, and the keys of unwanted profiles
    /// to `unwanted`. Returns whether the profiles differ from before.
    pub(super) fn take_profiles(
        &mut self,
        dialect: &'static str,
        profiles: ComputedProfiles,
        changes: &mut Vec<Change>,
        unwanted: &mut Vec<Key>,
        now: Timestamp,
    ) -> bool {
        let item = (dialect, Subject::Target(Arc::clone(&profiles.cluster)));
        let mut alarm = profiles.due_at.map(|due| due.max(after(now, AGAIN)));
        for (key, task) in profiles.tasks {
            self.subjects.insert(key.clone(), item.clone());
            match task {
                Task::Nothing | Task::Terminating => {
                    self.problems.remove(&key);
                }
                Task::Foreign(owner) => {
                    self.problems.insert(key.clone(), name_conflict(&key, &owner));
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
        let place_key = (dialect, profiles.cluster);
        let before = all.remove(&place_key).unwrap_or_default();
        let differs = before != profiles.profiles;
        let former = before
            .into_iter()
            .filter(|(namespace, name)| profiles.profiles.get(namespace) != Some(name));
        unwanted.extend(former.map(|(namespace, name)| Key::new(CLUSTER_PROFILES, &namespace, &name)));
        if !profiles.profiles.is_empty() {
            all.insert(place_key, profiles.profiles);
        }
        differs
    }

    /// Records the outcome for a decision's slices, and adds the namespaces with failures to
    /// `unfinished`.
    pub(super) fn take_slices(
        &mut self,
        dialect: &'static str,
        results: SliceResults,
        unfinished: &mut HashSet<Arc<str>>,
        now: Timestamp,
    ) {
        let item = (dialect, Subject::Demand(results.demand));
        let current: HashSet<&Key> = results.slices.iter().collect();
        for key in &results.slices {
            self.subjects.insert(key.clone(), item.clone());
        }
        for (key, result) in results.outcomes {
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
        let state = self;
        let item = state.subjects.get(&key).cloned();
        let retry_delay = match result {
            Ok(revision) => {
                state.problems.remove(&key);
                state.written.insert(key, revision);
                None
            }
            Err(Trouble::Moved) => Some(AGAIN),
            Err(Trouble::Foreign(owner)) => {
                let problem = name_conflict(&key, &owner);
                state.problems.insert(key, problem);
                None
            }
            Err(Trouble::Refused(problem)) => {
                tracing::warn!(%key, problem, "cannot publish; retrying");
                state.problems.insert(key, ("Refused", problem));
                Some(RETRY)
            }
        };
        if let (Some(delay), Some(item)) = (retry_delay, item) {
            state.alarms.set(item, Some(after(now, delay)));
        }
    }
}

fn name_conflict(key: &Key, owner: &str) -> Obstacle {
    let text = format!("{key} is not Berth's, but was made by {owner}, and is left alone");
    ("NameTaken", text)
}

fn after(now: Timestamp, delay: jiff::SignedDuration) -> Timestamp {
    now.saturating_add(delay).unwrap_or(now)
}
