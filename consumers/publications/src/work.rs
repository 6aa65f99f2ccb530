//! Execution of tasks: profiles are written concurrently, the slices of a decision one after the other.

use std::collections::HashSet;

use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Key, Revision};
use berth_storage::Collection;
use futures::StreamExt;
use futures::stream;

use super::deed::{Change, Task};
use super::make::{ComputedSlices, SliceTask};
use super::outlet::Outlet;

/// Highest number of concurrent writes.
const PARALLEL: usize = 16;

/// Reason why a write failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The present object belongs to another client, with this name.
    Foreign(String),
    /// The object has changed in the meantime, or is being deleted. It is checked again.
    Moved,
    /// The write was refused.
    Refused(String),
}

impl From<CommitError> for Trouble {
    fn from(error: CommitError) -> Self {
        if error.why.is_moved() {
            Self::Moved
        } else {
            Self::Refused(error.status.message)
        }
    }
}

/// Outcome for one object: its new revision (of a deleted object, the last one), or the reason why the write
/// failed.
pub(super) type Outcome = (Key, Result<Revision, Trouble>);

/// Writes `changes`, in no order.
pub(super) async fn write(outlet: &dyn Outlet, changes: Vec<Change>) -> Vec<Outcome> {
    let all = stream::iter(changes).map(|change| async move {
        let key = change.key.clone();
        (key, write_one(outlet, change).await)
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Deletes the objects at `keys` that are in `stored`, in no order.
pub(super) async fn delete(outlet: &dyn Outlet, keys: Vec<Key>, stored: &Collection) -> Vec<Outcome> {
    let existing = keys.into_iter().filter_map(|key| {
        let object = stored.get(&key.namespace, &key.name)?;
        // An object that is being deleted is skipped, since it only waits for its finalizers.
        let base = object
            .meta()
            .deletion_timestamp()
            .is_none()
            .then_some(object.revision())?;
        Some((key, base))
    });
    let all = stream::iter(existing).map(|(key, base)| async move {
        let result = outlet.delete(&key, base).await;
        (key, result.map(|()| base).map_err(Trouble::from))
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Outcome for a decision.
pub(super) struct SliceResults {
    /// The demand.
    pub(super) demand: Key,
    /// The slices that stay or are added.
    pub(super) slices: Vec<Key>,
    /// Outcomes of the slices. In each namespace, the first failure ends the writes.
    pub(super) outcomes: Vec<Outcome>,
}

/// Writes the slices of each of `decisions`.
pub(super) async fn slices(outlet: &dyn Outlet, decisions: Vec<ComputedSlices>) -> Vec<SliceResults> {
    let all = stream::iter(decisions).map(|slices| decision(outlet, slices));
    all.buffer_unordered(PARALLEL).collect().await
}

/// Writes the slices of one decision. In each namespace, the first failure ends the writes, so that no
/// cluster is removed before the earlier additions have succeeded.
async fn decision(outlet: &dyn Outlet, slices: ComputedSlices) -> SliceResults {
    let mut results = SliceResults {
        demand: slices.demand,
        slices: slices.slices,
        outcomes: Vec::new(),
    };
    let mut failed_namespaces = HashSet::new();
    for task in slices.tasks {
        let (SliceTask::Put(key, _) | SliceTask::Delete(key, _)) = &task;
        let key = key.clone();
        if failed_namespaces.contains(&key.namespace) {
            continue;
        }
        let outcome = match task {
            SliceTask::Put(_, Task::Nothing) => continue,
            SliceTask::Put(_, Task::Write(change)) => write_one(outlet, change).await,
            SliceTask::Put(_, Task::Terminating) => Err(Trouble::Moved),
            SliceTask::Put(_, Task::Foreign(owner)) => Err(Trouble::Foreign(owner)),
            SliceTask::Delete(key, base) => {
                let result = outlet.delete(&key, base).await;
                result.map(|()| base).map_err(Trouble::from)
            }
        };
        if outcome.is_err() {
            failed_namespaces.insert(key.namespace.clone());
        }
        results.outcomes.push((key, outcome));
    }
    results
}

/// Writes one object. A new object has to exist before its status is written. The status of an existing
/// object is written first, since the digest in the object has the names of the status fields.
async fn write_one(outlet: &dyn Outlet, change: Change) -> Result<Revision, Trouble> {
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
        let object = outlet.apply(&key, subresource, &config, revision).await?;
        revision = Some(object.revision());
    }
    Ok(revision.unwrap_or_default())
}
