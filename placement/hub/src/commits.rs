//! Execution of decisions on the hub. Each write is a request of its own, as the user of the system's
//! scheduler, and is refused unless the object has the state on which the decision was made. If a list of
//! writes ends early, the hub has a valid state, which a new decision completes (docs/concepts.md, "Where
//! objects are"). [`fences`](super::fences) guard counted capacity. [`list`] carries out a list of writes, of
//! which some may be to Berth's own store.

mod apply;
mod list;
mod overruled;
mod rights;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::{CommitError, Guard, Verb, Write, WriteRefusal};
use berth_apimachinery::{GroupResource, Object, Revision, Status, StatusReason};
use berth_engine::{Commit, Committer};
use http::Method;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use uuid::Uuid;

pub use apply::ApplyRequest;

use super::fences::{Fences, Passage};
use super::mirror::{Copies, HubVersion};
use super::wire::{self, HubClient, HubRequest};

/// Longest wait for the copy of an own write.
const ECHO_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest wait for the copy of another client's change, with which a write conflicted.
const CONFLICT_TIMEOUT: Duration = Duration::from_secs(2);

/// Commits writes to the hub's objects on the hub, and all other writes as without a hub.
pub struct HubCommitter {
    wire: HubClient,
    copies: Copies,
    /// Resources that are stored on the hub.
    resources: BTreeSet<GroupResource>,
    /// Committer of writes to Berth's own store.
    own: Arc<dyn Committer>,
    /// Fences against writes of other replicas that counted the same capacity.
    fences: Fences,
    /// Revision at which this replica last passed each fence.
    last_passes: Mutex<HashMap<Arc<str>, Revision>>,
}

impl HubCommitter {
    /// A committer that writes objects of `resources` through `client`, with its fences in `namespace`, and
    /// all other objects through `own`.
    pub fn new(
        client: Client,
        namespace: &str,
        copies: Copies,
        resources: BTreeSet<GroupResource>,
        own: Arc<dyn Committer>,
    ) -> Self {
        Self {
            fences: Fences::new(
                client.clone(),
                namespace.to_owned(),
                copies.clone(),
                resources.clone(),
            ),
            wire: HubClient(client),
            copies,
            resources,
            own,
            last_passes: Mutex::default(),
        }
    }

    /// Whether `write` is to an object of the hub.
    fn is_for_hub(&self, write: &Write) -> bool {
        self.resources.contains(&write.key.resource)
    }

    /// Checks that all inputs of the decision are unchanged.
    fn check(&self, guards: &[Guard]) -> Result<(), CommitError> {
        for guard in guards {
            let (holds, key) = match guard {
                Guard::Unchanged { key, revision } => (
                    self.copies.get(key).map(|copy| copy.revision()) == Some(*revision),
                    key.to_string(),
                ),
                Guard::Fence { name, not_after } => {
                    let last_pass = self.last_passes.lock().get(name).copied();
                    (
                        last_pass.is_none_or(|last_pass| last_pass <= *not_after),
                        name.to_string(),
                    )
                }
            };
            if !holds {
                let why = match guard {
                    Guard::Unchanged { .. } => WriteRefusal::Changed,
                    Guard::Fence { .. } => WriteRefusal::Fenced,
                };
                let text = format!("{key} has changed since it was decided on");
                return Err(CommitError::new(why, Status::failure(409, "Conflict", text)));
            }
        }
        Ok(())
    }

    /// The hub's resourceVersion for `write`, which is the version of the write's base.
    fn version(&self, write: &Write) -> Result<String, CommitError> {
        let copy = self.copies.get(&write.key);
        let copy = copy.filter(|copy| write.base.is_none_or(|base| base == copy.revision()));
        copy.and_then(|copy| self.copies.version(&write.key, &copy))
            .ok_or_else(|| CommitError::modified(write.key.resource, &write.key.name))
    }

