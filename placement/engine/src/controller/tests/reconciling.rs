//! Reconcilers: what makes them act, what does not, and that nothing is lost.

use berth_dialect_contract::config;

use super::*;
use berth_dialect_toy::COLORS;

impl World {
    fn with_painter() -> Self {
        Self {
            reconcilers: vec!["toy-painter"],
            ..Self::default()
        }
    }

    fn color(&self, namespace: &str, spec: Value) {
        let key = Key::new(COLORS, "", namespace);
        put(&self.store, &key, &object("Color", "", namespace, spec));
    }

    fn label(&self, toy: &Key) -> Option<String> {
        let toys = self.store.cached(TOYS);
        let toy = toys.get(&toy.namespace, &toy.name)?;
        toy.meta().labels().get("color").map(str::to_owned)
    }
}

impl Replica {
    async fn painted(&self, world: &World, toy: &Key, color: &str) {
        let what = format!("{toy} is {color}");
        self.counter
            .until(&what, |_| world.label(toy).as_deref() == Some(color))
            .await;
    }
}

#[tokio::test]
async fn what_is_there_and_what_comes_is_followed_and_own_writes_make_nothing_due() {
    let world = World::with_painter();
    world.color("ns", json!({"color": "red"}));
    let early = world.toy("early");
    let replica = world.replica();
    replica.painted(&world, &early, "red").await;
    let late = world.toy("late");
    replica.painted(&world, &late, "red").await;
    // A change of one thing reaches what hangs on it, once each.
    world.color("ns", json!({"color": "blue"}));
    replica.painted(&world, &early, "blue").await;
    replica.painted(&world, &late, "blue").await;
    // Contents that nobody follows, and the reconciler's own writes.
    world.edit(&early, |toy| toy["spec"]["wish"] = json!("a train"));
    let barrier = world.toy("barrier");
    replica.painted(&world, &barrier, "blue").await;
    replica.controllers.stop().await;
    let results = replica.counter.results.lock().clone();
    assert_eq!(
        results,
        [StepResult::Written; 5],
        "two, two again, and the barrier"
    );
}

#[tokio::test]
async fn time_makes_due() {
    let world = World::with_painter();
    world.color("ns", json!({"color": "red", "fadesAt": 100}));
    let toy = world.toy("t");
    let replica = world.replica();
    replica.painted(&world, &toy, "red").await;
    replica.advance(&world, 99);
    let barrier = world.toy("barrier");
    replica.painted(&world, &barrier, "red").await;
    assert_eq!(world.label(&toy).as_deref(), Some("red"));
    replica.advance(&world, 1);
    replica.painted(&world, &toy, "faded").await;
}

#[tokio::test]
async fn a_toy_that_is_painted_already_fades_too() {
    let world = World::with_painter();
    world.color("ns", json!({"color": "red"}));
    let toy = world.toy("t");
    let replica = world.replica();
    replica.painted(&world, &toy, "red").await;
    world.color("ns", json!({"color": "red", "fadesAt": 100}));
    let barrier = world.toy("barrier");
    replica.painted(&world, &barrier, "red").await;
    replica.advance(&world, 100);
    replica.painted(&world, &toy, "faded").await;
}

#[tokio::test]
async fn the_configuration_makes_another_reconciler_and_a_bad_one_changes_nothing() {
    let world = World::with_painter();
    let configure = |prefix: Value| {
        let object = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "toy"}, "spec": {"toy": {"prefix": prefix}},
        });
        put(&world.store, &config::key("toy"), &object);
    };
    configure(json!("dark-"));
    world.color("ns", json!({"color": "red"}));
    let toy = world.toy("t");
    let replica = world.replica();
    replica.painted(&world, &toy, "dark-red").await;
    configure(json!("light-"));
    replica.painted(&world, &toy, "light-red").await;
    configure(json!(7));
    let barrier = world.toy("barrier");
    replica.painted(&world, &barrier, "light-red").await;
}

#[tokio::test]
async fn it_works_while_the_gate_is_shut_but_not_before_its_dialect_is_complete() {
    let world = World::with_painter();
    world.color("ns", json!({"color": "red"}));
    let toy = world.toy("t");
    let replica = world.replica();
    replica.open.store(false, Ordering::Relaxed);
    replica.painted(&world, &toy, "red").await;
    replica
        .engine
        .hold("toy", Some("the toys are still unpacked".to_owned()));
    replica
        .counter
        .until("it rests", |counter| counter.emptied.load(Ordering::Relaxed) > 0)
        .await;
    let late = world.toy("late");
    world.shelf("a", 1);
    replica.engine.caught_up(world.store.revision()).await.unwrap();
    assert_eq!(world.label(&late), None);
    replica.engine.hold("toy", None);
    replica.painted(&world, &late, "red").await;
}

#[tokio::test]
async fn who_is_not_chosen_does_not_work() {
    let world = World::default();
    world.color("ns", json!({"color": "red"}));
    world.shelf("a", 10);
    let toy = world.toy("t");
    let replica = world.replica();
    replica.decided(&toy, 1).await;
    replica.barrier(&world, "barrier").await;
    replica.controllers.stop().await;
    assert_eq!(world.label(&toy), None);
}

#[tokio::test]
async fn many_at_once_are_all_followed_and_conflicts_are_tried_again() {
    let world = World::with_painter();
    world.color("ns", json!({"color": "red"}));
    world.shelf("a", 1000);
    let replica = world.replica();
    let toys: Vec<Key> = (0..200).map(|number| world.toy(&format!("t{number}"))).collect();
    // The scheduler writes the same objects meanwhile, so that some steps meet others' writes.
    for toy in &toys {
        replica.painted(&world, toy, "red").await;
        replica.decided(toy, 1).await;
    }
}
