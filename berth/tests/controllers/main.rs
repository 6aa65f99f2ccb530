//! Controllers over real dialects, a store in memory, the server's registry and a clock moved by hand; no
//! HTTP. That something does not happen is shown by something later that has happened.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod gardener;
mod kcp;
mod ocm;
mod others;
mod stepwise;

use std::sync::Arc;
use std::time::Duration;

use berth::controllers::{ControllerMetrics, Events};
use berth_admission::rights::{Right, RightCheck, RightChecker};
use berth_admission::{Chain, UserInfo};
use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::write::Verb;
use berth_apimachinery::write::Write;
use berth_apimachinery::{Clock, Key, Object};
use berth_apiserver::{Backing, Group, Registry, Resource};
use berth_dialect_contract::Outcome;
use berth_engine::controller::{Attempt, Observer, Settings, SingleReplica};
use berth_engine::{Controllers, Engine};
use berth_kubernetes::core::event;
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{MemoryStore, Source, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Time limit of a test's waits.
const DEADLINE: Duration = Duration::from_secs(30);

/// Counts decisions.
#[derive(Default)]
struct Counter {
    attempts: Mutex<Vec<(Key, Option<Outcome>)>>,
    retries: Mutex<usize>,
    wake: Notify,
}

impl Observer for Counter {
    fn queued(&self, _: &'static str, _: usize) {}
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, attempt: &Attempt<'_>) {
        let entry = (attempt.demand.clone(), attempt.result.ok());
        self.attempts.lock().push(entry);
        self.wake.notify_waiters();
    }
    fn retried(&self, _: &'static str) {
        *self.retries.lock() += 1;
        self.wake.notify_waiters();
    }
    fn leading(&self, _: bool) {}
}

impl Counter {
    fn of(&self, demand: &Key) -> Vec<Option<Outcome>> {
        let attempts = self.attempts.lock();
        let of = attempts.iter().filter(|(key, _)| key == demand);
        of.map(|(_, outcome)| *outcome).collect()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
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

/// A server without a port, with the controllers of one dialect.
struct World {
    store: Arc<dyn Store>,
    clock: Arc<SteppedClock>,
    engine: Arc<Engine>,
    registry: Arc<Registry>,
    catalog: Arc<berth_engine::Catalog>,
    counter: Arc<Counter>,
    controllers: Controllers,
}

/// Every writer here has every right.
struct Anything;

impl RightChecker for Anything {
    fn has<'a>(&'a self, _: &'a UserInfo, _: &'a Right) -> RightCheck<'a> {
        Box::pin(async { Ok(true) })
    }
}

impl World {
    fn new(dialect: &str) -> Self {
        Self::over(Arc::new(MemoryStore::default()), dialect)
    }

    fn over(store: Arc<dyn Store>, dialect: &str) -> Self {
        let dialect = berth_dialect_registry::by_name(dialect).unwrap();
        let start = "2021-10-28T09:00:00Z".parse().unwrap();
        let clock = Arc::new(SteppedClock::at(start));
        let as_clock = || Arc::clone(&clock) as Arc<dyn Clock>;
        let source: Arc<dyn Source> = Arc::clone(&store) as _;
        let engine = Engine::new(vec![Arc::clone(&dialect)], source, as_clock());
        engine.spawn();
        let registry = Registry::builder(
            Chain::new(dialect.admission()).with_right_checker(Arc::new(Anything)),
            as_clock(),
        );
        let api = VirtualApi::new(Arc::clone(&engine), Arc::clone(registry.handle()), Vec::new());
        let shared = Arc::clone(&store);
        let mut groups = berth_kubernetes::core::groups(&shared);
        for kind in dialect.kinds() {
            let name = kind.info().group;
            let resource = api.extended(Resource::new(kind, Backing::Stored(Arc::clone(&shared))));
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.resources.push(resource),
                None => groups.push(Group {
                    name,
                    resources: vec![resource],
                }),
            }
        }
        groups.push(berth_configuration::group(vec![Arc::clone(&dialect)], shared));
        let registry = registry.build(&groups).unwrap();
        let (events, _) = Events::for_registry(&engine, &registry, ControllerMetrics::new());
        engine.observe(Arc::new(events)).unwrap();
        let counter = Arc::new(Counter::default());
        let settings = Settings {
            dialects: vec![dialect.name()],
            reconcilers: Vec::new(),
            committer: Arc::new(RegistryCommitter(Arc::clone(&registry))),
            gate: Arc::new(|_| true),
            elector: Arc::new(SingleReplica),
            observer: Arc::clone(&counter) as Arc<dyn Observer>,
        };
        let controllers = Controllers::spawn(&engine, &settings);
        Self {
            catalog: Arc::clone(api.catalog()),
            store,
            clock,
            engine,
            registry,
            counter,
            controllers,
        }
    }

    /// Moves the clock and lets the controllers look at it.
    fn step(&self, seconds: i64) {
        self.clock.advance(jiff::SignedDuration::from_secs(seconds));
        self.controllers.clock_moved();
    }

    /// Makes `value`, or replaces what is there; its status too, where it has one.
    async fn put(&self, value: Value) -> Key {
        let key = match self.catalog.read(value.clone(), "", self.clock.now()) {
            Ok((key, _)) => key,
            Err(errors) => panic!("{errors:?}"),
        };
        let verb = if self.get(&key).is_some() {
            Verb::Update
        } else {
            Verb::Create
        };
        self.write(verb, &key, "", value.clone()).await;
        if value.get("status").is_some() {
            self.write(Verb::Update, &key, "status", value).await;
        }
        key
    }

    async fn write(&self, verb: Verb, key: &Key, subresource: &'static str, object: Value) {
        let user = UserInfo {
            name: "admin".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        let write = Write {
            verb,
            key: key.clone(),
            subresource,
            object,
            base: None,
        };
        self.registry
            .commit(
                berth_apiserver::Author {
                    user: &user,
                    manager: "test",
                    cause: None,
                },
                vec![write],
                Vec::new(),
                false,
            )
            .await
            .unwrap();
    }

    async fn edit(&self, key: &Key, subresource: &'static str, change: impl FnOnce(&mut Value)) {
        let mut value = self.get(key).unwrap().parse();
        change(&mut value);
        self.write(Verb::Update, key, subresource, value).await;
    }

    fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .cloned()
    }

    async fn decided(&self, demand: &Key, times: usize) {
        let what = format!("{demand} is decided {times} times");
        self.counter
            .until(&what, |counter| counter.of(demand).len() >= times)
            .await;
    }

    /// The stored events on the object named `name`, once there is one with this reason and count.
    async fn event(&self, name: &str, reason: &str, count: i64) -> Value {
        let mut watch = self
            .store
            .watch(berth_storage::Scope::One(event::STORED), self.store.revision())
            .unwrap();
        let looking = async {
            loop {
                let events = self.store.cached(event::STORED);
                let found = events.items.values().map(|event| event.parse()).find(|event| {
                    event["involvedObject"]["name"] == name
                        && event["reason"] == reason
                        && event["series"]["count"].as_i64().unwrap_or(1) == count
                });
                if let Some(found) = found {
                    return found;
                }
                watch.next(64).await.unwrap();
            }
        };
        let found = tokio::time::timeout(DEADLINE, looking).await;
        found.unwrap_or_else(|_| panic!("no event {reason} on {name}, seen {count} times"))
    }

    async fn namespace(&self, name: &str) {
        let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let key = Key::new(berth_kubernetes::core::namespace::RESOURCE, "", name);
        self.write(Verb::Create, &key, "", value).await;
    }
}
