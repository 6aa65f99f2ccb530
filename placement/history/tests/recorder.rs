//! The recorder of history over a real dialect, a store in memory and a clock moved by hand; no HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_admission::rights::{Right, RightCheck, RightChecker};
use berth_admission::{Chain, UserInfo};
use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::write::Verb;
use berth_apimachinery::write::Write;
use berth_apimachinery::{Clock, GroupResource, Key, Kind, Revision};
use berth_apiserver::{Author, Backing, Group, Registry, Resource};
use berth_engine::{Bind, Engine, UnplacedTreatment};
use berth_history::{History, RunningRecorder};
use berth_scheduling_api::VERSION;
use berth_scheduling_api::record::{self, DecisionRecord};
use berth_scheduling_rest::records::{Bounds, RECORDS};
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{
    At, Collection, MemoryStore, Scope, Source, Step, StepResult, Store, StoreError, Watch, Writer,
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Time limit of a test's waits.
const DEADLINE: Duration = Duration::from_secs(30);
const GROUP: &str = "cluster.open-cluster-management.io";
const PLACEMENTS: GroupResource = GroupResource::new(GROUP, "placements");
const FLEET: &str = include_str!("../../../examples/ocm/fleet.yaml");
const STORY: &str = include_str!("../../../examples/ocm/story-1.yaml");

/// A store that says that other servers write to it, too.
struct Shared(MemoryStore);

#[async_trait]
impl Source for Shared {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.0.list(resource, at).await
    }
    fn cached(&self, resource: GroupResource) -> Collection {
        self.0.cached(resource)
    }
    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.0.watch(scope, after)
    }
    fn revision(&self) -> Revision {
        self.0.revision()
    }
}

#[async_trait]
impl Writer for Shared {
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        self.0.apply(steps).await
    }
}

impl Store for Shared {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.0.hold(resource, collection);
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn ready(&self) -> Result<(), berth_storage::NotReady> {
        Ok(())
    }
}

/// Every writer here has every right.
struct Anything;

impl RightChecker for Anything {
    fn has<'a>(&'a self, _: &'a UserInfo, _: &'a Right) -> RightCheck<'a> {
        Box::pin(async { Ok(true) })
    }
}

/// A server without a port, whose decisions are bound by hand.
struct Server {
    store: Arc<dyn Store>,
    engine: Arc<Engine>,
    registry: Arc<Registry>,
    api: VirtualApi,
    recorder: Option<RunningRecorder>,
    lead: watch::Sender<bool>,
}

