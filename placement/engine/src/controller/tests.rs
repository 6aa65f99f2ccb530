//! Controllers over a store in memory, a toy dialect and a clock moved by hand. No test waits for time: what
//! must not happen is shown by something later that has happened.

mod contested;
mod election;
mod overcommit;
mod overruled;
mod reconciling;
mod triggers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Key, SignedDuration, Timestamp};
use berth_dialect_contract::Outcome;
use berth_storage::{MemoryStore, Source, Step};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    Attempt, Controllers, FinishedStep, LeaderElector, Observer, Settings, SingleReplica, StepResult,
};
use crate::tests::{StoreCommitter, put};
use crate::{Committer, Engine};
use berth_dialect_toy::{BOXES, TOYS, Toys, object};

/// Time limit of a test's waits.
const DEADLINE: Duration = Duration::from_secs(30);

/// Counts what controllers do.
#[derive(Default)]
pub(super) struct Counter {
    attempts: Mutex<Vec<(Key, Option<Outcome>)>>,
    results: Mutex<Vec<StepResult>>,
    emptied: AtomicUsize,
    retries: AtomicUsize,
    skipped: AtomicUsize,
    leading: AtomicUsize,
    wake: Notify,
}

impl Observer for Counter {
    fn queued(&self, _: &'static str, depth: usize) {
        if depth == 0 {
            self.emptied.fetch_add(1, Ordering::Relaxed);
            self.wake.notify_waiters();
        }
    }
    fn stepped(&self, stepped: &FinishedStep<'_>) {
        self.results.lock().push(stepped.result);
        self.wake.notify_waiters();
    }
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, attempt: &Attempt<'_>) {
        let outcome = attempt.result.ok();
        self.attempts.lock().push((attempt.demand.clone(), outcome));
        self.wake.notify_waiters();
    }
    fn skipped(&self, _: &'static str, _: &Key) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        self.wake.notify_waiters();
    }
    fn retried(&self, _: &'static str) {
        self.retries.fetch_add(1, Ordering::Relaxed);
        self.wake.notify_waiters();
    }
    fn leading(&self, is_leading: bool) {
        if is_leading {
            self.leading.fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_waiters();
    }
}

impl Counter {
    pub(super) fn attempts(&self, demand: &Key) -> Vec<Option<Outcome>> {
        let attempts = self.attempts.lock();
        let of = attempts.iter().filter(|(key, _)| key == demand);
        of.map(|(_, outcome)| *outcome).collect()
    }

    pub(super) fn all(&self) -> usize {
        self.attempts.lock().len()
    }

    /// Waits until `is_so`, which must only look at what is counted here.
    pub(super) async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let mut woken = std::pin::pin!(self.wake.notified());
                woken.as_mut().enable();
                if is_so(self) {
                    return;
                }
                woken.await;
            }
        };
        let done = tokio::time::timeout(DEADLINE, waiting).await;
        assert!(
            done.is_ok(),
            "waited {DEADLINE:?} until {what}: {:?}",
            self.attempts.lock()
        );
    }
}

/// One replica.
pub(super) struct Replica {
    pub(super) engine: Arc<Engine>,
    pub(super) counter: Arc<Counter>,
    pub(super) controllers: Controllers,
    pub(super) open: Arc<AtomicBool>,
}

/// A store with a clock.
#[derive(Default)]
pub(super) struct World {
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<SteppedClock>,
    pub(super) reconcilers: Vec<&'static str>,
}

impl World {
    pub(super) fn replica(&self) -> Replica {
        self.replica_with(Arc::new(SingleReplica))
    }

    pub(super) fn replica_with(&self, elector: Arc<dyn LeaderElector>) -> Replica {
        self.replica_writing(elector, Arc::new(StoreCommitter(Arc::clone(&self.store))))
    }

    pub(super) fn replica_writing(
        &self,
        elector: Arc<dyn LeaderElector>,
        committer: Arc<dyn Committer>,
    ) -> Replica {
        let source = Arc::clone(&self.store) as Arc<dyn Source>;
        let engine = Engine::new(
            vec![Arc::new(Toys)],
            source,
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        );
        engine.spawn();
        let counter = Arc::new(Counter::default());
        let open = Arc::new(AtomicBool::new(true));
        let gate = Arc::clone(&open);
        let settings = Settings {
            dialects: vec!["toy"],
            reconcilers: self.reconcilers.clone(),
            committer,
            gate: Arc::new(move |_| gate.load(Ordering::Relaxed)),
            elector,
            observer: Arc::clone(&counter) as Arc<dyn Observer>,
        };
        let controllers = Controllers::spawn(&engine, &settings);
        Replica {
            engine,
            counter,
            controllers,
            open,
        }
    }

    pub(super) fn shelf(&self, name: &str, capacity: i64) {
        let key = Key::new(BOXES, "", name);
        put(
            &self.store,
            &key,
            &object("Box", "", name, json!({"capacity": capacity})),
        );
    }

    pub(super) fn toy(&self, name: &str) -> Key {
        self.toy_with(name, json!({}))
    }

    pub(super) fn toy_with(&self, name: &str, spec: Value) -> Key {
        let key = Key::new(TOYS, "ns", name);
        put(&self.store, &key, &object("Toy", "ns", name, spec));
        key
    }

    pub(super) fn edit(&self, key: &Key, edit: impl FnOnce(&mut Value)) {
        let list = self.store.cached(key.resource);
        let mut value = list.get(&key.namespace, &key.name).unwrap().parse();
        value["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        edit(&mut value);
        put(&self.store, key, &value);
    }

    pub(super) fn delete(&self, key: &Key) {
        let step = Step {
            verb: Verb::Delete,
            key: key.clone(),
            subresource: "",
            object: None,
            expect: berth_storage::Expect::Present,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
    }

    /// Number of toys in each box.
    pub(super) fn inside(&self, name: &str) -> usize {
        let toys = self.store.cached(TOYS);
        let inside = toys
            .items
            .values()
            .filter(|toy| toy.value()["spec"]["box"] == name);
        inside.count()
    }
}

impl Replica {
    /// Makes a new toy and waits until it is decided: everything that was due before has been taken in then.
    pub(super) async fn barrier(&self, world: &World, name: &str) {
        let key = world.toy(name);
        self.decided(&key, 1).await;
    }

    /// Waits until `demand` was decided `times` times.
    pub(super) async fn decided(&self, demand: &Key, times: usize) {
        let what = format!("{demand} is decided {times} times");
        self.counter
            .until(&what, |counter| counter.attempts(demand).len() >= times)
            .await;
    }

    /// Moves the clock, and lets the controllers look at it.
    pub(super) fn advance(&self, world: &World, seconds: i64) {
        world.clock.advance(SignedDuration::from_secs(seconds));
        self.controllers.clock_moved();
    }
}
