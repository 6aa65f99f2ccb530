//! The publisher: updates published objects when the engine reports stale ones, when Publications,
//! namespaces or the objects themselves change, and when an object is due by time.

mod removal;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Key, SignedDuration, Timestamp};
use berth_dialect_contract::Dialect;
use berth_engine::{Dirty, Engine, MarkedSet, Snapshot, Subscription};
use berth_kubernetes::core::namespace;
use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS};
use berth_scheduling_rest::updater::{Alarms, Item, Subject};
use berth_storage::{Event, Scope, Source, Watch};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use super::PUBLICATIONS;
use super::compute::{self, ComputedProfiles, ComputedSlices};
use super::in_force::{self, PublicationInForce, PublicationVerdicts, Verdict};
use super::object_writer::{ObjectWriter, Obstacle};
use super::published_state::{PublishedState, RETRY};
use super::task;
use super::work;

/// Longest time between two runs, so that obstacles are checked again.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Highest number of problems in a message.
const NAMED: usize = 3;

/// Starts to publish through `writer` while `leading` is true, and to report the state of Publications.
/// Aborting the returned task ends both.
pub(super) fn spawn(
    engine: &Arc<Engine>,
    writer: Arc<dyn ObjectWriter>,
    leading: watch::Receiver<bool>,
    reports: watch::Sender<Vec<Verdict>>,
) -> JoinHandle<()> {
    let publisher = Publisher {
        subscription: engine.subscribe(),
        dialects: engine.dialects().cloned().collect(),
        engine: Arc::clone(engine),
        writer,
        leading,
        reports,
        judgement: None,
        repeats_all: false,
        has_leftovers: false,
        published_at: None,
        is_incomplete: false,
        published_state: PublishedState::default(),
    };
    tokio::spawn(publisher.run())
}

/// The targets, by cluster name, and the demands whose objects have to be published, by dialect.
type DueSubjects = BTreeMap<&'static str, (MarkedSet<Arc<str>>, MarkedSet<Key>)>;

