//! Garbage collection with each propagation policy.

use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, FixedClock, GroupResource, OwnerReference, Timestamp};
use berth_storage::{Expect, MemoryStore, Step};
use serde_json::json;
use tokio::time::Instant;

use super::*;

const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");
const SECRETS: GroupResource = GroupResource::new("", "secrets");

/// Protects a configured set of objects.
#[derive(Default)]
struct InUse(parking_lot::Mutex<HashSet<String>>);

#[async_trait::async_trait]
impl Protection for InUse {
    async fn permits(&self, key: &Key, _: &Object) -> Result<Vec<berth_apimachinery::write::Guard>, String> {
        match self.0.lock().contains(&*key.name) {
            true => Err(format!("{key} is in use")),
            false => Ok(Vec::new()),
        }
    }
}

/// Interval between polls.
const LOOK: Duration = Duration::from_millis(1);

struct World {
    store: Arc<dyn Store>,
    in_use: Arc<InUse>,
    writer: ObjectWriter,
    stop: CancellationToken,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl World {
    /// A store with `objects` (ConfigMaps in `ns`) and a collector over it.
    async fn new(objects: Vec<Value>) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let kinds = Kinds::of(&crate::core::groups(&store));
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let in_use = Arc::new(InUse::default());
        let protection = || Arc::clone(&in_use) as Arc<dyn Protection>;
        let writer = ObjectWriter::new(
            Arc::clone(&store),
            Arc::clone(&kinds),
            Arc::clone(&clock),
            protection(),
        );
        let stop = CancellationToken::new();
        let world = Self {
            store: Arc::clone(&store),
            in_use: Arc::clone(&in_use),
            writer,
            stop: stop.clone(),
        };
        for object in objects {
            world.put(object).await;
        }
        drop(spawn(store, kinds, clock, protection(), stop));
        world
    }

    async fn put(&self, object: Value) {
        let draft = Draft::new(&object).unwrap();
        let key = key(draft.meta().name());
        let step = Step {
            verb: Verb::Create,
            key,
            subresource: "",
            object: Some(draft),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        self.store.apply(vec![step]).await.unwrap();
    }

    async fn delete(&self, name: &str, propagation: Propagation) {
        self.writer
            .delete(&key(name), &uid(name), propagation)
            .await
            .unwrap();
    }

    fn find(&self, name: &str) -> Option<Arc<Object>> {
        self.store.cached(CONFIG_MAPS).get("ns", name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.store
            .cached(CONFIG_MAPS)
            .iter(None, None)
            .map(|(name, _)| name.name.to_string())
            .collect()
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !holds(self) {
            assert!(Instant::now() < deadline, "{what}: still {:?}", self.names());
            // A poll: the test's clock moves only when every task waits, so the collector goes first; the
            // deadline is on that clock.
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the collector has processed all earlier writes.
    async fn settled(&self) {
        self.put(object("canary", &[owner("nobody", false)])).await;
        self.until("the canary is collected", |world| world.find("canary").is_none())
            .await;
    }
}

fn key(name: &str) -> Key {
    Key::new(CONFIG_MAPS, "ns", name)
}

fn uid(name: &str) -> String {
    format!("uid-{name}")
}

fn owner(name: &str, blocks: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid(name), "blockOwnerDeletion": blocks})
}

fn object(name: &str, owners: &[Value]) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "ns", "uid": uid(name)}});
    if !owners.is_empty() {
        object["metadata"]["ownerReferences"] = owners.into();
    }
    object
}

fn held(name: &str, owners: &[Value]) -> Value {
    let mut object = object(name, owners);
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object
}

#[tokio::test]
async fn dependents_follow_their_owner_generation_by_generation() {
    let world = World::new(vec![
        object("a", &[]),
        object("b", &[owner("a", false)]),
        object("c", &[owner("b", true)]),
        object("other", &[]),
    ])
    .await;
    world.settled().await;
    assert_eq!(world.names().len(), 4, "nothing goes while its owner is there");
    world.delete("a", Propagation::Background).await;
    world
        .until("all but one are gone", |world| world.names() == ["other"])
        .await;
}

