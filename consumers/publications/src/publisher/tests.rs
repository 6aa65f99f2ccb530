//! Runs of a publisher without dialects, which only delete.

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource};
use berth_multicluster::mark;
use berth_storage::{Expect, MemoryStore, Step, Writer};
use serde_json::json;

use super::work::tests::Deletions;
use super::*;

/// A publisher without dialects, beside a stored object of `resource` named `web` that an earlier publisher
/// wrote.
async fn publisher(resource: GroupResource) -> (Publisher, Arc<Deletions>) {
    let store = Arc::new(MemoryStore::default());
    let object = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "Published",
        "metadata": {"name": "web", "namespace": "fleet", "annotations": {mark::PUBLICATION: "all"}},
    });
    let step = Step {
        verb: Verb::Create,
        key: Key::new(resource, "fleet", "web"),
        subresource: "",
        object: Some(Draft::new(&object).unwrap()),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    store.apply(vec![step]).await.unwrap();
    let engine = Engine::new(Vec::new(), store, Arc::new(berth_apiserver::SystemClock));
    let deletions = Arc::new(Deletions::default());
    let publisher = Publisher {
        subscription: engine.subscribe(),
        dialects: Vec::new(),
        engine,
        writer: Arc::clone(&deletions) as Arc<dyn ObjectWriter>,
        leading: watch::channel(true).1,
        reports: watch::channel(Vec::new()).0,
        judgement: Some(PublicationVerdicts::default()),
        repeats_all: false,
        is_incomplete: false,
        published_state: PublishedState::default(),
    };
    (publisher, deletions)
}

#[tokio::test]
async fn nothing_is_deleted_after_a_failed_computation() {
    let (mut publisher, deletions) = publisher(PLACEMENT_DECISIONS).await;
    let results = ["a", "bad", "c"].map(|name| {
        ok_or_log(name, || {
            assert_ne!(name, "bad");
            name
        })
    });
    assert_eq!(publisher.computed(Ok(results.to_vec())), Some(vec!["a", "c"]));
    assert!(!publisher.repeats_all, "the others are published");
    publisher.sweep(&HashSet::new()).await;
    assert!(deletions.0.lock().unwrap().is_empty());

    publisher.publish_all().await;
    assert!(!publisher.repeats_all);
    assert_eq!(*deletions.0.lock().unwrap(), ["web"], "all objects were computed");
}

#[tokio::test]
async fn a_profile_stays_while_a_decision_in_its_namespace_may_refer_to_it() {
    let (mut publisher, deletions) = publisher(CLUSTER_PROFILES).await;
    publisher.sweep(&HashSet::from(["fleet".into()])).await;
    assert!(deletions.0.lock().unwrap().is_empty());
    assert!(publisher.repeats_all, "it is deleted later");

    publisher.sweep(&HashSet::from(["another".into()])).await;
    assert!(
        deletions.0.lock().unwrap().is_empty(),
        "everything is published first"
    );
    publisher.publish_all().await;
    assert_eq!(*deletions.0.lock().unwrap(), ["web"]);
}
