//! Fences of capacity that several replicas count at once, on a hub without transactions.
//!
//! Each counted capacity (such as the shoots of one seed) has a Lease in Berth's own namespace, its
//! *fence*. Before a replica writes a decision that counts the capacity, it notes in the Lease the
//! objects that it is about to write, with their versions. The hub's own comparison of resourceVersions
//! protects the Lease, so that one of two replicas comes first. The second replica passes only if the
//! snapshot of its decision has every noted object past the noted version. Then that snapshot counted
//! the first replica's writes, and also all earlier writes, since the hub's events of a resource come
//! in order. If an object stays at the noted version, its writer has died or is stuck. The second
//! replica then *touches* the object, so that a late write of the first one fails as a conflict.
//!
//! An object that does not exist yet cannot be touched: if a noted create does not happen, and the hub does
//! not have the object, the second replica marks the create as *abandoned* in the Lease. A replica that
//! creates an object under a fence checks afterwards whether the create was abandoned meanwhile, and if so
//! deletes the object. So no capacity stays counted twice, and correctness does not depend on clocks. There
//! is one exception: a create that the hub carries out after it was abandoned, while its replica has stopped
//! or no longer waits for the answer. Nobody deletes that object.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use berth_apimachinery::write::{CommitError, Verb, Write, WriteRefusal};
use berth_apimachinery::{GroupResource, Key, Revision, Status};
use http::Method;
use kube::Client;
use parking_lot::Mutex;
use serde_json::json;
use uuid::Uuid;

use self::noted::NotedWrite;
use super::lease::LeaseLock;
use super::mirror::{Copies, HubVersion};
use super::wire::{self, HubClient, HubRequest};

mod noted;

/// The annotation with the fence's name, for people.
const NAME: &str = "scheduling.berth.dev/fence";
/// The annotation with the noted writes.
const NOTED: &str = "scheduling.berth.dev/noted";
/// The annotation with noted creates that did not happen.
const ABANDONED: &str = "scheduling.berth.dev/abandoned";
/// Highest number of abandoned creates that a fence remembers: the newest.
const MAX_ABANDONED: usize = 64;
/// The annotation of a touched object.
const TOUCHED: &str = "scheduling.berth.dev/touched";
/// Time for the copy of a noted write to arrive before its object is touched, or abandoned. After the
/// death of a leader, its successor waits this time once for each capacity. A writer that is slower
/// than this only has to decide again.
const COPY_TIMEOUT: Duration = Duration::from_millis(1500);

/// Whether a Lease with these `annotations` is a fence.
pub fn is_fence(annotations: &std::collections::BTreeMap<String, String>) -> bool {
    annotations.contains_key(NAME)
}

/// The fences of one hub.
pub(crate) struct Fences {
    client: Client,
    namespace: String,
    copies: Copies,
    /// Resources that are stored on the hub. Writes of several resources may count the same capacity.
    resources: BTreeSet<GroupResource>,
    /// Identity of this process.
    holder: String,
    /// Keys of objects that this process is creating, each with the number of attempts.
    making: Mutex<HashMap<Key, usize>>,
}

/// Writes that are being made. Their new objects may appear until this is dropped.
pub(crate) struct WriteInProgress<'a> {
    fences: &'a Fences,
    keys: Vec<Key>,
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        let mut making = self.fences.making.lock();
        for key in &self.keys {
            let Some(attempts) = making.get_mut(key) else {
                continue;
            };
            *attempts = attempts.saturating_sub(1);
            if *attempts == 0 {
                making.remove(key);
            }
        }
    }
}

/// Resolution of a noted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// The write was counted, or can no longer succeed.
    Settled,
    /// The write would create an object, but has not.
    Abandoned,
}

impl Fences {
    pub(crate) fn new(
        client: Client,
        namespace: String,
        copies: Copies,
        resources: BTreeSet<GroupResource>,
    ) -> Self {
        Self {
            client,
            namespace,
            copies,
            resources,
            holder: Uuid::new_v4().to_string(),
            making: Mutex::default(),
        }
    }

