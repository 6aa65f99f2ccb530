//! Creation of objects, for requests and in-process writers. A missing name is generated. A write that was
//! admitted or refused on an outdated state of the store is admitted again.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Guard, WriteRefusal};
use berth_apimachinery::{Draft, Key, Object, Status, WriteOperation};
use berth_storage::{At, StoreError};
use serde_json::Value;

use crate::actor::Actor;
use crate::registry::create_hook::{HookedCreate, StoredObject};
use crate::registry::prepare::{self, WriteInput};
use crate::registry::write::{apply_one, creation};
use crate::registry::{CONFLICT_ATTEMPTS, Registry, WriteIntent, system};
use crate::served::ServedVersion;
use crate::{errors, names};

/// Highest number of names that are generated for one object (docs/reference.md, "Writes and patches").
const NAME_ATTEMPTS: usize = 8;

impl Registry {
    /// Stores a new object. `body` is called for each attempt, and returns the decoded object in the served
    /// version.
    pub(crate) async fn create(
        &self,
        served: &ServedVersion,
        actor: Actor<'_>,
        namespace: &str,
        body: impl FnMut() -> Result<WriteIntent, Status>,
    ) -> Result<Arc<Object>, CommitError> {
        let stored = self.create_hooked(None, served, actor, namespace, body).await?;
        Ok(stored.object)
    }

    /// Stores a new object. With `hooked`, the hook may add writes to the transaction.
    pub(super) async fn create_hooked(
        &self,
        hooked: Option<&HookedCreate<'_>>,
        served: &ServedVersion,
        actor: Actor<'_>,
        namespace: &str,
        mut body: impl FnMut() -> Result<WriteIntent, Status>,
    ) -> Result<StoredObject, CommitError> {
        let mut intent = body()?;
        check_no_version(intent.value())?;
        let mut object_name = ObjectName::of(intent.value());
        let requested = object_name.requested.clone();
        let input = WriteInput {
            served,
            index: self.index(),
            chain: self.chain(),
            actor,
            operation: WriteOperation::Create,
            namespace,
            name: &requested,
        };
        let mut attempt = 1;
        let mut may_be_outdated = served.store().is_some_and(|store| store.is_shared());
        loop {
            object_name.fill_in(intent.value_mut());
            let judged = served.store().map(|store| store.revision());
            let admitted = match input.create(intent).await {
                // The cache of a shared store may have an older namespace or quota, or none yet.
                Err(refusal) if may_be_outdated && matches!(refusal.code, 403 | 404) => {
                    may_be_outdated = false;
                    let is_fresh = refresh(served).await.is_ok();
                    if !is_fresh || served.store().map(|store| store.revision()) == judged {
                        return Err(refusal.into());
                    }
                    intent = body()?;
                    continue;
                }
                result => result?,
            };
            let draft = prepare::draft(served, &admitted)?;
            let stored = match hooked {
                Some(hooked) => hooked.insert(draft, admitted.guards).await,
                None => {
                    let object = self.insert(served, actor, draft, admitted.guards).await;
                    object.map(|object| StoredObject {
                        object,
                        is_extended: false,
                    })
                }
            };
            match stored {
                Err(StoreError::AlreadyExists { .. }) if object_name.has_attempts_left() => {
                    object_name.attempt += 1
                }
                Err(StoreError::AlreadyExists { key }) if object_name.is_generated() => {
                    return Err(CommitError::new(
                        WriteRefusal::Exists,
                        object_name.no_free_name(served, &key),
                    ));
                }
                Err(error) if prepare::is_outdated(&error) && attempt < CONFLICT_ATTEMPTS => attempt += 1,
                result => return result.map_err(|error| errors::of_commit(error, served)),
            }
            intent = body()?;
        }
    }

    /// Stores `draft` under `guards`; in a dry run, only checks that the name is free.
    pub(super) async fn insert(
        &self,
        served: &ServedVersion,
        actor: Actor<'_>,
        draft: Draft,
        guards: Vec<Guard>,
    ) -> Result<Arc<Object>, StoreError> {
        let Some(store) = served.store() else {
            return Err(StoreError::Unavailable(format!("{} is not stored", served.name)));
        };
        let key = Key::new(served.stored, draft.meta().namespace(), draft.meta().name());
        if actor.dry_run {
            let list = store.list(served.stored, At::Latest).await?;
            return match list.get(&key.namespace, &key.name) {
                Some(_) => Err(StoreError::AlreadyExists { key }),
                None => Ok(Arc::new(draft.unstored())),
            };
        }
        apply_one(store, creation(key, draft, guards)).await
    }
}

/// Waits until the cache of the store has its newest state.
async fn refresh(served: &ServedVersion) -> Result<(), CommitError> {
    if let Some(store) = served.store() {
        let newest = store.list(served.stored, At::Latest).await;
        newest.map_err(|error| errors::of_commit(error, served))?;
    }
    Ok(())
}

/// Checks that a new object has no resource version.
fn check_no_version(value: &Value) -> Result<(), Status> {
    if matches!(system::text(value, "resourceVersion"), "" | "0") {
        return Ok(());
    }
    Err(Status::bad_request(
        "resourceVersion should not be set on objects to be created",
    ))
}

/// Name of a new object: the requested name, or a name that is generated again until it is free.
struct ObjectName {
    /// The name in the request; empty if the name is generated.
    requested: String,
    /// The prefix of generated names (`generateName`); empty if the request has a name.
    prefix: String,
    /// Number of the current generated name, from 1. Attempts after a concurrent write do not count.
    attempt: usize,
}

impl ObjectName {
    fn of(value: &Value) -> Self {
        let requested = system::text(value, "name").to_owned();
        let prefix = if requested.is_empty() {
            system::text(value, "generateName")
        } else {
            ""
        };
        Self {
            prefix: prefix.to_owned(),
            requested,
            attempt: 1,
        }
    }

    fn is_generated(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// Sets a new generated name in `value`, if the request asks for one (`generateName` without `name`).
    fn fill_in(&self, value: &mut Value) {
        if self.is_generated() {
            system::metadata(value).insert("name".to_owned(), names::generate(&self.prefix).into());
        }
    }

    fn has_attempts_left(&self) -> bool {
        self.is_generated() && self.attempt < NAME_ATTEMPTS
    }

    fn no_free_name(&self, served: &ServedVersion, key: &Key) -> Status {
        let mut status = Status::already_exists(served.name, &key.name).retry_after(1);
        status.message = format!(
            "{} \"{}\" already exists, the server was not able to generate a unique name for the object",
            served.name, key.name
        );
        status
    }
}
