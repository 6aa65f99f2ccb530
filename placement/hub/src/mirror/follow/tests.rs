//! Copies and their removal, and the writers of objects.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use berth_apimachinery::{CustomKind, Revision};
use berth_storage::MemoryStore;
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;

use super::*;

/// A reflector of things on the leader. Its hub serves nothing.
fn reflector(store: &Arc<dyn Store>) -> Reflector {
    let hub = |_: Request<Body>| async { Response::builder().status(404).body(Body::empty()) };
    reflector_of(store, Client::new(tower::service_fn(hub), "default"))
}

/// A reflector of things of the hub of `client` on the leader.
fn reflector_of(store: &Arc<dyn Store>, client: Client) -> Reflector {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let kind: Arc<dyn Kind> = Arc::new(CustomKind::read(&definition).unwrap());
    let context = ReflectorContext {
        client,
        store: Arc::clone(store),
        versions: Arc::default(),
        leading: watch::channel(true).1,
        progress: Arc::new(watch::Sender::new(Progress::new())),
    };
    Reflector::new(context, &kind, None)
}

/// The thing `name` as the hub has it at `version`.
fn thing(name: &str, version: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": version}})
}

/// A list of `things` at `version`.
fn list(version: &str, things: &[Value]) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "ThingList",
        "metadata": {"resourceVersion": version}, "items": things})
}

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| query.contains("watch=true"))
}

#[tokio::test]
async fn each_list_on_the_leader_removes_copies_that_another_leader_left() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reflector = reflector(&store);
    let is_stored = |key: &Key| {
        let copies = store.cached(key.resource);
        copies.get(&key.namespace, &key.name).is_some()
    };
    for name in ["a", "b"] {
        let key = Key::new(reflector.resource, "ns", name);
        let value = json!({"apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"name": name, "namespace": "ns"}});
        let draft = Draft::new(&value).unwrap();
        let step = reflector.step(&key, &Some(draft)).unwrap();
        store.apply(vec![step]).await.unwrap();
        assert!(is_stored(&key));
        reflector.finish_list().await;
        assert!(!is_stored(&key), "{name} is not on the hub");
    }
}

#[tokio::test]
async fn of_several_plans_for_one_object_the_last_one_is_carried_out() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reflector = reflector(&store);
    let key = Key::new(reflector.resource, "ns", "a");
    let put = |reflector: &mut Reflector, state: &str| {
        let mut value = thing("a", "1");
        value["metadata"]["labels"] = json!({"state": state});
        reflector.put(serde_json::from_value(value).unwrap(), None);
    };
    let state = || {
        let copies = store.cached(key.resource);
        let copy = copies.get("ns", "a")?;
        copy.meta().labels().get("state").map(str::to_owned)
    };
    put(&mut reflector, "listed");
    put(&mut reflector, "fetched");
    reflector.flush().await;
    assert_eq!(state().as_deref(), Some("fetched"));
    put(&mut reflector, "changed");
    reflector.remove(key.clone());
    reflector.flush().await;
    assert_eq!(state(), None);
    assert_eq!(reflector.context.versions.get(&key), None);
    put(&mut reflector, "made anew");
    reflector.flush().await;
    reflector.remove(key.clone());
    put(&mut reflector, "here again");
    reflector.flush().await;
    assert_eq!(state().as_deref(), Some("here again"));
    assert!(reflector.context.versions.get(&key).is_some());
}

