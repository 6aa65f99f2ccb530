//! Transactions: writes that are prepared one after the other, so that each sees the earlier writes, and that
//! are committed together to one store.

use std::collections::HashMap;
use std::sync::Arc;

use berth_admission::UserInfo;
use berth_apimachinery::write::{CommitError, Guard, Verb, Write};
use berth_apimachinery::{Key, Object, Revision, Status, WriteOperation};
use berth_storage::{At, Expect, Step, Store, StoreError};

use crate::actor::Actor;
use crate::annotations::Annotations;
use crate::call::Warnings;
use crate::errors;
use crate::registry::delete::pending_state;
use crate::registry::prepare::{self, WriteInput};
use crate::registry::write::{ObjectAddress, UpdateOutcome, creation};
use crate::registry::{Registry, WriteIntent, system};
use crate::served::ServedVersion;

/// Author of in-process writes.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// User of the writes, for admission.
    pub user: &'a UserInfo,
    /// Field manager of the writes.
    pub manager: &'a str,
    /// Cause of the writes, for audit events; `None` if the cause is a request, which has an audit event of
    /// its own.
    pub cause: Option<&'a str>,
}

/// Request that causes a list of writes; empty for writes of a controller.
#[derive(Default)]
pub(super) struct Origin {
    /// Warnings for the client. `None` for writes without a client, whose warnings are only logged.
    pub(super) warnings: Option<Warnings>,
    /// Annotations of the request. `None` for writes without a request, which have audit events of their own.
    pub(super) annotations: Option<Annotations>,
    /// Whether policies and webhooks have already admitted the body of the subresource that causes the
    /// writes.
    pub(super) policies_consulted: bool,
}

/// Distributes `guards` over `writes`, for stores that commit one write at a time. Returns the guards of each
/// write.
///
/// An `Unchanged` guard belongs to the first write, since later writes may themselves change the guarded
/// object. A fence belongs to the first create. If the fence were passed earlier, another scheduler could
/// take a snapshot after the fence but before the object exists, and count the same capacity twice. Without a
/// create, a fence belongs to the first write.
#[must_use]
pub fn share_guards(writes: &[Write], guards: Vec<Guard>) -> Vec<Vec<Guard>> {
    let mut shared = vec![Vec::new(); writes.len()];
    let first_create = writes.iter().position(|write| write.verb == Verb::Create);
    for guard in guards {
        let index = match guard {
            Guard::Unchanged { .. } => 0,
            Guard::Fence { .. } => first_create.unwrap_or_default(),
        };
        if let Some(list) = shared.get_mut(index) {
            list.push(guard);
        }
    }
    shared
}

/// Steps that are committed together, one for each write, with the resulting objects.
#[derive(Default)]
pub(super) struct Transaction {
    steps: Vec<Step>,
    results: Vec<Arc<Object>>,
    /// Objects after the steps; `None` for deleted objects.
    written: HashMap<Key, Option<Arc<Object>>>,
    store: Option<Arc<dyn Store>>,
}

impl Registry {
    /// Admits and validates `writes` as writes of `author`, in order, and adds them to `transaction`.
    ///
    /// # Errors
    /// The first refusal. Requests of the author's user are refused for the same reasons.
    pub(super) async fn extend(
        &self,
        transaction: &mut Transaction,
        origin: &Origin,
        author: Author<'_>,
        writes: &[Write],
        dry_run: bool,
        write_annotations: &[Annotations],
    ) -> Result<(), CommitError> {
        let Author { user, manager, .. } = author;
        let (warnings, now) = (Warnings::default(), self.clock().now());
        let mut result = Ok(());
        for (write, annotations) in writes.iter().zip(write_annotations) {
            let actor = Actor {
                user,
                manager,
                now,
                dry_run,
                policies_consulted: origin.policies_consulted,
                decided: true,
                warnings: &warnings,
                annotations,
            };
            result = self.add_write(transaction, actor, write).await;
            if result.is_err() {
                break;
            }
        }
        // Refused writes have warnings too.
        for warning in warnings.take() {
            match &origin.warnings {
                Some(client_warnings) => client_warnings.add(warning),
                None => tracing::debug!(
                    user = user.name,
                    warning,
                    "admission warned about an internal write"
                ),
            }
        }
        result
    }