    /// Makes a single write as `actor`, and returns the copy after the write.
    ///
    /// # Errors
    /// [`WriteRefusal::Changed`] when the copy is not the hub's newest state, [`WriteRefusal::Forbidden`]
    /// when a right is missing on the hub; else the hub's refusal.
    pub async fn write_alone(
        &self,
        actor: &str,
        write: &Write,
        dry_run: bool,
    ) -> Result<Arc<Object>, CommitError> {
        let version = match self.version(write) {
            Ok(version) => version,
            Err(behind) => {
                // Waits for a newer copy: a new attempt on the same copy would fail again.
                self.copies.until(&write.key, CONFLICT_TIMEOUT, |_| true).await;
                return Err(behind);
            }
        };
        let answer = match self.write(actor, write, Some(&version), dry_run).await {
            Ok(answer) => answer,
            Err(refused) => return Err(self.explain_refusal(actor, write, refused).await),
        };
        self.result(write, &answer, dry_run).await
    }

    /// The names of the objects of `resource` with the label `label` in `namespace`, read from the hub in the
    /// version `api_version`, and not from the copies.
    ///
    /// # Errors
    /// When the hub refuses or does not answer.
    pub async fn labelled(
        &self,
        api_version: &str,
        resource: GroupResource,
        namespace: &str,
        label: &str,
    ) -> Result<BTreeSet<String>, Status> {
        let collection = wire::collection(api_version, resource, namespace);
        // A label key has `/`, which needs no escaping in a query.
        let path = format!("{collection}?labelSelector={label}");
        let list = self.wire.send(HubRequest::get(&path)).await?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
        Ok(items.iter().filter_map(name).collect())
    }

    /// Makes one write, and returns the hub's object after the write. After a conflict, this waits until the
    /// conflicting change is copied.
    async fn write(
        &self,
        actor: &str,
        write: &Write,
        version: Option<&str>,
        dry_run: bool,
    ) -> Result<Value, CommitError> {
        let sent = self.send(actor, write, version, dry_run).await;
        if let Err(error) = &sent
            && error.reason.is_outdated()
        {
            self.wait_for_conflict(write, version, error.reason).await;
        }
        sent
    }

    /// Sends one write, and returns the hub's object after the write.
    async fn send(
        &self,
        actor: &str,
        write: &Write,
        version: Option<&str>,
        dry_run: bool,
    ) -> Result<Value, CommitError> {
        let mut object = write.object.clone();
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let object_path = wire::object(&api_version, &write.key);
        let (method, path, body) = match write.verb {
            Verb::Create => {
                let path = wire::collection(&api_version, write.key.resource, &write.key.namespace);
                (Method::POST, path, object)
            }
            Verb::Update => {
                if let Some(version) = version {
                    object["metadata"]["resourceVersion"] = json!(version);
                }
                let subresource = self.subresource_path(&api_version, write).await?;
                (Method::PUT, format!("{object_path}{subresource}"), object)
            }
            Verb::Delete => {
                let options = json!({
                    "apiVersion": "v1", "kind": "DeleteOptions",
                    "preconditions": {"resourceVersion": version},
                });
                (Method::DELETE, object_path.clone(), options)
            }
        };
        let query = if dry_run { "?dryRun=All" } else { "" };
        let request = HubRequest {
            method,
            path: &format!("{path}{query}"),
            actor,
            body: Some(&body),
        };
        match self.wire.send(request).await {
            Err(status) if matches!(status.code, 403 | 422) && self.is_stale(&object_path, version).await => {
                let text = "the object has been modified since it was read, and the hub's admission refused the outdated write";
                let conflict = Status::conflict(write.key.resource, &write.key.name, text);
                Err(CommitError::new(WriteRefusal::Changed, conflict))
            }
            sent => sent.map_err(|status| refusal(write.verb, status)),
        }
    }

    /// Whether the object at `path` does not have `version` any more, or does not exist. A kube-apiserver
    /// calls mutating webhooks about an update before it compares versions, so that a guard may refuse a
    /// stale write that would otherwise be a conflict.
    async fn is_stale(&self, path: &str, version: Option<&str>) -> bool {
        let Some(version) = version else { return false };
        match self.wire.send(HubRequest::get(path)).await {
            Ok(object) => object["metadata"]["resourceVersion"] != version,
            Err(status) => status.code == 404,
        }
    }

