//! Execution of tasks: profiles are written concurrently, the slices of a decision one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Key, Revision};
use berth_storage::Collection;
use futures::StreamExt;
use futures::stream;

use super::compute::{ComputedSlices, SliceTask};
use super::object_writer::ObjectWriter;
use super::task::{self, Change, Task};

/// Highest number of concurrent writes.
const PARALLEL: usize = 16;

/// Reason why a write failed.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// The present object belongs to another client, with this name.
    Foreign(String),
    /// The object has changed in the meantime, or is being deleted. It is checked again.
    Conflict,
    /// The write was refused.
    Refused(String),
}

impl From<CommitError> for WriteFailure {
    fn from(error: CommitError) -> Self {
        if error.reason.is_outdated() {
            Self::Conflict
        } else {
            Self::Refused(error.status.message)
        }
    }
}

/// Outcome for the object with this key: the new revision (for a deleted object, the last revision), or the
/// reason why the write failed.
pub(super) type Outcome = (Key, Result<Revision, WriteFailure>);

/// Writes `changes` concurrently, in any order.
pub(super) async fn write(writer: &dyn ObjectWriter, changes: Vec<Change>) -> Vec<Outcome> {
    let all = stream::iter(changes).map(|change| async move {
        let key = change.key.clone();
        (key, write_one(writer, change).await)
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Deletes the objects at `keys` that are in `stored`, concurrently and in any order. Objects that Berth did
/// not publish stay.
pub(super) async fn delete(writer: &dyn ObjectWriter, keys: Vec<Key>, stored: &Collection) -> Vec<Outcome> {
    let existing = keys.into_iter().filter_map(|key| {
        let object = stored.get(&key.namespace, &key.name)?;
        // An object that is being deleted is skipped, since it only waits for its finalizers. A profile whose
        // name is taken was wanted but never written: the object with its name belongs to another client.
        let is_due = task::is_ours(object) && object.meta().deletion_timestamp().is_none();
        is_due.then(|| (key, object.revision()))
    });
    let all = stream::iter(existing).map(|(key, base)| async move {
        let result = writer.delete(&key, base).await;
        (key, result.map(|()| base).map_err(WriteFailure::from))
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Outcomes for the slices of one decision.
pub(super) struct SliceResults {
    /// The demand of the decision.
    pub(super) demand: Key,
    /// Keys of the slices that stay or are added.
    pub(super) slices: Vec<Key>,
    /// Outcomes of the attempted writes. In each namespace, the first failure ends the writes.
    pub(super) outcomes: Vec<Outcome>,
    /// Namespaces in which a slice may still name clusters that are no longer in the decision.
    pub(super) unfinished: HashSet<Arc<str>>,
}

/// Writes the slices of all `decisions`: decisions concurrently, the slices of a decision in order.
pub(super) async fn write_slices(
    writer: &dyn ObjectWriter,
    decisions: Vec<ComputedSlices>,
) -> Vec<SliceResults> {
    let all = stream::iter(decisions).map(|slices| write_decision(writer, slices));
    all.buffer_unordered(PARALLEL).collect().await
}

/// Writes the slices of one decision. In each namespace, the first failure ends the writes, so that no
/// cluster is removed before the earlier additions have succeeded.
async fn write_decision(writer: &dyn ObjectWriter, slices: ComputedSlices) -> SliceResults {
    let mut results = SliceResults {
        demand: slices.demand,
        slices: slices.slices,
        outcomes: Vec::new(),
        unfinished: HashSet::new(),
    };
    let mut failed_namespaces = HashSet::new();
    for task in slices.tasks {
        let (SliceTask::Put(key, _) | SliceTask::Delete(key, _)) = &task;
        let key = key.clone();
        // A slice that is as wanted, or that another client wrote, names no former cluster of the decision.
        let is_settled = matches!(&task, SliceTask::Put(_, Task::Nothing | Task::Foreign(_)));
        if failed_namespaces.contains(&key.namespace) {
            results.unfinished.extend((!is_settled).then_some(key.namespace));
            continue;
        }
        let outcome = match task {
            SliceTask::Put(_, Task::Nothing) => continue,
            SliceTask::Put(_, Task::Write(change)) => write_one(writer, change).await,
            SliceTask::Put(_, Task::Terminating) => Err(WriteFailure::Conflict),
            SliceTask::Put(_, Task::Foreign(owner)) => Err(WriteFailure::Foreign(owner)),
            SliceTask::Delete(key, base) => {
                let result = writer.delete(&key, base).await;
                result.map(|()| base).map_err(WriteFailure::from)
            }
        };
        if outcome.is_err() {
            failed_namespaces.insert(Arc::clone(&key.namespace));
            results
                .unfinished
                .extend((!is_settled).then(|| Arc::clone(&key.namespace)));
        }
        results.outcomes.push((key, outcome));
    }
    results
}

/// Writes one object. A new object has to exist before its status is written. The status of an existing
/// object is written first, since the digest in the object covers the names of the status fields: if the
/// status cannot be written, the old digest stays, and the next comparison still finds a difference.
async fn write_one(writer: &dyn ObjectWriter, change: Change) -> Result<Revision, WriteFailure> {
    let Change {
        key,
        main,
        status,
        base,
        ..
    } = change;
    let (main, status) = (
        main.map(|main| ("", main)),
        status.map(|status| ("status", status)),
    );
    let parts = match base {
        None => [main, status],
        Some(_) => [status, main],
    };
    let mut revision = base;
    for (subresource, config) in parts.into_iter().flatten() {
        let object = writer.apply(&key, subresource, &config, revision).await?;
        revision = Some(object.revision());
    }
    Ok(revision.unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use berth_apimachinery::{GroupResource, Object};
    use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS, mark};
    use berth_storage::Name;
    use serde_json::{Value, json};

    use super::super::object_writer::Obstacle;
    use super::*;

    /// A writer that records the names of deleted objects.
    #[derive(Default)]
    pub(crate) struct Deletions(pub(crate) Mutex<Vec<String>>);

    #[async_trait]
    impl ObjectWriter for Deletions {
        fn ready(&self) -> Result<(), Obstacle> {
            Ok(())
        }

        async fn apply(
            &self,
            key: &Key,
            _: &'static str,
            _: &Value,
            _: Option<Revision>,
        ) -> Result<Arc<Object>, CommitError> {
            panic!("{key} is applied")
        }

        async fn delete(&self, key: &Key, _: Revision) -> Result<(), CommitError> {
            self.0.lock().unwrap().push(key.name.to_string());
            Ok(())
        }
    }

    fn profile(name: &str, annotations: Value) -> (Name, Arc<Object>) {
        let object = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": "n", "annotations": annotations},
        });
        let object = Object::new(&object, Revision(7)).unwrap();
        (Name::new("n", name), Arc::new(object))
    }

    #[tokio::test]
    async fn an_object_of_another_program_is_not_deleted() {
        let objects = [
            profile("ours", json!({mark::PUBLICATION: "p"})),
            profile("theirs", json!({})),
        ];
        let stored = Collection {
            revision: Revision(7),
            items: objects.into_iter().collect(),
        };
        let writer = Deletions::default();
        let keys = ["ours", "theirs"].map(|name| Key::new(CLUSTER_PROFILES, "n", name));
        let outcomes = delete(&writer, keys.into(), &stored).await;
        assert_eq!(outcomes.len(), 1);
        assert_eq!(*writer.0.lock().unwrap(), ["ours"]);
    }

    #[tokio::test]
    async fn a_slice_of_another_program_leaves_a_decision_unfinished_only_where_a_later_change_is_skipped() {
        let slice = |index: u8| Key::new(PLACEMENT_DECISIONS, "n", &format!("team.web.toy-{index}"));
        for (later, is_unfinished) in [
            (SliceTask::Put(slice(1), Task::Nothing), false),
            (SliceTask::Delete(slice(1), Revision(7)), true),
        ] {
            let foreign = Task::Foreign("another program".to_owned());
            let slices = ComputedSlices {
                demand: Key::new(GroupResource::new("x.example", "requests"), "team", "web"),
                slices: vec![slice(0)],
                tasks: vec![SliceTask::Put(slice(0), foreign), later],
            };
            let writer = Deletions::default();
            let results = write_decision(&writer, slices).await;
            assert_eq!(results.unfinished.contains("n"), is_unfinished);
            assert!(writer.0.lock().unwrap().is_empty());
        }
    }
}
