//! Deletes and updates of single objects by a controller. After a conflict, the write is repeated with the
//! object that is then stored.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{Guard, Verb};
use berth_apimachinery::{Clock, Draft, Key, Object, time};
use berth_storage::{At, Expect, Step, Store, StoreError};
use serde_json::Value;

use crate::garbage::Kinds;

/// Finalizer of an owner that waits for the deletion of its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an owner whose dependents are to be orphaned.
pub(crate) const ORPHAN: &str = "orphan";

/// Policy for the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// The dependents are deleted after the owner.
    Background,
    /// The dependents are deleted before the owner.
    Foreground,
    /// The dependents are orphaned.
    Orphan,
}

/// Protection of objects in use from deletion, by controllers and users alike.
#[async_trait]
pub trait Protection: Send + Sync + 'static {
    /// Conditions that must still hold when the deletion of `object`, stored at `key`, is committed.
    ///
    /// # Errors
    /// Reason why the object must not be deleted now.
    async fn permits(&self, key: &Key, object: &Object) -> Result<Vec<Guard>, String>;
}

/// Reason why an object was not deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemovalError {
    /// The store rejected the write.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object is in use.
    #[error("{0}")]
    Protected(String),
}

/// Writer of single objects, for the controllers of this crate.
pub(crate) struct ObjectWriter {
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    clock: Arc<dyn Clock>,
    protection: Arc<dyn Protection>,
}

impl ObjectWriter {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        kinds: Arc<Kinds>,
        clock: Arc<dyn Clock>,
        protection: Arc<dyn Protection>,
    ) -> Self {
        Self {
            store,
            kinds,
            clock,
            protection,
        }
    }

    /// Deletes the object if it still has `uid`: removes it at once, or marks it as being deleted when a
    /// finalizer or its kind holds the deletion.
    pub(crate) async fn delete(
        &self,
        key: &Key,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), RemovalError> {
        self.delete_if(key, uid, propagation, |_| true).await
    }

    /// Deletes the object as [`ObjectWriter::delete`] does, but only while `is_due` holds for the stored
    /// object.
    pub(crate) async fn delete_if(
        &self,
        key: &Key,
        uid: &str,
        propagation: Propagation,
        is_due: impl Fn(&Object) -> bool,
    ) -> Result<(), RemovalError> {
        loop {
            let Some(current) = self.current(key, uid).await? else {
                return Ok(());
            };
            if !is_due(&current) {
                return Ok(());
            }
            // The deletion of an object that is already being deleted was permitted when it began.
            let guards = match current.meta().deletion_timestamp() {
                Some(_) => Vec::new(),
                None => {
                    let guards = self.protection.permits(key, &current).await;
                    guards.map_err(RemovalError::Protected)?
                }
            };
            let next = self.mark_deleting(key, &current, propagation);
            if self.write_once(key, &current, next, guards).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Changes the object by `edit`, which returns whether it changed anything, if the object still has
    /// `uid`. An object that is being deleted is removed with its last finalizer. Returns whether anything
    /// was written.
    pub(crate) async fn edit(
        &self,
        key: &Key,
        uid: &str,
        edit: impl Fn(&mut Value) -> bool,
    ) -> Result<bool, StoreError> {
        loop {
            let Some(current) = self.current(key, uid).await? else {
                return Ok(false);
            };
            let mut value = current.parse();
            if !edit(&mut value) {
                return Ok(false);
            }
            let deleting = current.meta().deletion_timestamp().is_some();
            let remains = !deleting || has_finalizers(&value) || self.hold_by_kind(key, &mut value);
            let next = remains.then_some(value);
            if let Some(changed) = self.write_once(key, &current, next, Vec::new()).await? {
                return Ok(changed);
            }
        }
    }

    /// The stored object, if it has `uid`.
    async fn current(&self, key: &Key, uid: &str) -> Result<Option<Arc<Object>>, StoreError> {
        let list = self.store.list(key.resource, At::Latest).await?;
        let current = list.get(&key.namespace, &key.name);
        Ok(current.filter(|object| object.meta().uid() == uid).cloned())
    }

    /// Replaces `current` by `value`, or removes it if there is no value. Returns whether that changed
    /// anything, or `None` after a conflict: another write has changed the object, or a state that `guards`
    /// require. A caller may repeat the write without a limit, since every conflict means that another write
    /// succeeded.
    async fn write_once(
        &self,
        key: &Key,
        current: &Object,
        value: Option<Value>,
        guards: Vec<Guard>,
    ) -> Result<Option<bool>, StoreError> {
        let draft = value.map(|value| Draft::new(&value)).transpose();
        let draft = draft.map_err(|problem| StoreError::Unavailable(format!("{key}: {problem}")))?;
        let step = Step {
            verb: if draft.is_some() {
                Verb::Update
            } else {
                Verb::Delete
            },
            key: key.clone(),
            subresource: "",
            object: draft,
            expect: Expect::At(current.revision()),
            guards,
        };
        match self.store.apply(vec![step]).await {
            Ok(applied) => Ok(Some(applied.iter().any(|applied| applied.changed))),
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. } | StoreError::Fenced { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The object marked as being deleted; `None` when neither a finalizer nor its kind holds the deletion.
    fn mark_deleting(&self, key: &Key, current: &Object, propagation: Propagation) -> Option<Value> {
        let mut value = current.parse();
        let mut finalizers = current.meta().finalizers().to_vec();
        finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
        let has_finalizers = !finalizers.is_empty();
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("finalizers");
            if has_finalizers {
                metadata.insert("finalizers".to_owned(), finalizers.into());
            }
            if current.meta().deletion_timestamp().is_none() {
                let now = time::rfc3339(self.clock.now());
                metadata.insert("deletionTimestamp".to_owned(), now.into());
                metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
                if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                    metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
                }
            }
        }
        (self.hold_by_kind(key, &mut value) || has_finalizers).then_some(value)
    }

    /// Holds the removal of the object if its kind does (`Kind::hold_deletion`).
    fn hold_by_kind(&self, key: &Key, value: &mut Value) -> bool {
        self.kinds
            .kind(key.resource)
            .is_some_and(|kind| kind.hold_deletion(value, self.clock.now()))
    }
}

fn has_finalizers(value: &Value) -> bool {
    value["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty())
}
