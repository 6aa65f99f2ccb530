//! The updater: publishes anew what the engine says is stale, what Publications change, and what time changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use engine::{Batch, Dirty, Marked, Snapshot, Subscription};
use meta::{Draft, Key, Object, Revision, Timestamp};
use multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS};
use storage::{Expect, Scope, Source, Step, Verb, Watch};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::PUBLICATIONS;
use super::in_force::{self, Verdict};
use super::make::{self, AllProfiles, Change, MadeProfiles, MadeSlices};
use super::spec::Rules;
use crate::virtual_api::projection::Projection;
use crate::virtual_api::updater::{AGAIN, Alarms, Subject};

/// How soon Publications that could not be watched are watched again.
const RETRY: Duration = Duration::from_secs(5);

/// Starts the updater of `projection`, which tells `verdicts` of Publications. It runs until the handle is aborted.
pub(super) fn spawn(projection: Arc<Projection>, verdicts: watch::Sender<Vec<Verdict>>) -> JoinHandle<()> {
    let subscription = projection.engine.subscribe();
    let updater = Updater {
        projection,
        subscription,
        verdicts,
        judged: None,
        rules: Arc::default(),
        profiles: Arc::default(),
        slices: HashMap::new(),
        alarms: Alarms::default(),
    };
    tokio::spawn(updater.run())
}

struct Updater {
    projection: Arc<Projection>,
    subscription: Arc<Subscription>,
    verdicts: watch::Sender<Vec<Verdict>>,
    /// The Publications that were judged last, each as it was.
    judged: Option<Vec<(String, Revision)>>,
    rules: Arc<Vec<Arc<Rules>>>,
    /// The profiles of every cluster that has some.
    profiles: Arc<AllProfiles>,
    /// The slices of every decision that has some, by dialect.
    slices: HashMap<(&'static str, Key), Vec<Key>>,
    alarms: Alarms,
}

impl Updater {
    async fn run(mut self) {
        let mut publications = self.watch();
        loop {
            let pause = self.alarms.pause(self.projection.engine.clock().now());
            tokio::select! {
                changed = changed(&mut publications) => {
                    if !changed {
                        publications = self.watch();
                    }
                    self.look().await;
                }
                batch = self.subscription.next() => self.take_in(batch).await,
                () = self.projection.wake.notified() => self.ring().await,
                () = tokio::time::sleep(pause) => self.ring().await,
            }
        }
    }

    /// A watch of Publications: no dialect reads them, so the engine does not say when they change.
    fn watch(&self) -> Option<Box<dyn Watch>> {
        let source = self.projection.engine.source();
        source
            .watch(Scope::One(PUBLICATIONS), source.revision())
            .inspect_err(|error| tracing::warn!(%error, "cannot watch Publications; retrying"))
            .ok()
    }

    /// Publishes everything anew if Publications say something else than before.
    async fn look(&mut self) {
        if self.judge() {
            let everything = self.everything();
            self.publish(everything).await;
        }
    }

    fn everything(&self) -> BTreeMap<&'static str, Dirty> {
        let dialects = self.projection.engine.dialects();
        dialects
            .map(|dialect| (dialect.name(), Dirty::everything()))
            .collect()
    }

    async fn take_in(&mut self, batch: Batch) {
        let dirty = if self.judge() {
            self.everything()
        } else {
            batch.dirty
        };
        self.publish(dirty).await;
        self.projection.shown.send_replace(Some(batch.through));
    }

    async fn publish(&mut self, dirty: BTreeMap<&'static str, Dirty>) {
        for (dialect, dirty) in dirty {
            let Some(snapshot) = self.projection.engine.snapshot(dialect) else {
                continue;
            };
            let targets = self.targets(dialect, dirty.targets, &snapshot);
            let mut demands = self.demands(dialect, dirty.demands, &snapshot);
            demands.extend(self.demands(dialect, dirty.decide, &snapshot));
            self.renew(dialect, snapshot, targets, demands).await;
        }
    }

