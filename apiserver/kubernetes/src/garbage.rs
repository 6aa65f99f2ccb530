//! The garbage collector: objects are deleted with their owner.
//!
//! The collector follows every change of the store and does the work of kube-controller-manager's garbage
//! collector (Background, Foreground with blockOwnerDeletion, Orphan). Nothing is polled; a timer only
//! repeats writes that the store could not do, and deletions of objects in use. The collector's writes skip
//! admission, which must not prevent a cleanup. Like other users, the collector does not delete objects in
//! use ([`Protection`]).

mod graph;
mod kinds;
mod removal;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Change, Clock, Key, Object};
use berth_storage::informer::{self, Handler};
use berth_storage::{At, Event, Scope, Store, StoreError};
use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use graph::Graph;
pub use kinds::Kinds;
pub use removal::Protection;
use removal::{FOREGROUND, ORPHAN};
pub(crate) use removal::{ObjectWriter, Propagation, RemovalError};

/// Highest number of objects that are processed concurrently, so that their writes share commits.
const MAX_CONCURRENT_VISITS: usize = 64;
/// Number of turns of the retry queue between two attempts to delete an object in use.
const IN_USE_RETRY_TURNS: u32 = 5;

/// Runs the collector over `store` until `stop` is cancelled.
pub fn spawn(
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    clock: Arc<dyn Clock>,
    protection: Arc<dyn Protection>,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let source = Arc::clone(&store);
    let state = CollectorState {
        collector: Collector {
            writer: ObjectWriter::new(Arc::clone(&store), Arc::clone(&kinds), clock, protection),
            store,
            kinds,
        },
        graph: Graph::default(),
        queue: Queue::default(),
        retries: RetryQueue::default(),
    };
    tokio::spawn(informer::run(source, Scope::All, state, stop.cancelled_owned()))
}

/// The collector, the graph of owners, and the queues.
struct CollectorState {
    collector: Collector,
    graph: Graph,
    queue: Queue,
    retries: RetryQueue,
}

struct Collector {
    store: Arc<dyn Store>,
    kinds: Arc<Kinds>,
    writer: ObjectWriter,
}

/// State of the owners of an object.
#[derive(Default)]
struct Owners {
    /// Whether some owner exists and does not wait for its dependents, or cannot be looked up (see
    /// [`Kinds::resolve`]).
    has_lasting_owner: bool,
    /// UIDs of owners that do not exist, or that are being deleted and wait for their dependents.
    leaving_uids: Vec<String>,
    /// Whether an owner that is being deleted waits for this object.
    is_awaited: bool,
}

impl Handler for CollectorState {
    async fn list(&mut self) -> Result<(), StoreError> {
        self.graph = Graph::default();
        self.queue = Queue::default();
        self.retries = RetryQueue::default();
        for resource in self.collector.kinds.stored() {
            let list = self.collector.store.list(resource, At::Latest).await?;
            for (name, object) in list.iter(None, None) {
                let key = Key::new(resource, &name.namespace, &name.name);
                self.handle_change(&Change::added(key, Arc::clone(object)));
            }
        }
        Ok(())
    }

    async fn handle(&mut self, events: &[Arc<Event>]) {
        events.iter().for_each(|event| self.handle_change(&event.change));
    }

    async fn work(&mut self) -> bool {
        self.queue.extend(self.retries.next_turn());
        self.collector
            .work(&self.graph, &mut self.queue, &mut self.retries)
            .await;
        self.retries.is_empty()
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        tracing::warn!(%problem, "the garbage collector's watch ended; listing again");
        Self::RETRY_AFTER
    }
}

impl CollectorState {
    /// Updates the graph by one change, and queues the objects that the change may affect.
    fn handle_change(&mut self, change: &Change) {
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        self.graph.fold(change);
        match new {
            None => {
                if let Some(old) = old {
                    self.queue
                        .extend(self.graph.dependents(old.meta().uid()).cloned());
                }
            }
            Some(object) if needs_visit(object) => self.queue.push(change.key.clone()),
            Some(_) => {}
        }
        let [before, after] =
            [old, new].map(|object| object.map_or(&[][..], |object| object.meta().owner_references()));
        if before != after || new.is_none() {
            for owner in before.iter().chain(after) {
                let owner = self.collector.kinds.resolve(owner, &change.key.namespace);
                self.queue.extend(owner);
            }
        }
    }
}

impl Collector {
    /// Processes the queue; failed objects wait for a retry.
    async fn work(&self, graph: &Graph, queue: &mut Queue, retries: &mut RetryQueue) {
        while !queue.is_empty() {
            let visits = stream::iter(queue.take()).map(|key| async move {
                let result = self.visit(graph, &key).await;
                (key, result)
            });
            let mut results = visits.buffer_unordered(MAX_CONCURRENT_VISITS);
            while let Some((key, result)) = results.next().await {
                match result {
                    Ok(more) => {
                        retries.in_use.remove(&key);
                        queue.extend(more);
                    }
                    Err(problem) => retries.add(key, &problem),
                }
            }
        }
    }