#[tokio::test]
async fn a_follower_forgets_a_deleted_object_and_removes_its_copy_when_it_leads() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reflector = reflector(&store);
    let object: DynamicObject = serde_json::from_value(thing("a", "1")).unwrap();
    let is_stored = || {
        let copies = store.cached(GroupResource::new("example.com", "things"));
        copies.get("ns", "a").is_some()
    };
    reflector.apply_event(Event::Apply(object.clone()), None).await;
    reflector.context.leading = watch::channel(false).1;
    reflector.apply_event(Event::Delete(object), None).await;
    assert!(reflector.known.is_empty() && is_stored());
    reflector.context.leading = watch::channel(true).1;
    for event in [Event::Init, Event::InitDone] {
        reflector.apply_event(event, None).await;
    }
    assert!(!is_stored());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_be_listed_and_not_watched_is_listed_again_and_again() {
    let lists = Arc::new(AtomicUsize::new(0));
    // Each list has one thing, which is named after the number of the lists before it.
    let hub = move |request: Request<Body>| {
        let (code, answer): (u16, Value) = if is_watch(&request) {
            let refusal = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
                "code": 403, "reason": "Forbidden", "message": "you may not watch things"});
            (403, refusal)
        } else {
            let name = format!("thing-{}", lists.fetch_add(1, Ordering::Relaxed));
            (200, list("1", &[thing(&name, "1")]))
        };
        async move {
            Response::builder()
                .status(code)
                .body(Body::from(answer.to_string().into_bytes()))
        }
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let reflector = reflector_of(&store, Client::new(tower::service_fn(hub), "default"));
    let resource = reflector.resource;
    let task = tokio::spawn(reflector.run());
    let is_stored = |name: &str| store.cached(resource).get("ns", name).is_some();
    let lists_again = async {
        while !is_stored("thing-8") {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    };
    let time_limit = PAUSES.1 * 8;
    assert!(tokio::time::timeout(time_limit, lists_again).await.is_ok());
    assert!(!is_stored("thing-7"), "it is in no list any more");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_hub_serves_again_is_listed_again() {
    let served = Arc::new(AtomicBool::new(true));
    let is_served = Arc::clone(&served);
    let hub = move |request: Request<Body>| {
        let is_served = is_served.load(Ordering::Relaxed) && request.uri().path().ends_with("/things");
        let (code, answer): (u16, Value) = match (is_served, is_watch(&request)) {
            (false, _) => (404, Value::Null),
            (true, false) => (200, list("1", &[thing("a", "1"), thing("b", "1")])),
            (true, true) => (200, Value::Null),
        };
        let body = match &answer {
            Value::Null => Body::empty(),
            answer => Body::from(answer.to_string().into_bytes()),
        };
        async move {
            // A watch ends then, without an event.
            tokio::time::sleep(Duration::from_secs(1)).await;
            Response::builder().status(code).body(body)
        }
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let reflector = reflector_of(&store, Client::new(tower::service_fn(hub), "default"));
    let resource = reflector.resource;
    let mut progress = reflector.context.progress.subscribe();
    let task = tokio::spawn(reflector.run());
    let is_stored = |name: &str| store.cached(resource).get("ns", name).is_some();
    for (is_served, expected) in [
        (true, CopyProgress::Complete),
        (false, CopyProgress::Absent),
        (true, CopyProgress::Complete),
    ] {
        served.store(is_served, Ordering::Relaxed);
        let is_there = |progress: &Progress| progress.get(&resource) == Some(&expected);
        let arrival = tokio::time::timeout(Duration::from_mins(2), progress.wait_for(is_there));
        assert!(matches!(arrival.await, Ok(Ok(_))), "{expected:?}");
        assert_eq!([is_stored("a"), is_stored("b")], [is_served; 2]);
    }
    task.abort();
}

#[tokio::test]
async fn a_kind_that_the_hub_serves_again_is_incomplete_until_its_list_ends() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reflector = reflector(&store);
    let (resource, progress) = (reflector.resource, reflector.context.progress.subscribe());
    reflector.set_absent().await;
    for (event, expected) in [
        (Event::Init, CopyProgress::Absent),
        (
            Event::InitApply(serde_json::from_value(thing("a", "1")).unwrap()),
            CopyProgress::Waiting(None),
        ),
        (Event::InitDone, CopyProgress::Complete),
    ] {
        reflector.apply_event(event, None).await;
        assert_eq!(progress.borrow().get(&resource), Some(&expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_follower_notices_the_copies_of_the_leader_although_events_come_all_the_time() {
    let requests = AtomicUsize::new(1);
    // The thing changes four times in each interval between two checks.
    let hub = move |request: Request<Body>| {
        let version = requests.fetch_add(1, Ordering::Relaxed).to_string();
        let thing = thing("a", &version);
        let answer = match is_watch(&request) {
            true => json!({"type": "MODIFIED", "object": thing}),
            false => list(&version, &[thing]),
        };
        async move {
            tokio::time::sleep(CHECK_INTERVAL / 4).await;
            Response::builder().body(Body::from(answer.to_string().into_bytes()))
        }
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reflector = reflector_of(&store, Client::new(tower::service_fn(hub), "default"));
    reflector.context.leading = watch::channel(false).1;
    let resource = reflector.resource;
    let draft = Draft::new(&thing("a", "1")).unwrap();
    let step = reflector.step(&Key::new(resource, "ns", "a"), &Some(draft));
    let mut progress = reflector.context.progress.subscribe();
    let task = tokio::spawn(reflector.run());
    // The copy comes after the list.
    tokio::time::sleep(CHECK_INTERVAL).await;
    store.apply(vec![step.unwrap()]).await.unwrap();
    let is_complete = |progress: &Progress| progress.get(&resource) == Some(&CopyProgress::Complete);
    let noticed = tokio::time::timeout(CHECK_INTERVAL * 10, progress.wait_for(is_complete));
    assert!(matches!(noticed.await, Ok(Ok(_))));
    task.abort();
}

#[test]
fn a_copy_is_deleted_and_a_default_in_its_place_stays_until_there_is_a_copy() {
    let key = berth_dialect_contract::config::key("gardener");
    let object = |annotations: Value| {
        json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "gardener", "annotations": annotations},
        })
    };
    let stored = |annotations: Value| Object::new(&object(annotations), Revision(1)).unwrap();
    let (copy, default) = (stored(json!({})), stored(json!({FROM_FILE: "gardener.yaml"})));
    let draft = Some(Draft::new(&object(json!({}))).unwrap());
    let verb = |draft: &Option<Draft>, stored| step(&key, draft, stored).map(|step| step.verb);
    assert_eq!(verb(&None, Some(&copy)), Some(Verb::Delete));
    assert_eq!(verb(&None, Some(&default)), None);
    assert_eq!(verb(&draft, Some(&default)), Some(Verb::Update));
    assert_eq!(verb(&draft, None), Some(Verb::Create));
}

#[test]
fn the_manager_of_the_newest_fields_is_who_wrote_an_object() {
    let of = |fields: Value| {
        let metadata = serde_json::from_value(json!({"name": "a", "managedFields": fields})).unwrap();
        manager(&metadata).map(|manager| manager.to_string())
    };
    let entry = |manager: &str, time: &str| json!({"manager": manager, "operation": "Update", "time": time});
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
    assert_eq!(of(json!([])), None);
    let fields = json!([entry("placement", late), entry("kubectl", early)]);
    assert_eq!(of(fields).as_deref(), Some("placement"));
    let fields = json!([entry("placement", late), entry("kubectl", late)]);
    assert_eq!(of(fields).as_deref(), Some("kubectl"));
}
