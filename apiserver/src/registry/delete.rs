//! Deletion of objects: immediate, or pending until the finalizers are removed.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Guard, Verb};
use berth_apimachinery::{Object, time};
use berth_storage::{Expect, Step};
use serde_json::Value;

use crate::actor::Actor;
use crate::options::{DeleteOptions, Propagation};
use crate::registry::prepare;
use crate::registry::retries::{Retries, WriteFailure};
use crate::registry::write::{ObjectAddress, apply_one};
use crate::registry::{Registry, system};
use crate::served::ServedVersion;

/// Finalizer by which the garbage collector deletes the dependents before the object.
const FOREGROUND: &str = "foregroundDeletion";

/// Finalizer by which the garbage collector orphans the dependents before the object is removed.
const ORPHAN: &str = "orphan";

/// Result of a delete.
#[derive(Debug)]
pub(crate) enum DeleteOutcome {
    /// The object is removed; this is the last state.
    Gone(Arc<Object>),
    /// The object is marked as being deleted, and waits for its finalizers.
    Pending(Arc<Object>),
}

impl Registry {
    /// Deletes one object.
    pub(crate) async fn delete(
        &self,
        address: ObjectAddress<'_>,
        actor: Actor<'_>,
        options: &DeleteOptions,
    ) -> Result<DeleteOutcome, CommitError> {
        let mut retries = Retries::of(address, actor.dry_run)?;
        loop {
            let attempt = async {
                let current = retries.current(address).await?;
                options.check_preconditions(address.served.name, &current)?;
                let guards = prepare::admit_delete(self.chain(), address.served, &actor, &current).await?;
                let pending = pending_state(address.served, &actor, options.propagation, &current);
                apply_deletion(address, actor, &current, pending, guards).await
            };
            match attempt.await {
                Ok(deleted) => return Ok(deleted),
                // A violated precondition on the resource version is reported at the next attempt.
                Err(error) if retries.retry(&error) => {}
                Err(error) => return Err(error.into_error(address.served)),
            }
        }
    }
}

/// Returns `current` marked as being deleted; `None` if it can be removed at once, since it has no finalizers
/// and its kind does not delay the removal.
pub(crate) fn pending_state(
    served: &ServedVersion,
    actor: &Actor<'_>,
    propagation: Option<Propagation>,
    current: &Object,
) -> Option<Value> {
    let finalizers = finalizers(served, propagation, current);
    let mut value = current.parse();
    let fields = system::metadata(&mut value);
    let has_finalizers = !finalizers.is_empty();
    if has_finalizers {
        fields.insert("finalizers".to_owned(), finalizers.into());
    } else {
        fields.remove("finalizers");
    }
    if current.meta().deletion_timestamp().is_none() {
        fields.insert("deletionTimestamp".to_owned(), time::rfc3339(actor.now).into());
        fields.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        system::raise_generation(&mut value);
    }
    (served.kind().hold_deletion(&mut value, actor.now) || has_finalizers).then_some(value)
}

/// Returns the finalizers when the deletion begins. Finalizers for a propagation policy are added or removed;
/// the others stay.
fn finalizers(served: &ServedVersion, propagation: Option<Propagation>, current: &Object) -> Vec<String> {
    let mut list = current.meta().finalizers().to_vec();
    let Some(propagation) = propagation else {
        return list;
    };
    list.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
    if served.is_collected() && served.kind().has_dependents() {
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => list.push(FOREGROUND.to_owned()),
            Propagation::Orphan => list.push(ORPHAN.to_owned()),
        }
    }
    list
}

/// Removes `current`, or stores the state `pending` until the finalizers are removed.
async fn apply_deletion(
    address: ObjectAddress<'_>,
    actor: Actor<'_>,
    current: &Arc<Object>,
    pending: Option<Value>,
    guards: Vec<Guard>,
) -> Result<DeleteOutcome, WriteFailure> {
    let store = address.store()?;
    let draft = pending
        .map(|value| prepare::redraft(address.served, &value))
        .transpose()?;
    if actor.dry_run {
        return Ok(match draft {
            Some(draft) => DeleteOutcome::Pending(Arc::new(draft.at(current.revision()))),
            None => DeleteOutcome::Gone(Arc::clone(current)),
        });
    }
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
        expect: Expect::At(current.revision()),
        guards,
    };
    let object = apply_one(store, step).await?;
    Ok(match verb {
        Verb::Update => DeleteOutcome::Pending(object),
        Verb::Create | Verb::Delete => DeleteOutcome::Gone(object),
    })
}
