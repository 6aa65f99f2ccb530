//! A store in one file, for one process: redb stores the objects, and all of them are also in memory.
//!
//! One committer thread takes all queued lists of steps, checks them against the state in memory, writes
//! their changes as one redb transaction, waits for the disk, publishes the next state and only then answers.
//! So every acknowledged write survives `kill -9`, and under load many writes share one fsync, without a
//! timer.
//!
//! A second file (`berth.redb.reserve`) reserves disk space, so that deletions succeed when the disk is
//! full.
//!
//! The file has only the present state. History, held lists and fences are in memory: after a restart a watch
//! from an earlier revision is `Expired`, but the sequence of revisions continues.

pub mod backup;
mod committer;
mod disk;
mod header;
mod import;
mod load;
mod record;
pub mod rescue;
mod reserve;
mod tables;

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Revision};
use tokio::sync::oneshot;

use crate::cache::{self, Cache};
use crate::collection::Collection;
use crate::encryption::Encryption;
use crate::error::{NotReady, StoreError};
use crate::history::Limits;
use crate::snapshot::Snapshot;
use crate::source::{At, Scope, Source, Store, Watch, Writer};
use crate::step::{Step, StepResult};
use committer::{Committer, Request};
use disk::OpenedDatabase;
use reserve::Reserve;

/// Objects in a redb file. Dropping the store completes the queued writes and closes the file.
pub struct EmbeddedStore {
    cache: Arc<Cache>,
    /// Reason why the store can no longer write; empty while it can.
    failed: Arc<OnceLock<String>>,
    reserve: Arc<Reserve>,
    queue: Option<Sender<Request>>,
    committer: Option<JoinHandle<()>>,
    encryption: Arc<Encryption>,
}

impl EmbeddedStore {
    /// Opens the database `file`, or creates it (readable by its owner only). Checks and loads all records.
    /// The function blocks: call it where blocking is allowed.
    ///
    /// # Errors
    /// `Corrupt`, with file and record, when anything in the file is damaged; `Sealed` when a value is
    /// encrypted; `Unavailable` when the file cannot be read or another process has it open.
    pub fn open(file: &Path, limits: Limits) -> Result<Self, StoreError> {
        Self::open_encrypted(file, limits, &Arc::default())
    }

    /// Opens the database `file` like [`EmbeddedStore::open`], with values that are encrypted by
    /// `encryption`.
    ///
    /// # Errors
    /// As [`EmbeddedStore::open`]; `Sealed` only when a value was encrypted with a key that is not available.
    pub fn open_encrypted(
        file: &Path,
        limits: Limits,
        encryption: &Arc<Encryption>,
    ) -> Result<Self, StoreError> {
        Self::start(disk::open(file, encryption)?, limits)
    }

    /// Returns all present objects.
    #[must_use]
    pub fn export(&self) -> Snapshot {
        self.cache.state().snapshot()
    }

    /// Creates the database `file`, which must not exist yet, from the objects of another store. Each object
    /// keeps its revision, and the store continues from the snapshot's revision. The function blocks.
    ///
    /// # Errors
    /// `Unavailable` when the file exists or cannot be written.
    pub fn import(file: &Path, snapshot: &Snapshot) -> Result<(), StoreError> {
        Self::import_encrypted(file, snapshot, &Arc::default())
    }

    /// Creates the database `file` like [`EmbeddedStore::import`], with values that are encrypted by
    /// `encryption`.
    ///
    /// # Errors
    /// As [`EmbeddedStore::import`].
    pub fn import_encrypted(
        file: &Path,
        snapshot: &Snapshot,
        encryption: &Arc<Encryption>,
    ) -> Result<(), StoreError> {
        import::import(file, snapshot, encryption)
    }

    fn start(OpenedDatabase { disk, state }: OpenedDatabase, limits: Limits) -> Result<Self, StoreError> {
        let name = disk.file().to_owned();
        let cache = Arc::new(Cache::new(state));
        let failed = Arc::new(OnceLock::new());
        let (queue, requests) = mpsc::channel();
        let reserve = Arc::clone(disk.reserve());
        reserve.hold();
        let encryption = disk.encryption();
        let committer = Committer::new(Arc::clone(&cache), disk, limits, Arc::clone(&failed));
        let committer = std::thread::Builder::new()
            .name("berth-commit".to_owned())
            .spawn(move || committer.run(&requests))
            .map_err(|error| {
                StoreError::Unavailable(format!("{name}: cannot start the committer: {error}"))
            })?;
        Ok(Self {
            cache,
            failed,
            reserve,
            queue: Some(queue),
            committer: Some(committer),
            encryption,
        })
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // Without its queue the committer completes its writes and ends.
        drop(self.queue.take());
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!(
                "the committer of the embedded store panicked; writes that were not acknowledged are not stored; report it as a bug, with this line"
            );
        }
    }
}

#[async_trait]
impl Source for EmbeddedStore {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.cache.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.cache.collection(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.cache.watch(scope, after)
    }

    fn revision(&self) -> Revision {
        self.cache.revision()
    }
}

#[async_trait]
impl Writer for EmbeddedStore {
    /// Queues the steps for the committer and waits. Queued steps are applied even when the caller stops
    /// waiting.
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(cache::closed)?;
        queue
            .send(Request { steps, reply })
            .map_err(|_closed| self.closed())?;
        answer.await.map_err(|_closed| self.closed())?
    }
}

impl EmbeddedStore {
    /// Returns the error of a request that the committer has not answered.
    fn closed(&self) -> StoreError {
        let reason = self.failed.get().cloned();
        reason.map_or_else(cache::closed, StoreError::Unavailable)
    }
}

impl Store for EmbeddedStore {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.cache.hold(resource, collection);
    }

    fn ready(&self) -> Result<(), NotReady> {
        let failed = self.failed.get().cloned();
        failed.map_or(Ok(()), |reason| Err(NotReady::Failed(reason)))
    }

    fn room(&self) -> Result<(), String> {
        self.reserve.room()
    }
}

#[cfg(test)]
mod failing;
