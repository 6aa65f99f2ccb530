//! The virtual API over real dialects, a store in memory and the server's registry; no HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod effort;
mod fits;
mod gardener;
mod observed;
mod ocm;
mod reviews;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_admission::rights::{Right, RightCheck, RightChecker};
use berth_admission::{Chain, UserInfo};
use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, GroupResource, Key, Object, Status, Timestamp};
use berth_apiserver::{
    Access, Attributes, Authorizer, Backing, Call, Computed, Group, ListQuery, Query, Registry, Reply,
    Resource, Warnings,
};
use berth_dialect_contract::Dialect;
use berth_engine::Engine;
use berth_scheduling_api::{API_VERSION, GROUP};
use berth_storage::{At, Event, Expect, MemoryStore, Source, Step, Watch};
use serde_json::Value;

use berth_scheduling_rest::VirtualApi;
use berth_scheduling_rest::projection::{DECISIONS, TARGETS};

/// Allows everything but what is listed as `verb resource/subresource`.
#[derive(Default)]
struct AllBut(Vec<&'static str>);

#[async_trait]
impl Authorizer for AllBut {
    async fn authorize(&self, asked: &Attributes) -> Result<Access, berth_apiserver::DelegationError> {
        let mut text = format!("{} {}", asked.verb, asked.resource);
        if !asked.subresource.is_empty() {
            text.push_str(&format!("/{}", asked.subresource));
        }
        let refused = self.0.contains(&text.as_str());
        Ok(if refused {
            Access::NoOpinion(String::new())
        } else {
            Access::Allow(String::new())
        })
    }
}

struct World {
    store: Arc<MemoryStore>,
    engine: Arc<Engine>,
    clock: Arc<SteppedClock>,
    api: VirtualApi,
    groups: Vec<Group>,
    denied: Vec<&'static str>,
}

/// Every writer here has every right.
struct Anything;

impl RightChecker for Anything {
    fn has<'a>(&'a self, _: &'a UserInfo, _: &'a Right) -> RightCheck<'a> {
        Box::pin(async { Ok(true) })
    }
}