#[tokio::test]
async fn what_lost_its_owner_before_the_start_goes_too() {
    let world = World::new(vec![object("b", &[owner("gone", false)])]).await;
    world.until("it is gone", |world| world.names().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_in_use_is_not_collected_until_nobody_uses_it() {
    let world = World::new(vec![]).await;
    world.in_use.0.lock().insert("seed".to_owned());
    world.put(object("seed", &[owner("gone", false)])).await;
    world.put(object("other", &[owner("gone", false)])).await;
    world
        .until("what is not in use is gone", |world| world.names() == ["seed"])
        .await;
    // The clock is paused, so this takes no time; the delete was retried three more times.
    tokio::time::sleep(CollectorState::RETRY_AFTER * IN_USE_RETRY_TURNS * 3).await;
    assert_eq!(world.names(), ["seed"]);
    assert!(world.find("seed").unwrap().meta().deletion_timestamp().is_none());
    world.in_use.0.lock().clear();
    world
        .until("it is gone, now that it is free", |world| {
            world.names().is_empty()
        })
        .await;
}

#[tokio::test]
async fn an_object_that_lost_its_owner_reference_meanwhile_is_not_collected() {
    let world = World::new(vec![object("a", &[]), object("b", &[owner("a", false)])]).await;
    let outdated = world.find("b").unwrap();
    let owners = [uid("a")];
    world
        .writer
        .edit(&key("b"), &uid("b"), |value| {
            remove_owner_references(value, &owners)
        })
        .await
        .unwrap();
    let kinds = Kinds::of(&crate::core::groups(&world.store));
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let protection = Arc::clone(&world.in_use) as Arc<dyn Protection>;
    let collector = Collector {
        writer: ObjectWriter::new(Arc::clone(&world.store), Arc::clone(&kinds), clock, protection),
        store: Arc::clone(&world.store),
        kinds,
    };
    let graph = Graph::default();
    collector
        .collect(&graph, &key("b"), &outdated, false)
        .await
        .unwrap();
    assert_eq!(world.names(), ["a", "b"]);
}

#[tokio::test]
async fn an_owner_made_again_under_the_same_name_is_another() {
    let mut stale = owner("a", false);
    stale["uid"] = "an older one".into();
    let world = World::new(vec![object("a", &[]), object("b", &[stale])]).await;
    world.until("it is gone", |world| world.names() == ["a"]).await;
}

#[tokio::test]
async fn one_owner_of_two_keeps_it_and_the_other_is_taken_off() {
    let world = World::new(vec![
        object("a", &[]),
        object("b", &[]),
        object("c", &[owner("a", true), owner("b", true)]),
    ])
    .await;
    world.delete("a", Propagation::Background).await;
    world
        .until("the reference is gone", |world| {
            world
                .find("c")
                .is_some_and(|object| object.meta().owner_references().len() == 1)
        })
        .await;
    assert_eq!(world.find("c").unwrap().meta().owner_references()[0].name, "b");
}

#[tokio::test]
async fn in_the_foreground_the_owner_waits_for_those_that_block() {
    let world = World::new(vec![
        object("a", &[]),
        held("blocking", &[owner("a", true)]),
        object("free", &[owner("a", true)]),
        object("other", &[owner("a", false)]),
    ])
    .await;
    world.delete("a", Propagation::Foreground).await;
    world
        .until("the free one is gone", |world| world.find("free").is_none())
        .await;
    world.settled().await;
    assert!(world.find("a").unwrap().meta().deletion_timestamp().is_some());
    assert!(
        world
            .find("blocking")
            .unwrap()
            .meta()
            .deletion_timestamp()
            .is_some()
    );
    let uid = uid("blocking");
    world
        .writer
        .edit(&key("blocking"), &uid, |value| {
            remove_finalizer(value, "example.com/hold")
        })
        .await
        .unwrap();
    world
        .until("everything is gone", |world| world.names().is_empty())
        .await;
}

#[tokio::test]
async fn an_owner_that_waits_does_not_keep_the_dependents_that_do_not_block_it() {
    let world = World::new(vec![
        object("a", &[]),
        held("blocking", &[owner("a", true)]),
        object("other", &[owner("a", false)]),
    ])
    .await;
    world.delete("a", Propagation::Foreground).await;
    world
        .until("the other is gone", |world| world.names() == ["a", "blocking"])
        .await;
}

#[tokio::test]
async fn a_reference_that_names_another_object_does_not_block_the_owner_with_its_uid() {
    let mut elsewhere = owner("a", true);
    elsewhere["apiVersion"] = "example.com/v1".into();
    let world = World::new(vec![object("a", &[]), object("b", &[elsewhere])]).await;
    world.delete("a", Propagation::Foreground).await;
    world
        .until("the owner is gone", |world| world.names() == ["b"])
        .await;
}

#[tokio::test]
async fn foreground_goes_down_the_generations() {
    let world = World::new(vec![
        object("a", &[]),
        object("b", &[owner("a", true)]),
        held("c", &[owner("b", true)]),
    ])
    .await;
    world.delete("a", Propagation::Foreground).await;
    world
        .until("b waits for c", |world| {
            world.find("b").is_some_and(|object| is_waiting(&object))
        })
        .await;
    world.settled().await;
    assert_eq!(world.names(), ["a", "b", "c"]);
    world
        .writer
        .edit(&key("c"), &uid("c"), |value| {
            remove_finalizer(value, "example.com/hold")
        })
        .await
        .unwrap();
    world
        .until("everything is gone", |world| world.names().is_empty())
        .await;
}

#[tokio::test]
async fn objects_that_own_each_other_do_not_wait_for_ever() {
    let world = World::new(vec![
        object("a", &[owner("b", true)]),
        object("b", &[owner("a", true)]),
    ])
    .await;
    world.delete("a", Propagation::Foreground).await;
    world
        .until("both are gone", |world| world.names().is_empty())
        .await;
}

#[tokio::test]
async fn orphans_stay_without_their_owner() {
    let world = World::new(vec![object("a", &[]), object("b", &[owner("a", true)])]).await;
    world.delete("a", Propagation::Orphan).await;
    world
        .until("the owner is gone", |world| world.names() == ["b"])
        .await;
    assert!(world.find("b").unwrap().meta().owner_references().is_empty());
    world.settled().await;
    assert_eq!(world.names(), ["b"]);
}

#[tokio::test]
async fn owners_of_unknown_kinds_are_never_taken_for_gone() {
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "u"});
    let world = World::new(vec![object("b", &[unknown])]).await;
    world.settled().await;
    assert_eq!(world.names(), ["b"]);
}

