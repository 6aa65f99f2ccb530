//! Runs of a publisher without dialects, which only delete, and what events make stale.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::write::{CommitError, Verb, WriteRefusal};
use berth_apimachinery::{Change, Clock, Draft, GroupResource, Object, Revision, Status};
use berth_multicluster::mark;
use berth_storage::{Expect, MemoryStore, Step, Writer};
use serde_json::{Value, json};

use super::work::tests::Deletions;
use super::*;

/// A writer that refuses every write, and counts the deletions. It is not ready while it has an obstacle.
#[derive(Default)]
struct Refusals {
    obstacle: Option<Obstacle>,
    deletions: AtomicUsize,
}

fn refused() -> CommitError {
    CommitError::new(
        WriteRefusal::Refused,
        Status::failure(403, "Forbidden", "a webhook denied it"),
    )
}

#[async_trait]
impl ObjectWriter for Refusals {
    fn ready(&self) -> Result<(), Obstacle> {
        self.obstacle.clone().map_or(Ok(()), Err)
    }

    async fn apply(
        &self,
        _: &Key,
        _: &'static str,
        _: &Value,
        _: Option<Revision>,
    ) -> Result<Arc<Object>, CommitError> {
        Err(refused())
    }

    async fn delete(&self, _: &Key, _: Revision) -> Result<(), CommitError> {
        self.deletions.fetch_add(1, Ordering::SeqCst);
        Err(refused())
    }
}

/// A publisher without dialects, beside a stored object of `resource` named `web` that an earlier publisher
/// wrote.
async fn publisher(resource: GroupResource) -> (Publisher, Arc<Deletions>) {
    let deletions = Arc::new(Deletions::default());
    let writer = Arc::clone(&deletions) as Arc<dyn ObjectWriter>;
    let publisher = publisher_with(resource, writer, Arc::new(SteppedClock::default())).await;
    (publisher, deletions)
}

/// A publisher as [`publisher`] makes it, with a writer and a clock of the test.
async fn publisher_with(
    resource: GroupResource,
    writer: Arc<dyn ObjectWriter>,
    clock: Arc<dyn Clock>,
) -> Publisher {
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
    let engine = Engine::new(Vec::new(), store, clock);
    engine.spawn();
    engine.caught_up(Revision::default()).await.unwrap();
    Publisher {
        subscription: engine.subscribe(),
        dialects: Vec::new(),
        engine,
        writer,
        leading: watch::channel(true).1,
        reports: watch::channel(Vec::new()).0,
        judgement: Some(PublicationVerdicts::default()),
        repeats_all: false,
        has_leftovers: false,
        published_at: None,
        is_incomplete: false,
        published_state: PublishedState::default(),
    }
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
    publisher.sweep(HashSet::new()).await;
    assert!(deletions.0.lock().unwrap().is_empty());

    publisher.publish_all().await;
    assert!(!publisher.repeats_all);
    assert_eq!(*deletions.0.lock().unwrap(), ["web"], "all objects were computed");
}

#[tokio::test]
async fn a_profile_stays_while_a_decision_in_its_namespace_may_refer_to_it() {
    let (mut publisher, deletions) = publisher(CLUSTER_PROFILES).await;
    publisher.sweep(HashSet::from(["fleet".into()])).await;
    assert!(deletions.0.lock().unwrap().is_empty());
    assert!(publisher.has_leftovers, "it is deleted later");

    publisher.sweep(HashSet::from(["another".into()])).await;
    assert_eq!(*deletions.0.lock().unwrap(), ["web"]);
}

#[tokio::test]
async fn while_a_deletion_is_refused_everything_is_published_again_only_after_pauses() {
    let (refusals, clock) = (Arc::new(Refusals::default()), Arc::new(SteppedClock::default()));
    let writer = Arc::clone(&refusals) as Arc<dyn ObjectWriter>;
    let shared = Arc::clone(&clock) as Arc<dyn Clock>;
    let mut publisher = publisher_with(PLACEMENT_DECISIONS, writer, shared).await;
    publisher.judgement = None;
    // The last advance is a clock that is set back.
    for (seconds, attempts) in [(0, 1), (0, 1), (9, 1), (1, 2), (0, 2), (-3600, 3)] {
        clock.advance(SignedDuration::from_secs(seconds));
        publisher.handle(Trigger::Check).await;
        assert_eq!(refusals.deletions.load(Ordering::SeqCst), attempts, "{seconds}");
    }
}

#[tokio::test]
async fn a_profile_whose_copy_comes_late_makes_all_decisions_of_its_system_stale() {
    let (mut publisher, _) = publisher(CLUSTER_PROFILES).await;
    let key = Key::new(CLUSTER_PROFILES, "fleet", "a.toy");
    let cluster: Arc<str> = "a".into();
    let item = ("toy", Subject::Target(Arc::clone(&cluster)));
    publisher.published_state.subjects.insert(key.clone(), item);
    publisher.published_state.written.insert(key.clone(), Revision(5));
    let profile = |revision: u64, annotations: Value| {
        let object = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "a.toy", "namespace": "fleet", "annotations": annotations},
        });
        Arc::new(Object::new(&object, Revision(revision)).unwrap())
    };
    let ours = |revision: u64| profile(revision, json!({mark::PUBLICATION: "all"}));
    let stale = |old: Option<Arc<Object>>, new: Arc<Object>| {
        let change = Change {
            old,
            ..Change::added(key.clone(), new)
        };
        publisher.stale(Trigger::Changed(vec![Arc::new(Event::new(change))]))
    };

    assert!(stale(None, ours(5)).is_empty(), "it was copied in time");
    for old in [None, Some(profile(6, json!({})))] {
        assert_eq!(stale(old, ours(7))["toy"].1, MarkedSet::All);
    }
    let (targets, demands) = &stale(Some(ours(6)), ours(7))["toy"];
    assert!(demands.is_empty(), "decisions were computed with it");
    assert_eq!(*targets, MarkedSet::Some(BTreeSet::from([cluster])));
}

#[tokio::test]
async fn a_past_alarm_leaves_a_pause_between_runs_that_cannot_publish() {
    let missing = Refusals {
        obstacle: Some(("KindsMissing", "the hub does not have the kinds".to_owned())),
        ..Refusals::default()
    };
    for (leads, writer) in [(false, Refusals::default()), (true, missing)] {
        let clock = Arc::new(SteppedClock::default());
        let mut publisher = publisher_with(CLUSTER_PROFILES, Arc::new(writer), clock).await;
        publisher.leading = watch::channel(leads).1;
        let (item, now) = (("toy", Subject::Target("a".into())), publisher.now());
        publisher.published_state.alarms.set(item, Some(now));
        publisher.handle(Trigger::Check).await;
        assert!(publisher.published_state.alarms.pause(now) > CHECK_INTERVAL);
        assert_eq!(publisher.judgement, None, "everything is published later");
    }
}
