//! OCM's own times: five minutes, the end of a toleration, the end of a score.

use berth_apimachinery::GroupResource;

use super::*;

const GROUP: &str = "cluster.open-cluster-management.io";
pub(super) const DECISIONS: GroupResource = GroupResource::new(GROUP, "placementdecisions");
pub(super) const PLACEMENTS: GroupResource = GroupResource::new(GROUP, "placements");
pub(super) const CLUSTERS: GroupResource = GroupResource::new(GROUP, "managedclusters");

pub(super) fn object(version: &str, kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut metadata = json!({"name": name});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": format!("{GROUP}/{version}"), "kind": kind, "metadata": metadata, "spec": spec})
}

pub(super) async fn fleet(clusters: &[&str]) -> World {
    let world = World::new("ocm");
    world.namespace("ns").await;
    let all = json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}});
    world
        .put(object("v1beta2", "ManagedClusterSet", "", "all", all))
        .await;
    let binding = json!({"clusterSet": "all"});
    world
        .put(object(
            "v1beta2",
            "ManagedClusterSetBinding",
            "ns",
            "all",
            binding,
        ))
        .await;
    for name in clusters {
        world.namespace(name).await;
        let spec = json!({"hubAcceptsClient": true});
        world.put(object("v1", "ManagedCluster", "", name, spec)).await;
    }
    world
}

impl World {
    pub(super) async fn placement(&self, name: &str, spec: Value) -> Key {
        self.put(object("v1beta1", "Placement", "ns", name, spec)).await
    }

    pub(super) fn listed(&self, placement: &str) -> Vec<String> {
        let key = Key::new(DECISIONS, "ns", &format!("{placement}-decision-1"));
        let decision = self.get(&key).unwrap().parse();
        let list = decision["status"]["decisions"].as_array().unwrap().clone();
        let names = list.iter().map(|entry| entry["clusterName"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    /// A placement that is decided after everything that was due before it.
    pub(super) async fn barrier(&self, name: &str) {
        let key = self.placement(name, json!({"numberOfClusters": 0})).await;
        self.decided(&key, 1).await;
    }
}

#[tokio::test]
async fn every_placement_is_looked_at_again_after_five_minutes() {
    let world = fleet(&["a"]).await;
    let key = world.placement("p", json!({})).await;
    world.decided(&key, 1).await;
    let before = world.get(&key).unwrap().revision();
    world.barrier("first").await;
    assert_eq!(
        world.counter.of(&key),
        [Some(Outcome::Scheduled)],
        "own writes make nothing due"
    );
    world.step(299);
    world.barrier("second").await;
    assert_eq!(world.counter.of(&key).len(), 1);
    world.step(1);
    world.decided(&key, 2).await;
    assert_eq!(world.counter.of(&key)[1], Some(Outcome::Unchanged));
    assert_eq!(
        world.get(&key).unwrap().revision(),
        before,
        "nothing is written anew"
    );
}

#[tokio::test]
async fn the_end_of_a_toleration_moves_the_decision_by_itself() {
    let world = fleet(&["a", "b"]).await;
    let tolerates = json!({
        "numberOfClusters": 1,
        "tolerations": [{"key": "down", "operator": "Exists", "tolerationSeconds": 60}],
    });
    let key = world.placement("p", tolerates).await;
    world.decided(&key, 1).await;
    assert_eq!(world.listed("p"), ["a"]);
    world
        .edit(&Key::new(CLUSTERS, "", "a"), "", |value| {
            value["spec"]["taints"] = json!([{"key": "down", "effect": "NoSelect"}]);
        })
        .await;
    world.decided(&key, 2).await;
    assert_eq!(world.listed("p"), ["a"], "tolerated for a minute");
    world.step(59);
    world.barrier("barrier").await;
    assert_eq!(world.counter.of(&key).len(), 2);
    world.step(1);
    world.decided(&key, 3).await;
    assert_eq!(world.listed("p"), ["b"]);
}

#[tokio::test]
async fn the_end_of_a_score_moves_the_decision_by_itself() {
    let world = fleet(&["a", "b"]).await;
    let mut score = object("v1alpha1", "AddOnPlacementScore", "b", "default", json!({}));
    score.as_object_mut().unwrap().remove("spec");
    score["status"] =
        json!({"validUntil": "2021-10-28T09:02:00Z", "scores": [{"name": "free", "value": 50}]});
    world.put(score).await;
    let by_score = json!({
        "numberOfClusters": 1,
        "prioritizerPolicy": {"mode": "Exact", "configurations": [{
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "free"}},
        }]},
    });
    let key = world.placement("p", by_score).await;
    world.decided(&key, 1).await;
    assert_eq!(world.listed("p"), ["b"]);
    // At validUntil itself the score still counts; just after, it does not.
    world.step(119);
    world.barrier("barrier").await;
    assert_eq!(world.counter.of(&key).len(), 1);
    world.step(2);
    world
        .counter
        .until("it is decided after the end", |counter| {
            counter.of(&key).len() >= 2
        })
        .await;
    assert_eq!(world.listed("p"), ["a"]);
}

#[tokio::test]
async fn events_tell_each_change_once() {
    let world = fleet(&["a", "b"]).await;
    let key = world.placement("p", json!({"numberOfClusters": 1})).await;
    let made = world.event("p", "DecisionCreate", 1).await;
    assert_eq!(made["metadata"]["namespace"], "ns");
    assert_eq!(made["reportingComponent"], "berth.dev/scheduler");
    assert_eq!(made["related"]["name"], "p-decision-1");
    assert_eq!(made["involvedObject"]["kind"], "Placement");
    let uid = world.get(&key).unwrap().meta().uid().to_owned();
    assert_eq!(made["involvedObject"]["uid"], uid);
    world.step(300);
    world.decided(&key, 2).await;
    world
        .edit(&Key::new(CLUSTERS, "", "a"), "", |value| {
            value["spec"]["taints"] = json!([{"key": "down", "effect": "NoSelect"}]);
        })
        .await;
    world.event("p", "DecisionUpdate", 1).await;
    let events = world.store.cached(event::STORED);
    let of = |reason: &str| {
        let all = events.items.values().map(|event| event.parse());
        all.filter(|event| event["reason"] == reason).count()
    };
    assert_eq!(
        (of("DecisionCreate"), of("DecisionUpdate")),
        (1, 1),
        "a run without changes tells nothing"
    );
}
