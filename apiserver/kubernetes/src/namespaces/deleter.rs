//! Deletes the content of terminating namespaces, then the namespaces.
//!
//! The deleter follows the changes of the store: a terminating namespace is checked whenever it changes, and
//! whenever an object in it is created or removed, or its finalizers change. A timer only repeats writes that
//! the store could not do, and deletions of objects in use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Change, Clock, GroupResource, Key, Object, time};
use berth_storage::informer::{self, Handler};
use berth_storage::{At, Event, Scope, Store, StoreError};
use futures::StreamExt as _;
use futures::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::core::{namespace, value};
use crate::garbage::{Kinds, ObjectWriter, Propagation, Protection, RemovalError};

/// Highest number of objects that are deleted concurrently, so that their writes share commits.
const MAX_CONCURRENT_DELETIONS: usize = 64;

/// Runs the deleter over `store` until `stop` is cancelled.
pub fn spawn(
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    clock: Arc<dyn Clock>,
    protection: Arc<dyn Protection>,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let source = Arc::clone(&store);
    let writer = ObjectWriter::new(
        Arc::clone(&store),
        Arc::clone(&kinds),
        Arc::clone(&clock),
        protection,
    );
    let deleter = Deleter {
        store,
        kinds,
        clock,
        writer,
        dirty: BTreeSet::new(),
    };
    tokio::spawn(informer::run(source, Scope::All, deleter, stop.cancelled_owned()))
}

/// Controller that deletes the content of terminating namespaces.
struct Deleter {
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    clock: Arc<dyn Clock>,
    writer: ObjectWriter,
    /// The namespaces to check.
    dirty: BTreeSet<String>,
}

/// Content that remains in a namespace after the deletion of everything that can be deleted.
#[derive(Default)]
struct RemainingContent {
    /// Number of objects by resource.
    objects: BTreeMap<GroupResource, usize>,
    /// Number of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
}

impl Handler for Deleter {
    async fn list(&mut self) -> Result<(), StoreError> {
        let namespaces = self.store.list(namespace::RESOURCE, At::Latest).await?;
        let terminating = namespaces
            .iter(None, None)
            .filter(|(_, object)| is_terminating(object));
        self.dirty = terminating.map(|(name, _)| name.name.to_string()).collect();
        Ok(())
    }

    async fn handle(&mut self, events: &[Arc<Event>]) {
        let affected = events.iter().filter_map(|event| self.affected(&event.change));
        let affected: Vec<String> = affected.collect();
        self.dirty.extend(affected);
    }

    /// Deletes the content of each namespace to check; failed namespaces are retried.
    async fn work(&mut self) -> bool {
        for name in std::mem::take(&mut self.dirty) {
            if let Err(problem) = self.delete_content(&name).await {
                tracing::warn!(namespace = name, %problem, "cannot delete the content of a namespace; retrying");
                self.dirty.insert(name);
            }
        }
        self.dirty.is_empty()
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        tracing::warn!(%problem, "the namespace deleter's watch ended; listing again");
        Self::RETRY_AFTER
    }
}

impl Deleter {
    /// Returns the terminating namespace to check after a change, if there is one.
    fn affected(&self, change: &Change) -> Option<String> {
        if change.key.resource == namespace::RESOURCE {
            let terminating = change.new.as_deref().is_some_and(is_terminating);
            return terminating.then(|| change.key.name.to_string());
        }
        // Only finalizers are reported of an object that stays.
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let [before, after] = [old, new].map(|object| object.map(|object| object.meta().finalizers()));
        if before == after || change.key.namespace.is_empty() {
            return None;
        }
        let namespaces = self.store.cached(namespace::RESOURCE);
        let namespace = namespaces.get("", &change.key.namespace)?;
        is_terminating(namespace).then(|| change.key.namespace.to_string())
    }

    /// Deletes the content of a terminating namespace. Then reports the remaining objects in the namespace's
    /// conditions, and finalizes the namespace if there are none.
    async fn delete_content(&self, name: &str) -> Result<(), RemovalError> {
        let Some(current) = self.find_terminating(name).await? else {
            return Ok(());
        };
        if !value::texts(current.value(), &["spec", "finalizers"]).contains(&namespace::FINALIZER) {
            return Ok(());
        }
        let mut deleted = Ok(());
        for resource in self.kinds.namespaced() {
            // An object may be in use by objects of a later resource, so a failure must not end the loop.
            deleted = deleted.and(self.delete_all(resource, name).await);
        }
        let remaining = self.count_remaining(name).await?;
        self.report(&current, &remaining).await?;
        if remaining.objects.is_empty() {
            return Ok(self.finalize(name).await?);
        }
        deleted
    }

    /// Writes the namespace's conditions. A namespace without content gets none, but those that it has are
    /// updated, since finalizers of others may keep the namespace.
    async fn report(&self, namespace: &Object, remaining: &RemainingContent) -> Result<(), StoreError> {
        let key = Key::new(namespace::RESOURCE, "", namespace.meta().name());
        let now = time::rfc3339(self.clock.now());
        let conditions = remaining.conditions();
        let edit = |value: &mut Value| {
            let concerns = !remaining.objects.is_empty() || value["status"]["conditions"].is_array();
            concerns && set_conditions(value, &conditions, &now)
        };
        self.writer.edit(&key, namespace.meta().uid(), edit).await?;
        Ok(())
    }

