//! Clients that read and write the same few keys concurrently while the store is disturbed, and the checks of
//! everything that they and the watchers received.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use berth_apimachinery::{Key, Revision};
use berth_storage::conformance::{THINGS, create, delete, thing, update, value};
use berth_storage::{At, Expect, Scope, Step, StepResult, Store, StoreError, Watch};
use tokio::task::JoinHandle;

use crate::linear::{Action, Operation, check};

/// Keys that all clients use.
const KEYS: usize = 4;
/// Number of answers after which the clients stop: the check of the history must take only seconds.
const ENOUGH: u64 = 6_000;
/// Time limit for watchers to receive everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Operations of one client.
#[derive(Default)]
struct Record {
    /// Operations by key.
    operations: Vec<(usize, Operation)>,
    /// Every acknowledged write: revision to key and new value.
    acknowledged: BTreeMap<Revision, (Key, Option<i64>)>,
}

/// Clients and watchers at work.
pub struct Workload {
    stop: Arc<AtomicBool>,
    /// Number of answered operations.
    answered: Arc<AtomicU64>,
    clients: Vec<JoinHandle<Record>>,
    watches: Vec<Box<dyn Watch>>,
    stores: Vec<Arc<dyn Store>>,
}

/// Statistics of a successful run.
#[derive(Debug)]
pub struct Summary {
    /// Writes with an unknown outcome.
    pub unknown: usize,
    /// Acknowledged writes.
    pub acknowledged: usize,
}

fn key(index: usize) -> Key {
    thing("shared", &format!("k{index}"))
}

