//! Hooks for creates by clients: a hook extends the transaction that stores a new object, or works on the
//! stored object before the client's answer.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::write::{CommitError, Guard, Write};
use berth_apimachinery::{Draft, GroupResource, Key, Object, Revision, Status, Timestamp};
use berth_storage::{Step, Store, StoreError};
use futures::future::BoxFuture;

use super::retries::WriteFailure;
use super::transaction::{Author, Origin, Transaction};
use super::write::creation;
use super::{Registry, WriteIntent, prepare};
use crate::actor::Actor;
use crate::call::Warnings;
use crate::served::ServedVersion;

/// An object that a client creates.
#[derive(Clone)]
pub struct CreatedObject {
    /// Resource in the request of the client.
    pub resource: GroupResource,
    /// The object as stored; in a dry run, and in [`CreateHook::extend`], as it would be stored.
    pub object: Arc<Object>,
    /// User that created the object.
    pub user: UserInfo,
    /// The instant of the request.
    pub now: Timestamp,
    /// Whether the create is a dry run, which stores nothing.
    pub dry_run: bool,
    /// Warnings for the client.
    pub warnings: Warnings,
}

/// Writes that are committed in one transaction with a new object.
pub struct Extension {
    /// User of the writes, for admission.
    pub user: UserInfo,
    /// Field manager of the writes.
    pub manager: String,
    /// Cause of the writes, for the audit log.
    pub cause: String,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// Further conditions of the commit.
    pub guards: Vec<Guard>,
    /// Function that is called after the commit; dropped if the object is stored without the additional
    /// writes.
    pub on_commit: OnCommit,
}

/// Function that is called after a commit, before the client's answer.
pub type OnCommit = Box<dyn FnOnce(CommittedTransaction) -> BoxFuture<'static, ()> + Send>;

/// A committed transaction.
pub struct CommittedTransaction {
    /// The new object, as stored by the first write.
    pub created: Arc<Object>,
    /// The objects as stored by the writes of the extension, one for each write.
    pub written: Vec<Arc<Object>>,
}

/// Work of the program on a new object before the client receives the answer.
#[async_trait]
pub trait CreateHook: Send + Sync + 'static {
    /// Whether the hook acts on creates of `resource`, which is the resource in the request of the client.
    fn concerns(&self, resource: GroupResource) -> bool;

    /// Returns the writes to commit in one transaction with the object, which has passed admission and has no
    /// revision yet. Not called in a dry run, nor for a store that is shared with other processes.
    async fn extend(&self, _creating: &CreatedObject) -> Option<Extension> {
        None
    }

    /// Called if the transaction of the object was not extended. Returns the object for the answer. The
    /// create itself is complete (except in a dry run), so a problem can only be a warning.
    async fn created(&self, created: CreatedObject) -> Arc<Object>;
}

/// A new object that is stored.
pub(super) struct StoredObject {
    pub(super) object: Arc<Object>,
    /// Whether the hook's writes are stored with the object.
    pub(super) is_extended: bool,
}

/// One create, and the hook that may extend its transaction.
pub(super) struct HookedCreate<'a> {
    registry: &'a Arc<Registry>,
    hook: &'a dyn CreateHook,
    served: &'a ServedVersion,
    actor: Actor<'a>,
}

impl Registry {
    /// Stores a new object as [`Registry::create`] does, for a client, and runs the hook.
    pub(crate) async fn create_for_client(
        self: &Arc<Self>,
        served: &ServedVersion,
        actor: Actor<'_>,
        namespace: &str,
        body: impl FnMut() -> Result<WriteIntent, Status>,
    ) -> Result<Arc<Object>, CommitError> {
        let Some(hook) = self.create_hook.get().filter(|hook| hook.concerns(served.name)) else {
            return self.create(served, actor, namespace, body).await;
        };
        let hooked = HookedCreate {
            registry: self,
            hook: &**hook,
            served,
            actor,
        };
        let stored = self
            .create_hooked(Some(&hooked), served, actor, namespace, body)
            .await?;
        if stored.is_extended {
            return Ok(stored.object);
        }
        let after = hook.created(hooked.created(stored.object)).await;
        // In a dry run nothing is stored, so the object of the answer has no revision.
        Ok(match actor.dry_run && after.revision() != Revision(0) {
            true => Arc::new(after.draft().unstored()),
            false => after,
        })
    }