    /// Processes one object. Returns further objects to process.
    async fn visit(&self, graph: &Graph, key: &Key) -> Result<Vec<Key>, RemovalError> {
        let Some(object) = self.find(key) else {
            return Ok(Vec::new());
        };
        let meta = object.meta();
        if meta.deletion_timestamp().is_some() {
            if has_finalizer(&object, ORPHAN) {
                self.orphan_dependents(graph, key, &object).await?;
            } else if has_finalizer(&object, FOREGROUND) {
                return Ok(self.advance_foreground_deletion(graph, key, &object).await?);
            }
            return Ok(Vec::new());
        }
        if meta.owner_references().is_empty() {
            return Ok(Vec::new());
        }
        let owners = self.owners_of(key, &object);
        if owners.leaving_uids.is_empty() {
            return Ok(Vec::new());
        }
        if owners.has_lasting_owner {
            self.writer
                .edit(key, meta.uid(), |value| {
                    remove_owner_references(value, &owners.leaving_uids)
                })
                .await?;
            return Ok(Vec::new());
        }
        self.collect(graph, key, &object, owners.is_awaited).await
    }

    /// Deletes an object without a lasting owner. `is_awaited` tells whether an owner waits for the deletion.
    async fn collect(
        &self,
        graph: &Graph,
        key: &Key,
        object: &Object,
        is_awaited: bool,
    ) -> Result<Vec<Key>, RemovalError> {
        let uid = object.meta().uid();
        let dependents: Vec<Key> = graph.dependents(uid).cloned().collect();
        let propagation = if has_finalizer(object, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(object, FOREGROUND) || (is_awaited && !dependents.is_empty()) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        if propagation == Propagation::Foreground && dependents.iter().any(|key| self.waits(key)) {
            // A dependent waits for its own dependents, and this object may be one of them: then each would
            // wait for the other.
            self.writer.edit(key, uid, clear_block_owner_deletion).await?;
        }
        // The cached object may be outdated. If it is, its change is still to come, and queues it again.
        let is_due = |current: &Object| {
            current.meta().deletion_timestamp().is_none()
                && current.meta().finalizers() == object.meta().finalizers()
                && owner_uids(current).eq(owner_uids(object))
        };
        self.writer.delete_if(key, uid, propagation, is_due).await?;
        Ok(Vec::new())
    }

    /// Returns the dependents of `object` that are not being deleted yet. If none blocks the deletion of
    /// `object` any more, removes the finalizer of the foreground deletion from it instead.
    async fn advance_foreground_deletion(
        &self,
        graph: &Graph,
        key: &Key,
        object: &Object,
    ) -> Result<Vec<Key>, StoreError> {
        let uid = object.meta().uid();
        let mut is_blocked = false;
        let mut remaining = Vec::new();
        for dependent in graph.dependents(uid) {
            let Some(current) = self.find(dependent) else {
                continue;
            };
            is_blocked |= self.blocks(dependent, &current, key, uid);
            if current.meta().deletion_timestamp().is_none() {
                remaining.push(dependent.clone());
            }
        }
        if is_blocked {
            return Ok(remaining);
        }
        self.writer
            .edit(key, uid, |value| remove_finalizer(value, FOREGROUND))
            .await?;
        Ok(Vec::new())
    }

    /// Removes the reference to `object` from its dependents, then the finalizer from `object`.
    async fn orphan_dependents(&self, graph: &Graph, key: &Key, object: &Object) -> Result<(), StoreError> {
        let uid = object.meta().uid();
        for dependent in graph.dependents(uid) {
            let Some(current) = self.find(dependent) else {
                continue;
            };
            let uids = [uid.to_owned()];
            self.writer
                .edit(dependent, current.meta().uid(), |value| {
                    remove_owner_references(value, &uids)
                })
                .await?;
        }
        self.writer
            .edit(key, uid, |value| remove_finalizer(value, ORPHAN))
            .await
            .map(|_| ())
    }

    fn owners_of(&self, key: &Key, object: &Object) -> Owners {
        let mut owners = Owners::default();
        for reference in object.meta().owner_references() {
            // Whether an owner that cannot be looked up exists is unknown, so it counts as existing.
            let Some(owner) = self.kinds.resolve(reference, &key.namespace) else {
                owners.has_lasting_owner = true;
                continue;
            };
            match self
                .find(&owner)
                .filter(|owner| owner.meta().uid() == reference.uid)
            {
                None => owners.leaving_uids.push(reference.uid.clone()),
                Some(owner) if is_waiting(&owner) => {
                    owners.leaving_uids.push(reference.uid.clone());
                    owners.is_awaited |= reference.block_owner_deletion == Some(true);
                }
                Some(_) => owners.has_lasting_owner = true,
            }
        }
        owners
    }

    fn find(&self, key: &Key) -> Option<Arc<Object>> {
        self.store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .cloned()
    }

    fn waits(&self, key: &Key) -> bool {
        self.find(key).is_some_and(|object| is_waiting(&object))
    }

    /// Whether the object at `key` blocks the deletion of the owner at `owner`, which has the UID `uid`. A
    /// reference with this UID that names another object blocks nothing, since it does not make the collector
    /// delete the object.
    fn blocks(&self, key: &Key, object: &Object, owner: &Key, uid: &str) -> bool {
        object.meta().owner_references().iter().any(|reference| {
            reference.uid == uid
                && reference.block_owner_deletion == Some(true)
                && self.kinds.resolve(reference, &key.namespace).as_ref() == Some(owner)
        })
    }
}

/// Objects to retry.
#[derive(Default)]
struct RetryQueue {
    /// Objects whose write the store rejected: retried at the next turn.
    failed: Vec<Key>,
    /// Objects in use, with the remaining number of turns until each is retried.
    in_use: HashMap<Key, u32>,
}

impl RetryQueue {
    fn is_empty(&self) -> bool {
        self.failed.is_empty() && self.in_use.is_empty()
    }