#[tokio::test]
async fn hundreds_of_dependents_go_with_one_owner() {
    let mut objects = vec![object("a", &[])];
    objects.extend((0..500).map(|number| object(&format!("d{number}"), &[owner("a", false)])));
    let world = World::new(objects).await;
    world.delete("a", Propagation::Background).await;
    world
        .until("all are gone", |world| world.names().is_empty())
        .await;
}

#[test]
fn references_resolve_to_where_the_owner_would_be() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let kinds = Kinds::of(&crate::core::groups(&store));
    let reference = |api_version: &str, kind: &str| OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: "o".to_owned(),
        ..OwnerReference::default()
    };
    assert_eq!(
        kinds.resolve(&reference("v1", "Secret"), "ns"),
        Some(Key::new(SECRETS, "ns", "o"))
    );
    assert_eq!(
        kinds.resolve(&reference("v1", "Secret"), ""),
        None,
        "a cluster-scoped object has no such owner"
    );
    let namespaces = GroupResource::new("", "namespaces");
    assert_eq!(
        kinds.resolve(&reference("v1", "Namespace"), "ns"),
        Some(Key::new(namespaces, "", "o"))
    );
    let events = GroupResource::new("", "events");
    assert_eq!(
        kinds.resolve(&reference("events.k8s.io/v1", "Event"), "ns"),
        Some(Key::new(events, "ns", "o"))
    );
    assert_eq!(kinds.resolve(&reference("apps/v1", "DaemonSet"), "ns"), None);
}
