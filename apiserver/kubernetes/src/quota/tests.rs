//! Quotas: usage, refusals and the status.

use std::time::Duration;

use berth_admission::UserInfo;
use berth_apimachinery::Draft;
use berth_apimachinery::write::Verb;
use berth_storage::{Expect, MemoryStore, Step, Store};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::garbage::Kinds;

const MAPS: GroupResource = GroupResource::new("", "configmaps");

async fn put(store: &Arc<dyn Store>, key: Key, mut value: Value) {
    value["metadata"] = json!({"name": &*key.name, "namespace": &*key.namespace});
    let step = Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(Draft::new(&value).unwrap()),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    store.apply(vec![step]).await.unwrap();
}

async fn quota(store: &Arc<dyn Store>, name: &str, hard: Value) {
    let value = json!({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard}});
    put(store, Key::new(RESOURCE, "ns", name), value).await;
}

async fn map(store: &Arc<dyn Store>, namespace: &str, name: &str) {
    let value = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    put(store, Key::new(MAPS, namespace, name), value).await;
}

fn create<'a>(user: &'a UserInfo, namespace: &'a str) -> Request<'a> {
    Request {
        operation: Operation::Create,
        resource: MAPS,
        kind: "ConfigMap",
        subresource: "",
        namespace,
        name: "new",
        user,
        old: None,
        dry_run: false,
    }
}

#[tokio::test]
async fn a_create_is_refused_when_any_quota_of_its_namespace_is_used_up() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let plugin = ResourceQuotas::new(Arc::clone(&store) as Arc<dyn Source>);
    let user = UserInfo::default();
    let request = create(&user, "ns");
    assert!(!plugin.handles(&request), "there is no quota");
    quota(
        &store,
        "wide",
        json!({"count/configmaps": "9", "count/secrets": "0"}),
    )
    .await;
    quota(&store, "narrow", json!({"configmaps": 1})).await;
    assert!(plugin.handles(&request) && !plugin.handles(&create(&user, "other")));
    let validate = || plugin.validate(&request, None, &mut Vec::new());
    map(&store, "other", "a").await;
    validate().unwrap();
    let Guard::Fence { name, not_after } = plugin.guards(&request, None).remove(0) else {
        panic!("a fence is passed");
    };
    assert_eq!((&*name, not_after), ("quota/ns/configmaps", store.revision()));
    map(&store, "ns", "a").await;
    assert_eq!(
        validate(),
        Err(Denial::Forbidden(
            "exceeded quota: narrow, requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
                .to_owned()
        ))
    );
    // If the quota is used up between admission and commit, nothing can be stored.
    let Guard::Unchanged { revision, .. } = plugin.guards(&request, None).remove(0) else {
        panic!("it is judged again");
    };
    assert_eq!(revision, Revision::default());
}

fn service(kind: &str, ports: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": kind, "ports": vec![json!({"port": 80}); ports]}})
}

#[tokio::test]
async fn node_ports_and_load_balancers_of_services_are_limited_by_creates_and_updates() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let plugin = ResourceQuotas::new(Arc::clone(&store) as Arc<dyn Source>);
    let user = UserInfo::default();
    let hard = json!({"services": "4", "services.nodeports": "3", "services.loadbalancers": "1"});
    quota(&store, "q", hard).await;
    put(&store, Key::new(SERVICES, "ns", "a"), service("NodePort", 2)).await;
    put(&store, Key::new(SERVICES, "ns", "b"), service("ClusterIP", 2)).await;
    let create = Request {
        resource: SERVICES,
        ..create(&user, "ns")
    };
    let refusal = |request: &Request<'_>, object: &Value| {
        assert!(plugin.handles(request));
        match plugin.validate(request, Some(object), &mut Vec::new()) {
            Ok(()) => String::new(),
            Err(Denial::Forbidden(text)) => text,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(refusal(&create, &service("ClusterIP", 9)), "");
    assert_eq!(refusal(&create, &service("LoadBalancer", 1)), "");
    let wanted = "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=2, \
                  limited: services.nodeports=3";
    assert_eq!(refusal(&create, &service("NodePort", 2)), wanted);
    let mut portless = service("LoadBalancer", 2);
    portless["spec"]["allocateLoadBalancerNodePorts"] = false.into();
    assert_eq!(refusal(&create, &portless), "");

    let old = service("ClusterIP", 2);
    let update = Request {
        operation: Operation::Update,
        old: Some(&old),
        ..create
    };
    assert_eq!(refusal(&update, &service("NodePort", 2)), wanted);
    assert_eq!(refusal(&update, &service("ExternalName", 2)), "");
    assert_eq!(plugin.guards(&update, Some(&old)), []);
    assert_eq!(plugin.guards(&update, Some(&service("NodePort", 1))).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_quota_says_what_is_there_from_the_start_and_after_changes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    map(&store, "ns", "a").await;
    quota(
        &store,
        "q",
        json!({"count/configmaps": "5", "count/secrets": 2, "count/unknown.example.com": "1", "memory": "1Gi"}),
    )
    .await;
    let stop = CancellationToken::new();
    let kinds = Kinds::of(&crate::core::groups(&store));
    let task = spawn(Arc::clone(&store), &kinds, stop.clone());
    for count in 1..4 {
        let wanted = json!({
            "hard": {"count/configmaps": "5", "count/secrets": "2", "count/unknown.example.com": "1", "memory": "1Gi"},
            "used": {"count/configmaps": count.to_string(), "count/secrets": "0", "memory": "0"},
        });
        let mut status = Value::Null;
        for _ in 0..100 {
            let quotas = store.cached(RESOURCE);
            status = quotas.get("ns", "q").unwrap().parse()["status"].clone();
            if status == wanted {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(status, wanted);
        map(&store, "ns", &format!("more-{count}")).await;
    }
    stop.cancel();
    task.await.unwrap();
}
