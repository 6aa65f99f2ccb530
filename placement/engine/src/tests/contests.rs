//! States of contests, which go with their demands.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Verb};
use berth_apimachinery::{Key, Object};
use berth_storage::{Expect, MemoryStore, Source as _, Step};

use super::{StoreCommitter, World, wish};
use crate::{Commit, Committer, Engine};

fn delete(store: &MemoryStore, key: &Key) {
    store
        .commit(&[Step {
            verb: Verb::Delete,
            key: key.clone(),
            subresource: "",
            object: None,
            expect: Expect::Present,
            guards: Vec::new(),
        }])
        .unwrap();
}

impl World {
    /// Whether the last write of the decision on `toy`, which is gone, is still kept.
    fn is_kept(&self, toy: &Key) -> bool {
        let slot = self.engine.slot("toy").unwrap();
        slot.contests.is_disturbed(toy, &*self.store)
    }
}

#[tokio::test]
async fn the_writes_and_the_contest_of_a_demand_are_forgotten_when_it_is_deleted() {
    let world = World::new();
    world.shelf("a", 2);
    let (bound, contested) = (world.toy("bound"), world.toy("contested"));
    world.bind(&bound, None).await.unwrap();
    world.contest(&contested).await;
    for toy in [&bound, &contested] {
        delete(&world.store, toy);
    }
    let deleted = world.store.revision();
    world.engine.caught_up(deleted).await.unwrap();
    assert!(!world.is_kept(&bound) && !world.is_kept(&contested));
    assert_eq!(world.engine.contest("toy", &contested), None);
}

/// Writes to the store, and deletes the demand before it answers.
struct Late {
    inner: StoreCommitter,
    engine: Arc<Engine>,
}

#[async_trait]
impl Committer for Late {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let demand = commit.writes[0].key.clone();
        let written = self.inner.commit(commit).await?;
        delete(&self.inner.0, &demand);
        let deleted = self.inner.0.revision();
        self.engine.caught_up(deleted).await.unwrap();
        Ok(written)
    }
}

#[tokio::test]
async fn a_write_is_not_remembered_if_its_demand_was_deleted_before_the_answer() {
    let world = World::new();
    world.shelf("a", 1);
    let toy = world.toy("t");
    let late = Late {
        inner: StoreCommitter(Arc::clone(&world.store)),
        engine: Arc::clone(&world.engine),
    };
    world.engine.bind(&late, wish(&toy, None)).await.unwrap();
    assert!(!world.is_kept(&toy));
}
