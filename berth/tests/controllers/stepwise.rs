//! Stores that make the writes of a decision one after the other, as etcd does: what others decide in
//! between.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Revision};
use berth_dialect_contract::config;
use berth_engine::{Bind, UnplacedTreatment};
use berth_storage::{At, Collection, NotReady, Scope, Step, StepResult, StoreError, Watch, Writer};

use super::*;

/// A store in memory that commits step by step, and stops once after the first step of a list.
#[derive(Default)]
struct Stepwise {
    inner: MemoryStore,
    stopped: AtomicBool,
    /// Signal to go on after a stop.
    go_on: Notify,
    /// Somebody has stopped.
    has_stopped: Notify,
}

#[async_trait]
impl Source for Stepwise {
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
        self.inner.revision()
    }
}

#[async_trait]
impl Writer for Stepwise {
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        let is_list = steps.len() > 1;
        let mut all = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            if number == 1 && is_list && !self.stopped.swap(true, Ordering::SeqCst) {
                self.has_stopped.notify_one();
                self.go_on.notified().await;
            }
            all.extend(self.inner.apply(vec![step]).await?);
        }
        Ok(all)
    }
}

impl Store for Stepwise {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.inner.hold(resource, collection);
    }
    fn ready(&self) -> Result<(), NotReady> {
        self.inner.ready()
    }
}

const CLUSTERS: GroupResource = GroupResource::new("clusters.openmcp.cloud", "clusters");
const REQUESTS: GroupResource = GroupResource::new("clusters.openmcp.cloud", "clusterrequests");

impl World {
    async fn configure_openmcp(&self, tenants: u32) {
        let configuration = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "openmcp"},
            "spec": {"openmcp": {"scheduler": {"purposeMappings": {"workload": {
                "tenancyCount": tenants, "template": {"spec": {"profile": "small", "tenancy": "Shared"}},
            }}}}},
        });
        self.write(Verb::Create, &config::key("openmcp"), "", configuration)
            .await;
    }

    async fn request(&self, name: &str) -> Key {
        let key = Key::new(REQUESTS, "ns", name);
        let request = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest",
            "metadata": {"name": name, "namespace": "ns"}, "spec": {"purpose": "workload"},
        });
        self.write(Verb::Create, &key, "", request).await;
        key
    }

    /// Binds `request` beside the controller, which takes one after the other.
    async fn bind(&self, request: &Key) {
        let wish = Bind {
            dialect: "openmcp",
            demand: request,
            chosen: None,
            dry_run: false,
            unplaced: UnplacedTreatment::Refuse,
            by: None,
        };
        let committer = RegistryCommitter(Arc::clone(&self.registry));
        self.engine.bind(&committer, wish).await.unwrap();
    }

    /// The Cluster `request` is granted, once it is.
    async fn granted(&self, request: &Key) -> Value {
        let granted = || {
            let object = self.get(request)?.parse();
            let status = &object["status"];
            (status["phase"] == "Granted").then(|| status["cluster"]["name"].clone())
        };
        let what = format!("{request} is granted");
        self.counter.until(&what, |_| granted().is_some()).await;
        granted().unwrap()
    }
}

/// The fence of new Clusters is passed with the Cluster, not with the finalizer that the request gets before
/// it.
#[tokio::test]
async fn of_two_requests_that_find_no_room_the_second_shares_what_the_first_makes() {
    let store = Arc::new(Stepwise::default());
    let world = World::over(Arc::clone(&store) as Arc<dyn Store>, "openmcp");
    world.namespace("ns").await;
    world.configure_openmcp(2).await;
    let first = world.request("first").await;
    let stopped = tokio::time::timeout(DEADLINE, store.has_stopped.notified()).await;
    assert!(stopped.is_ok(), "the first request is written in several steps");
    assert!(world.store.cached(CLUSTERS).items.is_empty());
    // Decided while the first has its finalizer and nothing else, as by another server or on create.
    let second = world.request("second").await;
    world.bind(&second).await;
    let cluster = world.granted(&second).await;
    store.go_on.notify_one();
    assert_eq!(world.granted(&first).await, cluster, "there is room for two");
    assert_eq!(world.store.cached(CLUSTERS).items.len(), 1);
    let third = world.request("third").await;
    assert_ne!(world.granted(&third).await, cluster);
    assert_eq!(world.store.cached(CLUSTERS).items.len(), 2);
}
