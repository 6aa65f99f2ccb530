//! The registry: the served resources, and the only way to write objects, for requests and in-process
//! writers alike.
//!
//! Handlers of requests are thin: they decode, call the registry and render. Controllers and handlers of
//! subresources use [`Registry::commit`]. It commits a list of writes in one transaction, after the same
//! admission and validation as for requests of the same user.

mod admit;
mod apply;
mod audited;
mod builder;
mod commit;
mod create;
mod create_hook;
mod decided;
mod delete;
mod index;
mod keeping;
mod ownership;
mod prepare;
mod retries;
mod system;
mod transaction;
mod write;

use std::sync::{Arc, OnceLock};

use berth_admission::Chain;
use berth_apimachinery::write::{CommitError, Guard, Verb, Write};
use berth_apimachinery::{Clock, GroupResource, Key, Object, Status, WriteOperation};
use berth_storage::{At, Collection};
use serde_json::Value;

use crate::actor::Actor;
use crate::audit::Audit;
use crate::call::Call;
use crate::errors;

use crate::served::ServedVersion;
pub(crate) use admit::{Admission, AdmissionInput, Purpose};
pub use apply::ApplyConfiguration;
pub(crate) use apply::{Application, StoredApplication};
pub use builder::RegistryBuilder;
pub use create_hook::{CommittedTransaction, CreateHook, CreatedObject, Extension, OnCommit};
pub(crate) use delete::DeleteOutcome;
pub use index::{Index, InstallError};
pub(crate) use keeping::{check_not_keeper, concerns};
pub(crate) use ownership::{Ownership, WriteIntent};
pub(crate) use prepare::{WriteInput, admit_delete};
pub(crate) use system::{check_namespace, drop_nulls, metadata, text};
use transaction::Origin;
pub use transaction::{Author, share_guards};
pub(crate) use write::{ObjectAddress, check_base};

/// Highest number of attempts of a write without a required resource version, if the object is changed
/// concurrently. Each conflict means that another write succeeded, so the limit is above the default limit of
/// writes in flight (200).
pub const CONFLICT_ATTEMPTS: usize = 256;

/// Served resources, and the only way to write their objects.
pub struct Registry {
    chain: Chain,
    clock: Arc<dyn Clock>,
    index: OnceLock<Index>,
    create_hook: OnceLock<Arc<dyn CreateHook>>,
    audit: OnceLock<Audit>,
}

impl Registry {
    /// Returns the builder of a registry. Writes pass `chain`, and in-process writes have the time of
    /// `clock`.
    pub fn builder(chain: Chain, clock: Arc<dyn Clock>) -> RegistryBuilder {
        RegistryBuilder::new(chain, clock)
    }

    /// Adds `hook`, which acts on creates, to an existing registry.
    #[cfg(test)]
    pub(crate) fn hook(&self, hook: Arc<dyn CreateHook>) {
        assert!(self.create_hook.set(hook).is_ok(), "one hook");
    }

    /// Returns the index of served resources; empty before the registry is built.
    #[must_use]
    pub fn index(&self) -> &Index {
        static EMPTY: OnceLock<Index> = OnceLock::new();
        self.index
            .get()
            .unwrap_or_else(|| EMPTY.get_or_init(Index::default))
    }

    /// Returns the clock of in-process writes.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns one object in the latest state, as stored.
    ///
    /// # Errors
    /// 404 when the object does not exist; errors of [`Registry::list`].
    pub async fn get(&self, key: &Key) -> Result<Arc<Object>, Status> {
        let list = self.list(key.resource).await?;
        list.get(&key.namespace, &key.name)
            .cloned()
            .ok_or_else(|| Status::not_found(key.resource, &key.name))
    }

    /// Returns all objects of one resource in the latest state, as stored. The objects are not copied, so the
    /// call is cheap.
    ///
    /// # Errors
    /// 404 when the resource is not served, 405 when it is computed; errors of the store.
    pub async fn list(&self, resource: GroupResource) -> Result<Collection, Status> {
        let served = self.preferred(resource)?;
        let source = served.source().ok_or_else(Status::method_not_allowed)?;
        source
            .list(served.stored, At::Latest)
            .await
            .map_err(|error| errors::of_store(error, served))
    }

    /// Replaces one object through a custom subresource (`binding`), or through `status`, as the user of
    /// `call`: `object` is the whole new object. If its `metadata.resourceVersion` is set, the stored object
    /// must still have that revision.
    ///
    /// # Errors
    /// As [`Registry::commit`]; 400 when the resource version is not a number.
    pub async fn update_subresource(
        &self,
        call: &Call,
        key: &Key,
        subresource: &'static str,
        object: Value,
        guards: Vec<Guard>,
    ) -> Result<Arc<Object>, CommitError> {
        let base = match text(&object, "resourceVersion") {
            "" => None,
            text => Some(text.parse().map(berth_apimachinery::Revision).map_err(|_| {
                Status::bad_request(format!(
                    "metadata.resourceVersion {text:?} is not an unsigned integer"
                ))
            })?),
        };
        let write = Write {
            verb: Verb::Update,
            key: key.clone(),
            subresource,
            object,
            base,
        };
        let author = Author {
            user: &call.user,
            manager: &call.manager,
            cause: None,
        };
        let origin = Origin {
            warnings: Some(call.warnings.clone()),
            annotations: Some(call.annotations.clone()),
            // If the subresource has a schema, policies and webhooks have already admitted the body.
            policies_consulted: self
                .preferred(key.resource)?
                .subresource(subresource)
                .is_some_and(|part| part.schema.is_some()),
        };
        let mut objects = self
            .commit_from(&origin, author, vec![write], guards, call.dry_run)
            .await?;
        objects
            .pop()
            .ok_or_else(|| Status::internal("the storage returned no object for the write").into())
    }

    /// Changes one object through a custom subresource whose bodies are the object itself (`finalize`), as
    /// the user of `call`. `edit` returns the whole new object for the stored one, and is called again after
    /// a concurrent write. If the new object has a resource version or a UID, the stored object must have the
    /// same. Policies and webhooks may change every field, as in any update of a client.
    ///
    /// # Errors
    /// Reason why nothing was written: the error of `edit`, a concurrent write, or a refusal.
    pub async fn edit_subresource(
        &self,
        call: &Call,
        key: &Key,
        subresource: &'static str,
        mut edit: impl FnMut(&Object) -> Result<Value, Status> + Send,
    ) -> Result<Arc<Object>, CommitError> {
        let served = self.preferred(key.resource)?;
        let address = ObjectAddress {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let actor = Actor {
            user: &call.user,
            manager: &call.manager,
            now: call.now,
            dry_run: call.dry_run,
            policies_consulted: false,
            decided: false,
            warnings: &call.warnings,
            annotations: &call.annotations,
        };
        let unconditional = served.info().unconditional_update;
        let intent = |stored: &Object| edit(stored).map(WriteIntent::Sent);
        let operation = WriteOperation::Subresource(subresource);
        self.update(address, actor, operation, unconditional, intent)
            .await
    }

    pub(crate) fn preferred(&self, resource: GroupResource) -> Result<&Arc<ServedVersion>, Status> {
        self.index().preferred(resource).ok_or_else(Status::no_such_path)
    }
}