impl Server {
    fn new(store: &Arc<dyn Store>, clock: &Arc<SteppedClock>, leads: bool, bounds: Bounds) -> Self {
        let dialect = berth_dialect_registry::by_name("ocm").unwrap();
        let as_clock = || Arc::clone(clock) as Arc<dyn Clock>;
        let engine = Engine::new(vec![Arc::clone(&dialect)], Arc::clone(store) as _, as_clock());
        let registry = Registry::builder(
            Chain::new(dialect.admission()).with_right_checker(Arc::new(Anything)),
            as_clock(),
        );
        let api = VirtualApi::new(Arc::clone(&engine), Arc::clone(registry.handle()), Vec::new());
        let mut groups: Vec<Group> = Vec::new();
        for kind in dialect.kinds() {
            let name = kind.info().group;
            let resource = Resource::new(kind, Backing::Stored(Arc::clone(store)));
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.resources.push(resource),
                None => groups.push(Group {
                    name,
                    resources: vec![resource],
                }),
            }
        }
        let registry = registry.build(&groups).unwrap();
        let history = History::new(&engine, api.projection(), store, bounds, None, None).unwrap();
        engine.observe(history.observer().unwrap()).unwrap();
        engine.spawn();
        api.spawn();
        let lead = watch::Sender::new(leads);
        Self {
            recorder: Some(history.spawn(lead.subscribe())),
            store: Arc::clone(store),
            engine,
            registry,
            api,
            lead,
        }
    }

    /// Ends the recorder alone.
    async fn stop(&mut self) {
        self.recorder.take().unwrap().stop().await;
    }

    /// Writes the documents of `yaml` that are of the dialect's kinds.
    async fn load(&self, yaml: &str) {
        for document in yaml.split("\n---\n") {
            let value: Value = serde_saphyr::from_str(document).unwrap();
            let at = "2021-10-28T09:00:00Z".parse().unwrap();
            let Ok((key, _)) = self.api.catalog().read(value.clone(), "", at) else {
                continue;
            };
            self.write(Verb::Create, &key, "", value.clone()).await;
            if value.get("status").is_some() {
                self.write(Verb::Update, &key, "status", value).await;
            }
        }
    }

    async fn write(&self, verb: Verb, key: &Key, subresource: &'static str, object: Value) {
        let user = UserInfo {
            name: "admin".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        let author = Author {
            user: &user,
            manager: "test",
            cause: None,
        };
        let write = Write {
            verb,
            key: key.clone(),
            subresource,
            object,
            base: None,
        };
        self.registry
            .commit(author, vec![write], Vec::new(), false)
            .await
            .unwrap();
    }

    async fn bind(&self, demand: &Key, by: &str) {
        let wish = Bind {
            dialect: "ocm",
            demand,
            chosen: None,
            dry_run: false,
            unplaced: UnplacedTreatment::Refuse,
            by: Some(by),
        };
        let committer = RegistryCommitter(Arc::clone(&self.registry));
        self.engine.bind(&committer, wish).await.unwrap();
    }

    /// Records, oldest first: the change, the type of its cause, and the user. Each fits its schema, and its
    /// type holds all of it.
    fn recorded(&self) -> Vec<String> {
        let stored = self.store.cached(RECORDS);
        let kind = record::namespaced();
        let schema = kind.schema(VERSION);
        stored
            .items
            .values()
            .map(|object| {
                let value = object.value();
                assert_eq!(
                    (schema.validate(value), schema.unknown_fields(value)),
                    (vec![], vec![])
                );
                let record: DecisionRecord = object.view().unwrap();
                let spec = record.spec.unwrap();
                assert_eq!(serde_json::to_value(&spec).unwrap(), value["spec"]);
                let user = match spec.actor.user.as_str() {
                    "" => "-",
                    user => user,
                };
                format!("{} {} {user}", spec.change, spec.cause.r#type.as_str())
            })
            .collect()
    }

    /// Waits until `expected` is recorded, while the clock goes on.
    async fn until(&self, clock: &SteppedClock, expected: &[&str]) {
        let waiting = async {
            while self.recorded() != expected {
                clock.advance(jiff::SignedDuration::from_millis(50));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let done = tokio::time::timeout(DEADLINE, waiting).await;
        assert!(done.is_ok(), "expected {expected:?}, found {:?}", self.recorded());
    }
}

fn clock() -> Arc<SteppedClock> {
    Arc::new(SteppedClock::at("2021-10-28T09:00:00Z".parse().unwrap()))
}

/// A server with a fleet and the story's placement, which is recorded as unplaced.
async fn unplaced(store: &Arc<dyn Store>, clock: &Arc<SteppedClock>) -> Server {
    let server = Server::new(store, clock, false, Bounds::default());
    server.load(FLEET).await;
    server.load(STORY).await;
    server.until(clock, &["Unplaced Object -"]).await;
    server
}

/// The story's placement without what it needs. Where its PlacementDecisions are left it is bound at once.
fn placement_alone() -> &'static str {
    STORY.rsplit("\n---\n").next().unwrap()
}

fn placement() -> Key {
    Key::new(PLACEMENTS, "story-1", "placement")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_recorded_by_the_clock_and_go_when_they_are_old() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.bind(&placement(), "alice").await;
    server
        .until(&clock, &["Unplaced Object -", "Fits Request alice"])
        .await;
    // A week and a day later only what is new then is left.
    clock.advance(jiff::SignedDuration::from_hours(8 * 24));
    server.write(Verb::Delete, &placement(), "", Value::Null).await;
    server.until(&clock, &["Removed Object -"]).await;
    server.stop().await;
}

/// `kubectl replace --force` deletes and creates under one name, within the moment in which changes wait to
/// be recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_replaced_at_once_is_recorded_as_gone_and_then_as_bound() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.bind(&placement(), "alice").await;
    let mut expected = vec!["Unplaced Object -", "Fits Request alice"];
    server.until(&clock, &expected).await;
    for shown_between in [true, false] {
        // The clock stands still: what is seen is not recorded until it goes on.
        server.write(Verb::Delete, &placement(), "", Value::Null).await;
        if shown_between {
            server.api.projection().caught_up().await.unwrap();
        }
        server.load(placement_alone()).await;
        server.bind(&placement(), "bob").await;
        expected.extend(["Removed Object -", "Bound Request bob"]);
        server.until(&clock, &expected).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_replaced_while_nobody_recorded_is_recorded_as_it_stands() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.bind(&placement(), "alice").await;
    let bound = ["Unplaced Object -", "Fits Request alice"];
    server.until(&clock, &bound).await;
    server.stop().await;
    server.write(Verb::Delete, &placement(), "", Value::Null).await;
    server.load(placement_alone()).await;
    clock.advance(jiff::SignedDuration::from_secs(60));
    let mut next = Server::new(&store, &clock, false, Bounds::default());
    let replaced = [bound[0], bound[1], "Removed Unseen -", "Bound Unseen -"];
    next.until(&clock, &replaced).await;
    next.write(Verb::Delete, &placement(), "", Value::Null).await;
    let removed = [&replaced[..], &["Removed Object -"]].concat();
    next.until(&clock, &removed).await;
    next.stop().await;
    next.load(placement_alone()).await;
    clock.advance(jiff::SignedDuration::from_secs(60));
    let last = Server::new(&store, &clock, false, Bounds::default());
    let back = [&removed[..], &["Bound Unseen -"]].concat();
    last.until(&clock, &back).await;
}

/// `creationTimestamp` has whole seconds: what is created right after the start seems to be older than the
/// server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_created_in_the_second_of_the_start_is_recorded() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = Arc::new(SteppedClock::at("2021-10-28T09:00:00.7Z".parse().unwrap()));
    unplaced(&store, &clock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_seen_last_is_recorded_when_the_server_ends() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.bind(&placement(), "alice").await;
    server.stop().await;
    // The clock stands still: nothing was due.
    let recorded = Server::new(&store, &clock, false, Bounds::default()).recorded();
    assert_eq!(recorded, ["Unplaced Object -", "Fits Request alice"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_while_nobody_recorded_is_told_to_be_unseen() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.stop().await;
    server.bind(&placement(), "alice").await;
    clock.advance(jiff::SignedDuration::from_secs(60));
    let next = Server::new(&store, &clock, false, Bounds::default());
    next.until(&clock, &["Unplaced Object -", "Fits Unseen -"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_servers_on_one_store_one_records_each_change() {
    let store: Arc<dyn Store> = Arc::new(Shared(MemoryStore::default()));
    // The leader's clock stands still while the other one records: however long that takes here, it is within
    // the grace.
    let (clock, others) = (clock(), clock());
    let mut leader = Server::new(&store, &clock, true, Bounds::default());
    let other = Server::new(&store, &others, false, Bounds::default());
    leader.load(FLEET).await;
    leader.load(STORY).await;
    // Nobody made it: the leader records it.
    leader.until(&clock, &["Unplaced Object -"]).await;
    // The other one made it, and knows who asked.
    other.bind(&placement(), "alice").await;
    let bound = ["Unplaced Object -", "Fits Request alice"];
    other.until(&others, &bound).await;
    // What comes after shows that nothing else came of it.
    leader.write(Verb::Delete, &placement(), "", Value::Null).await;
    let all = [bound[0], bound[1], "Removed Object -"];
    leader.until(&clock, &all).await;
    // Who leads next goes on from there.
    leader.stop().await;
    other.lead.send_replace(true);
    let value = json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"namespace": "story-1", "name": "z"}, "spec": {}});
    other
        .write(Verb::Create, &Key::new(PLACEMENTS, "story-1", "z"), "", value)
        .await;
    let all = [all[0], all[1], all[2], "Unplaced Object -"];
    other.until(&others, &all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_history_is_kept_what_is_there_goes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = clock();
    let mut server = unplaced(&store, &clock).await;
    server.stop().await;
    let engine = Engine::new(Vec::new(), Arc::clone(&store) as _, Arc::clone(&clock) as _);
    let none = Bounds {
        per_decision: 0,
        ..Bounds::default()
    };
    let history = History::new(&engine, server.api.projection(), &store, none, None, None).unwrap();
    assert!(history.observer().is_none());
    let running = history.spawn(watch::Sender::new(false).subscribe());
    let gone = async {
        while !store.cached(RECORDS).items.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, gone).await.is_ok(), "they stay");
    running.stop().await;
}
