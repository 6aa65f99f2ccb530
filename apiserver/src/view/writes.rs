//! Writes through a view: the client changes the visible form, the view computes the stored object from it,
//! and the registry stores this object as the view's user, through the same admission and validation as every
//! write. If the registry has only a copy, the view's [`Origin`] stores the object, with its own admission.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::{Operation, Request};
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{Key, Object, Status, WriteOperation};
use serde_json::Value;

use super::{Origin, OriginWrite, ViewSource};
use crate::actor::Actor;
use crate::registry::{ObjectAddress, WriteIntent, check_base, metadata, text};
use crate::render;
use crate::resource::{Change, View};
use crate::served::ServedVersion;

/// Highest number of attempts at a write to an [`Origin`] while the object is changed concurrently: each
/// attempt is a request to the origin.
const ATTEMPTS: usize = 8;

/// One write of an object through a view.
struct ViewWrite<'a> {
    served: &'a ServedVersion,
    key: &'a Key,
    actor: Actor<'a>,
    subresource: &'static str,
    /// Function that applies the client's changes to the visible form.
    edit: &'a mut (dyn FnMut(&Object) -> Result<Value, Status> + Send),
}

#[async_trait]
impl View for ViewSource {
    fn has_local_versions(&self) -> bool {
        self.served.has_local_versions()
    }

    async fn update(&self, change: Change<'_>) -> Result<Arc<Object>, CommitError> {
        let Change {
            version,
            key,
            subresource,
            actor,
            unconditional,
            edit,
        } = change;
        let served = self.served_as(version)?;
        self.rules.ready(key).await?;
        let mut write = ViewWrite {
            served,
            key,
            actor,
            subresource,
            edit,
        };
        if let Some(origin) = self.rules.origin() {
            return self.update_at_origin(origin, write, unconditional).await;
        }
        let address = ObjectAddress {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let operation = match self.rules.written_subresource(subresource) {
            "" => WriteOperation::Update,
            name => WriteOperation::Subresource(name),
        };
        let next = |current: &Object| self.next_state(&mut write, current).map(WriteIntent::Sent);
        let stored = self
            .registry
            .update(address, actor, operation, unconditional, next)
            .await?;
        Ok(self.rules.show(&stored))
    }
}

impl ViewSource {
    /// Updates an object that `origin` stores, and of which the registry has a copy.
    async fn update_at_origin(
        &self,
        origin: &dyn Origin,
        mut write: ViewWrite<'_>,
        unconditional: bool,
    ) -> Result<Arc<Object>, CommitError> {
        let mut attempt = 1;
        loop {
            let current = self.registry.get(write.key).await?;
            let mut object = self.next_state(&mut write, &current)?;
            check_base(write.served, &object, &current, unconditional)?;
            // The resource version is valid only for the copy.
            metadata(&mut object).remove("resourceVersion");
            let origin_write = OriginWrite {
                user: self.rules.user(),
                key: write.key,
                subresource: self.rules.written_subresource(write.subresource),
                object,
                current: &current,
                dry_run: write.actor.dry_run,
            };
            match origin.write(origin_write).await {
                // The next attempt reports a stale resource version of the client, and checks everything else
                // again.
                Err(error) if error.reason == WriteRefusal::Changed && attempt < ATTEMPTS => attempt += 1,
                result => return result.map(|stored| self.rules.show(&stored)),
            }
        }
    }

    /// Computes the state of the stored object `current` after `write`, with the resource version and UID
    /// that the client sent.
    fn next_state(&self, write: &mut ViewWrite<'_>, current: &Object) -> Result<Value, CommitError> {
        let (served, key) = (write.served, write.key);
        // The rules take a shared object, so the stored object is copied.
        let current = Arc::new(current.draft().at(current.revision()));
        let missing = || CommitError::gone(served.name, &key.name);
        let visible = self.visible_form(&current).ok_or_else(missing)?;
        let new_form = (write.edit)(&visible)?;
        let stored = render::value(served, &current);
        let mut new = self
            .rules
            .write(key, &stored, &new_form, write.subresource)
            .map_err(|denied| {
                let request = Request {
                    operation: Operation::Update,
                    resource: served.name,
                    kind: served.info().kind,
                    subresource: write.subresource,
                    namespace: &key.namespace,
                    name: &key.name,
                    user: write.actor.user,
                    old: Some(&stored),
                    dry_run: write.actor.dry_run,
                };
                denied.into_status(&request)
            })?;
        // The client's resource version and UID decide whether the object is current.
        for field in ["resourceVersion", "uid"] {
            match text(&new_form, field) {
                "" => drop(metadata(&mut new).remove(field)),
                sent => drop(metadata(&mut new).insert(field.to_owned(), sent.into())),
            }
        }
        Ok(new)
    }

    /// The resource in the client's `version`.
    fn served_as(&self, version: &str) -> Result<&ServedVersion, Status> {
        let name = self.served.name;
        let served = self.registry.index().get(name.group, version, name.resource);
        served.map(|served| &**served).ok_or_else(Status::no_such_path)
    }
}
