//! The updater: renders Targets and Decisions again when the engine marks them as stale, or when they
//! are due by time.
//!
//! Decisions on all demands of a large fleet take seconds. No reader waits for the comparison of observed
//! decisions: if a change makes many comparisons due, a few are made at once, and the others later, a few at
//! a time. After each few, the updater leaves as much time to other work as the comparisons took.

mod alarms;
mod renderer;
mod subject_index;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Key, Revision, Timestamp};
use berth_dialect_contract::config;
use berth_engine::{Batch, Dirty, MarkedSet, Snapshot, Subscription};
use berth_storage::{Expect, Step};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use self::alarms::Alarms;
use self::renderer::{ObjectDraft, RenderRequest, Renderer, VirtualObjects, render_each};
use self::subject_index::SubjectIndex;
use super::observed::Budget;
use super::projection::Projection;

/// Time for which changes are collected while no reader waits for them. If an object is created and bound
/// within this time, both changes are shown in one step, and the updater does not decide the object in
/// between.
const GATHER_TIME: Duration = Duration::from_millis(20);
/// Minimal delay before the next update of an object that is due by time.
pub const MIN_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// Subject of one virtual object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A target, by the system's own name of the cluster.
    Target(Arc<str>),
    /// A demand.
    Demand(Key),
}

