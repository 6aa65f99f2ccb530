//! Decisions carried out on the hub: each write a request of its own, as the system's scheduler, on the state it was
//! decided for. Every prefix of the list is valid and deciding again finishes it (DESIGN.md section 3).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dialect_contract::{Write, WriteVerb};
use engine::{Commit, CommitError, Committer};
use http::{Method, Request, header};
use kube::Client;
use kube::client::Body;
use meta::{GroupResource, Key, Object, Revision, Status};
use parking_lot::Mutex;
use serde_json::{Value, json};
use storage::{Guard, Store};
use tokio::sync::Semaphore;

use super::mirror::Shadows;
use super::reviewer::chain;

/// How long the hub's own word about a write may take to come back.
const ECHO: Duration = Duration::from_secs(5);

/// Commits what is the hub's there, and everything else as it is committed without a hub.
pub(crate) struct HubCommitter {
    client: Client,
    store: Arc<dyn Store>,
    shadows: Arc<Shadows>,
    /// What is the hub's.
    resources: BTreeSet<GroupResource>,
    own: Arc<dyn Committer>,
    /// One list at a time: fences hold only among those who ask for them.
    turn: Semaphore,
    fences: Mutex<HashMap<Arc<str>, Revision>>,
}

impl HubCommitter {
    pub(crate) fn new(
        client: Client,
        store: Arc<dyn Store>,
        shadows: Arc<Shadows>,
        resources: BTreeSet<GroupResource>,
        own: Arc<dyn Committer>,
    ) -> Self {
        Self {
            client,
            store,
            shadows,
            resources,
            own,
            turn: Semaphore::new(1),
            fences: Mutex::default(),
        }
    }

    /// Whether everything the decision was made on is as it was.
    fn check(&self, guards: &[Guard]) -> Result<(), CommitError> {
        for guard in guards {
            let (holds, key) = match guard {
                Guard::Unchanged { key, revision } => {
                    (self.revision(key) == Some(*revision), key.to_string())
                }
                Guard::Fence { name, not_after } => {
                    let passed = self.fences.lock().get(name).copied();
                    (passed.is_none_or(|passed| passed <= *not_after), name.to_string())
                }
            };
            if !holds {
                return Err(CommitError::Moved(Status::failure(
                    409,
                    "Conflict",
                    format!("{key} has changed since it was decided on"),
                )));
            }
        }
        Ok(())
    }

    fn revision(&self, key: &Key) -> Option<Revision> {
        let copies = self.store.cached(key.resource);
        copies
            .get(&key.namespace, &key.name)
            .map(|object| object.revision())
    }

    /// The hub's resourceVersion that `write` must be made on.
    fn version(&self, write: &Write, written: &HashMap<Key, String>) -> Result<Option<String>, CommitError> {
        if write.verb == WriteVerb::Create {
            return Ok(None);
        }
        if let Some(version) = written.get(&write.key) {
            return Ok(Some(version.clone()));
        }
        let shadow = self.shadows.get(&write.key);
        match shadow {
            Some(shadow) if write.base.is_none_or(|base| base == shadow.revision) => Ok(Some(shadow.version)),
            _ => {
                let (resource, name) = (write.key.resource, &write.key.name);
                let text = "the object has been modified; please apply your changes to the latest version and try again";
                Err(CommitError::Moved(Status::conflict(resource, name, text)))
            }
        }
    }

    /// Sends one write and gives the hub's object after it.
    async fn send(
        &self,
        actor: &str,
        write: &Write,
        version: Option<&str>,
        dry_run: bool,
    ) -> Result<Value, CommitError> {
        let mut object = write.object.clone();
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let root = if write.key.resource.group.is_empty() {
            format!("/api/{api_version}")
        } else {
            format!("/apis/{api_version}")
        };
        let mut path = root.clone();
        if !write.key.namespace.is_empty() {
            path = format!("{path}/namespaces/{}", write.key.namespace);
        }
        path = format!("{path}/{}", write.key.resource.resource);
        let query = if dry_run { "?dryRun=All" } else { "" };
        let (method, path, body) = match write.verb {
            WriteVerb::Create => (Method::POST, path, object),
            WriteVerb::Update => {
                if let Some(version) = version {
                    object["metadata"]["resourceVersion"] = json!(version);
                }
                let subresource = self.served(&root, write).await?;
                (
                    Method::PUT,
                    format!("{path}/{}{subresource}", write.key.name),
                    object,
                )
            }
            WriteVerb::Delete => {
                let options = json!({
                    "apiVersion": "v1", "kind": "DeleteOptions",
                    "preconditions": {"resourceVersion": version},
                });
                (Method::DELETE, format!("{path}/{}", write.key.name), options)
            }
        };
        self.request(method, &format!("{path}{query}"), actor, Some(&body))
            .await
    }

