//! Deleting and editing single objects as a controller: whatever happens meanwhile, on the object as it is.

use std::sync::Arc;

use meta::{Clock, Draft, Key, Object, time};
use serde_json::Value;
use storage::{At, Expect, Step, Store, StoreError, Verb};

use crate::garbage::Kinds;

/// The finalizer of an owner that waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents are to be released.
pub(crate) const ORPHAN: &str = "orphan";

/// What is to become of the dependents of what is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Writes of controllers.
pub(crate) struct Removal {
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    clock: Arc<dyn Clock>,
}

impl Removal {
    pub(crate) fn new(store: Arc<dyn Store>, kinds: Arc<Kinds>, clock: Arc<dyn Clock>) -> Self {
        Self { store, kinds, clock }
    }

    /// Deletes the object while it is still the one with `uid`: removed at once, or marked when something holds it.
    pub(crate) async fn delete(
        &self,
        key: &Key,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), StoreError> {
        self.on_current(key, uid, |current| Some(self.marked(key, current, propagation)))
            .await
            .map(|_| ())
    }

    /// Changes the object while it is still the one with `uid`; `edit` says whether it changed anything. An object
    /// being deleted goes with its last finalizer.
    pub(crate) async fn edit(
        &self,
        key: &Key,
        uid: &str,
        edit: impl Fn(&mut Value) -> bool,
    ) -> Result<bool, StoreError> {
        self.on_current(key, uid, |current| {
            let mut value = current.parse();
            edit(&mut value).then(|| {
                let deleting = current.meta().deletion_timestamp.is_some();
                let stays = !deleting || has_finalizers(&value) || self.holds(key, &mut value);
                stays.then_some(value)
            })
        })
        .await
    }

    /// Applies what `next` makes of the object as it is now (`None`: nothing to do; no value: it goes), again when it
    /// moved meanwhile. Says whether anything was written.
    async fn on_current(
        &self,
        key: &Key,
        uid: &str,
        next: impl Fn(&Object) -> Option<Option<Value>>,
    ) -> Result<bool, StoreError> {
        loop {
            let list = self.store.list(key.resource, At::Latest).await?;
            let current = list
                .get(&key.namespace, &key.name)
                .filter(|object| object.meta().uid == uid);
            let Some(current) = current else { return Ok(false) };
            let Some(value) = next(current) else {
                return Ok(false);
            };
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
                guards: Vec::new(),
            };
            match self.store.apply(vec![step]).await {
                Ok(applied) => return Ok(applied.iter().any(|applied| applied.changed)),
                // Each turn is somebody else's success, so this ends.
                Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The object marked as being deleted; `None` when nothing holds it back.
    fn marked(&self, key: &Key, current: &Object, propagation: Propagation) -> Option<Value> {
        let mut value = current.parse();
        let mut finalizers = current.meta().finalizers.clone();
        finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
        let held = !finalizers.is_empty();
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("finalizers");
            if held {
                metadata.insert("finalizers".to_owned(), finalizers.into());
            }
            if current.meta().deletion_timestamp.is_none() {
                let now = time::rfc3339(self.clock.now());
                metadata.insert("deletionTimestamp".to_owned(), now.into());
                metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
                if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                    metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
                }
            }
        }
        (self.holds(key, &mut value) || held).then_some(value)
    }

    fn holds(&self, key: &Key, value: &mut Value) -> bool {
        self.kinds
            .kind(key.resource)
            .is_some_and(|kind| kind.holds_deletion(value, self.clock.now()))
    }
}

fn has_finalizers(value: &Value) -> bool {
    value["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty())
}