    /// The path segment `/<subresource>`; empty where the hub does not serve the subresource. A system's own
    /// subresource is missing where its kinds are only CustomResourceDefinitions; then the object itself is
    /// written.
    async fn subresource_path(&self, api_version: &str, write: &Write) -> Result<String, CommitError> {
        if write.subresource.is_empty() {
            return Ok(String::new());
        }
        let wanted = format!("{}/{}", write.key.resource.resource, write.subresource);
        let root = wire::root(api_version);
        let list = self.wire.send(HubRequest::get(&root)).await?;
        let mut resources = list["resources"].as_array().into_iter().flatten();
        Ok(if resources.any(|resource| resource["name"] == wanted.as_str()) {
            format!("/{}", write.subresource)
        } else {
            String::new()
        })
    }

    /// The object after a write: the copy, once it has arrived, or the hub's answer. After a deletion without
    /// a copy, the deleted object.
    async fn result(&self, write: &Write, answer: &Value, dry_run: bool) -> Result<Arc<Object>, CommitError> {
        if !dry_run {
            self.wait_for_echo(write, answer).await;
            if let Some(copy) = self.copies.get(&write.key) {
                return Ok(copy);
            }
        }
        let shown = if write.verb == Verb::Delete {
            &write.object
        } else {
            answer
        };
        self.unstored(shown)
    }

    /// `value` as an object that is not stored here.
    fn unstored(&self, value: &Value) -> Result<Arc<Object>, CommitError> {
        Object::new(value, self.copies.revision())
            .map(Arc::new)
            .map_err(|problem| Status::internal(problem.to_string()).into())
    }

    /// Waits until the copy has the change with which `write` conflicted: a decision on the same copy
    /// would conflict again.
    async fn wait_for_conflict(&self, write: &Write, version: Option<&str>, why: WriteRefusal) {
        let is_gone = why == WriteRefusal::Gone;
        let is_news = |hub_version: Option<&HubVersion>| match (hub_version, version) {
            (None, _) => is_gone || version.is_some(),
            (Some(hub_version), Some(version)) => {
                hub_version.reached(version) && hub_version.version != version
            }
            (Some(_), None) => !is_gone,
        };
        if !self.copies.until(&write.key, CONFLICT_TIMEOUT, is_news).await {
            tracing::debug!(key = %write.key, "the conflicting change has not arrived in the hub's watch within {CONFLICT_TIMEOUT:?}");
        }
    }

    /// Waits until the copy has the state in the hub's answer, or a later state.
    async fn wait_for_echo(&self, write: &Write, answer: &Value) {
        let metadata = &answer["metadata"];
        let version = metadata["resourceVersion"].as_str().unwrap_or_default();
        let has_finalizers = metadata["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        // A deleted object stays while it has finalizers; without any, it may be deleted at once.
        let may_stay = write.verb != Verb::Delete || has_finalizers;
        let may_go = write.verb == Verb::Delete || metadata["deletionTimestamp"].is_string();
        let is_past = |hub_version: Option<&HubVersion>| match hub_version {
            Some(hub_version) => may_stay && hub_version.reached(version),
            None => may_go,
        };
        if !self.copies.until(&write.key, ECHO_TIMEOUT, is_past).await {
            tracing::warn!(key = %write.key, "own write not seen in the hub's watch within {ECHO_TIMEOUT:?}; continuing without");
        }
    }
}

/// The error for the hub's refusal of a write of the verb `verb`.
fn refusal(verb: Verb, status: Status) -> CommitError {
    let why = match status.code {
        // A create that is not found lacks its namespace or its kind, which a new decision does not change.
        404 if verb != Verb::Create => WriteRefusal::Gone,
        409 if status.is(StatusReason::AlreadyExists) => WriteRefusal::Exists,
        409 => WriteRefusal::Changed,
        _ => WriteRefusal::Refused,
    };
    CommitError::new(why, status)
}

/// Beginning of the message of a kube-apiserver that cannot call a webhook with the failurePolicy Fail.
const NO_WEBHOOK: &str = "Internal error occurred: failed calling webhook";

/// Whether `status` means that the hub has not made a write and will not make it. A conflict does not count:
/// the object has changed or exists, and the note about the write makes others look for that. An internal
/// error counts only where a webhook could not be called, since admission comes before storage.
fn is_final_refusal(status: &Status) -> bool {
    let is_refused = (400..500).contains(&status.code) && !matches!(status.code, 408 | 409);
    is_refused || (status.code == 500 && status.message.starts_with(NO_WEBHOOK))
}

impl HubCommitter {
    /// Passes the fences of `commit`, before anything is written.
    async fn pass(&self, commit: &Commit) -> Result<Vec<Passage>, CommitError> {
        let mut passages = Vec::new();
        if fences(commit).next().is_none() {
            return Ok(passages);
        }
        let mut writes: Vec<(&Write, String)> = Vec::new();
        for write in commit.writes.iter().filter(|write| self.is_for_hub(write)) {
            // The first write of an object covers its later ones.
            if writes.iter().any(|(first, _)| first.key == write.key) {
                continue;
            }
            let version = match write.verb {
                Verb::Create => String::new(),
                Verb::Update | Verb::Delete => self.version(write)?,
            };
            writes.push((write, version));
        }
        let id = Uuid::new_v4();
        for (name, not_after) in fences(commit) {
            let passed = self.fences.pass(name, id, &writes, not_after, commit.actor);
            match passed.await {
                Ok(passage) => passages.push(passage),
                Err(error) => {
                    self.fences.take_back(passages, &BTreeSet::new()).await;
                    return Err(error);
                }
            }
            // A decision on an older state has to be made again.
            self.last_passes
                .lock()
                .insert(Arc::clone(name), self.copies.revision());
        }
        Ok(passages)
    }

