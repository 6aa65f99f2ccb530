//! Namespaces from creation to removal.

use std::time::{Duration, Instant};

use berth_admission::{Operation, Plugin as _, Request, UserInfo};
use berth_apimachinery::{FixedClock, GroupResource, Key, Object, Status, Timestamp};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::garbage::{Kinds, ObjectWriter, Propagation, Protection};

const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");
const SECRETS: GroupResource = GroupResource::new("", "secrets");

/// Guards of an object that is never in use.
struct NoGuards;

#[async_trait::async_trait]
impl Protection for NoGuards {
    async fn permits(&self, _: &Key, _: &Object) -> Result<Vec<berth_apimachinery::write::Guard>, String> {
        Ok(Vec::new())
    }
}

/// Guards of ConfigMaps, each of which is in use as long as there are Secrets.
struct UsedBySecrets(Arc<dyn Store>);

#[async_trait::async_trait]
impl Protection for UsedBySecrets {
    async fn permits(&self, key: &Key, _: &Object) -> Result<Vec<berth_apimachinery::write::Guard>, String> {
        match key.resource == CONFIG_MAPS && !self.0.cached(SECRETS).items.is_empty() {
            true => Err(format!("{key} is in use")),
            false => Ok(Vec::new()),
        }
    }
}

struct World {
    store: Arc<dyn Store>,
    writer: ObjectWriter,
    stop: CancellationToken,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl World {
    async fn new() -> Self {
        let store = Arc::new(berth_storage::MemoryStore::default());
        Self::protected_by(store, Arc::new(NoGuards)).await
    }

    async fn protected_by(store: Arc<dyn Store>, protection: Arc<dyn Protection>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        ensure_defaults(&store, &*clock).await.unwrap();
        ensure_defaults(&store, &*clock).await.unwrap();
        let kinds = Kinds::of(&crate::core::groups(&store));
        let writer = ObjectWriter::new(
            Arc::clone(&store),
            Arc::clone(&kinds),
            Arc::clone(&clock),
            Arc::clone(&protection),
        );
        let stop = CancellationToken::new();
        let world = Self {
            store: Arc::clone(&store),
            writer,
            stop: stop.clone(),
        };
        world
            .put(namespace::RESOURCE, namespace::new("ns", Timestamp::UNIX_EPOCH))
            .await;
        drop(spawn(store, kinds, clock, protection, stop));
        world
    }

    async fn put(&self, resource: GroupResource, object: Value) {
        let draft = Draft::new(&object).unwrap();
        let key = Key::new(resource, draft.meta().namespace(), draft.meta().name());
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

    fn namespace(&self) -> Option<Arc<Object>> {
        self.store.cached(namespace::RESOURCE).get("", "ns").cloned()
    }

    async fn delete(&self) {
        let uid = self.namespace().unwrap().meta().uid().to_owned();
        let key = Key::new(namespace::RESOURCE, "", "ns");
        self.writer
            .delete(&key, &uid, Propagation::Background)
            .await
            .unwrap();
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !holds(self) {
            assert!(Instant::now() < deadline, "{what}");
            tokio::task::yield_now().await;
        }
    }

    fn refusal(
        &self,
        operation: Operation,
        resource: GroupResource,
        namespace: &str,
        name: &str,
    ) -> Option<Status> {
        let plugin = NamespaceLifecycle::new(Arc::clone(&self.store) as Arc<dyn berth_storage::Source>);
        let user = UserInfo::default();
        let request = Request {
            operation,
            resource,
            kind: "X",
            subresource: "",
            namespace,
            name,
            user: &user,
            old: None,
            dry_run: false,
        };
        if !plugin.handles(&request) {
            return None;
        }
        let verdict = plugin
            .mutate(&request, &mut json!({}), &mut Vec::new())
            .and_then(|()| plugin.validate(&request, None, &mut Vec::new()));
        verdict.err().map(|denied| denied.into_status(&request))
    }
}

fn config_map(name: &str, finalizers: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "ns", "uid": name, "finalizers": finalizers}})
}

#[tokio::test]
async fn the_default_namespaces_are_there_and_are_not_deleted() {
    let world = World::new().await;
    for name in DEFAULTS {
        assert!(world.store.cached(namespace::RESOURCE).get("", name).is_some());
    }
    for name in ["default", "kube-system", "kube-public"] {
        let status = world
            .refusal(Operation::Delete, namespace::RESOURCE, "", name)
            .unwrap();
        assert_eq!(status.code, 403);
        assert_eq!(
            status.message,
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted")
        );
    }
    assert_eq!(
        world.refusal(Operation::Delete, namespace::RESOURCE, "", "ns"),
        None
    );
}

#[tokio::test]
async fn nothing_is_made_where_there_is_no_namespace_or_a_going_one() {
    let world = World::new().await;
    world
        .put(CONFIG_MAPS, config_map("held", &["example.com/hold"]))
        .await;
    assert_eq!(world.refusal(Operation::Create, CONFIG_MAPS, "ns", "x"), None);
    let missing = world
        .refusal(Operation::Create, CONFIG_MAPS, "other", "x")
        .unwrap();
    assert_eq!(
        (missing.code, missing.message.as_str()),
        (404, "namespaces \"other\" not found")
    );
    world.delete().await;
    let going = world.refusal(Operation::Create, CONFIG_MAPS, "ns", "x").unwrap();
    assert_eq!(going.code, 403);
    assert_eq!(
        going.message,
        "configmaps \"x\" is forbidden: unable to create new content in namespace ns because it is being terminated"
    );
    let cause = &going.details.unwrap().causes[0];
    assert_eq!(
        (cause.reason.as_str(), cause.field.as_str()),
        ("NamespaceTerminating", "metadata.namespace")
    );
    assert_eq!(
        world.refusal(Operation::Update, CONFIG_MAPS, "ns", "x"),
        None,
        "finalizers must come off somehow"
    );
    let reviews = GroupResource::new("authorization.k8s.io", "localsubjectaccessreviews");
    assert_eq!(world.refusal(Operation::Create, reviews, "other", ""), None);
}

