//! Writes to a store with other writers: the local state may be outdated.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_admission::{Denial, Operation, Plugin, Request};
use berth_storage::{
    At, MemoryStore, NotReady, Scope, Source, Step, StepResult, Store, StoreError, Watch, Writer,
};

use super::*;

/// A store with other writers; its view is frozen at the state when `behind` was last set.
struct Shared {
    newest: Arc<MemoryStore>,
    behind: parking_lot::Mutex<Option<Collection>>,
    /// The revision of the local view until somebody requests the newest state; `None` if it is the newest.
    local: parking_lot::Mutex<Option<Revision>>,
    /// Number of requests for the newest state.
    asked: AtomicUsize,
}

#[async_trait]
impl Source for Shared {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        if at == At::Any {
            return Ok(self.cached(resource));
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        *self.local.lock() = None;
        self.newest.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        let behind = self.behind.lock().clone();
        behind.unwrap_or_else(|| self.newest.cached(resource))
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.newest.watch(scope, after)
    }

    fn revision(&self) -> Revision {
        let local = *self.local.lock();
        local.unwrap_or_else(|| self.newest.revision())
    }
}

#[async_trait]
impl Writer for Shared {
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        self.newest.apply(steps).await
    }
}

impl Store for Shared {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.newest.hold(resource, collection);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn ready(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

impl Shared {
    /// Number of requests for the newest state since the previous call.
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }

    /// Freezes the view of the widgets.
    fn stop_looking(&self) {
        let now = self.newest.cached(GroupResource::new(toys::GROUP, "widgets"));
        *self.behind.lock() = Some(now);
    }
}

/// Refuses creates as long as nobody has requested the newest state, and always the name `taboo`.
struct Outdated(Arc<Shared>);

impl Plugin for Outdated {
    fn name(&self) -> &'static str {
        "Outdated"
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
    }
    fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        if self.0.asked.load(Ordering::SeqCst) == 0 || request.name == "taboo" {
            return Err(Denial::Forbidden("not yet".to_owned()));
        }
        Ok(())
    }
}

/// The store of `toys`, shared with other writers.
fn share(toys: &toys::Toys) -> Arc<Shared> {
    Arc::new(Shared {
        newest: Arc::clone(&toys.store),
        behind: parking_lot::Mutex::default(),
        local: parking_lot::Mutex::default(),
        asked: AtomicUsize::new(0),
    })
}

/// The toys behind `chain`, in a shared store.
fn client_of(shared: &Arc<Shared>, toys: toys::Toys, chain: Chain) -> Client {
    let registry = Registry::builder(chain, testing::clock());
    let mut groups = toys.groups(registry.handle());
    for resource in groups.iter_mut().flat_map(|group| &mut group.resources) {
        if let Backing::Stored(store) = &mut resource.backing {
            *store = Arc::clone(shared) as Arc<_>;
        }
    }
    let registry = registry.build(&groups).unwrap();
    let api = Arc::new(ApiState::from_registry(registry));
    Client { api, toys }
}

/// The toys in a shared store, and another client with the current view.
fn both() -> (Client, Arc<Shared>, Client) {
    let toys = toys::Toys::new(berth_storage::Limits::default());
    let shared = share(&toys);
    let other = toys::Toys {
        store: Arc::clone(&toys.store),
        shadows: Arc::clone(&toys.shadows),
    };
    let (chain, other_chain) = (toys.chain(), other.chain());
    let client = client_of(&shared, toys, chain);
    (client, shared, Client::over(other, other_chain))
}

#[tokio::test]
async fn a_write_that_is_let_through_asks_nobody_what_is_newest() {
    let (client, shared, _) = both();
    client.widget("a").await;
    client
        .merge(&at("a"), &json!({"spec": {"color": "blue"}}))
        .await
        .expect(200);
    client
        .merge(
            &format!("{}/status", at("a")),
            &json!({"status": {"phase": "Ready"}}),
        )
        .await
        .expect(200);
    client.delete(&at("a")).await.expect(200);
    assert_eq!(shared.asked(), 0);
    client.widget("b").await;
    let dry = format!("{}?dryRun=All", at("b"));
    client
        .merge(&dry, &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    assert_eq!(shared.asked(), 1, "nothing guards a dry run");
}

#[tokio::test]
async fn a_write_judged_by_what_is_old_is_judged_again_by_what_is_newest() {
    let (client, shared, other) = both();
    client.widget("a").await;
    client.widget("b").await;
    shared.stop_looking();
    let blue = other
        .merge(&at("a"), &json!({"spec": {"color": "blue"}}))
        .await
        .expect(200);
    let sized = client
        .merge(&at("a"), &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    assert_eq!(
        sized["spec"],
        json!({"color": "blue", "shape": "round", "size": 3})
    );
    assert_eq!(shared.asked(), 1);
    // The other client's answer is newer than the local view.
    let stale = client.put(&at("a"), &blue).await;
    stale.refusal(409, "Conflict");
    client.put(&at("a"), &sized).await.expect(200);
    other.widget("c").await;
    client
        .merge(&at("c"), &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    client.delete(&at("c")).await.expect(200);
    other.delete(&at("b")).await.expect(200);
    client.delete(&at("b")).await.refusal(404, "NotFound");
    let gone = client.merge(&at("b"), &json!({"spec": {"size": 3}})).await;
    gone.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_create_that_is_refused_on_what_is_old_is_judged_again_once() {
    let toys = toys::Toys::new(berth_storage::Limits::default());
    let shared = share(&toys);
    let chain = Chain::new(vec![Arc::new(Outdated(Arc::clone(&shared)))]);
    let client = client_of(&shared, toys, chain);
    *shared.local.lock() = Some(Revision(0));
    client.widget("a").await;
    assert_eq!(shared.asked(), 1);
    let refused = client.post(WIDGETS, &widget("taboo")).await;
    refused.refusal(403, "Forbidden");
    assert_eq!(shared.asked(), 1);
}

#[tokio::test]
async fn nothing_goes_along_where_writes_are_made_one_after_the_other() {
    let (client, _, _) = both();
    let fitter = extended::Fitter::on(&client, 9, Vec::new());
    client.widget("a").await;
    assert_eq!(fitter.counts(), [0, 0, 1]);
}
