//! Execution of tasks: profiles are written concurrently, the slices of a decision one after the other.

use std::collections::HashSet;

use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Key, Revision};
use berth_storage::Collection;
use futures::StreamExt;
use futures::stream;

use super::deed::{Change, Task};
use super::make::{MadeSlices, SliceDeed};
use super::outlet::Outlet;

/// Number of writes that are under way at once.
const PARALLEL: usize = 16;

/// Reason why a write failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Another client has created an object of that name.
    Foreign(String),
    /// The object has changed in between, and is checked again.
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

/// Outcome for one object: its new revision.
pub(super) type Outcome = (Key, Result<Revision, Trouble>);

/// Writes `changes`, in no order.
pub(super) async fn write(outlet: &dyn Outlet, changes: Vec<Change>) -> Vec<Outcome> {
    let all = stream::iter(changes).map(|change| async move {
        let key = change.key.clone();
        (key, one(outlet, change).await)
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Deletes the objects at `keys` that are in `shown`, in no order.
pub(super) async fn delete(outlet: &dyn Outlet, keys: Vec<Key>, shown: &Collection) -> Vec<Outcome> {
    let existing = keys.into_iter().filter_map(|key| {
        let object = shown.get(&key.namespace, &key.name)?;
        // An object that is being deleted only waits for its finalizers: it is skipped.
        let base = object
            .meta()
            .deletion_timestamp()
            .is_none()
            .then_some(object.revision())?;
        Some((key, base))
    });
    let all = stream::iter(existing).map(|(key, base)| async move {
        let deleted = outlet.delete(&key, base).await;
        (key, deleted.map(|()| base).map_err(Trouble::from))
    });
    all.buffer_unordered(PARALLEL).collect().await
}

/// Outcome for a decision.
pub(super) struct DoneSlices {
    /// The demand.
    pub(super) demand: Key,
    /// The slices that stay or are added.
    pub(super) slices: Vec<Key>,
    /// Outcomes of its slices. In each namespace, the first failure ends the writes.
    pub(super) outcomes: Vec<Outcome>,
}

/// Writes the slices of each of `decisions`.
pub(super) async fn slices(outlet: &dyn Outlet, decisions: Vec<MadeSlices>) -> Vec<DoneSlices> {
    let all = stream::iter(decisions).map(|slices| decision(outlet, slices));
    all.buffer_unordered(PARALLEL).collect().await
}

/// Writes the slices of one decision. Additions come before removals, so that the writes end at the
/// first failure.
async fn decision(outlet: &dyn Outlet, slices: MadeSlices) -> DoneSlices {
    let mut done = DoneSlices {
        demand: slices.demand,
        slices: slices.slices,
        outcomes: Vec::new(),
    };
    let mut stopped = HashSet::new();
    for deed in slices.deeds {
        let (SliceDeed::Put(key, _) | SliceDeed::Delete(key, _)) = &deed;
        let key = key.clone();
        if stopped.contains(&key.namespace) {
            continue;
        }
        let outcome = match deed {
            SliceDeed::Put(_, Task::Nothing) => continue,
            SliceDeed::Put(_, Task::Write(change)) => one(outlet, change).await,
            SliceDeed::Put(_, Task::Leaving) => Err(Trouble::Moved),
            SliceDeed::Put(_, Task::Foreign(maker)) => Err(Trouble::Foreign(maker)),
            SliceDeed::Delete(key, base) => {
                let deleted = outlet.delete(&key, base).await;
                deleted.map(|()| base).map_err(Trouble::from)
            }
        };
        if outcome.is_err() {
            stopped.insert(key.namespace.clone());
        }
        done.outcomes.push((key, outcome));
    }
    done
}

/// Writes one object. A new object has to exist before its status is written. Of an existing object the
/// status comes first, since the digest of the object has the names of the status fields.
async fn one(outlet: &dyn Outlet, change: Change) -> Result<Revision, Trouble> {
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
    let mut at = base;
    for (subresource, config) in parts.into_iter().flatten() {
        let object = outlet.apply(&key, subresource, &config, at).await?;
        at = Some(object.revision());
    }
    Ok(at.unwrap_or_default())
}
