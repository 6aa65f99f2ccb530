//! The updater: makes Targets and Decisions anew when the engine says they are stale, or when their time has come.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::{Batch, Dirty, Marked, Snapshot, Subscription};
use meta::{Draft, GroupResource, Key, Object, Timestamp};
use storage::{Collection, Expect, Name, Source, Step, Verb};
use tokio::task::JoinHandle;

use super::names;
use super::projection::{CLUSTER_DECISIONS, DECISIONS, Projection, TARGETS};
use super::render::{self, Rendered};

/// How long changes fall together that nobody waits for: an object and its place, which follows at once, are shown by one
/// step then, and what is bound by the end of it is not decided to show that it was not yet.
const TOGETHER: Duration = Duration::from_millis(20);
/// The longest sleep before the clock is looked at again, since clocks can be set.
const NAP: Duration = Duration::from_secs(30);
/// How soon something that says its time has come already is looked at again, at the earliest.
pub const AGAIN: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// What one virtual object is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A target, by the system's own name of the cluster.
    Target(Arc<str>),
    /// A demand.
    Demand(Key),
}

/// A subject of a dialect.
pub type Item = (&'static str, Subject);

/// Starts the updater of `projection`. It runs until the handle is aborted.
pub(super) fn spawn(projection: Arc<Projection>) -> JoinHandle<()> {
    let subscription = projection.engine.subscribe();
    let updater = Updater {
        projection,
        subscription,
        shown: HashMap::new(),
        alarms: Alarms::default(),
    };
    tokio::spawn(updater.run())
}

struct Updater {
    projection: Arc<Projection>,
    subscription: Arc<Subscription>,
    /// What there are objects about, by dialect.
    shown: HashMap<&'static str, Subjects>,
    alarms: Alarms,
}

/// What there are objects about, to find those of subjects that are gone.
#[derive(Default)]
struct Subjects {
    /// Targets, with the names of their objects: a dialect may call a cluster otherwise.
    targets: HashMap<Arc<str>, Arc<str>>,
    demands: HashSet<Key>,
}

impl Subjects {
    /// The object about `subject` is at `place` from now on, or nowhere.
    fn put(&mut self, subject: &Subject, place: Option<&Key>) {
        match (subject, place) {
            (Subject::Target(cluster), Some(place)) => {
                self.targets.insert(Arc::clone(cluster), Arc::clone(&place.name));
            }
            (Subject::Target(cluster), None) => drop(self.targets.remove(cluster)),
            (Subject::Demand(demand), Some(_)) => drop(self.demands.insert(demand.clone())),
            (Subject::Demand(demand), None) => drop(self.demands.remove(demand)),
        }
    }

    /// The name of the object about `subject`, where that is not told by the subject itself.
    fn name(&self, subject: &Subject) -> Option<Arc<str>> {
        match subject {
            Subject::Target(cluster) => self.targets.get(cluster).cloned(),
            Subject::Demand(_) => None,
        }
    }
}

/// One made object (or, with `None`, one that is no more).
struct Made {
    subject: Subject,
    key: Option<Key>,
    draft: Option<Draft>,
    due_at: Option<Timestamp>,
}

impl Updater {
    async fn run(mut self) {
        loop {
            let pause = self.alarms.pause(self.projection.engine.clock().now());
            tokio::select! {
                () = self.subscription.changed() => {
                    self.gather().await;
                    let batch = self.subscription.next().await;
                    self.take_in(batch).await;
                }
                () = self.projection.wake.notified() => self.ring().await,
                () = tokio::time::sleep(pause) => self.ring().await,
            }
        }
    }

    /// Lets changes fall together until somebody waits for them.
    async fn gather(&self) {
        if self.projection.is_ready() {
            tokio::select! {
                () = self.projection.awaited.notified() => {}
                () = tokio::time::sleep(TOGETHER) => {}
            }
        }
    }

    async fn take_in(&mut self, batch: Batch) {
        for (dialect, dirty) in batch.dirty {
            if let Some(snapshot) = self.projection.engine.snapshot(dialect) {
                let subjects = self.subjects(dialect, dirty, &snapshot);
                self.renew(dialect, snapshot, subjects).await;
            }
        }
        self.projection.shown.send_replace(Some(batch.through));
    }

    /// Renews what time has changed.
    async fn ring(&mut self) {
        let due = self.alarms.take(self.projection.engine.clock().now());
        for (dialect, subjects) in due {
            if let Some(snapshot) = self.projection.engine.snapshot(dialect) {
                self.renew(dialect, snapshot, subjects).await;
            }
        }
    }

    /// The subjects that are marked: where all are, those that are there and those that were.
    fn subjects(&self, dialect: &'static str, dirty: Dirty, snapshot: &Snapshot) -> BTreeSet<Subject> {
        let inventory = &snapshot.inventory;
        let mut subjects = BTreeSet::new();
        match dirty.targets {
            Marked::Some(names) => subjects.extend(names.into_iter().map(Subject::Target)),
            Marked::All => {
                subjects.extend((0..inventory.count()).map(|ix| Subject::Target(inventory.cluster_name(ix))));
                let shown = self.shown.get(dialect).into_iter();
                subjects.extend(shown.flat_map(|shown| shown.targets.keys().cloned().map(Subject::Target)));
            }
        }
        for marked in [dirty.decide, dirty.demands] {
            match marked {
                Marked::Some(keys) => subjects.extend(keys.into_iter().map(Subject::Demand)),
                Marked::All => {
                    subjects.extend(inventory.demands().into_iter().map(Subject::Demand));
                    let shown = self.shown.get(dialect).into_iter();
                    subjects
                        .extend(shown.flat_map(|shown| shown.demands.iter().cloned().map(Subject::Demand)));
                }
            }
        }
        subjects
    }

    /// Makes the objects about `subjects` anew, away from the async threads, and stores those that differ.
    async fn renew(&mut self, dialect: &'static str, snapshot: Snapshot, subjects: BTreeSet<Subject>) {
        if subjects.is_empty() {
            return;
        }
        let shown = Shown::of(&self.projection);
        let now = self.projection.engine.clock().now();
        let known = self.shown.entry(dialect).or_default();
        let subjects: Vec<(Subject, Option<Arc<str>>)> = subjects
            .into_iter()
            .map(|subject| {
                let name = known.name(&subject);
                (subject, name)
            })
            .collect();
        let making = tokio::task::spawn_blocking(move || {
            subjects
                .into_iter()
                .map(|(subject, name)| make(&snapshot, &shown, subject, name, now))
                .collect::<Vec<_>>()
        });
        match making.await {
            Ok(made) => self.store(dialect, made, now),
            Err(error) => {
                tracing::error!(dialect, %error, "cannot compute Decisions and Targets; those served are out of date until the next change")
            }
        }
    }

    fn store(&mut self, dialect: &'static str, made: Vec<Made>, now: Timestamp) {
        let shown = Shown::of(&self.projection);
        let mut steps = Vec::new();
        for Made {
            subject,
            key,
            draft,
            due_at,
        } in made
        {
            let Some(key) = key else { continue };
            let old = shown.get(&key);
            let step = match (&draft, old) {
                (Some(draft), Some(old)) if draft.same_as(old) => None,
                (Some(_), Some(_)) => Some((Verb::Update, Expect::Present)),
                (Some(_), None) => Some((Verb::Create, Expect::Absent)),
                (None, Some(_)) => Some((Verb::Delete, Expect::Present)),
                (None, None) => None,
            };
            let known = self.shown.entry(dialect).or_default();
            known.put(&subject, draft.as_ref().map(|_| &key));
            self.alarms.set(
                (dialect, subject),
                due_at.map(|due| due.max(now.saturating_add(AGAIN).unwrap_or(now))),
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
        if let Err(error) = self.projection.store.commit(&steps) {
            tracing::error!(dialect, %error, "cannot cache Decisions and Targets; those served are out of date until the next change");
        }
    }
}

/// The virtual objects as they are.
struct Shown(BTreeMap<GroupResource, Collection>);

impl Shown {
    fn of(projection: &Projection) -> Self {
        let resources = [TARGETS, DECISIONS, CLUSTER_DECISIONS];
        Self(
            resources
                .into_iter()
                .map(|resource| (resource, projection.store.cached(resource)))
                .collect(),
        )
    }

    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let name = Name {
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&key.name),
        };
        self.0.get(&key.resource)?.items.get(&name)
    }
}

/// Makes the object about `subject`, a target's of that `name` if it was made before.
fn make(
    snapshot: &Snapshot,
    shown: &Shown,
    subject: Subject,
    name: Option<Arc<str>>,
    now: Timestamp,
) -> Made {
    let (key, rendered) = match &subject {
        Subject::Target(cluster) => snapshot
            .inventory
            .target_of(cluster, now)
            .map(|(name, view)| {
                let dialect = snapshot.dialect.name();
                let key = Key::new(TARGETS, "", &names::join(&name, dialect));
                let old = shown.get(&key).map(|old| &**old);
                let rendered = render::target(dialect, &key.name, &view, now, old);
                (key, rendered)
            })
            .unzip(),
        Subject::Demand(demand) => {
            let key = decision_key(snapshot, demand);
            let old = shown.get(&key).map(|old| &**old);
            let rendered = render::decision(snapshot, demand, now, old);
            (Some(key), rendered)
        }
    };
    let key = key.or_else(|| name.map(|name| Key::new(TARGETS, "", &name)));
    match rendered.map(|Rendered { value, due_at }| (Draft::new(&value), due_at)) {
        Some((Ok(draft), due_at)) => Made {
            subject,
            key,
            draft: Some(draft),
            due_at,
        },
        Some((Err(error), _)) => {
            tracing::error!(?subject, %error, "cannot build a Decision or Target, which is not served until its object changes; report it as a bug, with this line");
            Made {
                subject,
                key,
                draft: None,
                due_at: None,
            }
        }
        None => Made {
            subject,
            key,
            draft: None,
            due_at: None,
        },
    }
}

fn decision_key(snapshot: &Snapshot, demand: &Key) -> Key {
    let (namespace, name) = names::place(&*snapshot.dialect, demand);
    let resource = if namespace.is_empty() {
        CLUSTER_DECISIONS
    } else {
        DECISIONS
    };
    Key::new(resource, &namespace, &name)
}

/// When time alone may change which object.
#[derive(Default)]
pub struct Alarms {
    at: BTreeSet<(Timestamp, Item)>,
    of: HashMap<Item, Timestamp>,
}

impl Alarms {
    /// Has `item` looked at again at `at`, or no longer.
    pub fn set(&mut self, item: Item, at: Option<Timestamp>) {
        if let Some(before) = self.of.remove(&item) {
            self.at.remove(&(before, item.clone()));
        }
        if let Some(at) = at {
            self.at.insert((at, item.clone()));
            self.of.insert(item, at);
        }
    }

    /// Takes out what is due at `now`, by dialect.
    pub fn take(&mut self, now: Timestamp) -> BTreeMap<&'static str, BTreeSet<Subject>> {
        let mut due: BTreeMap<_, BTreeSet<Subject>> = BTreeMap::new();
        while let Some((at, _)) = self.at.first()
            && *at <= now
            && let Some((_, item)) = self.at.pop_first()
        {
            self.of.remove(&item);
            due.entry(item.0).or_default().insert(item.1);
        }
        due
    }

    /// How long to sleep at `now`.
    pub fn pause(&self, now: Timestamp) -> Duration {
        let Some((at, _)) = self.at.first() else {
            return NAP;
        };
        Duration::try_from(at.duration_since(now))
            .unwrap_or_default()
            .min(NAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn alarms_ring_once_and_can_be_moved() {
        let item = |name: &str| ("toy", Subject::Target(name.into()));
        let mut alarms = Alarms::default();
        alarms.set(item("a"), Some(at(10)));
        alarms.set(item("b"), Some(at(20)));
        alarms.set(item("a"), Some(at(15)));
        assert_eq!(alarms.pause(at(12)), Duration::from_secs(3));
        assert!(alarms.take(at(14)).is_empty());
        assert_eq!(alarms.take(at(15))["toy"].len(), 1);
        alarms.set(item("b"), None);
        assert!(alarms.take(at(99)).is_empty());
        assert_eq!(alarms.pause(at(99)), NAP);
    }
}