impl World {
    fn new(dialect: Arc<dyn Dialect>) -> Self {
        let store = Arc::new(MemoryStore::default());
        let start = "2021-10-28T09:00:00Z".parse().unwrap();
        let clock = Arc::new(SteppedClock::at(start));
        let source = Arc::clone(&store) as Arc<dyn Source>;
        let engine = Engine::new(
            vec![Arc::clone(&dialect)],
            source,
            Arc::clone(&clock) as Arc<dyn Clock>,
        );
        engine.spawn();
        let registry = Registry::builder(
            Chain::new(dialect.admission()).with_right_checker(Arc::new(Anything)),
            Arc::clone(&clock) as Arc<dyn Clock>,
        );
        let api = VirtualApi::new(Arc::clone(&engine), Arc::clone(registry.handle()), Vec::new());
        api.spawn();
        let mut groups = api.groups();
        groups.extend(stored(&*dialect, &api, &store));
        registry.build(&groups).unwrap();
        Self {
            store,
            engine,
            clock,
            api,
            groups,
            denied: Vec::new(),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn step(&self, seconds: i64) {
        self.clock.advance(jiff::SignedDuration::from_secs(seconds));
        self.api.projection().look_at_the_clock();
    }

    /// Loads the documents of a file that are of the dialect's kinds.
    fn load(&self, yaml: &str) {
        for value in documents(yaml) {
            if self
                .api
                .catalog()
                .find(
                    value["apiVersion"].as_str().unwrap(),
                    value["kind"].as_str().unwrap(),
                )
                .is_some()
            {
                self.put(value);
            }
        }
    }

    /// Stores an object as it is, with a uid of its own.
    fn put(&self, mut value: Value) -> Key {
        let (key, _) = self.api.catalog().read(value.clone(), "", self.now()).unwrap();
        let old = self.stored(&key);
        let (verb, expect) = if old.is_some() {
            (Verb::Update, Expect::Present)
        } else {
            (Verb::Create, Expect::Absent)
        };
        value["metadata"]["uid"] = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, key.to_string().as_bytes())
            .to_string()
            .into();
        value["metadata"]["creationTimestamp"] = "2021-10-28T08:00:00Z".into();
        let (_, object) = self.api.catalog().read(value, "", self.now()).unwrap();
        let step = Step {
            verb,
            key: key.clone(),
            subresource: "",
            object: Some(object.draft()),
            expect,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
        key
    }

    fn edit(&self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut value = self.stored(key).unwrap().parse();
        change(&mut value);
        let step = Step {
            verb: Verb::Update,
            key: key.clone(),
            subresource: "",
            object: Some(Draft::new(&value).unwrap()),
            expect: Expect::Present,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
    }

    fn remove(&self, key: &Key) {
        let (verb, expect) = (Verb::Delete, Expect::Present);
        let step = Step {
            verb,
            key: key.clone(),
            subresource: "",
            object: None,
            expect,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
    }

    fn stored(&self, key: &Key) -> Option<Arc<Object>> {
        self.store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .cloned()
    }

    fn resource(&self, group: &str, plural: &str) -> &Resource {
        let group = self.groups.iter().find(|have| have.name == group).unwrap();
        group
            .resources
            .iter()
            .find(|resource| resource.kind.info().plural == plural)
            .unwrap()
    }

    fn computed(&self, plural: &str) -> Arc<dyn Computed> {
        match &self.resource(GROUP, plural).backing {
            Backing::Computed(handler) => Arc::clone(handler),
            _ => panic!("{plural} is not computed"),
        }
    }

    fn call(&self, namespace: &str, name: &str) -> Call {
        Call {
            manager: "test".to_owned(),
            user: UserInfo {
                name: "alice".to_owned(),
                ..UserInfo::default()
            },
            version: "v1alpha1".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            now: self.now(),
            query: Query::default(),
            dry_run: false,
            warnings: Warnings::default(),
            annotations: berth_apiserver::Annotations::default(),
            authorizer: Arc::new(AllBut(self.denied.clone())),
        }
    }

    async fn get(&self, resource: GroupResource, namespace: &str, name: &str) -> Option<Arc<Object>> {
        let list = self.api.projection().list(resource, At::Latest).await.unwrap();
        list.get(namespace, name).cloned()
    }

    async fn decision(&self, namespace: &str, name: &str) -> Arc<Value> {
        Arc::clone(
            self.get(DECISIONS, namespace, name)
                .await
                .expect("a decision")
                .value(),
        )
    }

    async fn target(&self, name: &str) -> Arc<Value> {
        Arc::clone(self.get(TARGETS, "", name).await.expect("a target").value())
    }

    /// Reads or writes a subresource of a virtual or a stored resource.
    async fn sub(
        &self,
        resource: GroupResource,
        name: &str,
        call: &Call,
        verb: &str,
        body: Value,
    ) -> Result<Reply, Status> {
        let resource = self.resource(resource.group, resource.resource);
        let subresource = resource
            .subresources
            .iter()
            .find(|have| have.name == name)
            .unwrap();
        assert!(subresource.verbs.contains(&verb));
        match verb {
            "get" => subresource.handler.get(call).await,
            "create" => subresource.handler.create(call, body).await,
            _ => subresource.handler.update(call, body).await,
        }
    }

    async fn scheduling(&self, namespace: &str, name: &str) -> Value {
        let call = self.call(namespace, name);
        value(
            self.sub(DECISIONS, "scheduling", &call, "get", Value::Null)
                .await
                .unwrap(),
        )
    }

    async fn bind(&self, call: &Call, targets: &[&str]) -> Result<Value, Status> {
        let body = serde_json::json!({"spec": {"targets": targets}});
        self.sub(DECISIONS, "binding", call, "create", body)
            .await
            .map(value)
    }

    /// The candidates of a list, in name order. Also that they read the same where the list is written
    /// without them.
    async fn candidates(&self, namespace: &str, query: &ListQuery) -> Result<Vec<Arc<Object>>, Status> {
        let call = self.call(namespace, "");
        let listing = self.computed("candidates").list(&call, query).await?;
        let objects = (0..listing.len()).map(|index| listing.object(index));
        let objects: Vec<Arc<Object>> = objects.collect::<Result<_, _>>()?;
        let mut written = Vec::new();
        assert!(listing.write(0..listing.len(), &mut written)?);
        let made: Vec<String> = objects
            .iter()
            .map(|object| String::from_utf8(object.bytes().to_vec()).unwrap())
            .collect();
        assert_eq!(str::from_utf8(&written).unwrap(), made.join(","));
        let name = |index| listing.name(index);
        assert!((1..listing.len()).all(|index| name(index - 1) < name(index)));
        Ok(objects)
    }

    async fn review(&self, spec: Value) -> Result<Value, Status> {
        self.review_in("", spec).await
    }

    /// A review in `namespace`, or one of the whole cluster.
    async fn review_in(&self, namespace: &str, spec: Value) -> Result<Value, Status> {
        let (plural, name) = match namespace {
            "" => ("schedulingreviews", "SchedulingReview"),
            _ => ("localschedulingreviews", "LocalSchedulingReview"),
        };
        let body = serde_json::json!({"apiVersion": API_VERSION, "kind": name, "spec": spec});
        let kind = &self.resource(GROUP, plural).kind;
        let schema = kind.schema("v1alpha1");
        let mut body = body;
        schema.default(&mut body);
        let mut errors = schema.validate(&body);
        if errors.is_empty() {
            let write = berth_apimachinery::Write {
                operation: berth_apimachinery::WriteOperation::Create,
                old: None,
                now: self.now(),
            };
            errors = kind.validate(&write, &body);
        }
        if !errors.is_empty() {
            return Err(Status::invalid(GROUP, name, "", &errors));
        }
        self.computed(plural)
            .create(&self.call(namespace, ""), body)
            .await
            .map(value)
    }
}

/// The dialect's own groups, stored.
fn stored(dialect: &dyn Dialect, api: &VirtualApi, store: &Arc<MemoryStore>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for kind in dialect.kinds() {
        let name = kind.info().group;
        let backing = Backing::Stored(Arc::clone(store) as Arc<_>);
        let resource = api.extended(Resource::new(kind, backing));
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.resources.push(resource),
            None => groups.push(Group {
                name,
                resources: vec![resource],
            }),
        }
    }
    groups
}

fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap()
}

fn value(reply: Reply) -> Value {
    match reply {
        Reply::Value(value) => value,
        Reply::Document(document) => serde_json::from_slice(&document.json().unwrap()).unwrap(),
        Reply::Object(object) => object.parse(),
    }
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The next events of a watch that are about `name`.
async fn next(watch: &mut Box<dyn Watch>, name: &str) -> Arc<Event> {
    let wait = async {
        loop {
            for event in watch.next(1).await.unwrap() {
                if &*event.change.key.name == name {
                    return event;
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .expect("an event in time")
}
