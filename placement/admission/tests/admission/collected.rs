//! The garbage collector and what is in use.

use std::time::{Duration, Instant};

use berth_apimachinery::{Draft, Key};
use berth_storage::{Expect, Step, Writer as _};
use serde_json::json;

use super::*;

/// Puts an owner that does not exist on a seed, past admission.
async fn disown(world: &World, name: &str) {
    let current = world.stored(SEEDS, "", name).unwrap();
    let mut value = current.parse();
    value["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "gone", "uid": "gone"}
    ]);
    let step = Step {
        verb: Verb::Update,
        key: Key::new(SEEDS, "", name),
        subresource: "",
        object: Some(Draft::new(&value).unwrap()),
        expect: Expect::At(current.revision()),
        guards: Vec::new(),
    };
    world.store.apply(vec![step]).await.unwrap();
}

async fn gone(world: &World, name: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while world.stored(SEEDS, "", name).is_some() {
        assert!(Instant::now() < deadline, "{name} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_collector_leaves_a_seed_in_use_until_nothing_uses_it() {
    let world = World::new().await;
    world.seed("used", 10).await;
    world.seed("free", 0).await;
    let shoot = shoot("s", Some("used"));
    world.create(&shoot).await.unwrap();
    disown(&world, "used").await;
    disown(&world, "free").await;
    // Whose turn comes after that of the other.
    gone(&world, "free").await;
    let used = world.stored(SEEDS, "", "used").unwrap();
    assert!(used.meta().deletion_timestamp().is_none());
    world.write(Verb::Delete, &shoot, "").await.unwrap();
    gone(&world, "used").await;
}
