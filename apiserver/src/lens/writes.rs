//! Writes through a lens: the client changes what it sees, the lens says what that makes of the stored object, and the
//! registry stores it as the lens's user, through the same admission and validation as every write.

use std::sync::Arc;

use admission::{Operation as Admitted, Request};
use meta::kind::Operation;
use meta::{Key, Object, Status};
use serde_json::Value;

use super::Seen;
use crate::registry::{Actor, Served, Target, metadata, text};
use crate::render;

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
        mut edit: impl FnMut(&Object) -> Result<Value, Status>,
    ) -> Result<Arc<Object>, Status> {
        let served = self.served_as(version)?;
        let target = Target {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let operation = match self.lens.through(subresource) {
            "" => Operation::Update,
            name => Operation::Subresource(name),
        };
        self.lens.ready(key).await?;
        let edit = |current: &Object| {
            // The registry hands out what is stored; it is seen as a list would show it.
            let current = Arc::new(current.draft().at(current.revision()));
            let missing = || Status::not_found(served.name, &key.name);
            let seen = self.look(&current).ok_or_else(missing)?;
            let written = edit(&seen)?;
            let stored = render::value(served, &current);
            let mut new = self
                .lens
                .write(key, &stored, &written, subresource)
                .map_err(|denied| {
                    let request = Request {
                        operation: Admitted::Update,
                        resource: served.name,
                        kind: served.info().kind,
                        subresource,
                        namespace: &key.namespace,
                        name: &key.name,
                        user: actor.user,
                        old: Some(&stored),
                        dry_run: actor.dry_run,
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
        };
        let written = self
            .registry
            .update(target, actor, operation, unconditional, edit)
            .await?;
        Ok(self.lens.show(&written))
    }

    fn served_as(&self, version: &str) -> Result<&Served, Status> {
        let name = self.served.name;
        let served = self.registry.index().get(name.group, version, name.resource);
        served.map(|served| &**served).ok_or_else(Status::no_such_path)
    }
}