    /// Renews what time has changed.
    async fn ring(&mut self) {
        let due = self.alarms.take(self.projection.engine.clock().now());
        for (dialect, subjects) in due {
            let targets = subjects.into_iter().filter_map(|subject| match subject {
                Subject::Target(cluster) => Some(cluster),
                Subject::Demand(_) => None,
            });
            if let Some(snapshot) = self.projection.engine.snapshot(dialect) {
                self.renew(dialect, snapshot, targets.collect(), BTreeSet::new())
                    .await;
            }
        }
    }

    /// Judges the Publications if any has changed. Whether what is in force may be different.
    fn judge(&mut self) -> bool {
        let engine = &self.projection.engine;
        let stored: Vec<Arc<Object>> = engine
            .source()
            .cached(PUBLICATIONS)
            .items
            .values()
            .cloned()
            .collect();
        let versions: Vec<(String, Revision)> = stored
            .iter()
            .map(|object| (object.meta().name.clone(), object.revision()))
            .collect();
        if self.judged.as_ref() == Some(&versions) {
            return false;
        }
        let systems: Vec<&'static str> = engine.dialects().map(|dialect| dialect.name()).collect();
        let (rules, verdicts) = in_force::judge(&stored, &systems);
        self.judged = Some(versions);
        self.verdicts.send_replace(verdicts);
        if *self.rules == rules {
            return false;
        }
        self.rules = Arc::new(rules);
        true
    }

    fn targets(
        &self,
        dialect: &'static str,
        marked: Marked<Arc<str>>,
        snapshot: &Snapshot,
    ) -> BTreeSet<Arc<str>> {
        match marked {
            Marked::Some(names) => names,
            Marked::All => {
                let inventory = &snapshot.inventory;
                let known = self.profiles.keys().filter(|(of, _)| *of == dialect);
                (0..inventory.count())
                    .map(|candidate| inventory.cluster_name(candidate))
                    .chain(known.map(|(_, cluster)| Arc::clone(cluster)))
                    .collect()
            }
        }
    }

    fn demands(&self, dialect: &'static str, marked: Marked<Key>, snapshot: &Snapshot) -> BTreeSet<Key> {
        match marked {
            Marked::Some(keys) => keys,
            Marked::All => {
                let known = self.slices.keys().filter(|(of, _)| *of == dialect);
                let all = snapshot.inventory.demands().into_iter();
                all.chain(known.map(|(_, demand)| demand.clone())).collect()
            }
        }
    }

    /// Publishes `targets` and `demands` anew: new profiles before decisions that refer to them, and those that go after
    /// the decisions that did, all at once.
    async fn renew(
        &mut self,
        dialect: &'static str,
        snapshot: Snapshot,
        targets: BTreeSet<Arc<str>>,
        mut demands: BTreeSet<Key>,
    ) {
        let nothing_is_shown = self.rules.is_empty() && self.profiles.is_empty() && self.slices.is_empty();
        if nothing_is_shown || (targets.is_empty() && demands.is_empty()) {
            return;
        }
        let now = self.projection.engine.clock().now();
        let Some(profiles) = self.make_profiles(&snapshot, targets, now).await else {
            return;
        };
        let mut steps = Steps::default();
        let mut gone = Vec::new();
        let mut moved = false;
        for made in profiles {
            moved |= self.take_profiles(dialect, made, &mut steps, &mut gone, now);
        }
        if moved {
            // A decision may refer to what was not there, or to what is no more.
            demands.extend(self.demands(dialect, Marked::All, &snapshot));
        }
        let Some(slices) = self.make_slices(dialect, &snapshot, demands, now).await else {
            return;
        };
        for made in slices {
            let key = (dialect, made.demand);
            if made.slices.is_empty() {
                self.slices.remove(&key);
            } else {
                self.slices.insert(key, made.slices);
            }
            steps.0.extend(made.changes);
        }
        steps.0.extend(gone.into_iter().map(|key| (key, None)));
        self.store(dialect, steps);
    }

    async fn make_profiles(
        &self,
        snapshot: &Snapshot,
        targets: BTreeSet<Arc<str>>,
        now: Timestamp,
    ) -> Option<Vec<MadeProfiles>> {
        let (snapshot, rules) = (snapshot.clone(), Arc::clone(&self.rules));
        let shown = self.projection.store.cached(CLUSTER_PROFILES);
        let making = tokio::task::spawn_blocking(move || {
            let clusters = targets.into_iter();
            clusters
                .map(|cluster| make::profiles(&snapshot, &rules, &shown, cluster, now))
                .collect()
        });
        finished(making.await)
    }

