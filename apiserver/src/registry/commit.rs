//! Lists of in-process writes. Each write is admitted and validated as a write of its user, and all writes of
//! a list are committed in one transaction.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Guard, Verb, Write};
use berth_apimachinery::{Key, Object, Status};
use berth_storage::{At, StoreError};

use crate::annotations::Annotations;
use crate::errors;
use crate::registry::transaction::{Author, Origin, Transaction};
use crate::registry::{CONFLICT_ATTEMPTS, Registry, prepare};

impl Registry {
    /// Admits and validates `writes` as writes by `author`, in order: each write sees the earlier writes.
    /// Then commits all writes in one transaction under `guards`. Returns the stored objects, one for each
    /// write.
    ///
    /// # Errors
    /// Reason why nothing was written: a concurrent write, or the first refusal. Requests of the author's
    /// user are refused for the same reasons.
    pub async fn commit(
        &self,
        author: Author<'_>,
        writes: Vec<Write>,
        guards: Vec<Guard>,
        dry_run: bool,
    ) -> Result<Vec<Arc<Object>>, CommitError> {
        self.commit_from(&Origin::default(), author, writes, guards, dry_run)
            .await
    }

    /// Commits a list of writes that comes from `origin`.
    pub(super) async fn commit_from(
        &self,
        origin: &Origin,
        author: Author<'_>,
        writes: Vec<Write>,
        guards: Vec<Guard>,
        dry_run: bool,
    ) -> Result<Vec<Arc<Object>>, CommitError> {
        let since = self.clock().now();
        let mut write_annotations = Vec::new();
        let result = self
            .commit_with_retries(origin, author, &writes, guards, dry_run, &mut write_annotations)
            .await;
        if let Some(request_annotations) = &origin.annotations {
            let all = write_annotations.iter().flat_map(Annotations::all);
            all.for_each(|(key, value)| request_annotations.add(key, value));
        }
        if !dry_run {
            self.record(author, &writes, &write_annotations, since, result.as_deref())
                .await;
        }
        result
    }

    /// Prepares and commits the writes, and repeats this if they were prepared or admitted on an outdated
    /// state of the store.
    async fn commit_with_retries(
        &self,
        origin: &Origin,
        author: Author<'_>,
        writes: &[Write],
        guards: Vec<Guard>,
        dry_run: bool,
        write_annotations: &mut Vec<Annotations>,
    ) -> Result<Vec<Arc<Object>>, CommitError> {
        let mut attempt = 1;
        loop {
            // Annotations of earlier attempts are dropped.
            *write_annotations = writes.iter().map(|_| self.annotations(origin)).collect();
            let mut transaction = Transaction::default();
            self.extend(
                &mut transaction,
                origin,
                author,
                writes,
                dry_run,
                write_annotations,
            )
            .await?;
            if dry_run {
                return Ok(transaction.into_results());
            }
            transaction.guard(writes, guards.clone());
            let error = match transaction.commit().await {
                Ok(objects) => return Ok(objects),
                Err(error) => error,
            };
            if attempt == CONFLICT_ATTEMPTS || !self.is_repeatable(writes, &guards, &error) {
                return Err(self.explain(error, writes));
            }
            self.catch_up(writes).await;
            attempt += 1;
        }
    }

    /// Reads the newest state of a shared store, so that the next attempt is not judged by the state of this
    /// one. If the store does not answer, the next attempt has its error.
    async fn catch_up(&self, writes: &[Write]) {
        let served = writes
            .first()
            .and_then(|write| self.index().preferred(write.key.resource));
        let store = served.and_then(|served| Some((served.store()?, served.stored)));
        if let Some((store, resource)) = store.filter(|(store, _)| store.is_shared()) {
            drop(store.list(resource, At::Latest).await);
        }
    }

    /// Whether the commit can be repeated after `error`: a concurrent write changed an object of the list, or
    /// the state that admission judged. The author has to decide again if `guards` or the base of a write
    /// required that state. Several writes into a shared store are only repeated after a change of one of their
    /// objects, since the writes before the failed one stay.
    fn is_repeatable(&self, writes: &[Write], guards: &[Guard], error: &StoreError) -> bool {
        let is_based = |key: &Key| {
            let mut of_key = writes.iter().filter(|write| self.stored_key(write) == *key);
            of_key.any(|write| write.base.is_some() || write.verb == Verb::Create)
        };
        let is_written = |key: &Key| writes.iter().any(|write| self.stored_key(write) == *key);
        let is_own = matches!(error, StoreError::Conflict { key, .. } if is_written(key));
        let served = writes
            .first()
            .and_then(|write| self.index().preferred(write.key.resource));
        let store = served.and_then(|served| served.store());
        let is_atomic = writes.len() == 1 || store.is_some_and(|store| !store.is_shared());
        prepare::is_outdated(error)
            && (is_own || is_atomic)
            && !prepare::is_about(error, guards)
            && !matches!(error, StoreError::Conflict { key, .. } if is_based(key))
    }

    /// Returns the key of the stored object.
    fn stored_key(&self, write: &Write) -> Key {
        let served = self.index().preferred(write.key.resource);
        let resource = served.map_or(write.key.resource, |served| served.stored);
        Key {
            resource,
            ..write.key.clone()
        }
    }

    /// Converts the error of the store to an error for the author.
    fn explain(&self, error: StoreError, writes: &[Write]) -> CommitError {
        let served = writes
            .first()
            .and_then(|write| self.index().preferred(write.key.resource));
        served.map_or_else(
            || Status::internal("the list of writes is empty").into(),
            |served| errors::of_commit(error, served),
        )
    }
}