impl Workload {
    /// Starts `clients` clients on the stores in turn, and a watcher on each store.
    pub fn start(stores: &[Arc<dyn Store>], clients: usize) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let watches = stores.iter().map(|store| {
            let after = store.revision();
            store.watch(Scope::One(THINGS), after).expect("the watch starts")
        });
        let watches = watches.collect();
        let origin = Instant::now();
        let clients = (0..clients).map(|number| {
            let client = Client {
                store: Arc::clone(&stores[number % stores.len()]),
                number: i64::try_from(number).expect("a small number"),
                random: 0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1),
                origin,
                record: Record::default(),
                written: 0,
            };
            tokio::spawn(client.run(Arc::clone(&stop), Arc::clone(&answered)))
        });
        let clients = clients.collect();
        Self {
            stop,
            answered,
            clients,
            watches,
            stores: stores.to_vec(),
        }
    }

    /// Waits for the answers of `more` further operations.
    pub async fn answers(&self, more: u64) {
        let goal = self.answered.load(Ordering::Relaxed) + more;
        let end = Instant::now() + PATIENCE;
        while self.answered.load(Ordering::Relaxed) < goal {
            assert!(Instant::now() < end, "the store answers nobody any more");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops the clients and checks everything that they received.
    pub async fn finish(self) -> Summary {
        self.stop.store(true, Ordering::Relaxed);
        let mut by_key: Vec<Vec<Operation>> = vec![Vec::new(); KEYS];
        let mut acknowledged = BTreeMap::new();
        for client in self.clients {
            let mut record = client.await.expect("the client ends");
            for (key, operation) in record.operations {
                by_key[key].push(operation);
            }
            let (before, more) = (acknowledged.len(), record.acknowledged.len());
            acknowledged.append(&mut record.acknowledged);
            assert_eq!(acknowledged.len(), before + more, "two writes have one revision");
        }
        let reached = latest(&self.stores[0]).await;
        let mut histories = Vec::new();
        for watch in self.watches {
            histories.push(watched(watch, reached, &acknowledged).await);
        }
        for pair in histories.windows(2) {
            assert_eq!(pair[0], pair[1], "two watchers saw different things");
        }
        let all: Vec<&Operation> = by_key.iter().flatten().collect();
        let unknown = all
            .iter()
            .filter(|operation| operation.answered.is_none())
            .count();
        let summary = Summary {
            unknown,
            acknowledged: acknowledged.len(),
        };
        for (index, operations) in by_key.iter().enumerate() {
            if let Err(problem) = check(operations) {
                panic!("{}: {problem}", key(index));
            }
        }
        summary
    }
}

/// The newest revision; retries until the store answers.
async fn latest(store: &Arc<dyn Store>) -> Revision {
    let end = Instant::now() + PATIENCE;
    loop {
        match store.list(THINGS, At::Latest).await {
            Ok(listed) => return listed.revision,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

type History = Vec<(Revision, Key, Option<i64>)>;

/// Events of a watcher up to `reached`: every acknowledged write, each change once, in order, and each
/// starting from the state after the previous one.
async fn watched(
    mut watch: Box<dyn Watch>,
    reached: Revision,
    acknowledged: &BTreeMap<Revision, (Key, Option<i64>)>,
) -> History {
    let mut history = History::new();
    let mut held: BTreeMap<Key, i64> = BTreeMap::new();
    let end = Instant::now() + PATIENCE;
    while watch.revision() < reached {
        assert!(
            Instant::now() < end,
            "the watcher stays at {}, before {reached}",
            watch.revision()
        );
        let Ok(events) = tokio::time::timeout(Duration::from_millis(200), watch.next(100)).await else {
            continue;
        };
        for event in events.expect("the watch goes on") {
            let change = &event.change;
            let last = history.last().map_or(Revision(0), |(revision, ..)| *revision);
            assert!(change.revision > last, "{} came after {last}", change.revision);
            let before = held.get(&change.key).copied();
            assert_eq!(
                change.old.as_deref().map(value),
                before,
                "{} skips something",
                change.revision
            );
            let new = change.new.as_deref().map(value);
            match new {
                Some(new) => held.insert(change.key.clone(), new),
                None => held.remove(&change.key),
            };
            history.push((change.revision, change.key.clone(), new));
        }
    }
    let seen: BTreeMap<_, _> = history
        .iter()
        .map(|(revision, key, value)| (*revision, (key.clone(), *value)))
        .collect();
    for (revision, write) in acknowledged {
        assert_eq!(
            seen.get(revision),
            Some(write),
            "the write at {revision} was acknowledged"
        );
    }
    history
}

struct Client {
    store: Arc<dyn Store>,
    number: i64,
    random: u64,
    origin: Instant,
    record: Record,
    written: i64,
}

impl Client {
    async fn run(mut self, stop: Arc<AtomicBool>, answered: Arc<AtomicU64>) -> Record {
        while !stop.load(Ordering::Relaxed) && answered.load(Ordering::Relaxed) < ENOUGH {
            if self.operate().await {
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.record
    }

    /// A pseudorandom number (xorshift).
    fn draw(&mut self, sides: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % sides
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).expect("less than centuries")
    }

    /// Performs one operation on one key; returns whether it was answered.
    async fn operate(&mut self) -> bool {
        let index = usize::try_from(self.draw(KEYS as u64)).expect("small");
        let key = key(index);
        self.written += 1;
        let new = self.number * 1_000_000 + self.written;
        match self.draw(10) {
            0..4 => self.read(index, &key).await.is_some(),
            4 => {
                self.write(index, create(&key, new), |done| Action::Create(new, done))
                    .await
            }
            5 => {
                self.write(index, update(&key, new, Expect::Present), |done| {
                    Action::Replace(new, done)
                })
                .await
            }
            6 => {
                self.write(index, delete(&key, Expect::Present), Action::Delete)
                    .await
            }
            _ => {
                let Some(seen) = self.read(index, &key).await else {
                    return false;
                };
                let Some((revision, old)) = seen else { return true };
                self.write(index, update(&key, new, Expect::At(revision)), |done| {
                    Action::Swap(old, new, done)
                })
                .await
            }
        }
    }

    /// `None` without an answer.
    async fn read(&mut self, index: usize, key: &Key) -> Option<Option<(Revision, i64)>> {
        let called = self.now();
        let listed = self.store.list(THINGS, At::Latest).await.ok()?;
        let answered = Some(self.now());
        let object = listed.get(&key.namespace, &key.name);
        let seen = object.map(|object| (object.revision(), value(object)));
        let action = Action::Read(seen.map(|(_, value)| value));
        self.record.operations.push((
            index,
            Operation {
                called,
                answered,
                action,
            },
        ));
        Some(seen)
    }

    async fn write(&mut self, index: usize, step: Step, action: impl Fn(bool) -> Action) -> bool {
        let key = step.key.clone();
        let called = self.now();
        let result = self.store.apply(vec![step]).await;
        let answered = Some(self.now());
        let (answered, action) = match result {
            Ok(applied) => {
                self.acknowledge(key, &applied, action(true));
                (answered, action(true))
            }
            Err(
                StoreError::AlreadyExists { .. } | StoreError::NotFound { .. } | StoreError::Conflict { .. },
            ) => (answered, action(false)),
            Err(StoreError::Unavailable(_)) => (None, action(true)),
            Err(error) => panic!("{error}"),
        };
        self.record.operations.push((
            index,
            Operation {
                called,
                answered,
                action,
            },
        ));
        answered.is_some()
    }

    fn acknowledge(&mut self, key: Key, applied: &[StepResult], action: Action) {
        let [applied] = applied else {
            panic!("one answer per step")
        };
        assert!(applied.changed, "every write writes something new");
        let left = match action {
            Action::Create(new, _) | Action::Replace(new, _) | Action::Swap(_, new, _) => Some(new),
            Action::Delete(_) | Action::Read(_) => None,
        };
        self.record
            .acknowledged
            .insert(applied.object.revision(), (key, left));
    }
}
