//! Other schedulers beside Berth's: one that writes what Berth decides, and one that has some of the
//! requests.

use std::collections::BTreeSet;

use berth_configuration::Modes;
use berth_dialect_contract::config;

use super::ocm::{DECISIONS, fleet};
use super::*;

impl World {
    /// Lets configurations say what is decided, as a server does.
    fn mandated(&self) {
        let modes = Modes::new(&self.engine, None, BTreeSet::new());
        self.engine.set_mandate(Arc::new(modes)).unwrap();
    }

    async fn configure(&self, spec: Value) {
        let value = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "ocm"}, "spec": spec,
        });
        let key = config::key("ocm");
        let verb = match self.get(&key) {
            Some(_) => Verb::Update,
            None => Verb::Create,
        };
        self.write(verb, &key, "", value).await;
    }

    /// Another scheduler puts the placement `p` on the cluster `b`. Berth looks at it again at once, and
    /// where it leaves it alone as it does every five minutes.
    async fn others_decide(&self) {
        let key = Key::new(DECISIONS, "ns", "p-decision-1");
        self.edit(&key, "status", |value| {
            value["status"]["decisions"] = json!([{"clusterName": "b", "reason": ""}]);
        })
        .await;
        if self
            .engine
            .contest("ocm", &Key::new(super::ocm::PLACEMENTS, "ns", "p"))
            .is_some()
        {
            self.step(300);
        }
    }

    /// A placement of one cluster that Berth puts on `a` and nobody may put on `b`.
    async fn contested(&self) -> Key {
        let tainted = Key::new(super::ocm::CLUSTERS, "", "b");
        self.edit(&tainted, "", |value| {
            value["spec"]["taints"] = json!([{"key": "down", "effect": "NoSelect"}]);
        })
        .await;
        let key = self.placement("p", json!({"numberOfClusters": 1})).await;
        self.decided(&key, 1).await;
        assert_eq!(self.listed("p"), ["a"]);
        key
    }
}

#[tokio::test]
async fn what_another_scheduler_writes_is_put_right_twice_and_then_left_alone() {
    let world = fleet(&["a", "b"]).await;
    let key = world.contested().await;
    for times in 2..=3 {
        world.others_decide().await;
        world.decided(&key, times).await;
        assert_eq!(world.listed("p"), ["a"], "put right");
    }
    assert_eq!(world.engine.contest("ocm", &key), None);
    for times in 4..=6 {
        world.others_decide().await;
        world.decided(&key, times).await;
        assert_eq!(world.listed("p"), ["b"], "left alone");
        assert_eq!(world.counter.of(&key)[times - 1], None, "it is no decision");
    }
    let told = world.engine.contest("ocm", &key).unwrap();
    assert!(
        told.contains("\"test\" changed") && told.contains("ns/p-decision-1"),
        "{told}"
    );
    let event = world.event("p", "Contested", 1).await;
    assert!(
        event["message"]
            .as_str()
            .unwrap()
            .contains("does not change it again"),
        "{event}"
    );
}

#[tokio::test]
async fn a_foreign_write_makes_its_placement_due_at_once_and_own_writes_make_nothing_due() {
    let world = fleet(&["a", "b"]).await;
    let key = world.contested().await;
    world.barrier("first").await;
    assert_eq!(world.counter.of(&key).len(), 1, "its own write is nobody else's");
    world.others_decide().await;
    world.decided(&key, 2).await;
    assert_eq!(world.listed("p"), ["a"], "without any time passing");
    world.barrier("second").await;
    assert_eq!(world.counter.of(&key).len(), 2, "nor is the correction");
    let decision = Key::new(DECISIONS, "ns", "p-decision-1");
    let note = |value: &mut Value| value["metadata"]["annotations"] = json!({"note": "read"});
    world.edit(&decision, "", note).await;
    world.decided(&key, 3).await;
    world.barrier("third").await;
    assert_eq!(world.counter.of(&key).len(), 3, "there was nothing to write");
}