    /// Admits and validates `write` as a write of `actor`, and adds it to `transaction`.
    async fn add_write(
        &self,
        transaction: &mut Transaction,
        actor: Actor<'_>,
        write: &Write,
    ) -> Result<(), CommitError> {
        if write.verb != Verb::Delete && !write.object.is_object() {
            let text = format!("the value to write as {} must be a JSON object", write.key);
            return Err(Status::bad_request(text).into());
        }
        let served = self.served_for(write)?;
        transaction.use_store(served)?;
        let address = ObjectAddress {
            served,
            namespace: &write.key.namespace,
            name: &write.key.name,
        };
        match write.verb {
            Verb::Create => self.add_create(transaction, address, actor, write).await,
            Verb::Update => self.add_update(transaction, address, actor, write).await,
            Verb::Delete => self.add_delete(transaction, address, actor, write).await,
        }
    }

    fn served_for(&self, write: &Write) -> Result<&Arc<ServedVersion>, Status> {
        match write.object["apiVersion"].as_str() {
            Some(version) if write.verb != Verb::Delete => self
                .index()
                .by_api_version(write.key.resource, version)
                .ok_or_else(|| {
                    Status::bad_request(format!(
                        "{} is not served in the version {version:?}",
                        write.key.resource
                    ))
                }),
            _ => self.preferred(write.key.resource),
        }
    }

    async fn add_create(
        &self,
        transaction: &mut Transaction,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        write: &Write,
    ) -> Result<(), CommitError> {
        let ObjectAddress {
            served,
            namespace,
            name,
        } = address;
        let mut value = write.object.clone();
        system::drop_nulls(&mut value);
        system::metadata(&mut value).insert("name".to_owned(), name.into());
        let operation = WriteOperation::Create;
        let input = WriteInput {
            served,
            index: self.index(),
            chain: self.chain(),
            actor,
            operation,
            namespace,
            name,
        };
        let mut admitted = input.create(WriteIntent::Sent(value)).await?;
        let guards = std::mem::take(&mut admitted.guards);
        let draft = prepare::draft(served, &admitted)?;
        let step = Step {
            subresource: write.subresource,
            ..creation(address.key(), draft, guards)
        };
        transaction.add(step, address.store()?.revision());
        Ok(())
    }

    async fn add_update(
        &self,
        transaction: &mut Transaction,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        write: &Write,
    ) -> Result<(), CommitError> {
        let (current, expect) = transaction.current(address, write).await?;
        let operation = match write.subresource {
            "" => WriteOperation::Update,
            name => WriteOperation::Subresource(name),
        };
        let mut value = write.object.clone();
        system::drop_nulls(&mut value);
        let (next, guards) = self
            .next_state(address, actor, operation, WriteIntent::Sent(value), &current)
            .await?;
        let (verb, object) = match next {
            UpdateOutcome::Kept(draft) => (Verb::Update, Some(draft)),
            UpdateOutcome::Removed(_) => (Verb::Delete, None),
        };
        let step = Step {
            verb,
            key: address.key(),
            subresource: write.subresource,
            object,
            expect,
            guards,
        };
        transaction.add(step, current.revision());
        if verb == Verb::Delete {
            transaction.results.push(current);
        }
        Ok(())
    }

