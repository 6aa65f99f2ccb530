//! The engine over a store in memory and a toy dialect.

mod contests;
mod foreseeing;
mod settling;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Verb, Write, WriteRefusal};
use berth_apimachinery::{
    Change, Draft, FixedClock, GroupResource, Key, Object, Revision, Status, Timestamp,
};
use berth_dialect_contract::Outcome;
use berth_storage::{
    At, Collection, Event, Expect, MemoryStore, Scope, Source, Step, StoreError, Watch, Writer,
};
use serde_json::{Value, json};

use crate::{
    Bind, BindError, Commit, Committer, Engine, Mandate, MarkedSet, ReadinessError, UnplacedTreatment,
};
use berth_dialect_toy::{BOXES, TOYS, Toys, object};

const NOTES: GroupResource = GroupResource::new("", "notes");

struct World {
    store: Arc<MemoryStore>,
    engine: Arc<Engine>,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let engine = engine(Arc::clone(&store) as Arc<dyn Source>);
        engine.spawn();
        Self { store, engine }
    }

    fn put(&self, key: &Key, value: &Value) {
        put(&self.store, key, value);
    }

    fn toy(&self, name: &str) -> Key {
        let key = Key::new(TOYS, "ns", name);
        self.put(&key, &object("Toy", "ns", name, json!({})));
        key
    }

    fn shelf(&self, name: &str, capacity: i64) {
        self.put(
            &Key::new(BOXES, "", name),
            &object("Box", "", name, json!({"capacity": capacity})),
        );
    }

    async fn bind(&self, demand: &Key, chosen: Option<&[String]>) -> Result<crate::BindOutcome, BindError> {
        let committer = StoreCommitter(Arc::clone(&self.store));
        self.engine.bind(&committer, wish(demand, chosen)).await
    }

    /// Takes `toy` out of its box each time that it is bound, until the engine leaves it alone.
    async fn contest(&self, toy: &Key) {
        for _ in 0..3 {
            self.bind(toy, None).await.unwrap();
            self.put(toy, &object("Toy", "ns", &toy.name, json!({})));
        }
        let refused = self.bind(toy, None).await.unwrap_err();
        assert!(matches!(refused, BindError::Contested(_)), "{refused}");
    }

    fn stored(&self, key: &Key) -> Arc<Object> {
        self.store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .cloned()
            .unwrap()
    }
}

fn engine(source: Arc<dyn Source>) -> Arc<Engine> {
    Engine::new(
        vec![Arc::new(Toys)],
        source,
        Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
    )
}

pub(crate) fn put(store: &MemoryStore, key: &Key, value: &Value) {
    let exists = store
        .cached(key.resource)
        .get(&key.namespace, &key.name)
        .is_some();
    let (verb, expect) = if exists {
        (Verb::Update, Expect::Present)
    } else {
        (Verb::Create, Expect::Absent)
    };
    let object = Some(Draft::new(value).unwrap());
    store
        .commit(&[Step {
            verb,
            key: key.clone(),
            subresource: "",
            object,
            expect,
            guards: Vec::new(),
        }])
        .unwrap();
}

fn wish<'a>(demand: &'a Key, chosen: Option<&'a [String]>) -> Bind<'a> {
    Bind {
        dialect: "toy",
        demand,
        chosen,
        dry_run: false,
        unplaced: UnplacedTreatment::Refuse,
        by: None,
    }
}

/// Writes straight to a store.
pub(crate) struct StoreCommitter(pub(crate) Arc<MemoryStore>);

fn step(write: &Write) -> Step {
    Step {
        verb: match write.verb {
            Verb::Create => Verb::Create,
            Verb::Update => Verb::Update,
            Verb::Delete => Verb::Delete,
        },
        key: write.key.clone(),
        subresource: write.subresource,
        object: Some(Draft::new(&write.object).unwrap()),
        expect: write.base.map_or(Expect::Absent, Expect::At),
        guards: Vec::new(),
    }
}