/// Reason for a run of the publisher.
enum Trigger {
    /// Published objects of these dialects are stale.
    Stale(BTreeMap<&'static str, Dirty>),
    /// Watched objects have changed: Publications, namespaces or published objects.
    Changed(Vec<Arc<Event>>),
    /// Time has passed, leadership has changed, or the watch has started again.
    Check,
}

/// State of the task that publishes.
struct Publisher {
    engine: Arc<Engine>,
    dialects: Vec<Arc<dyn Dialect>>,
    writer: Arc<dyn ObjectWriter>,
    leading: watch::Receiver<bool>,
    reports: watch::Sender<Vec<Verdict>>,
    subscription: Arc<Subscription>,
    /// The verdicts by which all objects were published last; `None` before the first run, and after anything
    /// that may have been missed: an obstacle, a time without leadership, or the end of the watch.
    judgement: Option<PublicationVerdicts>,
    /// Whether the last run ended early, so that the next run publishes everything again.
    repeats_all: bool,
    /// Whether some objects could not be deleted, so that everything is published again after a pause.
    has_leftovers: bool,
    /// Time at which the last publication of all objects ended.
    published_at: Option<Timestamp>,
    /// Whether the last run could not compute some objects.
    is_incomplete: bool,
    published_state: PublishedState,
}

impl Publisher {
    async fn run(mut self) {
        let mut watching = self.watch();
        loop {
            let pause = self.published_state.alarms.pause(self.now()).min(CHECK_INTERVAL);
            tokio::select! {
                batch = self.subscription.next() => self.handle(Trigger::Stale(batch.dirty)).await,
                events = next(&mut watching) => match events {
                    Some(events) => self.handle(Trigger::Changed(events)).await,
                    None => {
                        watching = self.watch();
                        self.judgement = None;
                        self.handle(Trigger::Check).await;
                    }
                },
                () = changed(&mut self.leading) => self.handle(Trigger::Check).await,
                () = tokio::time::sleep(pause) => self.handle(Trigger::Check).await,
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    fn source(&self) -> &dyn Source {
        &**self.engine.source()
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        let scope = vec![
            PUBLICATIONS,
            namespace::RESOURCE,
            CLUSTER_PROFILES,
            PLACEMENT_DECISIONS,
        ];
        let source = self.source();
        source
            .watch(Scope::Many(scope), source.revision())
            .inspect_err(|error| tracing::warn!(%error, "cannot watch published objects; retrying"))
            .ok()
    }

    async fn handle(&mut self, trigger: Trigger) {
        if !*self.leading.borrow_and_update() || !self.engine.is_loaded() {
            self.suspend();
            return;
        }
        if let Err(obstacle) = self.writer.ready() {
            self.suspend();
            let judgement = in_force::judge(self.source(), &self.dialects);
            let can_judge = self.writer.can_judge().is_ok();
            self.report(&judgement, |published| {
                match can_judge && !published.rules.is_written() {
                    true => self.state(published),
                    false => Err(obstacle.clone()),
                }
            });
            return;
        }
        let repeats = self.repeats_all || (self.has_leftovers && !self.is_pausing());
        let is_judged = self.judgement.is_some() && !repeats && !self.may_change_judgement(&trigger);
        let is_new = !is_judged && self.judge();
        if is_new || repeats {
            self.publish_all().await;
        } else {
            self.publish_subjects(trigger).await;
        }
        if let Some(judgement) = &self.judgement {
            self.report(judgement, |published| self.state(published));
        }
    }

    /// Prepares for a run that publishes everything, once something can be published, and sets the alarms
    /// again. Until then nothing would take them, and a past alarm leaves no pause between runs.
    fn suspend(&mut self) {
        self.judgement = None;
        self.published_state.alarms = Alarms::default();
    }

    /// Whether it is too early to publish everything again for objects that could not be deleted. That
    /// repeats all refused writes, too, so the pause is theirs. After a clock was set back, it is not too
    /// early.
    fn is_pausing(&self) -> bool {
        self.published_at
            .is_some_and(|last| (SignedDuration::ZERO..RETRY).contains(&self.now().duration_since(last)))
    }

    /// Whether `trigger` may change the Publications in force.
    fn may_change_judgement(&self, trigger: &Trigger) -> bool {
        match trigger {
            Trigger::Stale(_) => false,
            Trigger::Check => true,
            Trigger::Changed(events) => events.iter().any(|event| match event.change.key.resource {
                CLUSTER_PROFILES => {
                    let states = [&event.change.old, &event.change.new];
                    states
                        .into_iter()
                        .flatten()
                        .any(|profile| !task::is_ours(profile))
                }
                PLACEMENT_DECISIONS => false,
                namespace::RESOURCE => {
                    let judgement = self.judgement.as_ref();
                    judgement.is_some_and(|judgement| judgement.namespaces.contains(&*event.change.key.name))
                }
                _ => true,
            }),
        }
    }

    /// Judges the Publications. Returns whether the verdicts are new, so that all objects have to be
    /// published again.
    fn judge(&mut self) -> bool {
        let judgement = in_force::judge(self.source(), &self.dialects);
        let is_new = self.judgement.as_ref() != Some(&judgement);
        self.judgement = Some(judgement);
        is_new
    }

    fn in_force(&self) -> &[PublicationInForce] {
        self.judgement
            .as_ref()
            .map_or(&[], |judgement| &judgement.in_force)
    }

    /// Publishes the targets and demands that `trigger` makes stale, those that are due by time, and all
    /// objects of dialects that have become complete.
    async fn publish_subjects(&mut self, trigger: Trigger) {
        let mut due = self.stale(trigger);
        for (dialect, subjects) in self.published_state.alarms.take(self.now()) {
            for subject in subjects {
                mark(&mut due, (dialect, subject));
            }
        }
        for dialect in self.published_state.waiting.clone() {
            if self.engine.complete(dialect).is_ok() {
                due.insert(dialect, (MarkedSet::All, MarkedSet::All));
            }
        }
        for (dialect, (targets, demands)) in due {
            self.publish(dialect, targets, demands).await;
        }
    }

    /// The targets and demands that `trigger` makes stale. If the copy of a new profile comes late from a
    /// hub, decisions were computed without it, so all of its system are stale.
    fn stale(&self, trigger: Trigger) -> DueSubjects {
        let mut due = DueSubjects::new();
        match trigger {
            Trigger::Stale(dirty) => {
                for (dialect, dirty) in dirty {
                    due.insert(dialect, (dirty.targets, union(dirty.demands, dirty.decide)));
                }
            }
            Trigger::Changed(events) => {
                for event in events {
                    let Some(item) = self.subject_of(&event) else {
                        continue;
                    };
                    if is_new_profile(&event) {
                        due.entry(item.0).or_default().1 = MarkedSet::All;
                    }
                    mark(&mut due, item);
                }
            }
            Trigger::Check => {}
        }
        due
    }

    /// The target or demand whose published object another client changed; `None` for a write of this
    /// publisher, and for an object that it did not publish.
    fn subject_of(&self, event: &Event) -> Option<Item> {
        let (key, new) = (&event.change.key, event.change.new.as_ref());
        let own = self.published_state.written.get(key);
        if new.is_some_and(|new| own.is_some_and(|own| new.revision() <= *own)) {
            return None;
        }
        self.published_state.subjects.get(key).cloned()
    }

    /// Publishes all objects again, and deletes objects that are not published any more.
    async fn publish_all(&mut self) {
        (self.repeats_all, self.has_leftovers, self.is_incomplete) = (false, false, false);
        self.published_state = PublishedState {
            limiters: std::mem::take(&mut self.published_state.limiters),
            ..PublishedState::default()
        };
        let dialects: Vec<&'static str> = self.dialects.iter().map(|dialect| dialect.name()).collect();
        let mut unfinished = HashSet::new();
        for dialect in dialects {
            unfinished.extend(self.publish(dialect, MarkedSet::All, MarkedSet::All).await);
        }
        self.sweep(unfinished).await;
        self.published_at = Some(self.now());
    }

    /// Publishes `targets` and `demands`. New profiles are written before decisions that refer to them, and
    /// unwanted profiles are deleted after the decisions that referred to them. The objects of a dialect that
    /// is not complete are left unchanged. Returns the namespaces in which a decision may still refer to an
    /// unwanted profile.
    async fn publish(
        &mut self,
        dialect: &'static str,
        targets: MarkedSet<Arc<str>>,
        demands: MarkedSet<Key>,
    ) -> HashSet<Arc<str>> {
        let snapshot = match self.engine.complete(dialect) {
            Ok(()) => self.engine.snapshot(dialect),
            Err(_) => None,
        };
        let Some(snapshot) = snapshot else {
            self.published_state.waiting.insert(dialect);
            return HashSet::new();
        };
        self.published_state.waiting.remove(dialect);
        if self.in_force().is_empty() {
            return HashSet::new();
        }
        let now = self.now();
        let clusters = self.clusters(dialect, targets, &snapshot);
        let computed = self.compute_profiles(&snapshot, clusters, now).await;
        let Some(computed) = self.computed(computed) else {
            return HashSet::new();
        };
        let (mut changes, mut unwanted, mut profiles_changed) = (Vec::new(), Vec::new(), false);
        for computed in computed {
            profiles_changed |=
                self.published_state
                    .record_profiles(dialect, computed, &mut changes, &mut unwanted, now);
        }
        profiles_changed |= changes.iter().any(|change| change.base.is_none());
        for change in changes.iter().filter(|change| change.base.is_some()) {
            let limiters = &mut self.published_state.limiters;
            let limiter = limiters.entry(change.key.clone()).or_default();
            limiter.record(change.is_frequent, now);
        }
        for outcome in work::write(&*self.writer, changes).await {
            self.published_state.record_outcome(outcome, now);
        }
        // A decision may refer to a profile that did not exist, or that was deleted.
        let demands = if profiles_changed { MarkedSet::All } else { demands };
        let demands = self.demands(dialect, demands, &snapshot);
        let computed = self.compute_slices(&snapshot, demands, now).await;
        let Some(computed) = self.computed(computed) else {
            return HashSet::new();
        };
        let decisions = work::write_slices(&*self.writer, computed).await;
        let unfinished = decisions.iter().flat_map(|results| &results.unfinished);
        let unfinished: HashSet<Arc<str>> = unfinished.cloned().collect();
        self.published_state.record_slices(dialect, decisions, now);
        self.remove_profiles(dialect, unwanted, &unfinished).await;
        unfinished
    }

    fn clusters(
        &self,
        dialect: &'static str,
        marked: MarkedSet<Arc<str>>,
        snapshot: &Snapshot,
    ) -> BTreeSet<Arc<str>> {
        match marked {
            MarkedSet::Some(names) => names,
            MarkedSet::All => {
                let inventory = &snapshot.inventory;
                let known = self
                    .published_state
                    .profiles
                    .keys()
                    .filter(|(system, _)| *system == dialect);
                (0..inventory.count())
                    .map(|candidate| inventory.cluster_name(candidate))
                    .chain(known.map(|(_, cluster)| Arc::clone(cluster)))
                    .collect()
            }
        }
    }

    fn demands(&self, dialect: &'static str, marked: MarkedSet<Key>, snapshot: &Snapshot) -> BTreeSet<Key> {
        match marked {
            MarkedSet::Some(keys) => keys,
            MarkedSet::All => {
                let known = self
                    .published_state
                    .subjects
                    .values()
                    .filter_map(|(system, subject)| match subject {
                        Subject::Demand(demand) if *system == dialect => Some(demand.clone()),
                        _ => None,
                    });
                snapshot.inventory.demands().into_iter().chain(known).collect()
            }
        }
    }

    async fn compute_profiles(
        &self,
        snapshot: &Snapshot,
        clusters: BTreeSet<Arc<str>>,
        now: Timestamp,
    ) -> Result<Vec<Option<ComputedProfiles>>, JoinError> {
        let (snapshot, in_force) = (snapshot.clone(), self.in_force().to_vec());
        let stored = self.source().cached(CLUSTER_PROFILES);
        let task = tokio::task::spawn_blocking(move || {
            let clusters = clusters.into_iter();
            clusters
                .map(|cluster| {
                    let subject = Arc::clone(&cluster);
                    ok_or_log(&subject, || {
                        compute::profiles(&snapshot, &in_force, &stored, cluster, now)
                    })
                })
                .collect()
        });
        task.await
    }

    async fn compute_slices(
        &self,
        snapshot: &Snapshot,
        demands: BTreeSet<Key>,
        now: Timestamp,
    ) -> Result<Vec<Option<ComputedSlices>>, JoinError> {
        let (snapshot, in_force) = (snapshot.clone(), self.in_force().to_vec());
        let profiles = Arc::clone(&self.published_state.profiles);
        let [stored_profiles, stored_slices] =
            [CLUSTER_PROFILES, PLACEMENT_DECISIONS].map(|resource| self.source().cached(resource));
        let task = tokio::task::spawn_blocking(move || {
            let demands = demands.into_iter();
            demands
                .map(|demand| {
                    let subject = demand.to_string();
                    ok_or_log(&subject, || {
                        compute::slices(
                            &snapshot,
                            &in_force,
                            &stored_slices,
                            &stored_profiles,
                            &profiles,
                            demand,
                            now,
                        )
                    })
                })
                .collect()
        });
        task.await
    }

    /// Returns the computed objects. If some were not computed, nothing is [swept](Self::sweep) in this run,
    /// since they are not known to be wanted. If the whole task ended early, the next run publishes everything
    /// again.
    fn computed<T>(&mut self, result: Result<Vec<Option<T>>, JoinError>) -> Option<Vec<T>> {
        match result {
            Ok(results) => {
                let count = results.len();
                let computed: Vec<T> = results.into_iter().flatten().collect();
                self.is_incomplete |= computed.len() < count;
                Some(computed)
            }
            Err(error) => {
                tracing::error!(%error, "cannot compute the objects to publish; trying again");
                self.repeats_all = true;
                None
            }
        }
    }

    /// Whether all objects of the Publication `published` are published, as far as the publisher knows.
    fn state(&self, published: &PublicationInForce) -> Result<(), Obstacle> {
        if let Some(obstacle) = published.obstacle() {
            return Err(obstacle);
        }
        let namespace = &published.rules.settings.namespace;
        let problems = self.published_state.problems.iter();
        let mut problems_here = problems
            .filter(|(key, _)| *key.namespace == **namespace)
            .map(|(_, problem)| problem);
        let first: Vec<&Obstacle> = problems_here.by_ref().take(NAMED).collect();
        let Some((reason, _)) = first.first() else {
            return Ok(());
        };
        let mut text: Vec<&str> = first.iter().map(|(_, problem)| problem.as_str()).collect();
        let more = match problems_here.count() {
            0 => String::new(),
            more => format!("and {more} more"),
        };
        text.extend(Some(more.as_str()).filter(|more| !more.is_empty()));
        Err((reason, text.join("; ")))
    }

    /// Reports the verdict on every Publication, and the `state` of every Publication in force.
    fn report(
        &self,
        judgement: &PublicationVerdicts,
        state: impl Fn(&PublicationInForce) -> Result<(), Obstacle>,
    ) {
        let mut verdicts = judgement.verdicts.clone();
        for verdict in &mut verdicts {
            let mut in_force = judgement.in_force.iter();
            let published = in_force.find(|published| published.name == verdict.name);
            verdict.published = published.map(&state);
        }
        self.reports.send_if_modified(|reports| {
            let is_new = *reports != verdicts;
            *reports = verdicts;
            is_new
        });
    }
}

fn mark(due: &mut DueSubjects, (dialect, subject): Item) {
    let (targets, demands) = due.entry(dialect).or_default();
    match subject {
        Subject::Target(cluster) => targets.mark(Some([cluster])),
        Subject::Demand(demand) => demands.mark(Some([demand])),
    }
}

/// Whether `event` makes a ClusterProfile one that decisions may refer to: one of Berth's.
fn is_new_profile(event: &Event) -> bool {
    let change = &event.change;
    let [was_ours, is_ours] =
        [&change.old, &change.new].map(|state| state.as_deref().is_some_and(task::is_ours));
    change.key.resource == CLUSTER_PROFILES && is_ours && !was_ours
}

fn union(one: MarkedSet<Key>, other: MarkedSet<Key>) -> MarkedSet<Key> {
    match (one, other) {
        (MarkedSet::Some(mut one), MarkedSet::Some(other)) => {
            one.extend(other);
            MarkedSet::Some(one)
        }
        _ => MarkedSet::All,
    }
}

/// Waits for changes. Returns `None` when the watch has ended or, without a watch, after [`CHECK_INTERVAL`].
async fn next(watching: &mut Option<Box<dyn Watch>>) -> Option<Vec<Arc<Event>>> {
    match watching {
        Some(watching) => {
            let events = watching.next(usize::MAX).await;
            let log =
                |error: &_| tracing::info!(%error, "the watch of published objects ended; watching again");
            events.inspect_err(log).ok()
        }
        None => {
            tokio::time::sleep(CHECK_INTERVAL).await;
            None
        }
    }
}

/// Waits until this server gains or loses leadership; waits for ever without leader election.
async fn changed(leading: &mut watch::Receiver<bool>) {
    if leading.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns the result of `compute` for `subject`. A panic is logged, so that it leaves out no other object.
fn ok_or_log<T>(subject: &str, compute: impl FnOnce() -> T) -> Option<T> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compute));
    if result.is_err() {
        tracing::error!(
            subject,
            "cannot compute the published objects; they stay as they are until the next change"
        );
    }
    result.ok()
}

#[cfg(test)]
mod tests;
