//! Changes that make a demand due, and changes that do not.

use async_trait::async_trait;
use berth_apimachinery::Object;
use berth_apimachinery::write::CommitError;
use tokio::sync::watch;

use super::*;
use crate::Commit;

const SCHEDULED: Option<Outcome> = Some(Outcome::Scheduled);
const UNPLACED: Option<Outcome> = Some(Outcome::Unschedulable);

#[tokio::test]
async fn what_is_there_and_what_comes_is_bound() {
    let world = World::default();
    world.shelf("a", 10);
    let early = world.toy("early");
    let replica = world.replica();
    replica.decided(&early, 1).await;
    let late = world.toy("late");
    replica.decided(&late, 1).await;
    assert_eq!(world.inside("a"), 2);
    replica.controllers.stop().await;
}

/// Writes nothing before it is opened.
struct Gate {
    inner: StoreCommitter,
    opened: watch::Receiver<bool>,
}

#[async_trait]
impl Committer for Gate {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let mut opened = self.opened.clone();
        opened.wait_for(|&opened| opened).await.expect("the test goes on");
        self.inner.commit(commit).await
    }
}

#[tokio::test]
async fn a_controller_that_comes_too_late_takes_the_answer() {
    let world = World::default();
    world.shelf("a", 100);
    let (open, opened) = watch::channel(true);
    let inner = || StoreCommitter(Arc::clone(&world.store));
    let gate = Gate {
        inner: inner(),
        opened,
    };
    let replica = world.replica_writing(Arc::new(SingleReplica), Arc::new(gate));
    // What is due when a controller begins was made so by nothing in particular.
    replica.barrier(&world, "first").await;
    open.send_replace(false);
    // The controller has its hands full with these until the gate is opened.
    for number in 0..berth_dialect_contract::Pace::default().parallel {
        world.toy(&format!("busy{number}"));
    }
    let toy = world.toy("t");
    let since = world.store.revision();
    let settled = replica.engine.settle(&inner(), "toy", &toy, since).await;
    assert!(matches!(&*settled, Ok(bound) if bound.decision.outcome == Outcome::Scheduled));
    open.send_replace(true);
    replica.decided(&toy, 1).await;
    // Deciding again would have found it unchanged.
    assert_eq!(replica.counter.attempts(&toy), [SCHEDULED]);
    replica.controllers.stop().await;
}

#[tokio::test]
async fn own_writes_make_nothing_due_again() {
    let world = World::default();
    world.shelf("a", 10);
    let replica = world.replica();
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    replica.barrier(&world, "barrier").await;
    replica.barrier(&world, "another").await;
    assert_eq!(replica.counter.attempts(&toy), [SCHEDULED]);
    assert_eq!(replica.counter.all(), 3);
}

#[tokio::test]
async fn a_change_that_concerns_no_demand_costs_no_decision() {
    let world = World::default();
    world.shelf("a", 10);
    let replica = world.replica();
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    for round in 0..5 {
        world.edit(&Key::new(BOXES, "", "a"), |shelf| {
            shelf["status"] = json!({"heartbeat": round})
        });
    }
    replica.barrier(&world, "barrier").await;
    assert_eq!(replica.counter.all(), 2);
}

#[tokio::test]
async fn a_target_that_could_help_wakes_what_waits() {
    let world = World::default();
    let replica = world.replica();
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    world.shelf("a", 1);
    replica.decided(&toy, 2).await;
    assert_eq!(replica.counter.attempts(&toy), [UNPLACED, SCHEDULED]);
    let other = world.toy("other");
    replica.decided(&other, 1).await;
    world.delete(&toy);
    replica.decided(&other, 2).await;
    assert_eq!(replica.counter.attempts(&other), [UNPLACED, SCHEDULED]);
}

#[tokio::test]
async fn what_finds_no_place_is_tried_again_with_growing_delays() {
    let world = World::default();
    let replica = world.replica();
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    let mut tries = 1;
    // Delays of 15, 30, then 60 seconds at most.
    for delay in [15, 30, 60, 60] {
        replica
            .counter
            .until("it is retried", |counter| {
                counter.retries.load(Ordering::Relaxed) >= tries
            })
            .await;
        replica.advance(&world, delay - 1);
        let probe = world.toy_with(&format!("probe{tries}"), json!({}));
        replica.decided(&probe, 1).await;
        world.delete(&probe);
        assert_eq!(replica.counter.attempts(&toy).len(), tries, "before {delay} s");
        replica.advance(&world, 1);
        tries += 1;
        replica.decided(&toy, tries).await;
    }
    assert!(
        replica
            .counter
            .attempts(&toy)
            .iter()
            .all(|outcome| *outcome == UNPLACED)
    );
}

#[tokio::test]
async fn time_alone_makes_a_decision_due() {
    let world = World::default();
    world.shelf("a", 10);
    let replica = world.replica();
    let toy = world.toy_with("t", json!({"lookAfter": 300}));
    replica.decided(&toy, 1).await;
    replica.advance(&world, 299);
    replica.barrier(&world, "early").await;
    assert_eq!(replica.counter.attempts(&toy).len(), 1);
    replica.advance(&world, 1);
    replica.decided(&toy, 2).await;
    assert_eq!(
        replica.counter.attempts(&toy),
        [SCHEDULED, Some(Outcome::Unchanged)]
    );
}

#[tokio::test]
async fn a_closed_gate_keeps_everything_and_opening_it_makes_everything_due() {
    let world = World::default();
    world.shelf("a", 10);
    let replica = world.replica();
    replica.barrier(&world, "before").await;
    replica.open.store(false, Ordering::Relaxed);
    // A change that is folded lets the runner look at the gate.
    let kept = world.toy("kept");
    replica.engine.caught_up(world.store.revision()).await.unwrap();
    world.edit(&Key::new(BOXES, "", "a"), |shelf| {
        shelf["status"] = json!({"heartbeat": 1})
    });
    replica.engine.caught_up(world.store.revision()).await.unwrap();
    assert!(replica.counter.attempts(&kept).is_empty());
    replica.open.store(true, Ordering::Relaxed);
    world.edit(&Key::new(BOXES, "", "a"), |shelf| {
        shelf["status"] = json!({"heartbeat": 2})
    });
    replica.decided(&kept, 1).await;
    assert_eq!(world.inside("a"), 2);
}

#[tokio::test]
async fn stopping_ends_all_work() {
    let world = World::default();
    world.shelf("a", 100);
    let replica = world.replica();
    let toys: Vec<Key> = (0..50).map(|n| world.toy(&format!("t{n}"))).collect();
    replica.decided(&toys[0], 1).await;
    let (engine, counter) = (Arc::clone(&replica.engine), Arc::clone(&replica.counter));
    replica.controllers.stop().await;
    let decided = counter.all();
    world.toy("later");
    engine.caught_up(world.store.revision()).await.unwrap();
    assert_eq!(counter.all(), decided);
    let written = toys
        .iter()
        .flat_map(|toy| counter.attempts(toy))
        .flatten()
        .count();
    assert_eq!(world.inside("a"), written);
}