/// A dialect's name, and one of the dialect's subjects.
pub type Item = (&'static str, Subject);

/// Starts the updater of `projection`, which runs until the handle is aborted.
///
/// Another scheduler has `grace` to decide like Berth before an observed decision reports a difference.
pub(super) fn spawn(projection: Arc<Projection>, grace: Duration) -> JoinHandle<()> {
    let subscription = projection.engine.subscribe();
    let updater = Updater {
        projection,
        subscription,
        grace,
        shown: HashMap::new(),
        alarms: Alarms::default(),
        modes: HashMap::new(),
        postponed: BTreeMap::new(),
        compared_last: "",
        next_comparison: Instant::now(),
    };
    tokio::spawn(updater.run())
}

/// Task that renders the virtual objects again when they may have changed.
struct Updater {
    projection: Arc<Projection>,
    subscription: Arc<Subscription>,
    grace: Duration,
    /// Subjects that have an object now, by dialect.
    shown: HashMap<&'static str, SubjectIndex>,
    /// Times at which objects have to be rendered again without a write.
    alarms: Alarms,
    /// The mode of each dialect when it was last checked.
    modes: HashMap<&'static str, Mode>,
    /// The observed demands whose comparison is postponed, by dialect.
    postponed: BTreeMap<&'static str, BTreeSet<Key>>,
    /// The dialect of the last postponed comparisons that were made.
    compared_last: &'static str,
    /// Earliest time of the next postponed comparisons: the last ones are followed by a pause of equal
    /// length.
    next_comparison: Instant,
}

/// Settings of a dialect on which all comparisons of its observed decisions depend. They may change although
/// no object of the dialect does.
#[derive(Clone, Copy, PartialEq)]
struct Mode {
    /// Whether demands of the dialect are decided here.
    decides: bool,
    /// Whether all objects of the dialect are known.
    is_complete: bool,
    /// The revision of the dialect's configuration.
    configuration: Revision,
}

impl Updater {
    async fn run(mut self) {
        loop {
            let pause = self.alarms.pause(self.projection.engine.clock().now());
            tokio::select! {
                () = self.subscription.changed() => {
                    self.gather().await;
                    let batch = self.subscription.next().await;
                    self.apply(batch).await;
                }
                () = self.projection.wake.notified() => self.update_due().await,
                () = tokio::time::sleep(pause) => self.update_due().await,
                () = tokio::time::sleep_until(self.next_comparison), if !self.postponed.is_empty() => self.compare().await,
            }
        }
    }

    /// Collects changes until a reader waits for them, for [`GATHER_TIME`] at most.
    async fn gather(&self) {
        if self.projection.is_ready() {
            tokio::select! {
                () = self.projection.awaited.notified() => {}
                () = tokio::time::sleep(GATHER_TIME) => {}
            }
        }
    }

    /// Renders the objects again that `batch` marks, and records the revision up to which all changes are
    /// shown.
    async fn apply(&mut self, mut batch: Batch) {
        for dialect in self.changed_modes() {
            batch.dirty.entry(dialect).or_default().decide = MarkedSet::All;
        }
        for (dialect, dirty) in batch.dirty {
            if let Some(snapshot) = self.projection.engine.snapshot(dialect) {
                let subjects = self.subjects(dialect, dirty, &snapshot);
                self.update(dialect, snapshot, subjects).await;
            }
        }
        self.projection.shown.send_replace(Some(batch.through));
    }

    /// Renders again the objects that are due by time, and the Decisions of dialects whose mode has changed
    /// without a stored change.
    async fn update_due(&mut self) {
        let mut due = self.alarms.take(self.projection.engine.clock().now());
        for dialect in self.changed_modes() {
            let demands = self
                .shown
                .get(dialect)
                .into_iter()
                .flat_map(SubjectIndex::demands);
            due.entry(dialect).or_default().extend(demands);
        }
        for (dialect, subjects) in due {
            if let Some(snapshot) = self.projection.engine.snapshot(dialect) {
                self.update(dialect, snapshot, subjects).await;
            }
        }
    }

    /// The dialects whose mode has changed since the last call of this method.
    fn changed_modes(&mut self) -> Vec<&'static str> {
        let engine = &self.projection.engine;
        let stored = engine.source().cached(config::RESOURCE);
        let dialects = engine.dialects().map(|dialect| dialect.name());
        let mut changed = Vec::new();
        for dialect in dialects {
            let revision = stored.get("", dialect).map(|object| object.revision());
            let mode = Mode {
                decides: engine.decides(dialect),
                is_complete: engine.complete(dialect).is_ok(),
                configuration: revision.unwrap_or_default(),
            };
            if self
                .modes
                .insert(dialect, mode)
                .is_some_and(|before| before != mode)
            {
                changed.push(dialect);
            }
        }
        changed
    }

    /// Makes some of the postponed comparisons.
    async fn compare(&mut self) {
        let start = Instant::now();
        let Some(dialect) = next_in_turn(&self.postponed, self.compared_last) else {
            return;
        };
        self.compared_last = dialect;
        let mut demands = self.postponed.remove(dialect).unwrap_or_default();
        let snapshot = self.projection.engine.snapshot(dialect);
        let mut subjects = BTreeSet::new();
        let mut budget = Budget::new();
        while let (Some(snapshot), Some(demand)) = (&snapshot, demands.first())
            && budget.allows(snapshot, demand)
        {
            subjects.extend(demands.pop_first().map(Subject::Demand));
        }
        if !demands.is_empty() && snapshot.is_some() {
            self.postponed.insert(dialect, demands);
        }
        if let Some(snapshot) = snapshot {
            self.update(dialect, snapshot, subjects).await;
        }
        self.next_comparison = Instant::now() + start.elapsed();
    }

    /// The subjects that `dirty` marks. If it marks all, the result includes deleted subjects that still have
    /// an object.
    fn subjects(&self, dialect: &'static str, dirty: Dirty, snapshot: &Snapshot) -> BTreeSet<Subject> {
        let inventory = &snapshot.inventory;
        let mut subjects = BTreeSet::new();
        match dirty.targets {
            MarkedSet::Some(names) => subjects.extend(names.into_iter().map(Subject::Target)),
            MarkedSet::All => {
                subjects.extend((0..inventory.count()).map(|ix| Subject::Target(inventory.cluster_name(ix))));
                let shown = self.shown.get(dialect).into_iter();
                subjects.extend(shown.flat_map(SubjectIndex::targets));
            }
        }
        for marked in [dirty.decide, dirty.demands] {
            match marked {
                MarkedSet::Some(keys) => subjects.extend(keys.into_iter().map(Subject::Demand)),
                MarkedSet::All => {
                    subjects.extend(inventory.demands().into_iter().map(Subject::Demand));
                    let shown = self.shown.get(dialect).into_iter();
                    subjects.extend(shown.flat_map(SubjectIndex::demands));
                }
            }
        }
        subjects
    }

    /// Renders the objects about `subjects` again, on a thread for blocking work, and stores the objects that
    /// differ.
    async fn update(&mut self, dialect: &'static str, snapshot: Snapshot, subjects: BTreeSet<Subject>) {
        if subjects.is_empty() {
            return;
        }
        let now = self.projection.engine.clock().now();
        let known = self.shown.entry(dialect).or_default();
        let requests: Vec<RenderRequest> = subjects
            .into_iter()
            .map(|subject| RenderRequest {
                name: known.name(&subject),
                compared: known.compared(&subject),
                subject,
            })
            .collect();
        let mut renderer = Renderer {
            engine: Arc::clone(&self.projection.engine),
            is_complete: self.projection.engine.complete(dialect).is_ok(),
            shown: VirtualObjects::of(&self.projection),
            budget: Budget::new(),
            grace: self.grace,
            snapshot,
            now,
        };
        let rendering = tokio::task::spawn_blocking(move || {
            render_each(dialect, requests, |request| renderer.render(request))
        });
        match rendering.await {
            Ok(drafts) => self.store(dialect, drafts, now),
            Err(error) => {
                tracing::error!(dialect, %error, "cannot compute Decisions and Targets; those served are out of date until the next change")
            }
        }
    }

    /// Stores the `drafts` that differ from the shown objects, and updates counts, alarms and postponed
    /// comparisons.
    fn store(&mut self, dialect: &'static str, drafts: Vec<ObjectDraft>, now: Timestamp) {
        let shown = VirtualObjects::of(&self.projection);
        let known = self.shown.entry(dialect).or_default();
        let mut postponed = self.postponed.remove(dialect).unwrap_or_default();
        let mut tallies = self.projection.tallies.lock();
        let mut steps = Vec::new();
        for rendered in drafts {
            let Some(key) = &rendered.key else { continue };
            let old = shown.get(key);
            let step = match (&rendered.draft, old) {
                (Some(draft), Some(old)) if draft.same_as(old) => None,
                (Some(_), Some(_)) => Some((Verb::Update, Expect::Present)),
                (Some(_), None) => Some((Verb::Create, Expect::Absent)),
                (None, Some(_)) => Some((Verb::Delete, Expect::Present)),
                (None, None) => None,
            };
            known.put(&rendered, |tally, by| tallies.add(dialect, tally, by));
            if let Subject::Demand(demand) = &rendered.subject {
                match rendered.is_postponed {
                    true => drop(postponed.insert(demand.clone())),
                    false => drop(postponed.remove(demand)),
                }
            }
            let ObjectDraft {
                subject,
                key: Some(key),
                draft,
                due_at,
                ..
            } = rendered
            else {
                continue;
            };
            self.alarms.set(
                (dialect, subject),
                due_at.map(|due| due.max(now.saturating_add(MIN_DELAY).unwrap_or(now))),
            );
            if let Some((verb, expect)) = step {
                steps.push(Step {
                    verb,
                    key,
                    subresource: "",
                    object: draft,
                    expect,
                    guards: Vec::new(),
                });
            }
        }
        drop(tallies);
        if !postponed.is_empty() {
            self.postponed.insert(dialect, postponed);
        }
        if let Err(error) = self.projection.store.commit(&steps) {
            tracing::error!(dialect, %error, "cannot cache Decisions and Targets; those served are out of date until the next change");
        }
    }
}

/// The dialect in `postponed` that follows `last`, or the first one: all dialects take turns.
fn next_in_turn<T>(postponed: &BTreeMap<&'static str, T>, last: &str) -> Option<&'static str> {
    let mut dialects = postponed.keys().copied();
    let next = dialects.find(|dialect| *dialect > last);
    next.or_else(|| postponed.keys().copied().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_with_postponed_comparisons_take_turns() {
        let postponed = BTreeMap::from([("a", ()), ("c", ())]);
        for (last, next) in [("", "a"), ("a", "c"), ("b", "c"), ("c", "a")] {
            assert_eq!(next_in_turn(&postponed, last), Some(next), "after {last}");
        }
        assert_eq!(next_in_turn::<()>(&BTreeMap::new(), "a"), None);
    }
}
