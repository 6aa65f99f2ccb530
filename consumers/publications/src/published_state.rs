//! The publisher's knowledge about the objects that it has published: wanted profiles, problems, and times of
//! the next checks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use berth_apimachinery::{Key, Revision, Timestamp};
use berth_multicluster::CLUSTER_PROFILES;
use berth_scheduling_rest::updater::{Alarms, Item, MIN_DELAY, Subject};

use super::compute::{AllProfiles, ComputedProfiles};
use super::object_writer::Obstacle;
use super::rate_limiter::RateLimiter;
use super::task::{Change, Task};
use super::work::{Outcome, SliceResults, WriteFailure};

/// Delay before a refused write is tried again.
pub(super) const RETRY: jiff::SignedDuration = jiff::SignedDuration::from_secs(10);

/// State of the published objects. Whenever all objects are published again, it starts empty except for the
/// limiters.
#[derive(Default)]
pub(super) struct PublishedState {
    /// The names of the wanted profiles of every cluster.
    pub(super) profiles: Arc<AllProfiles>,
    /// The target or demand that each published object shows.
    pub(super) subjects: HashMap<Key, Item>,
    /// Obstacles of the objects that are not up to date.
    pub(super) problems: BTreeMap<Key, Obstacle>,
    /// The last revision of each object that this publisher wrote.
    pub(super) written: HashMap<Key, Revision>,
    /// Limits on the writes of each profile.
    pub(super) limiters: HashMap<Key, RateLimiter>,
    /// Times at which targets and demands have to be checked again.
    pub(super) alarms: Alarms,
    /// The dialects whose objects are not all known yet.
    pub(super) waiting: BTreeSet<&'static str>,
}

impl PublishedState {
    /// Records the computed `profiles` of one cluster: adds the writes that are due to `changes`, and the
    /// keys of profiles that are no longer wanted to `unwanted`. Returns whether the names of the profiles
    /// have changed.
    pub(super) fn record_profiles(
        &mut self,
        dialect: &'static str,
        profiles: ComputedProfiles,
        changes: &mut Vec<Change>,
        unwanted: &mut Vec<Key>,
        now: Timestamp,
    ) -> bool {
        let item = (dialect, Subject::Target(Arc::clone(&profiles.cluster)));
        let mut alarm = profiles.due_at.map(|due| due.max(after(now, MIN_DELAY)));
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
                    let limiter = self.limiters.get(&key).filter(|_| change.base.is_some());
                    match limiter.and_then(|limiter| limiter.due(change.is_frequent, now)) {
                        Some(due) => alarm = Some(alarm.map_or(due, |alarm| alarm.min(due))),
                        None => changes.push(change),
                    }
                }
            }
        }
        self.alarms.set(item, alarm);
        let all = Arc::make_mut(&mut self.profiles);
        let cluster_key = (dialect, profiles.cluster);
        let before = all.remove(&cluster_key).unwrap_or_default();
        let differs = before != profiles.profiles;
        let former = before
            .into_iter()
            .filter(|(namespace, name)| profiles.profiles.get(namespace) != Some(name));
        unwanted.extend(former.map(|(namespace, name)| Key::new(CLUSTER_PROFILES, &namespace, &name)));
        if !profiles.profiles.is_empty() {
            all.insert(cluster_key, profiles.profiles);
        }
        differs
    }

    /// Records the outcomes for the slices of `decisions`.
    pub(super) fn record_slices(
        &mut self,
        dialect: &'static str,
        decisions: Vec<SliceResults>,
        now: Timestamp,
    ) {
        self.forget_slice_problems(dialect, &decisions);
        for results in decisions {
            self.record_decision(dialect, results, now);
        }
    }

    /// Removes the problems of slices of `decisions` that were not written now: such a slice is as wanted, or
    /// is no longer wanted. The problems of all decisions are removed at once, since there may be many.
    fn forget_slice_problems(&mut self, dialect: &'static str, decisions: &[SliceResults]) {
        let demands: HashSet<&Key> = decisions.iter().map(|results| &results.demand).collect();
        let outcomes = decisions.iter().flat_map(|results| &results.outcomes);
        let attempted: HashSet<&Key> = outcomes.map(|(key, _)| key).collect();
        let subjects = &self.subjects;
        self.problems.retain(|key, _| {
            let is_computed = matches!(
                subjects.get(key),
                Some((system, Subject::Demand(demand))) if *system == dialect && demands.contains(demand)
            );
            !is_computed || attempted.contains(key)
        });
    }

    /// Records the outcomes for the slices of one decision.
    fn record_decision(&mut self, dialect: &'static str, results: SliceResults, now: Timestamp) {
        let item = (dialect, Subject::Demand(results.demand));
        let current: HashSet<&Key> = results.slices.iter().collect();
        for key in &results.slices {
            self.subjects.insert(key.clone(), item.clone());
        }
        for (key, result) in results.outcomes {
            let is_done = result.is_ok();
            if !is_done {
                self.subjects.insert(key.clone(), item.clone());
            }
            let is_gone = is_done && !current.contains(&key);
            self.record_outcome((key.clone(), result), now);
            if is_gone {
                self.subjects.remove(&key);
                self.written.remove(&key);
            }
        }
    }

    /// Forgets the problems, limiters and own writes of the objects at `keys`, which are no longer published.
    pub(super) fn forget(&mut self, keys: &[Key]) {
        for key in keys {
            self.limiters.remove(key);
            self.problems.remove(key);
            self.written.remove(key);
        }
    }

    /// Records the outcome of the write of one object.
    pub(super) fn record_outcome(&mut self, (key, result): Outcome, now: Timestamp) {
        let item = self.subjects.get(&key).cloned();
        let retry_delay = match result {
            Ok(revision) => {
                self.problems.remove(&key);
                self.written.insert(key, revision);
                None
            }
            Err(WriteFailure::Conflict) => Some(MIN_DELAY),
            Err(WriteFailure::Foreign(owner)) => {
                let problem = name_conflict(&key, &owner);
                self.problems.insert(key, problem);
                None
            }
            Err(WriteFailure::Refused(problem)) => {
                tracing::warn!(%key, problem, "cannot publish; retrying");
                self.problems.insert(key, ("Refused", problem));
                Some(RETRY)
            }
        };
        if let (Some(delay), Some(item)) = (retry_delay, item) {
            self.alarms.set(item, Some(after(now, delay)));
        }
    }
}