#[async_trait]
impl Committer for StoreCommitter {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        // Lets the others decide on the same snapshot first.
        tokio::task::yield_now().await;
        let mut steps: Vec<Step> = commit.writes.iter().map(step).collect();
        if commit.dry_run {
            return Ok(Vec::new());
        }
        if let Some(first) = steps.first_mut() {
            first.guards = commit.guards;
        }
        match self.0.apply(steps).await {
            Ok(applied) => Ok(applied.into_iter().map(|applied| applied.object).collect()),
            Err(error @ (StoreError::Conflict { .. } | StoreError::Fenced { .. })) => Err(CommitError::new(
                WriteRefusal::Changed,
                Status::failure(409, "Conflict", error.to_string()),
            )),
            Err(error) => Err(Status::internal(error.to_string()).into()),
        }
    }
}

#[tokio::test]
async fn a_read_after_a_write_sees_the_write() {
    let world = World::new();
    for round in 0..20 {
        world.shelf(&format!("b{round:02}"), 1);
        // A write that no dialect reads moves the revision on as well.
        world.put(
            &Key::new(NOTES, "", "n"),
            &object("Note", "", "n", json!({"round": round})),
        );
        let snapshot = world.engine.fresh("toy").await.unwrap().unwrap();
        assert_eq!(snapshot.inventory.count(), round + 1);
        assert_eq!(snapshot.revision, world.store.revision());
    }
    assert!(world.engine.fresh("other").await.unwrap().is_none());
}

#[tokio::test]
async fn a_dialect_that_is_held_decides_nothing_until_it_is_complete() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    world
        .engine
        .hold("toy", Some("its objects are on the way".to_owned()));
    let refused = world.engine.fresh("toy").await.unwrap_err();
    assert_eq!(refused.to_string(), "toy: its objects are on the way");
    let committer = StoreCommitter(Arc::clone(&world.store));
    let bound = world.engine.bind(&committer, wish(&toy, None)).await;
    assert!(
        matches!(bound, Err(BindError::NotReady(ReadinessError::NotSynced { .. }))),
        "{bound:?}"
    );
    world.engine.hold("toy", None);
    world.engine.bind(&committer, wish(&toy, None)).await.unwrap();
}

#[tokio::test]
async fn a_dialect_of_which_nobody_knows_yet_whether_it_is_decided_is_neither_decided_nor_guarded() {
    let world = World::new();
    assert!(world.engine.decides("toy") && world.engine.guards("toy"));
    world.engine.set_unconfigured("toy", true);
    assert!(!world.engine.decides("toy") && !world.engine.guards("toy"));
    assert!(world.engine.guards("other"));
    world.engine.set_unconfigured("toy", false);
    assert!(world.engine.decides("toy") && world.engine.guards("toy"));
}

#[tokio::test]
async fn a_snapshot_stays_as_it_is_while_the_world_moves_on() {
    let world = World::new();
    world.shelf("a", 1);
    let before = world.engine.fresh("toy").await.unwrap().unwrap();
    world.shelf("b", 1);
    let after = world.engine.fresh("toy").await.unwrap().unwrap();
    assert_eq!((before.inventory.count(), after.inventory.count()), (1, 2));
}

#[tokio::test]
async fn what_is_there_before_the_engine_is_loaded_and_marked() {
    let store = Arc::new(MemoryStore::default());
    put(
        &store,
        &Key::new(BOXES, "", "a"),
        &object("Box", "", "a", json!({"capacity": 1})),
    );
    let engine = engine(Arc::clone(&store) as Arc<dyn Source>);
    assert!(!engine.is_loaded());
    let subscription = engine.subscribe();
    engine.spawn();
    let batch = subscription.next().await;
    assert_eq!(batch.dirty["toy"].targets, MarkedSet::All);
    assert_eq!(engine.snapshot("toy").unwrap().inventory.count(), 1);
    put(
        &store,
        &Key::new(TOYS, "ns", "x"),
        &object("Toy", "ns", "x", json!({})),
    );
    engine.caught_up(store.revision()).await.unwrap();
    let batch = subscription.next().await;
    assert_eq!(batch.through, store.revision());
    assert!(matches!(&batch.dirty["toy"].decide, MarkedSet::Some(keys) if keys.len() == 1));
}

#[tokio::test]
async fn binding_twice_writes_once() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let bound = world.bind(&toy, None).await.unwrap();
    assert_eq!(
        (bound.decision.outcome, bound.written.len()),
        (Outcome::Scheduled, 1)
    );
    let revision = world.store.revision();
    let again = world.bind(&toy, None).await.unwrap();
    assert_eq!(
        (again.decision.outcome, again.written.len()),
        (Outcome::Unchanged, 0)
    );
    assert_eq!(world.store.revision(), revision);
}