    async fn find_terminating(&self, name: &str) -> Result<Option<Arc<Object>>, StoreError> {
        let namespaces = self.store.list(namespace::RESOURCE, At::Latest).await?;
        Ok(namespaces
            .get("", name)
            .filter(|object| is_terminating(object))
            .cloned())
    }

    /// Deletes all objects of one resource in the namespace `name` that are not being deleted yet. A failure
    /// is returned after all deletions were tried.
    async fn delete_all(&self, resource: GroupResource, name: &str) -> Result<(), RemovalError> {
        let list = self.store.list(resource, At::Latest).await?;
        let alive: Vec<(Key, String)> = list
            .iter(Some(name), None)
            .filter(|(_, object)| object.meta().deletion_timestamp().is_none())
            .map(|(name, object)| {
                (
                    Key::new(resource, &name.namespace, &name.name),
                    object.meta().uid().to_owned(),
                )
            })
            .collect();
        let results: Vec<Result<(), RemovalError>> = stream::iter(alive)
            .map(|(key, uid)| async move { self.writer.delete(&key, &uid, Propagation::Background).await })
            .buffer_unordered(MAX_CONCURRENT_DELETIONS)
            .collect()
            .await;
        results.into_iter().collect()
    }

    async fn count_remaining(&self, name: &str) -> Result<RemainingContent, StoreError> {
        let mut remaining = RemainingContent::default();
        for resource in self.kinds.namespaced() {
            let list = self.store.list(resource, At::Latest).await?;
            for (_, object) in list.iter(Some(name), None) {
                *remaining.objects.entry(resource).or_default() += 1;
                for finalizer in object.meta().finalizers() {
                    *remaining.finalizers.entry(finalizer.clone()).or_default() += 1;
                }
            }
        }
        Ok(remaining)
    }

    /// Removes the finalizer for the namespace's content; with its last finalizer the namespace is removed.
    async fn finalize(&self, name: &str) -> Result<(), StoreError> {
        loop {
            let Some(current) = self.find_terminating(name).await? else {
                return Ok(());
            };
            let mut finalizers = value::list(current.value(), &["spec", "finalizers"]).to_vec();
            finalizers.retain(|finalizer| finalizer != namespace::FINALIZER);
            let step = namespace::finalize_step(&current, finalizers).map_err(StoreError::Unavailable)?;
            match self.store.apply(vec![step]).await {
                Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {}
                result => return result.map(|_| ()),
            }
        }
    }
}

fn is_terminating(namespace: &Object) -> bool {
    namespace.meta().deletion_timestamp().is_some()
}

impl RemainingContent {
    /// Conditions about the remaining content, in kube-controller-manager's words, without times.
    fn conditions(&self) -> Vec<Value> {
        let objects: Vec<String> = self
            .objects
            .iter()
            .map(|(resource, count)| format!("{resource} has {count} resource instances"))
            .collect();
        let finalizers: Vec<String> = self
            .finalizers
            .iter()
            .map(|(name, count)| format!("{name} in {count} resource instances"))
            .collect();
        let content = if objects.is_empty() {
            condition(
                "NamespaceContentRemaining",
                false,
                "ContentRemoved",
                "All content successfully removed",
            )
        } else {
            condition(
                "NamespaceContentRemaining",
                true,
                "SomeResourcesRemain",
                &format!("Some resources are remaining: {}", objects.join(", ")),
            )
        };
        let finalizing = if finalizers.is_empty() {
            condition(
                "NamespaceFinalizersRemaining",
                false,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            )
        } else {
            condition(
                "NamespaceFinalizersRemaining",
                true,
                "SomeFinalizersRemain",
                &format!(
                    "Some content in the namespace has finalizers remaining: {}",
                    finalizers.join(", ")
                ),
            )
        };
        vec![content, finalizing]
    }
}

fn condition(condition_type: &str, holds: bool, reason: &str, message: &str) -> Value {
    let status = if holds { "True" } else { "False" };
    json!({"type": condition_type, "status": status, "reason": reason, "message": message})
}

/// Sets the conditions in the status, each with the time at which it last became true or false; returns
/// whether anything changed.
fn set_conditions(object: &mut Value, conditions: &[Value], now: &str) -> bool {
    let Some(status) = value::object_mut(object, "status") else {
        return false;
    };
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else {
        return false;
    };
    let mut changed = false;
    for condition in conditions {
        let mut condition = condition.clone();
        let old = list.iter_mut().find(|old| old["type"] == condition["type"]);
        let since = match &old {
            Some(old) if old["status"] == condition["status"] => old["lastTransitionTime"].clone(),
            _ => now.into(),
        };
        condition["lastTransitionTime"] = since;
        match old {
            Some(old) if *old == condition => {}
            Some(old) => {
                *old = condition;
                changed = true;
            }
            None => {
                list.push(condition);
                changed = true;
            }
        }
    }
    changed
}