    /// Deletes the object that `write` has just created, if another replica meanwhile marked the create as
    /// abandoned at a fence.
    async fn revert_if_late(&self, commit: &Commit, write: &Write, answer: &Value) -> Result<(), LateCreate> {
        for (name, _) in fences(commit) {
            if !self
                .fences
                .abandoned(name, &write.key)
                .await
                .map_err(LateCreate::Unresolved)?
            {
                continue;
            }
            tracing::info!(key = %write.key, fence = %name, "object was created after its capacity was given to others; deleting it");
            let reverted = self.delete_created(commit.actor, write, answer).await;
            reverted.map_err(LateCreate::Unresolved)?;
            let text = format!("{name} has changed since {} was decided on", write.key);
            let conflict = Status::failure(409, "Conflict", text);
            return Err(LateCreate::Reverted(CommitError::new(
                WriteRefusal::Fenced,
                conflict,
            )));
        }
        Ok(())
    }

    /// Deletes the object that `write` created, if it is unchanged. A changed object is kept, since a
    /// client uses it.
    async fn delete_created(&self, actor: &str, write: &Write, answer: &Value) -> Result<(), Status> {
        let api_version = write.object["apiVersion"].as_str().unwrap_or_default();
        let path = wire::object(api_version, &write.key);
        let finalizers = |object: &Value| object["metadata"]["finalizers"].as_array().cloned();
        let written = finalizers(&write.object).unwrap_or_default();
        let mut created = answer.clone();
        if !written.is_empty() {
            let mut finalizers_left = finalizers(answer).unwrap_or_default();
            finalizers_left.retain(|finalizer| !written.contains(finalizer));
            let version = &answer["metadata"]["resourceVersion"];
            let patch = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers_left}});
            let request = HubRequest {
                method: Method::PATCH,
                path: &path,
                actor,
                body: Some(&patch),
            };
            created = self.wire.send(request).await?;
        }
        let metadata = &created["metadata"];
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
        });
        let request = HubRequest {
            method: Method::DELETE,
            path: &path,
            actor,
            body: Some(&options),
        };
        self.wire.send(request).await.map(drop)
    }
}

/// Result of a create that came too late, after it was abandoned at a fence.
enum LateCreate {
    /// The object was deleted again.
    Reverted(CommitError),
    /// The hub did not say whether the create was abandoned, or refused the deletion.
    Unresolved(Status),
}

impl From<LateCreate> for CommitError {
    fn from(late: LateCreate) -> Self {
        match late {
            LateCreate::Reverted(error) => error,
            LateCreate::Unresolved(status) => refusal(Verb::Delete, status),
        }
    }
}

/// The names of the fences of `commit`, each with the revision of the decision.
fn fences(commit: &Commit) -> impl Iterator<Item = (&Arc<str>, Revision)> {
    commit.guards.iter().filter_map(|guard| match guard {
        Guard::Fence { name, not_after } => Some((name, *not_after)),
        Guard::Unchanged { .. } => None,
    })
}

#[cfg(test)]
mod tests;