fn name_conflict(key: &Key, owner: &str) -> Obstacle {
    let text =
        format!("{key} already exists, belongs to {owner} and is not changed: delete or rename that object");
    ("NameTaken", text)
}

fn after(now: Timestamp, delay: jiff::SignedDuration) -> Timestamp {
    now.saturating_add(delay).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;
    use berth_multicluster::PLACEMENT_DECISIONS;

    use super::*;

    /// Records that `slices` of one demand are wanted, and the `outcomes` of their writes.
    fn record(state: &mut PublishedState, slices: &[Key], outcomes: Vec<Outcome>) {
        let results = SliceResults {
            demand: Key::new(GroupResource::new("x.example", "requests"), "team", "web"),
            slices: slices.to_vec(),
            outcomes,
            unfinished: HashSet::new(),
        };
        state.record_slices("toy", vec![results], Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn the_problem_of_a_slice_ends_once_the_slice_is_as_wanted_or_no_longer_wanted() {
        let slices = [Key::new(PLACEMENT_DECISIONS, "n", "team.web.toy-0")];
        let refused = || {
            let failure = WriteFailure::Refused("the quota is exhausted".to_owned());
            vec![(slices[0].clone(), Err(failure))]
        };
        let mut state = PublishedState::default();
        record(&mut state, &slices, refused());
        assert_eq!(state.problems.len(), 1);
        record(&mut state, &slices, Vec::new());
        assert!(state.problems.is_empty(), "it is as wanted");
        record(&mut state, &slices, refused());
        record(&mut state, &slices, refused());
        assert_eq!(state.problems.len(), 1);
        record(&mut state, &[], Vec::new());
        assert!(state.problems.is_empty(), "it is not wanted");
    }

    #[test]
    fn nothing_is_remembered_of_an_object_that_is_no_longer_published() {
        let key = Key::new(CLUSTER_PROFILES, "n", "cluster1");
        let (mut state, problem) = (PublishedState::default(), name_conflict(&key, "KubeFleet"));
        state.problems.insert(key.clone(), problem);
        state.written.insert(key.clone(), Revision(7));
        state.forget(&[key]);
        assert!(state.problems.is_empty() && state.written.is_empty());
    }
}