    /// `/<subresource>` where the hub has it. A system's own subresource is missing where its kinds are only
    /// CustomResourceDefinitions; then the object itself is written.
    async fn served(&self, root: &str, write: &Write) -> Result<String, CommitError> {
        if write.subresource.is_empty() {
            return Ok(String::new());
        }
        let wanted = format!("{}/{}", write.key.resource.resource, write.subresource);
        let list = self.request(Method::GET, root, "", None).await?;
        let mut resources = list["resources"].as_array().into_iter().flatten();
        Ok(if resources.any(|resource| resource["name"] == wanted.as_str()) {
            format!("/{}", write.subresource)
        } else {
            String::new()
        })
    }

    /// One request, as `actor` unless that is empty.
    async fn request(
        &self,
        method: Method,
        path: &str,
        actor: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommitError> {
        let internal = |problem: String| CommitError::Refused(Status::internal(problem));
        let unreachable = |problem: kube::Error| {
            let text = format!("the hub could not be reached: {}", chain(&problem));
            CommitError::Refused(Status::unavailable(text, 1))
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/json");
        if !actor.is_empty() {
            request = request.header("Impersonate-User", actor);
        }
        let bytes = match body {
            Some(value) => serde_json::to_vec(value).map_err(|problem| internal(problem.to_string()))?,
            None => Vec::new(),
        };
        let request = request
            .body(Body::from(bytes))
            .map_err(|problem| internal(problem.to_string()))?;
        let response = self.client.send(request).await.map_err(unreachable)?;
        let code = response.status();
        let bytes = response.into_body().collect_bytes().await.map_err(unreachable)?;
        if code.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|problem| internal(format!("the hub's answer is no JSON: {problem}")));
        }
        let status = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&bytes);
            Status::failure(
                code.as_u16(),
                "InternalError",
                format!("the hub answered {code}: {text}"),
            )
        });
        Err(match status.code {
            // Something was made, changed or deleted by others meanwhile.
            404 | 409 => CommitError::Moved(status),
            _ => CommitError::Refused(status),
        })
    }

    /// The object after a write: the copy, once it has come back, or what the hub answered.
    async fn result(&self, write: &Write, answer: &Value, dry_run: bool) -> Result<Arc<Object>, CommitError> {
        if !dry_run {
            let answered = answer["metadata"]["resourceVersion"].as_str();
            let stale = self
                .shadows
                .get(&write.key)
                .filter(|shadow| Some(shadow.version.as_str()) != answered);
            if stale.is_some() || write.verb == WriteVerb::Create {
                self.shadows.moved_on(&write.key, stale.as_ref(), ECHO).await;
            }
            let copies = self.store.cached(write.key.resource);
            if let Some(copy) = copies.get(&write.key.namespace, &write.key.name) {
                return Ok(Arc::clone(copy));
            }
        }
        let shown = if write.verb == WriteVerb::Delete {
            &write.object
        } else {
            answer
        };
        Object::new(shown, self.store.revision())
            .map(Arc::new)
            .map_err(|problem| CommitError::Refused(Status::internal(problem.to_string())))
    }
}

#[async_trait]
impl Committer for HubCommitter {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let is_hubs = |write: &Write| self.resources.contains(&write.key.resource);
        if !commit.writes.iter().any(is_hubs) {
            return self.own.commit(commit).await;
        }
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|problem| CommitError::Refused(Status::internal(problem.to_string())))?;
        self.carry_out(&commit).await
    }
}

impl HubCommitter {
    async fn carry_out(&self, commit: &Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        self.check(&commit.guards)?;
        let mut written: HashMap<Key, String> = HashMap::new();
        let mut answers = Vec::new();
        let mut made: BTreeSet<&Key> = BTreeSet::new();
        for write in &commit.writes {
            if commit.dry_run && made.contains(&write.key) {
                // The hub did not keep it, so it cannot be asked about the next step.
                answers.push(write.object.clone());
                continue;
            }
            if write.verb == WriteVerb::Create {
                made.insert(&write.key);
            }
            let version = self.version(write, &written)?;
            let answer = self
                .send(commit.actor, write, version.as_deref(), commit.dry_run)
                .await?;
            if let Some(version) = answer["metadata"]["resourceVersion"].as_str() {
                written.insert(write.key.clone(), version.to_owned());
            }
            answers.push(answer);
        }
        let mut objects = Vec::new();
        for (write, answer) in commit.writes.iter().zip(&answers) {
            objects.push(self.result(write, answer, commit.dry_run).await?);
        }
        if !commit.dry_run {
            let now = self.store.revision();
            let mut fences = self.fences.lock();
            for guard in &commit.guards {
                if let Guard::Fence { name, .. } = guard {
                    fences.insert(Arc::clone(name), now);
                }
            }
        }
        Ok(objects)
    }
}
