//! Writes through a lens: the client changes what it sees, the lens says what that makes of the stored object, and the
//! registry stores it as the lens's user, through the same admission and validation as every write. Where the registry
//! has copies, the lens's [`Keeper`] stores it, with its own.

use std::sync::Arc;

use admission::{Operation as Admitted, Request};
use meta::kind::Operation;
use meta::{Key, Object, Status};
use serde_json::Value;

use super::{Keeper, Kept, Seen};
use crate::registry::{Actor, Served, Target, Wish, check_base, metadata, text};
use crate::render;

/// How often a write that depends on nobody's resource version is made again when the object moved under it, elsewhere:
/// each time is a request there.
const ATTEMPTS: usize = 8;

/// One write, to be made of whatever the object is.
struct Edit<'a, E> {
    served: &'a Served,
    key: &'a Key,
    actor: Actor<'a>,
    subresource: &'static str,
    /// The client's changes to what it sees.
    edit: E,
}

impl Seen {
    /// Stores what `edit` makes of the object at `key` as it is seen; gives the result as it is seen.
    ///
    /// `version` is the resource in the version the client writes, `subresource` `status` or the empty string.
    pub(crate) async fn update(
        &self,
        version: &str,
        key: &Key,
        actor: Actor<'_>,
        subresource: &'static str,
        unconditional: bool,
        edit: impl FnMut(&Object) -> Result<Value, Status>,
    ) -> Result<Arc<Object>, Status> {
        let served = self.served_as(version)?;
        self.lens.ready(key).await?;
        let mut edit = Edit {
            served,
            key,
            actor,
            subresource,
            edit,
        };
        if let Some(keeper) = self.lens.keeper() {
            return self.update_elsewhere(keeper, edit, unconditional).await;
        }
        let target = Target {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let operation = match self.lens.through(subresource) {
            "" => Operation::Update,
            name => Operation::Subresource(name),
        };
        let next = |current: &Object| self.next(&mut edit, current).map(Wish::from);
        let written = self
            .registry
            .update(target, actor, operation, unconditional, next)
            .await?;
        Ok(self.lens.show(&written))
    }

    /// The same where `keeper` stores the objects that the registry has copies of.
    async fn update_elsewhere<E>(
        &self,
        keeper: &dyn Keeper,
        mut edit: Edit<'_, E>,
        unconditional: bool,
    ) -> Result<Arc<Object>, Status>
    where
        E: FnMut(&Object) -> Result<Value, Status>,
    {
        let mut attempt = 1;
        loop {
            let current = self.registry.get(edit.key).await?;
            let mut object = self.next(&mut edit, &current)?;
            check_base(edit.served, &object, &current, unconditional)?;
            // It is good for the copy only.
            metadata(&mut object).remove("resourceVersion");
            let write = Kept {
                user: self.lens.user(),
                key: edit.key,
                subresource: self.lens.through(edit.subresource),
                object,
                current: &current,
                dry_run: edit.actor.dry_run,
            };
            match keeper.keep(write).await {
                // A resource version the client gave is found stale at the next turn; all else is decided afresh.
                Err(status) if status.code == 409 && attempt < ATTEMPTS => attempt += 1,
                result => return result.map(|written| self.lens.show(&written)),
            }
        }
    }

    /// The stored object, now `current`, as it is to be after `edit`, with the resource version and uid that the client
    /// knows of.
    fn next<E>(&self, edit: &mut Edit<'_, E>, current: &Object) -> Result<Value, Status>
    where
        E: FnMut(&Object) -> Result<Value, Status>,
    {
        let (served, key) = (edit.served, edit.key);
        // The registry hands out what is stored; it is seen as a list would show it.
        let current = Arc::new(current.draft().at(current.revision()));
        let missing = || Status::not_found(served.name, &key.name);
        let seen = self.look(&current).ok_or_else(missing)?;
        let written = (edit.edit)(&seen)?;
        let stored = render::value(served, &current);
        let mut new = self
            .lens
            .write(key, &stored, &written, edit.subresource)
            .map_err(|denied| {
                let request = Request {
                    operation: Admitted::Update,
                    resource: served.name,
                    kind: served.info().kind,
                    subresource: edit.subresource,
                    namespace: &key.namespace,
                    name: &key.name,
                    user: edit.actor.user,
                    old: Some(&stored),
                    dry_run: edit.actor.dry_run,
                };
                denied.into_status(&request)
            })?;
        // What the client knows of the object decides whether it is the current one.
        for field in ["resourceVersion", "uid"] {
            match text(&written, field) {
                "" => drop(metadata(&mut new).remove(field)),
                known => drop(metadata(&mut new).insert(field.to_owned(), known.into())),
            }
        }
        Ok(new)
    }

    fn served_as(&self, version: &str) -> Result<&Served, Status> {
        let name = self.served.name;
        let served = self.registry.index().get(name.group, version, name.resource);
        served.map(|served| &**served).ok_or_else(Status::no_such_path)
    }
}