#[tokio::test]
async fn a_dry_run_decides_and_stores_nothing() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let committer = StoreCommitter(Arc::clone(&world.store));
    let bound = world
        .engine
        .bind(
            &committer,
            Bind {
                dry_run: true,
                ..wish(&toy, None)
            },
        )
        .await
        .unwrap();
    assert_eq!(bound.decision.outcome, Outcome::Scheduled);
    assert!(world.stored(&toy).value()["spec"].get("box").is_none());
}

#[tokio::test]
async fn a_dry_run_does_not_end_a_contest() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    world.contest(&toy).await;
    world.put(&toy, &object("Toy", "ns", "t", json!({"box": "a"})));
    let committer = StoreCommitter(Arc::clone(&world.store));
    for dry_run in [true, false] {
        let bind = Bind {
            dry_run,
            ..wish(&toy, None)
        };
        let bound = world.engine.bind(&committer, bind).await.unwrap();
        assert_eq!(bound.decision.outcome, Outcome::Unchanged);
        assert_eq!(world.engine.contest("toy", &toy).is_some(), dry_run);
    }
}

#[tokio::test]
async fn a_change_by_another_program_during_a_dry_run_is_told_from_own_writes() {
    struct Asking(Arc<Engine>);
    #[async_trait]
    impl Committer for Asking {
        async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
            let slot = self.0.slot("toy").unwrap();
            let write = &commit.writes[0];
            let object = Object::new(&write.object, Revision(1)).unwrap();
            let change = Change::added(write.key.clone(), Arc::new(object));
            let is_foreign = slot.contests.is_foreign_change(&write.key, &change);
            assert_eq!(is_foreign, commit.dry_run);
            Ok(Vec::new())
        }
    }
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let asking = Asking(Arc::clone(&world.engine));
    for dry_run in [true, false] {
        let bind = Bind {
            dry_run,
            ..wish(&toy, None)
        };
        world.engine.bind(&asking, bind).await.unwrap();
    }
}

#[tokio::test]
async fn a_contest_is_reported_only_as_long_as_the_system_is_decided_here() {
    struct Switch(AtomicBool);
    impl Mandate for Switch {
        fn decides(&self, _: &str) -> bool {
            self.0.load(Ordering::Relaxed)
        }
        fn guards(&self, dialect: &str) -> bool {
            self.decides(dialect)
        }
    }
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let mandate = Arc::new(Switch(AtomicBool::new(true)));
    let shared = Arc::clone(&mandate) as Arc<dyn Mandate>;
    world.engine.set_mandate(shared).unwrap();
    world.contest(&toy).await;
    assert!(world.engine.contest("toy", &toy).is_some());
    mandate.0.store(false, Ordering::Relaxed);
    assert_eq!(world.engine.contest("toy", &toy), None);
}

#[tokio::test]
async fn what_cannot_be_placed_is_refused_with_its_decision() {
    let world = World::new();
    world.shelf("a", 0);
    let toy = world.toy("t");
    let error = world.bind(&toy, None).await.unwrap_err();
    let BindError::Unplaced(bound) = error else {
        panic!("{error}")
    };
    assert_eq!(bound.decision.outcome, Outcome::Unschedulable);
    let chosen = ["nowhere".to_owned()];
    let error = world.bind(&toy, Some(&chosen)).await.unwrap_err();
    assert!(matches!(error, BindError::Refused(_)), "{error}");
    let gone = Key::new(TOYS, "ns", "gone");
    assert!(matches!(
        world.bind(&gone, None).await,
        Err(BindError::NotFound(_))
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_bindings_never_overcommit_and_none_fails_for_the_others() {
    let world = Arc::new(World::new());
    for name in ["a", "b", "c"] {
        world.shelf(name, 10);
    }
    let toys: Vec<Key> = (0..40).map(|n| world.toy(&format!("t{n:02}"))).collect();
    let tasks: Vec<_> = toys
        .into_iter()
        .map(|toy| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.bind(&toy, None).await })
        })
        .collect();
    let (mut bound, mut unplaced) = (0, 0);
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => bound += 1,
            Err(BindError::Unplaced(_)) => unplaced += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((bound, unplaced), (30, 10));
    for name in ["a", "b", "c"] {
        let toys = world.store.cached(TOYS);
        let inside = toys
            .items
            .values()
            .filter(|toy| toy.value()["spec"]["box"] == name)
            .count();
        assert_eq!(inside, 10);
    }
}

