//! A contest with another writer ends when Berth loses the right to decide.

use super::*;
use crate::{Mandate, Requests};

/// A mandate that a test changes.
struct Rights {
    decides: AtomicBool,
    includes: AtomicBool,
}

impl Mandate for Rights {
    fn decides(&self, _: &str) -> bool {
        self.decides.load(Ordering::Relaxed)
    }
    fn guards(&self, dialect: &str) -> bool {
        self.decides(dialect)
    }
    fn requests(&self, _: &str) -> Option<Arc<Requests>> {
        let includes = self.includes.load(Ordering::Relaxed);
        (!includes).then(|| Arc::new(Requests::None))
    }
}

/// A replica that leaves the toy `t` alone, which another program takes out of its box again and again. It
/// decided `t` four times. The other toy, `first`, stays in the box.
async fn contested(world: &World) -> (Replica, Arc<Rights>, Key) {
    world.shelf("a", 10);
    let replica = world.replica();
    let rights = Arc::new(Rights {
        decides: AtomicBool::new(true),
        includes: AtomicBool::new(true),
    });
    let mandate = Arc::clone(&rights) as Arc<dyn Mandate>;
    replica.engine.set_mandate(mandate).unwrap();
    replica.barrier(world, "first").await;
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    for (times, capacity) in [(2, 20), (3, 30), (4, 40)] {
        world.edit(&toy, |toy| toy["spec"] = json!({}));
        // A change of the box makes the toys due.
        world.shelf("a", capacity);
        replica.decided(&toy, times).await;
    }
    assert!(replica.engine.contest("toy", &toy).is_some());
    assert_eq!(world.inside("a"), 1, "it is left alone");
    (replica, rights, toy)
}

#[tokio::test]
async fn a_contest_is_over_once_another_scheduler_has_had_the_request() {
    let world = World::default();
    let (replica, rights, toy) = contested(&world).await;
    rights.includes.store(false, Ordering::Relaxed);
    world.shelf("a", 50);
    let counter = &replica.counter;
    let both = |counter: &Counter| counter.skipped.load(Ordering::Relaxed) >= 2;
    counter.until("both toys are skipped", both).await;
    rights.includes.store(true, Ordering::Relaxed);
    world.shelf("a", 60);
    replica.decided(&toy, 5).await;
    assert_eq!(world.inside("a"), 2);
    replica.controllers.stop().await;
}

#[tokio::test]
async fn a_contest_is_over_once_another_scheduler_has_had_the_system() {
    let world = World::default();
    let (replica, rights, toy) = contested(&world).await;
    let emptied = |counter: &Counter| counter.emptied.load(Ordering::Relaxed);
    let before = emptied(&replica.counter);
    rights.decides.store(false, Ordering::Relaxed);
    replica.engine.reconsider();
    let counter = &replica.counter;
    counter
        .until("the controller stops", |counter| emptied(counter) > before)
        .await;
    rights.decides.store(true, Ordering::Relaxed);
    replica.engine.reconsider();
    replica.decided(&toy, 5).await;
    assert_eq!(world.inside("a"), 2);
    replica.controllers.stop().await;
}
