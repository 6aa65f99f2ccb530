//! Decisions that others change while they are stored.

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{Object, Status};

use super::*;
use crate::Commit;

/// A store whose policies take every place of `t` away, as long as they are there, and put the object back.
struct Overruling {
    inner: StoreCommitter,
    in_force: Arc<AtomicBool>,
}

#[async_trait]
impl Committer for Overruling {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let is_about_t = commit.writes.iter().any(|write| &*write.key.name == "t");
        if !is_about_t || !self.in_force.load(Ordering::Relaxed) {
            return self.inner.commit(commit).await;
        }
        for write in &commit.writes {
            let list = self.inner.0.cached(write.key.resource);
            let mut value = list.get(&write.key.namespace, &write.key.name).unwrap().parse();
            value["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("resourceVersion");
            value["metadata"]["labels"] = json!({"changed": format!("at{}", self.inner.0.revision().0)});
            put(&self.inner.0, &write.key, &value);
        }
        let status = Status::failure(403, "Forbidden", "a policy changed it");
        Err(CommitError::new(WriteRefusal::Overruled, status))
    }
}

#[tokio::test]
async fn a_decision_that_others_change_is_not_fought_for() {
    let world = World::default();
    world.shelf("a", 10);
    let in_force = Arc::new(AtomicBool::new(true));
    let committer = Overruling {
        inner: StoreCommitter(Arc::clone(&world.store)),
        in_force: Arc::clone(&in_force),
    };
    let replica = world.replica_writing(Arc::new(SingleReplica), Arc::new(committer));
    let toy = world.toy("t");
    replica.decided(&toy, 1).await;
    // Neither what came of the write nor another change makes it due before its time.
    world.edit(&toy, |toy| toy["spec"]["color"] = json!("red"));
    replica.barrier(&world, "barrier").await;
    replica.barrier(&world, "another").await;
    assert_eq!(replica.counter.attempts(&toy), [None]);
    replica.advance(&world, 10);
    replica.decided(&toy, 2).await;
    in_force.store(false, Ordering::Relaxed);
    replica.advance(&world, 20);
    replica.decided(&toy, 3).await;
    let scheduled = Some(Outcome::Scheduled);
    assert_eq!(replica.counter.attempts(&toy), [None, None, scheduled]);
    replica.controllers.stop().await;
}