#[tokio::test]
async fn a_world_that_keeps_moving_ends_after_eight_attempts() {
    struct Never(AtomicUsize);
    #[async_trait]
    impl Committer for Never {
        async fn commit(&self, _: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let conflict = Status::failure(409, "Conflict", "moved");
            Err(CommitError::new(WriteRefusal::Changed, conflict))
        }
    }
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let never = Never(AtomicUsize::new(0));
    let error = world.engine.bind(&never, wish(&toy, None)).await.unwrap_err();
    assert!(matches!(error, BindError::Conflict(_)), "{error}");
    assert_eq!(never.0.into_inner(), crate::bind::ATTEMPTS);
}

/// A source whose watches end as `Expired` when told to.
struct Forgetful {
    inner: Arc<MemoryStore>,
    expire: Arc<AtomicBool>,
}

struct ForgetfulWatch {
    inner: Box<dyn Watch>,
    expire: Arc<AtomicBool>,
}

#[async_trait]
impl Source for Forgetful {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.inner.list(resource, at).await
    }
    fn cached(&self, resource: GroupResource) -> Collection {
        self.inner.cached(resource)
    }
    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let expire = Arc::clone(&self.expire);
        Ok(Box::new(ForgetfulWatch {
            inner: self.inner.watch(scope, after)?,
            expire,
        }))
    }
    fn revision(&self) -> Revision {
        self.inner.revision()
    }
}

#[async_trait]
impl Watch for ForgetfulWatch {
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let events = self.inner.next(max).await?;
        if self.expire.swap(false, Ordering::Relaxed) {
            return Err(StoreError::Expired {
                asked: Revision(1),
                oldest: Revision(2),
            });
        }
        Ok(events)
    }
    fn revision(&self) -> Revision {
        self.inner.revision()
    }
}

/// A store that other servers write to: its own revision stays behind theirs.
struct Shared {
    inner: Arc<MemoryStore>,
    revision: Revision,
}

#[async_trait]
impl Source for Shared {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.inner.list(resource, at).await
    }
    fn cached(&self, resource: GroupResource) -> Collection {
        self.inner.cached(resource)
    }
    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.inner.watch(scope, after)
    }
    fn revision(&self) -> Revision {
        self.revision
    }
}

#[tokio::test]
async fn a_read_sees_the_writes_of_other_servers() {
    let store = Arc::new(MemoryStore::default());
    let source = Shared {
        inner: Arc::clone(&store),
        revision: store.revision(),
    };
    let engine = engine(Arc::new(source));
    engine.spawn();
    engine.caught_up(store.revision()).await.unwrap();
    put(
        &store,
        &Key::new(BOXES, "", "a"),
        &object("Box", "", "a", json!({"capacity": 1})),
    );
    let snapshot = engine.fresh("toy").await.unwrap().unwrap();
    assert_eq!(snapshot.inventory.count(), 1);
}

#[tokio::test]
async fn a_lost_watch_is_made_good_by_loading_again() {
    let store = Arc::new(MemoryStore::default());
    let expire = Arc::new(AtomicBool::new(false));
    let source = Forgetful {
        inner: Arc::clone(&store),
        expire: Arc::clone(&expire),
    };
    let engine = engine(Arc::new(source));
    engine.spawn();
    engine.caught_up(store.revision()).await.unwrap();
    let subscription = engine.subscribe();
    subscription.next().await;
    expire.store(true, Ordering::Relaxed);
    put(
        &store,
        &Key::new(BOXES, "", "a"),
        &object("Box", "", "a", json!({"capacity": 1})),
    );
    engine.caught_up(store.revision()).await.unwrap();
    assert_eq!(engine.snapshot("toy").unwrap().inventory.count(), 1);
    assert!(!expire.load(Ordering::Relaxed));
    assert_eq!(subscription.next().await.dirty["toy"].decide, MarkedSet::All);
}
