//! Decisions about a demand before it is made.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Verb};
use berth_apimachinery::{Draft, Key, Object, Revision};
use berth_dialect_contract::Outcome;
use berth_storage::{Expect, Source, Step, StepResult, Writer};
use serde_json::json;

use super::{StoreCommitter, World, step};
use crate::{Commit, Committer, ForeseenDecision};
use berth_dialect_toy::{TOYS, object};

/// Committer of lists that go along with the demand.
struct Joining(StoreCommitter);

#[async_trait]
impl Committer for Joining {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        self.0.commit(commit).await
    }

    fn can_store_with_demand(&self) -> bool {
        true
    }
}

impl World {
    async fn foresee(&self, name: &str) -> Option<(ForeseenDecision, Commit)> {
        // Nothing is foreseen before the first load.
        self.engine.caught_up(self.store.revision()).await.unwrap();
        let committer = Joining(StoreCommitter(Arc::clone(&self.store)));
        let (key, draft) = toy(name);
        let object = Arc::new(draft.unstored());
        self.engine.foresee(&committer, "toy", &key, &object).await
    }

    /// Makes the toy with what was foreseen of it, in one step.
    async fn make(&self, name: &str, commit: &Commit) -> Vec<Arc<Object>> {
        let (key, draft) = toy(name);
        let first = Step {
            verb: Verb::Create,
            key,
            subresource: "",
            object: Some(draft),
            expect: Expect::Absent,
            guards: commit.guards.clone(),
        };
        let along = commit.writes.iter().map(|write| Step {
            expect: Expect::Present,
            ..step(write)
        });
        let steps = std::iter::once(first).chain(along).collect();
        let applied = self.store.apply(steps).await.unwrap();
        applied
            .into_iter()
            .map(|StepResult { object, .. }| object)
            .collect()
    }

    fn is_answered(&self, name: &str, since: Revision) -> bool {
        self.engine.recent_answer("toy", &toy(name).0, since).is_some()
    }
}

fn toy(name: &str) -> (Key, Draft) {
    let draft = Draft::new(&object("Toy", "ns", name, json!({}))).unwrap();
    (Key::new(TOYS, "ns", name), draft)
}

#[tokio::test]
async fn a_demand_is_decided_before_it_is_made_and_stored_with_its_place() {
    let world = World::new();
    world.shelf("a", 1);
    let (foreseen, commit) = world.foresee("t").await.unwrap();
    assert_eq!(
        world.store.cached(TOYS).items.len(),
        0,
        "nothing is stored by foreseeing"
    );
    let mut objects = world.make("t", &commit).await;
    let made = objects.remove(0);
    let bound = foreseen.confirm(&made, objects).await.unwrap();
    assert_eq!(bound.decision.outcome, Outcome::Scheduled);
    assert_eq!(bound.decision.demand_revision, made.revision());
    assert_eq!(
        bound.snapshot.revision,
        world.store.revision(),
        "the binding is in, too"
    );
    assert!(
        world.is_answered("t", made.revision()),
        "the controller need not decide it again"
    );
    let again = world.bind(&toy("t").0, None).await.unwrap();
    assert_eq!(again.decision.outcome, Outcome::Unchanged);
}

#[tokio::test]
async fn what_changed_between_deciding_and_making_has_it_decided_again() {
    let world = World::new();
    world.shelf("a", 1);
    let (foreseen, commit) = world.foresee("t").await.unwrap();
    world.shelf("b", 9);
    let mut objects = world.make("t", &commit).await;
    let made = objects.remove(0);
    foreseen.confirm(&made, objects).await.unwrap();
    assert!(!world.is_answered("t", made.revision()));
}

#[tokio::test]
async fn what_is_foreseen_and_not_made_is_no_answer() {
    let world = World::new();
    world.shelf("a", 1);
    drop(world.foresee("t").await.unwrap());
    let made = world.toy("t");
    let since = world.stored(&made).revision();
    world.engine.caught_up(since).await.unwrap();
    assert!(!world.is_answered("t", since));
}

#[tokio::test]
async fn where_capacity_is_counted_one_foresees_at_a_time() {
    let world = World::new();
    world.shelf("a", 9);
    let (first, commit) = world.foresee("t").await.unwrap();
    assert!(!commit.guards.is_empty(), "the toy counts capacity");
    assert!(
        world.foresee("u").await.is_none(),
        "others bind once they are there"
    );
    drop(first);
    assert!(world.foresee("u").await.is_some());
}

#[tokio::test]
async fn what_cannot_be_foreseen_is_left_to_binding() {
    let world = World::new();
    world.shelf("a", 1);
    let revision = world.store.revision();
    world.engine.caught_up(revision).await.unwrap();
    let (key, draft) = toy("t");
    let object = Arc::new(draft.unstored());
    let alone = StoreCommitter(Arc::clone(&world.store));
    let foreseen = world.engine.foresee(&alone, "toy", &key, &object).await;
    assert!(foreseen.is_none(), "its writes are made by somebody else");
    world.engine.hold("toy", Some("its boxes".to_owned()));
    assert!(world.foresee("t").await.is_none(), "not all that counts is known");
    world.engine.hold("toy", None);
    assert!(world.foresee("t").await.is_some());
}