    /// Commits `first` and the writes of `extension`. Returns the object of `first` as it is after all
    /// writes.
    async fn commit_extended(
        &self,
        store: Arc<dyn Store>,
        first: Step,
        extension: Extension,
    ) -> Result<Arc<Object>, WriteFailure> {
        let Extension {
            user,
            manager,
            cause,
            writes,
            guards,
            on_commit,
        } = extension;
        let author = Author {
            user: &user,
            manager: &manager,
            cause: Some(&cause),
        };
        let (origin, since) = (Origin::default(), self.clock().now());
        let write_annotations: Vec<_> = writes.iter().map(|_| self.annotations(&origin)).collect();
        let mut transaction = Transaction::on(&store);
        transaction.add(first, store.revision());
        self.extend(
            &mut transaction,
            &origin,
            author,
            &writes,
            false,
            &write_annotations,
        )
        .await?;
        transaction.guard(&writes, guards);
        let last = transaction.last_about_first();
        let mut objects = transaction.commit().await?;
        let Some(object) = objects.get(last).cloned() else {
            return Err(
                StoreError::Unavailable("the storage returned no object for the write".to_owned()).into(),
            );
        };
        let created = objects.remove(0);
        // The function is called at once, so that it sees the object before any later change.
        on_commit(CommittedTransaction {
            created,
            written: objects.clone(),
        })
        .await;
        self.record(author, &writes, &write_annotations, since, Ok(&objects))
            .await;
        Ok(object)
    }
}

impl HookedCreate<'_> {
    fn created(&self, object: Arc<Object>) -> CreatedObject {
        let Actor {
            user,
            now,
            dry_run,
            warnings,
            ..
        } = self.actor;
        CreatedObject {
            resource: self.served.name,
            object,
            user: user.clone(),
            now,
            dry_run,
            warnings: warnings.clone(),
        }
    }

    /// Stores `draft` under `guards`: with the writes of the hook, or alone if there are no such writes or
    /// they are refused.
    ///
    /// # Errors
    /// Reason why `draft` is not stored, independent of the hook.
    pub(super) async fn insert(&self, draft: Draft, guards: Vec<Guard>) -> Result<StoredObject, StoreError> {
        if !self.actor.dry_run
            && let Some(store) = self.served.store().filter(|store| !store.is_shared())
            && let Some(object) = self.commit_with_hook(store, &draft, &guards).await?
        {
            return Ok(StoredObject {
                object,
                is_extended: true,
            });
        }
        let object = self
            .registry
            .insert(self.served, self.actor, draft, guards)
            .await?;
        Ok(StoredObject {
            object,
            is_extended: false,
        })
    }

    /// Commits `draft` together with the writes of the hook. Commits nothing, and returns `None`, if there
    /// are no such writes or they are refused.
    async fn commit_with_hook(
        &self,
        store: &Arc<dyn Store>,
        draft: &Draft,
        guards: &[Guard],
    ) -> Result<Option<Arc<Object>>, StoreError> {
        let meta = draft.meta();
        let key = Key::new(self.served.stored, meta.namespace(), meta.name());
        let existing = store.cached(self.served.stored);
        if existing.get(&key.namespace, &key.name).is_some() {
            // The create is going to fail, with or without additional writes.
            return Ok(None);
        }
        let creating = self.created(Arc::new(draft.unstored()));
        let Some(extension) = self.hook.extend(&creating).await else {
            return Ok(None);
        };
        let first = creation(key.clone(), draft.clone(), guards.to_vec());
        let (registry, store) = (Arc::clone(self.registry), Arc::clone(store));
        // The commit is a separate task: the hook is notified even when the client disconnects, and a panic
        // does not end the create.
        let task = tokio::spawn(async move { registry.commit_extended(store, first, extension).await });
        match task.await {
            Ok(Ok(object)) => Ok(Some(object)),
            Ok(Err(WriteFailure::Store(error))) if is_about_create(&error, &key, guards) => Err(error),
            Ok(Err(refusal)) => {
                let error = refusal.into_error(self.served);
                tracing::debug!(%key, %error, "a new object is stored without the writes of the hook");
                Ok(None)
            }
            Err(problem) => {
                tracing::error!(%key, %problem, "the transaction of a new object did not end; report it as a bug, with this line");
                let stored = self.registry.get(&key).await.ok();
                Ok(stored.filter(|object| object.meta().uid() == meta.uid()))
            }
        }
    }
}

/// Whether `error` also occurs without additional writes in the transaction: it is about the new object at
/// `key`, or about one of its `guards`.
fn is_about_create(error: &StoreError, key: &Key, guards: &[Guard]) -> bool {
    match error {
        StoreError::AlreadyExists { key: existing } => existing == key,
        error => prepare::is_about(error, guards),
    }
}
