//! Wishes of several about one demand at a time are decided once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Object, Revision};
use berth_dialect_contract::Outcome;
use berth_storage::Source;
use tokio::sync::Notify;

use super::{StoreCommitter, World};
use crate::{Commit, Committer, Settlement};

/// Holds every commit up until it is let through.
struct Gate {
    inner: StoreCommitter,
    commits: AtomicUsize,
    reached: Notify,
    opened: Notify,
}

#[async_trait]
impl Committer for Gate {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.reached.notify_one();
        self.opened.notified().await;
        self.inner.commit(commit).await
    }
}

fn gate(world: &World) -> Arc<Gate> {
    Arc::new(Gate {
        inner: StoreCommitter(Arc::clone(&world.store)),
        commits: AtomicUsize::new(0),
        reached: Notify::new(),
        opened: Notify::new(),
    })
}

fn outcome(settled: &Settlement) -> Outcome {
    settled
        .as_ref()
        .as_ref()
        .expect("the demand is bound")
        .decision
        .outcome
}

#[tokio::test]
async fn who_comes_while_a_demand_is_settled_has_the_same_answer() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let since = world.store.revision();
    let gate = gate(&world);
    let settle = || world.engine.settle(&*gate, "toy", &toy, since);
    let (first, second, ()) = tokio::join!(
        settle(),
        async {
            gate.reached.notified().await;
            gate.reached.notify_one();
            settle().await
        },
        async {
            gate.reached.notified().await;
            // Both others wait by now: the second one for the first.
            tokio::task::yield_now().await;
            gate.opened.notify_one();
        }
    );
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(outcome(&first), Outcome::Scheduled);
    assert_eq!(gate.commits.load(Ordering::Relaxed), 1);
    // Whoever comes later looks for himself.
    let third = settle().await;
    assert_eq!(outcome(&third), Outcome::Unchanged);
}

#[tokio::test]
async fn an_answer_from_before_a_change_is_none_for_who_knows_of_the_change() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let gate = gate(&world);
    let (first, second, ()) = tokio::join!(
        world.engine.settle(&*gate, "toy", &toy, Revision::default()),
        async {
            gate.reached.notified().await;
            world.shelf("b", 1);
            gate.reached.notify_one();
            let since = world.store.revision();
            world.engine.settle(&*gate, "toy", &toy, since).await
        },
        async {
            gate.reached.notified().await;
            tokio::task::yield_now().await;
            gate.opened.notify_one();
        }
    );
    assert_eq!(outcome(&first), Outcome::Scheduled);
    assert_eq!(outcome(&second), Outcome::Unchanged);
    assert!(!Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn who_waits_for_one_that_never_ends_settles_by_himself() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let since = world.store.revision();
    let gate = gate(&world);
    let given_up = async {
        tokio::select! {
            _ = world.engine.settle(&*gate, "toy", &toy, since) => panic!("the gate is shut"),
            () = gate.reached.notified() => {}
        }
        gate.opened.notify_one();
    };
    let ((), second) = tokio::join!(given_up, async {
        tokio::task::yield_now().await;
        world.engine.settle(&*gate, "toy", &toy, since).await
    });
    assert_eq!(outcome(&second), Outcome::Scheduled);
    assert_eq!(gate.commits.load(Ordering::Relaxed), 2);
}
