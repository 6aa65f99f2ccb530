//! kcp's own times: two minutes until what got no cluster is tried again.

use super::*;

fn cluster(name: &str, unschedulable: bool) -> Value {
    json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster", "metadata": {"name": name},
        "spec": {"unschedulable": unschedulable}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn namespace(name: &str) -> Key {
    Key::new(berth_kubernetes::core::namespace::RESOURCE, "", name)
}

impl World {
    /// A namespace that is decided after everything that was due before it.
    async fn barrier_namespace(&self, name: &str) {
        self.namespace(name).await;
        self.decided(&namespace(name), 1).await;
    }

    fn placed(&self, name: &str) -> Option<String> {
        let object = self.get(&namespace(name)).unwrap();
        object
            .annotations()
            .get("scheduling.kcp.dev/placement")
            .map(std::borrow::Cow::into_owned)
    }
}

#[tokio::test]
async fn a_namespace_without_a_cluster_is_tried_again_after_two_minutes() {
    let world = World::new("kcp");
    let key = world.put(cluster("one", true)).await;
    world.namespace("app").await;
    let app = namespace("app");
    world.decided(&app, 1).await;
    world.barrier_namespace("first").await;
    assert_eq!(
        world.counter.of(&app),
        [Some(Outcome::Unschedulable)],
        "own writes make nothing due"
    );
    world.step(119);
    world.barrier_namespace("second").await;
    assert_eq!(world.counter.of(&app).len(), 1, "a second too early");
    world.step(1);
    world.decided(&app, 2).await;
    // And again two minutes after that.
    world.step(119);
    world.barrier_namespace("third").await;
    assert_eq!(world.counter.of(&app).len(), 2);
    world.step(1);
    world.decided(&app, 3).await;
    // What gives it a cluster is not waited for; then there is nothing to try again.
    world
        .edit(&key, "", |cluster| {
            cluster["spec"]["unschedulable"] = false.into()
        })
        .await;
    world.decided(&app, 4).await;
    assert_eq!(world.counter.of(&app)[3], Some(Outcome::Scheduled));
    assert!(world.placed("app").is_some_and(|text| text.contains("Pending")));
    let times = world.counter.of(&app).len();
    world.step(600);
    world.barrier_namespace("fourth").await;
    assert_eq!(world.counter.of(&app).len(), times);
}
