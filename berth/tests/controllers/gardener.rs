//! Gardener's back-off, and what ends it.

use super::*;

fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut metadata = json!({"name": name});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": kind, "metadata": metadata, "spec": spec})
}

async fn garden() -> World {
    let world = World::new("gardener");
    world.namespace("garden-dev").await;
    world
        .put(object("CloudProfile", "", "aws", json!({"type": "aws"})))
        .await;
    world
}

impl World {
    async fn shoot(&self, name: &str) -> Key {
        let spec = json!({
            "cloudProfile": {"name": "aws"}, "region": "eu-west-1", "provider": {"type": "aws"},
            "networking": {"nodes": "172.16.0.0/16", "pods": "172.17.0.0/16", "services": "172.18.0.0/16"},
        });
        self.put(object("Shoot", "garden-dev", name, spec)).await
    }

    async fn seed(&self, name: &str, ready: bool, shoots: u32) -> Key {
        let spec = json!({
            "provider": {"type": "aws", "region": "eu-west-1"},
            "networks": {"nodes": "10.1.0.0/18", "pods": "10.1.64.0/18", "services": "10.1.128.0/18"},
        });
        let mut seed = object("Seed", "", name, spec);
        let status = if ready { "True" } else { "False" };
        let time = "2021-10-28T08:00:00Z";
        seed["status"] = json!({
            "conditions": [{
                "type": "GardenletReady", "status": status, "reason": "R", "message": "m",
                "lastTransitionTime": time, "lastUpdateTime": time,
            }],
            "allocatable": {"shoots": shoots.to_string()},
        });
        self.put(seed).await
    }

    fn assigned(&self, shoot: &Key) -> Value {
        self.get(shoot).unwrap().value()["spec"]["seedName"].clone()
    }

    /// Waits until the `times`th failure is scheduled to be tried again.
    async fn retried(&self, times: usize) {
        self.counter
            .until("it is to be tried again", |counter| {
                *counter.retries.lock() >= times
            })
            .await;
    }
}

#[tokio::test]
async fn a_shoot_is_tried_again_with_delays_that_double_and_its_event_counts() {
    let world = garden().await;
    let shoot = world.shoot("foo").await;
    world.decided(&shoot, 1).await;
    world.event("foo", "SchedulingFailed", 1).await;
    let mut tries = 1;
    for delay in [15, 30, 60] {
        // The probe of the round before was to be tried again as well.
        world.retried(2 * tries - 1).await;
        world.step(delay - 1);
        // Nothing else is due: a probe that is decided now shows it.
        let probe = world.shoot(&format!("probe-{tries}")).await;
        world.decided(&probe, 1).await;
        world.write(Verb::Delete, &probe, "", json!({})).await;
        assert_eq!(world.counter.of(&shoot).len(), tries, "before {delay} s");
        world.step(1);
        tries += 1;
        world.decided(&shoot, tries).await;
        let event = world
            .event("foo", "SchedulingFailed", i64::try_from(tries).unwrap())
            .await;
        assert_eq!(event["type"], "Warning");
    }
    let seed = world.seed("one", true, 1).await;
    world
        .counter
        .until("it is scheduled", |counter| {
            counter.of(&shoot).contains(&Some(Outcome::Scheduled))
        })
        .await;
    assert_eq!(world.assigned(&shoot), *seed.name);
    world.event("foo", "SchedulingSuccessful", 1).await;
}

#[tokio::test]
async fn the_period_is_the_configurations() {
    let world = garden().await;
    let configuration = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "gardener"},
        "spec": {"gardener": {"schedulers": {"shoot": {"retrySyncPeriod": "2m"}}}},
    });
    let key = berth_dialect_contract::config::key("gardener");
    world.write(Verb::Create, &key, "", configuration).await;
    let shoot = world.shoot("foo").await;
    world.decided(&shoot, 1).await;
    world.retried(1).await;
    world.step(119);
    let probe = world.shoot("probe").await;
    world.decided(&probe, 1).await;
    assert_eq!(world.counter.of(&shoot).len(), 1);
    world.step(1);
    world.decided(&shoot, 2).await;
}

#[tokio::test]
async fn seeds_wake_only_who_waits_and_only_when_they_differ() {
    let world = garden().await;
    let seed = world.seed("one", false, 5).await;
    let shoot = world.shoot("foo").await;
    world.decided(&shoot, 1).await;
    assert_eq!(world.counter.of(&shoot), [Some(Outcome::Unschedulable)]);
    world.seed("one", true, 5).await;
    world
        .counter
        .until("it is scheduled", |counter| {
            counter.of(&shoot).contains(&Some(Outcome::Scheduled))
        })
        .await;
    let decided = world.counter.of(&shoot).len();
    // A heartbeat, and a seed that gets room: nobody waits.
    world
        .edit(&seed, "status", |value| {
            value["status"]["conditions"][0]["lastUpdateTime"] = json!("2021-10-28T09:00:00Z");
        })
        .await;
    world.seed("one", true, 50).await;
    let other = world.shoot("other").await;
    world.decided(&other, 1).await;
    assert_eq!(world.counter.of(&shoot).len(), decided);
    assert_eq!(world.counter.of(&other), [Some(Outcome::Scheduled)]);
}