    async fn add_delete(
        &self,
        transaction: &mut Transaction,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        write: &Write,
    ) -> Result<(), CommitError> {
        let (current, expect) = transaction.current(address, write).await?;
        let guards = prepare::admit_delete(self.chain(), address.served, &actor, &current).await?;
        let pending = pending_state(address.served, &actor, None, &current);
        let draft = pending
            .map(|value| prepare::redraft(address.served, &value))
            .transpose()?;
        let verb = if draft.is_some() {
            Verb::Update
        } else {
            Verb::Delete
        };
        let step = Step {
            verb,
            key: address.key(),
            subresource: "",
            object: draft,
            expect,
            guards,
        };
        transaction.add(step, current.revision());
        if verb == Verb::Delete {
            transaction.results.push(current);
        }
        Ok(())
    }
}

impl Transaction {
    /// Creates a transaction on `store`.
    pub(super) fn on(store: &Arc<dyn Store>) -> Self {
        Self {
            store: Some(Arc::clone(store)),
            ..Self::default()
        }
    }

    /// Checks that the objects of `served` are in the store of the transaction.
    fn use_store(&mut self, served: &ServedVersion) -> Result<(), Status> {
        let store = served.store().ok_or_else(Status::method_not_allowed)?;
        match &self.store {
            None => self.store = Some(Arc::clone(store)),
            Some(have) if Arc::ptr_eq(have, store) => {}
            Some(_) => {
                return Err(Status::internal(format!(
                    "{} is in another store than the earlier objects of this transaction",
                    served.name
                )));
            }
        }
        Ok(())
    }

    /// Adds `guards` to the steps of `writes`, which must be the last steps.
    pub(super) fn guard(&mut self, writes: &[Write], guards: Vec<Guard>) {
        let shared = share_guards(writes, guards).into_iter().rev();
        for (step, guards) in self.steps.iter_mut().rev().zip(shared) {
            step.guards.extend(guards);
        }
    }

    /// Returns the object of `write` after the earlier writes, and the condition that the stored object must
    /// fulfil at the commit.
    async fn current(
        &self,
        address: ObjectAddress<'_>,
        write: &Write,
    ) -> Result<(Arc<Object>, Expect), CommitError> {
        match self.written.get(&address.key()) {
            Some(Some(object)) => return Ok((Arc::clone(object), Expect::Present)),
            Some(None) => return Err(CommitError::gone(address.served.name, address.name)),
            None => {}
        }
        let list = address.store()?.list(address.served.stored, At::Latest).await;
        let list = list.map_err(|error| errors::of_commit(error, address.served))?;
        let Some(object) = list.get(address.namespace, address.name) else {
            return Err(CommitError::gone(address.served.name, address.name));
        };
        match write.base {
            Some(base) if base != object.revision() => {
                Err(CommitError::modified(address.served.name, address.name))
            }
            _ => Ok((Arc::clone(object), Expect::At(object.revision()))),
        }
    }

    /// Adds `step`. Later writes see the object of the step with `revision`.
    pub(super) fn add(&mut self, step: Step, revision: Revision) {
        let after = step.object.as_ref().map(|draft| Arc::new(draft.at(revision)));
        self.results.extend(after.clone());
        self.written.insert(step.key.clone(), after);
        self.steps.push(step);
    }

    /// Returns the objects that the steps would store, for a dry run.
    pub(super) fn into_results(self) -> Vec<Arc<Object>> {
        self.results
    }

    /// Returns the index of the last step that writes the object of the first step.
    pub(super) fn last_about_first(&self) -> usize {
        let key = self.steps.first().map(|step| &step.key);
        let last = self.steps.iter().rposition(|step| Some(&step.key) == key);
        last.unwrap_or_default()
    }

    /// Commits all steps, or none. Returns the stored objects, one for each step.
    ///
    /// # Errors
    /// The error of the store; no step is then committed.
    pub(super) async fn commit(self) -> Result<Vec<Arc<Object>>, StoreError> {
        let Some(store) = self.store else {
            return Ok(Vec::new());
        };
        let applied = store.apply(self.steps).await?;
        Ok(applied.into_iter().map(|applied| applied.object).collect())
    }
}
