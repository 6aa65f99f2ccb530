//! Two replicas over one store: one works, and the other takes over.

use super::*;
use crate::controller::{Hold, LEASES, Lease, Terms};

fn lease_key() -> Key {
    Key::new(LEASES, "kube-system", "berth-controllers")
}

fn lease(world: &World, identity: &str) -> Arc<Lease> {
    let (source, writer) = (Arc::clone(&world.store), Arc::clone(&world.store));
    Arc::new(Lease::new(
        source,
        writer,
        lease_key(),
        identity.to_owned(),
        Terms::default(),
    ))
}

fn record(world: &World) -> Value {
    let list = world.store.cached(LEASES);
    list.get("kube-system", "berth-controllers").unwrap().parse()["spec"].clone()
}

#[tokio::test]
async fn a_lease_is_renewed_expires_and_is_given_up() {
    let world = World::default();
    let (first, second) = (lease(&world, "one"), lease(&world, "two"));
    let hold = |lease: &Arc<Lease>| {
        let (lease, now) = (Arc::clone(lease), world.clock.now());
        async move { lease.hold(now).await.unwrap() }
    };
    let held = hold(&first).await;
    assert_eq!(held.until.unwrap().as_second(), 10);
    assert_eq!(held.again.as_second(), 2);
    assert_eq!(hold(&second).await.until, None);
    assert_eq!(record(&world)["holderIdentity"], "one");
    assert_eq!(record(&world)["leaseTransitions"], 0);
    // Renewed, it holds again for its whole length.
    world.clock.advance(14);
    assert!(hold(&first).await.until.is_some());
    world.clock.advance(14);
    assert!(
        hold(&second).await.until.is_none(),
        "the second sees the renewal only now"
    );
    world.clock.advance(14);
    assert!(hold(&second).await.until.is_none());
    world.clock.advance(1);
    assert!(hold(&second).await.until.is_some());
    assert_eq!(record(&world)["holderIdentity"], "two");
    assert_eq!(record(&world)["leaseTransitions"], 1);
    assert!(hold(&first).await.until.is_none());
    // Who does not have it gives nothing up; who has it leaves it free at once.
    first.release(world.clock.now()).await.unwrap();
    assert!(hold(&first).await.until.is_none());
    second.release(world.clock.now()).await.unwrap();
    assert!(hold(&first).await.until.is_some());
    assert_eq!(record(&world)["leaseTransitions"], 2);
}

#[tokio::test]
async fn one_of_two_replicas_works_and_the_other_takes_over() {
    let world = World::default();
    world.shelf("a", 100);
    let first = world.replica_with(lease(&world, "one"));
    first
        .counter
        .until("the first leads", |counter| {
            counter.leading.load(Ordering::Relaxed) == 1
        })
        .await;
    let second = world.replica_with(lease(&world, "two"));
    for n in 0..5 {
        first.barrier(&world, &format!("t{n}")).await;
    }
    second.engine.caught_up(world.store.revision()).await.unwrap();
    assert_eq!((first.counter.all(), second.counter.all()), (5, 0));
    assert!(first.controllers.is_leading() && !second.controllers.is_leading());
    first.controllers.stop().await;
    // The lease is given up: the second gets it the next time it looks.
    second.advance(&world, 2);
    second.barrier(&world, "later").await;
    assert!(second.controllers.is_leading());
    assert_eq!(world.inside("a"), 6);
}

/// A store that can be cut off.
struct CutOff {
    inner: Arc<Lease>,
    is_cut: AtomicBool,
}

#[async_trait::async_trait]
impl Elector for CutOff {
    async fn hold(&self, now: Timestamp) -> Result<Hold, storage::StoreError> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(storage::StoreError::Unavailable("cut off".to_owned()));
        }
        self.inner.hold(now).await
    }
    async fn release(&self, now: Timestamp) -> Result<(), storage::StoreError> {
        self.inner.release(now).await
    }
}

#[tokio::test]
async fn who_cannot_renew_stops_before_another_may_begin() {
    let world = World::default();
    world.shelf("a", 100);
    let elector = Arc::new(CutOff {
        inner: lease(&world, "one"),
        is_cut: AtomicBool::new(false),
    });
    let first = world.replica_with(Arc::clone(&elector) as Arc<dyn Elector>);
    first.barrier(&world, "before").await;
    elector.is_cut.store(true, Ordering::Relaxed);
    first.advance(&world, 9);
    first.barrier(&world, "still").await;
    assert!(first.controllers.is_leading());
    first.advance(&world, 1);
    let mut leading = first.controllers.leading.clone();
    tokio::time::timeout(DEADLINE, leading.wait_for(|leads| !leads))
        .await
        .expect("it stops in time")
        .unwrap();
}
