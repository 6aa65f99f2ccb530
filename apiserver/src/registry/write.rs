//! Updates of stored objects, for requests and for in-process writers.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Guard, Verb, WriteRefusal};
use berth_apimachinery::{Draft, FieldError, Key, Object, Revision, Status, WriteOperation};
use berth_storage::{At, Expect, Step, StepResult, Store, StoreError};
use serde_json::Value;

use crate::actor::Actor;
use crate::errors;
use crate::registry::prepare::{self, WriteInput};
use crate::registry::retries::Retries;
use crate::registry::{Registry, WriteIntent, system};
use crate::served::ServedVersion;

/// Resource, namespace and name of a stored object.
#[derive(Clone, Copy)]
pub(crate) struct ObjectAddress<'a> {
    pub(crate) served: &'a ServedVersion,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl ObjectAddress<'_> {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.served.stored, self.namespace, self.name)
    }

    pub(crate) fn store(&self) -> Result<&Arc<dyn Store>, Status> {
        self.served.store().ok_or_else(Status::method_not_allowed)
    }

    /// Reads the object, as recent as `at` requires.
    pub(crate) async fn read(&self, at: At) -> Result<Arc<Object>, CommitError> {
        let list = self.store()?.list(self.served.stored, at).await;
        let list = list.map_err(|error| errors::of_commit(error, self.served))?;
        list.get(self.namespace, self.name)
            .cloned()
            .ok_or_else(|| CommitError::gone(self.served.name, self.name))
    }
}

/// Result of an update.
pub(crate) enum UpdateOutcome {
    /// The object remains in this state.
    Kept(Draft),
    /// The object was being deleted and can now be removed; this is the last state.
    Removed(Draft),
}

impl Registry {
    /// Stores the next state of an object. `edit` is called for each attempt, and computes the next state, in
    /// the served version, from the current object. A resource version in the next state must be that of the
    /// current object; it may be missing if `unconditional` is set.
    pub(crate) async fn update<E: Into<CommitError>>(
        &self,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        operation: WriteOperation,
        unconditional: bool,
        mut edit: impl FnMut(&Object) -> Result<WriteIntent, E>,
    ) -> Result<Arc<Object>, CommitError> {
        let mut retries = Retries::of(address, actor.dry_run)?;
        loop {
            let attempt = async {
                let current = retries.current(address).await?;
                let intent = edit(&current).map_err(Into::into)?;
                check_base(address.served, intent.value(), &current, unconditional)?;
                let (next, guards) = self
                    .next_state(address, actor, operation, intent, &current)
                    .await?;
                if actor.dry_run {
                    let (UpdateOutcome::Kept(draft) | UpdateOutcome::Removed(draft)) = next;
                    return Ok(Arc::new(draft.at(current.revision())));
                }
                let expect = Expect::At(current.revision());
                Ok(store_next(address, operation, next, expect, guards).await?)
            };
            match attempt.await {
                Ok(object) => return Ok(object),
                // The next attempt uses a newer state. An outdated resource version from the client is
                // refused then.
                Err(error) if retries.retry(&error) => {}
                Err(error) => return Err(error.into_error(address.served)),
            }
        }
    }

    /// Computes the next state: `intent` applied to `current`, after admission and validation, with the
    /// conditions that must still hold when it is stored.
    pub(crate) async fn next_state(
        &self,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        operation: WriteOperation,
        intent: WriteIntent,
        current: &Object,
    ) -> Result<(UpdateOutcome, Vec<Guard>), Status> {
        let ObjectAddress {
            served,
            namespace,
            name,
        } = address;
        let input = WriteInput {
            served,
            index: self.index(),
            chain: self.chain(),
            actor,
            operation,
            namespace,
            name,
        };
        let mut admitted = input.update(intent, current).await?;
        let guards = std::mem::take(&mut admitted.guards);
        let is_deleting = current.meta().deletion_timestamp().is_some();
        let is_removed = is_deleting
            && prepare::draft(served, &admitted)?.meta().finalizers().is_empty()
            && !served.kind().hold_deletion(&mut admitted.value, actor.now);
        let draft = prepare::draft_over(served, &admitted, current)?;
        let next = if is_removed {
            UpdateOutcome::Removed(draft)
        } else {
            UpdateOutcome::Kept(draft)
        };
        Ok((next, guards))
    }
}

/// Returns the step that creates the object of `draft`.
pub(super) fn creation(key: Key, draft: Draft, guards: Vec<Guard>) -> Step {
    Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(draft),
        expect: Expect::Absent,
        guards,
    }
}

/// Checks the UID and resource version of an update against the current object.
pub(crate) fn check_base(
    served: &ServedVersion,
    value: &Value,
    current: &Object,
    unconditional: bool,
) -> Result<(), CommitError> {
    let name = current.meta().name();
    let uid = system::text(value, "uid");
    if !uid.is_empty() && uid != current.meta().uid() {
        let text = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            current.meta().uid()
        );
        let conflict = Status::conflict(served.name, name, &text);
        return Err(CommitError::new(WriteRefusal::Changed, conflict));
    }
    let invalid = |value: &str, detail: &str| {
        let error = FieldError::invalid("metadata.resourceVersion", value, detail);
        let (group, kind) = (served.info().group, served.info().kind);
        CommitError::from(Status::invalid(group, kind, name, &[error]))
    };
    match system::text(value, "resourceVersion") {
        "" | "0" if unconditional => Ok(()),
        missing @ ("" | "0") => Err(invalid(missing, "must be specified for an update")),
        text => match text.parse::<u64>() {
            Ok(revision) if Revision(revision) == current.revision() => Ok(()),
            Ok(_) => Err(CommitError::modified(served.name, name)),
            Err(_) => Err(errors::invalid_version(served.info(), name, text).into()),
        },
    }
}

/// Commits the next state, and returns the object for the client.
async fn store_next(
    address: ObjectAddress<'_>,
    operation: WriteOperation,
    next: UpdateOutcome,
    expect: Expect,
    guards: Vec<Guard>,
) -> Result<Arc<Object>, StoreError> {
    let Some(store) = address.served.store() else {
        return Err(StoreError::Unavailable(format!(
            "{} is not stored",
            address.served.name
        )));
    };
    let (verb, object, last) = match next {
        UpdateOutcome::Kept(draft) => (Verb::Update, Some(draft), None),
        UpdateOutcome::Removed(draft) => (Verb::Delete, None, Some(draft)),
    };
    let subresource = match operation {
        WriteOperation::Subresource(name) => name,
        WriteOperation::Create | WriteOperation::Update => "",
    };
    let step = Step {
        verb,
        key: address.key(),
        subresource,
        object,
        expect,
        guards,
    };
    let object = apply_one(store, step).await?;
    // For a removal, the store returns the state before the write. The client gets the object that it wrote,
    // with the revision of the removal.
    Ok(last.map_or(object.clone(), |draft| Arc::new(draft.at(object.revision()))))
}

/// Commits one step and returns its object.
pub(crate) async fn apply_one(store: &Arc<dyn Store>, step: Step) -> Result<Arc<Object>, StoreError> {
    let applied = store.apply(vec![step]).await?;
    match applied.into_iter().next() {
        Some(StepResult { object, .. }) => Ok(object),
        None => Err(StoreError::Unavailable(
            "the storage returned no object for the write".to_owned(),
        )),
    }
}
