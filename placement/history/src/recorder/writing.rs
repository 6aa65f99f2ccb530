//! Writes and deletions of records in the store.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_apimachinery::write::Verb;
use berth_scheduling_rest::records::resource_of;
use berth_storage::{Expect, Name, Step as Write, StoreError};

use super::Recorder;

/// Highest number of records that are written in one commit.
const MAX_WRITES: usize = 128;

impl Recorder {
    /// Writes and deletes records. A failure is logged, and the index is read again later.
    pub(super) async fn write(&mut self, writes: Vec<Write>) {
        for writes in writes.chunks(MAX_WRITES) {
            let written = self.history.store.apply(writes.to_vec()).await;
            let written = match written {
                Ok(_) => Ok(()),
                Err(error) if is_late(&error) => self.write_one_by_one(writes).await,
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                tracing::warn!(%error, "cannot write or delete some DecisionRecords; changes of decisions may be missing in the history");
                self.is_stale = true;
            }
        }
    }

    /// Writes the records one by one, for the case that one of several exists or is deleted already.
    async fn write_one_by_one(&self, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            match self.history.store.apply(vec![write.clone()]).await {
                Ok(_) => {}
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The records of deleted namespaces. They are deleted with their namespace, since the next
    /// namespace of that name may belong to other users.
    pub(super) fn of_deleted_namespaces(&mut self) -> Vec<(Name, Arc<str>)> {
        let Some(namespaces) = self.history.namespaces else {
            return Vec::new();
        };
        let existing = self.history.store.cached(namespaces);
        let deleted = self.record_index.namespaces().into_iter();
        let deleted: Vec<Arc<str>> = deleted.filter(|name| existing.get("", name).is_none()).collect();
        deleted
            .iter()
            .flat_map(|name| self.record_index.take_namespace(name))
            .collect()
    }
}

/// The deletions of `records`, each named by the place of its decision and its own name.
pub(super) fn deletions(records: Vec<(Name, Arc<str>)>) -> impl Iterator<Item = Write> {
    records.into_iter().map(|(place, name)| Write {
        verb: Verb::Delete,
        key: Key {
            resource: resource_of(&place.namespace),
            namespace: place.namespace,
            name,
        },
        subresource: "",
        object: None,
        expect: Expect::Present,
        guards: Vec::new(),
    })
}

/// Whether the record exists already, or is deleted already: another server or a user was faster.
fn is_late(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Conflict { .. } | StoreError::NotFound { .. } | StoreError::AlreadyExists { .. }
    )
}