    /// Adds an object, and logs the problem; an object in use is logged once.
    fn add(&mut self, key: Key, problem: &RemovalError) {
        match problem {
            RemovalError::Store(problem) => {
                tracing::warn!(object = %key, %problem, "garbage collector cannot delete or orphan an object; retrying");
                self.failed.push(key);
            }
            RemovalError::Protected(problem) => {
                let first = !self.in_use.contains_key(&key);
                if first {
                    tracing::warn!(object = %key, %problem, "object is not garbage collected while it is in use; its owners are gone");
                }
                self.in_use.insert(key, IN_USE_RETRY_TURNS);
            }
        }
    }

    /// Counts one turn, and returns the objects to retry in it.
    fn next_turn(&mut self) -> Vec<Key> {
        let mut retried = std::mem::take(&mut self.failed);
        for (key, turns) in &mut self.in_use {
            // The object stays in the map until a visit succeeds, so that it is logged once.
            *turns = turns.saturating_sub(1);
            if *turns == 0 {
                retried.push(key.clone());
            }
        }
        retried
    }
}

/// Keys in the order of arrival, each once.
#[derive(Default)]
struct Queue {
    order: VecDeque<Key>,
    queued: HashSet<Key>,
}

impl Queue {
    fn push(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    fn extend(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.push(key));
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn take(&mut self) -> Vec<Key> {
        // At a start or in a burst the set becomes large; a new one frees the memory.
        self.queued = HashSet::new();
        std::mem::take(&mut self.order).into()
    }
}

fn has_finalizer(object: &Object, name: &str) -> bool {
    object
        .meta()
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == name)
}

/// Whether the object is being deleted and waits for its dependents.
fn is_waiting(object: &Object) -> bool {
    object.meta().deletion_timestamp().is_some() && has_finalizer(object, FOREGROUND)
}

/// Whether the collector may have to change or delete the object: its owners may be gone, or its dependents
/// must be deleted or orphaned.
fn needs_visit(object: &Object) -> bool {
    let meta = object.meta();
    match meta.deletion_timestamp() {
        Some(_) => has_finalizer(object, FOREGROUND) || has_finalizer(object, ORPHAN),
        None => !meta.owner_references().is_empty(),
    }
}

/// UIDs of the owners to which the object refers.
fn owner_uids(object: &Object) -> impl Iterator<Item = &str> {
    let references = object.meta().owner_references().iter();
    references.map(|reference| reference.uid.as_str())
}

/// Removes the references to the owners with the UIDs `owners`. Returns whether there were any.
fn remove_owner_references(value: &mut Value, owners: &[String]) -> bool {
    let Some(references) = value["metadata"]["ownerReferences"].as_array_mut() else {
        return false;
    };
    let before = references.len();
    references.retain(|reference| !owners.iter().any(|owner| reference["uid"] == owner.as_str()));
    let changed = references.len() != before;
    if references.is_empty()
        && let Some(metadata) = value["metadata"].as_object_mut()
    {
        metadata.remove("ownerReferences");
    }
    changed
}

/// Sets blockOwnerDeletion to false in all owner references of the object. Returns whether any was true.
fn clear_block_owner_deletion(value: &mut Value) -> bool {
    let references = value["metadata"]["ownerReferences"].as_array_mut();
    let mut changed = false;
    for reference in references.into_iter().flatten() {
        changed |= reference["blockOwnerDeletion"] == true;
        reference["blockOwnerDeletion"] = false.into();
    }
    changed
}

fn remove_finalizer(value: &mut Value, name: &str) -> bool {
    let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() else {
        return false;
    };
    let before = finalizers.len();
    finalizers.retain(|finalizer| finalizer != name);
    let changed = finalizers.len() != before;
    if finalizers.is_empty()
        && let Some(metadata) = value["metadata"].as_object_mut()
    {
        metadata.remove("finalizers");
    }
    changed
}

#[cfg(test)]
mod tests;