#[tokio::test]
async fn a_contested_decision_is_made_again_once_somebody_acts() {
    let world = fleet(&["a", "b", "c"]).await;
    let key = world.contested().await;
    for times in 2..=4 {
        world.others_decide().await;
        world.decided(&key, times).await;
    }
    assert!(world.engine.contest("ocm", &key).is_some());
    // The spec of the request.
    world
        .edit(&key, "", |value| value["spec"]["numberOfClusters"] = json!(2))
        .await;
    world.decided(&key, 5).await;
    assert_eq!(world.listed("p"), ["a", "c"]);
    assert_eq!(world.engine.contest("ocm", &key), None);
    for times in 6..=8 {
        world.others_decide().await;
        world.decided(&key, times).await;
    }
    assert!(world.engine.contest("ocm", &key).is_some(), "as often as before");
    // The configuration.
    world.configure(json!({"mode": "Decide"})).await;
    world.decided(&key, 9).await;
    assert_eq!(world.listed("p"), ["a", "c"]);
}

#[tokio::test]
async fn corrections_far_apart_are_no_contest() {
    let world = fleet(&["a", "b"]).await;
    let key = world.contested().await;
    for _ in 0..5 {
        let count = world.counter.of(&key).len();
        world.others_decide().await;
        world.decided(&key, count + 1).await;
        assert_eq!(world.listed("p"), ["a"]);
        world.step(601);
        world.decided(&key, count + 2).await;
    }
    assert_eq!(world.engine.contest("ocm", &key), None);
}

#[tokio::test]
async fn only_the_selected_requests_are_decided_and_the_selection_is_live() {
    let world = fleet(&["a"]).await;
    world.mandated();
    let selector = json!({"matchLabels": {"scheduler": "berth"}});
    world.configure(json!({"requests": {"selector": selector}})).await;
    let theirs = world.placement("theirs", json!({})).await;
    let mut ours = super::ocm::object("v1beta1", "Placement", "ns", "ours", json!({}));
    ours["metadata"]["labels"] = json!({"scheduler": "berth"});
    let ours = world.put(ours).await;
    world.decided(&ours, 1).await;
    assert_eq!(world.counter.of(&theirs), [], "another scheduler decides it");
    let wish = berth_engine::Bind {
        dialect: "ocm",
        demand: &theirs,
        chosen: None,
        dry_run: false,
        unplaced: berth_engine::UnplacedTreatment::Refuse,
        by: Some("ann"),
    };
    let committer = RegistryCommitter(Arc::clone(&world.registry));
    let refused = world.engine.bind(&committer, wish).await.unwrap_err();
    assert!(
        matches!(refused, berth_engine::BindError::Observed(_)),
        "{refused}"
    );
    // The label of the request, either way.
    world
        .edit(&theirs, "", |value| {
            value["metadata"]["labels"] = json!({"scheduler": "berth"})
        })
        .await;
    world.decided(&theirs, 1).await;
    let label = |value: &mut Value| value["metadata"]["labels"] = json!({});
    world.edit(&ours, "", label).await;
    let count = world.counter.of(&ours).len();
    world.step(300);
    world.decided(&theirs, 2).await;
    assert_eq!(
        world.counter.of(&ours).len(),
        count,
        "it is another scheduler's now"
    );
    // The selection itself, and the label of the namespace.
    let selector = json!({"matchLabels": {"team": "canary"}});
    world
        .configure(json!({"requests": {"namespaceSelector": selector}}))
        .await;
    let namespace = Key::new(berth_kubernetes::core::namespace::RESOURCE, "", "ns");
    world
        .edit(&namespace, "", |value| {
            value["metadata"]["labels"]["team"] = "canary".into()
        })
        .await;
    world.decided(&ours, count + 1).await;
    // And none.
    world.configure(json!({"mode": "Observe"})).await;
    let late = world.placement("late", json!({})).await;
    world.configure(json!({"mode": "Decide"})).await;
    world.decided(&late, 1).await;
}