    async fn make_slices(
        &self,
        dialect: &'static str,
        snapshot: &Snapshot,
        demands: BTreeSet<Key>,
        now: Timestamp,
    ) -> Option<Vec<MadeSlices>> {
        let demands: Vec<(Key, Vec<Key>)> = demands
            .into_iter()
            .map(|demand| {
                let item = (dialect, demand);
                let before = self.slices.get(&item).cloned().unwrap_or_default();
                (item.1, before)
            })
            .collect();
        let (snapshot, rules, profiles) = (
            snapshot.clone(),
            Arc::clone(&self.rules),
            Arc::clone(&self.profiles),
        );
        let shown = self.projection.store.cached(PLACEMENT_DECISIONS);
        let making = tokio::task::spawn_blocking(move || {
            let demands = demands.into_iter();
            demands
                .map(|demand| make::slices(&snapshot, &rules, &shown, &profiles, demand, now))
                .collect()
        });
        finished(making.await)
    }

    /// Takes in the profiles of one cluster: what they become to `steps`, those that are no more to `gone`. Whether there
    /// are others than before.
    fn take_profiles(
        &mut self,
        dialect: &'static str,
        made: MadeProfiles,
        steps: &mut Steps,
        gone: &mut Vec<Key>,
        now: Timestamp,
    ) -> bool {
        let soon = now.saturating_add(AGAIN).unwrap_or(now);
        let alarm = made.due_at.map(|due| due.max(soon));
        self.alarms
            .set((dialect, Subject::Target(Arc::clone(&made.cluster))), alarm);
        steps.0.extend(made.changes);
        let all = Arc::make_mut(&mut self.profiles);
        let item = (dialect, made.cluster);
        let before = all.remove(&item).unwrap_or_default();
        let moved = before != made.profiles;
        let lost = before
            .into_iter()
            .filter(|(namespace, name)| made.profiles.get(namespace) != Some(name));
        gone.extend(lost.map(|(namespace, name)| Key::new(CLUSTER_PROFILES, &namespace, &name)));
        if !made.profiles.is_empty() {
            all.insert(item, made.profiles);
        }
        moved
    }

    fn store(&self, dialect: &'static str, steps: Steps) {
        let store = &self.projection.store;
        let shown =
            [CLUSTER_PROFILES, PLACEMENT_DECISIONS].map(|resource| (resource, store.cached(resource)));
        let old = |key: &Key| {
            let (_, shown) = shown.iter().find(|(resource, _)| *resource == key.resource)?;
            shown.get(&key.namespace, &key.name)
        };
        let steps: Vec<Step> = steps
            .0
            .into_iter()
            .filter_map(|(key, draft)| step(old(&key).map(|old| &**old), key, draft))
            .collect();
        if let Err(error) = store.commit(&steps) {
            tracing::error!(dialect, %error, "cannot cache what is published");
        }
    }
}

/// Waits for a change; false when the watch has ended, or after a while where there is none.
async fn changed(watching: &mut Option<Box<dyn Watch>>) -> bool {
    match watching {
        Some(watching) => watching.next(usize::MAX).await.is_ok(),
        None => {
            tokio::time::sleep(RETRY).await;
            false
        }
    }
}

/// What objects become, in order.
#[derive(Default)]
struct Steps(Vec<Change>);

fn step(old: Option<&Object>, key: Key, draft: Option<Draft>) -> Option<Step> {
    let (verb, expect) = match (&draft, old) {
        (Some(draft), Some(old)) if draft.same_as(old) => return None,
        (Some(_), Some(_)) => (Verb::Update, Expect::Present),
        (Some(_), None) => (Verb::Create, Expect::Absent),
        (None, Some(_)) => (Verb::Delete, Expect::Present),
        (None, None) => return None,
    };
    Some(Step {
        verb,
        key,
        subresource: "",
        object: draft,
        expect,
        guards: Vec::new(),
    })
}

fn finished<T>(made: Result<T, tokio::task::JoinError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error) => {
            tracing::error!(%error, "cannot make what is published");
            None
        }
    }
}