#[tokio::test]
async fn a_deleted_namespace_goes_with_everything_in_it() {
    let world = World::new().await;
    for number in 0..200 {
        world
            .put(CONFIG_MAPS, config_map(&format!("c{number}"), &[]))
            .await;
    }
    world.put(SECRETS, config_map("s", &[])).await;
    world.delete().await;
    world
        .until("the namespace is gone", |world| world.namespace().is_none())
        .await;
    assert!(world.store.cached(CONFIG_MAPS).items.is_empty());
    assert!(
        world
            .store
            .cached(namespace::RESOURCE)
            .get("", "default")
            .is_some()
    );
}

#[tokio::test]
async fn an_object_in_use_does_not_keep_the_objects_that_use_it() {
    let store: Arc<dyn Store> = Arc::new(berth_storage::MemoryStore::default());
    let protection = Arc::new(UsedBySecrets(Arc::clone(&store)));
    let world = World::protected_by(store, protection).await;
    world.put(CONFIG_MAPS, config_map("used", &[])).await;
    world.put(SECRETS, config_map("user", &[])).await;
    world.delete().await;
    world
        .until("the namespace is gone", |world| world.namespace().is_none())
        .await;
}

#[tokio::test]
async fn what_holds_it_back_stands_in_its_status() {
    let world = World::new().await;
    world
        .put(CONFIG_MAPS, config_map("held", &["example.com/hold"]))
        .await;
    world.put(CONFIG_MAPS, config_map("free", &[])).await;
    world.delete().await;
    let conditions = |world: &World| {
        world
            .namespace()
            .map(|object| object.value()["status"]["conditions"].clone())
    };
    world
        .until("it says what is left", |world| {
            conditions(world).is_some_and(|list| list.is_array())
        })
        .await;
    let list = conditions(&world).unwrap();
    assert_eq!(
        list[0]["message"],
        "Some resources are remaining: configmaps has 1 resource instances"
    );
    let words =
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances";
    assert_eq!(
        (&list[1]["status"], &list[1]["message"]),
        (&json!("True"), &json!(words))
    );
    assert_eq!(list[0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
    assert_eq!(
        world.namespace().unwrap().value()["status"]["phase"],
        "Terminating"
    );

    let key = Key::new(CONFIG_MAPS, "ns", "held");
    let free = |value: &mut Value| {
        value["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("finalizers")
            .is_some()
    };
    world.writer.edit(&key, "held", free).await.unwrap();
    world
        .until("the namespace is gone", |world| world.namespace().is_none())
        .await;
}

#[tokio::test]
async fn finalizers_of_others_in_the_spec_keep_the_emptied_namespace() {
    let world = World::new().await;
    let key = Key::new(namespace::RESOURCE, "", "ns");
    let uid = world.namespace().unwrap().meta().uid().to_owned();
    let add = |value: &mut Value| {
        value["spec"]["finalizers"] = json!(["kubernetes", "example.com/x"]);
        true
    };
    world.writer.edit(&key, &uid, add).await.unwrap();
    world.delete().await;
    world
        .until("the content's finalizer is off", |world| {
            world.namespace().unwrap().value()["spec"]["finalizers"] == json!(["example.com/x"])
        })
        .await;
}

#[tokio::test]
async fn the_conditions_follow_the_content_until_it_is_gone() {
    let world = World::new().await;
    let key = Key::new(namespace::RESOURCE, "", "ns");
    let uid = world.namespace().unwrap().meta().uid().to_owned();
    let add = |value: &mut Value| {
        value["spec"]["finalizers"] = json!(["kubernetes", "example.com/x"]);
        true
    };
    world.writer.edit(&key, &uid, add).await.unwrap();
    let held = config_map("held", &["example.com/first", "example.com/second"]);
    world.put(CONFIG_MAPS, held).await;
    world.delete().await;
    let finalizers = |world: &World, expected: &str| {
        let namespace = world.namespace().unwrap();
        let message = namespace.value()["status"]["conditions"][1]["message"].as_str();
        message.is_some_and(|message| message.ends_with(expected))
    };
    world
        .until("both finalizers are there", |world| {
            finalizers(
                world,
                ": example.com/first in 1 resource instances, example.com/second in 1 resource instances",
            )
        })
        .await;
    let key = Key::new(CONFIG_MAPS, "ns", "held");
    let keep = |finalizers: Value| {
        move |value: &mut Value| {
            value["metadata"]["finalizers"] = finalizers.clone();
            true
        }
    };
    world
        .writer
        .edit(&key, "held", keep(json!(["example.com/second"])))
        .await
        .unwrap();
    world
        .until("one finalizer is left", |world| {
            finalizers(world, "remaining: example.com/second in 1 resource instances")
        })
        .await;
    world.writer.edit(&key, "held", keep(json!([]))).await.unwrap();
    world
        .until("the content's finalizer is off", |world| {
            world.namespace().unwrap().value()["spec"]["finalizers"] == json!(["example.com/x"])
        })
        .await;
    let namespace = world.namespace().unwrap();
    for condition in namespace.value()["status"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["status"], "False", "{condition}");
    }
}