    /// Announces `writes`. Their new objects may appear until the returned value is dropped.
    pub(crate) fn announce(&self, writes: &[Write]) -> WriteInProgress<'_> {
        let creates = writes.iter().filter(|write| write.verb == Verb::Create);
        let keys: Vec<Key> = creates.map(|write| write.key.clone()).collect();
        let mut making = self.making.lock();
        for key in &keys {
            *making.entry(key.clone()).or_default() += 1;
        }
        drop(making);
        WriteInProgress { fences: self, keys }
    }

    fn lock(&self, name: &str) -> LeaseLock {
        let object = format!("fence-{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()));
        LeaseLock::new(self.client.clone(), &self.namespace, &object)
    }

    /// Passes the fence `name` for `writes`, which were decided on a snapshot at `not_after`. Each has the
    /// hub's version of its base, which is empty for a create.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when the decision has to be made again, else the hub's refusal.
    pub(crate) async fn pass(
        &self,
        name: &str,
        writes: &[(&Write, String)],
        not_after: Revision,
        actor: &str,
    ) -> Result<(), CommitError> {
        let lock = self.lock(name);
        let record = lock.get().await?;
        let own: Vec<&Key> = writes.iter().map(|(write, _)| &write.key).collect();
        let mut abandoned = Vec::new();
        if let Some(record) = &record {
            abandoned = noted::read(&record.value, ABANDONED);
            for noted in noted::read(&record.value, NOTED) {
                if self.resolve(&noted, &own, not_after, actor).await? == Resolution::Abandoned {
                    abandoned.push(noted);
                }
            }
        }
        // This commit writes these objects itself.
        abandoned.retain(|noted| !own.iter().any(|key| noted.is_about(key)));
        let forgotten = abandoned.len().saturating_sub(MAX_ABANDONED);
        let notes: Vec<NotedWrite> = writes
            .iter()
            .map(|(write, version)| NotedWrite::of(write, version, &self.holder))
            .collect();
        let value = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": lock.name(), "namespace": self.namespace,
                "annotations": {
                    NAME: name, NOTED: noted::text(&notes), ABANDONED: noted::text(&abandoned[forgotten..]),
                },
            },
            "spec": {},
        });
        if lock.put(record.as_ref(), &value).await?.is_some() {
            return Ok(());
        }
        Err(moved(name))
    }

    /// Whether the create of the object at `key` under the fence `name` was abandoned before it
    /// happened, so that the object is not counted.
    ///
    /// # Errors
    /// The hub's refusal to show the fence.
    pub(crate) async fn abandoned(&self, name: &str, key: &Key) -> Result<bool, Status> {
        let record = self.lock(name).get().await?;
        let abandoned = record.map(|record| noted::read(&record.value, ABANDONED));
        Ok(abandoned
            .unwrap_or_default()
            .iter()
            .any(|noted| noted.is_about(key)))
    }

    /// Resolves the `noted` write: the snapshot at `not_after` has its effect, or the write can no longer
    /// succeed.
    ///
    /// # Errors
    /// [`WriteRefusal::Fenced`] when the decision has to be made again. Before that, this waits for the
    /// effect of the write, and touches an existing object if there is none.
    async fn resolve(
        &self,
        noted: &NotedWrite,
        own: &[&Key],
        not_after: Revision,
        actor: &str,
    ) -> Result<Resolution, CommitError> {
        let Some(key) = noted.key(&self.resources) else {
            return Ok(Resolution::Settled);
        };
        if noted.version.is_empty() {
            return self.resolve_new(noted, &key, own, not_after).await;
        }
        // A deleted object no longer counts.
        let Some(copy) = self.copies.get(&key) else {
            return Ok(Resolution::Settled);
        };
        let version = self.copies.version(&key, &copy);
        if version.is_some_and(|version| version != noted.version) && copy.revision() <= not_after {
            return Ok(Resolution::Settled);
        }
        let is_past = |hub_version: Option<&HubVersion>| {
            hub_version.is_none_or(|hub_version| hub_version.version != noted.version)
        };
        if !self.copies.until(&key, COPY_TIMEOUT, is_past).await {
            self.touch(noted, &key, actor).await?;
        }
        Err(moved(&key.to_string()))
    }

    /// Resolves a noted write of an object that was about to be created.
    async fn resolve_new(
        &self,
        noted: &NotedWrite,
        key: &Key,
        own: &[&Key],
        not_after: Revision,
    ) -> Result<Resolution, CommitError> {
        if let Some(copy) = self.copies.get(key) {
            let is_counted = copy.revision() <= not_after;
            return is_counted
                .then_some(Resolution::Settled)
                .ok_or_else(|| moved(&key.to_string()));
        }
        if own.contains(&key) {
            return Ok(Resolution::Settled);
        }
        // A create of this process waits for the copy of its object before it ends. The wait is limited, and
        // so is the wait for the hub's answer: only the hub knows whether the object exists.
        let is_over = noted.holder == self.holder && !self.making.lock().contains_key(key);
        if is_over && !self.exists(noted, key).await? {
            return Ok(Resolution::Settled);
        }
        let is_copied = self
            .copies
            .until(key, COPY_TIMEOUT, |hub_version| hub_version.is_some())
            .await;
        if is_copied || self.exists(noted, key).await? {
            return Err(moved(&key.to_string()));
        }
        tracing::info!(%key, "announced create did not happen; its capacity is free again");
        Ok(Resolution::Abandoned)
    }

    /// Whether the hub has the `noted` object at `key`.
    async fn exists(&self, noted: &NotedWrite, key: &Key) -> Result<bool, Status> {
        let path = wire::object(&noted.api_version, key);
        match HubClient(self.client.clone()).send(HubRequest::get(&path)).await {
            Ok(_) => Ok(true),
            Err(status) if status.code == 404 => Ok(false),
            Err(status) => Err(status),
        }
    }

    /// Changes the object at `key` if it has the noted version, so that no write on that version can succeed
    /// any more.
    async fn touch(&self, noted: &NotedWrite, key: &Key, actor: &str) -> Result<(), Status> {
        tracing::info!(%key, "announced write did not happen; annotating the object so that it cannot any more");
        let patch = json!({"metadata": {
            "resourceVersion": noted.version, "annotations": {TOUCHED: noted.version},
        }});
        let request = HubRequest {
            method: Method::PATCH,
            path: &wire::object(&noted.api_version, key),
            actor,
            body: Some(&patch),
        };
        match HubClient(self.client.clone()).send(request).await {
            Ok(_) => Ok(()),
            // The object was changed or deleted in the meantime.
            Err(status) if status.code == 409 || status.code == 404 => Ok(()),
            Err(status) => Err(status),
        }
    }
}

fn moved(what: &str) -> CommitError {
    let text = format!("{what} has changed since it was decided on");
    CommitError::new(WriteRefusal::Fenced, Status::failure(409, "Conflict", text))
}

#[cfg(test)]
mod tests;
