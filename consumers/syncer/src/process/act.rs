//! Execution of one step: its requests, and their outcome.
//!
//! Every write of an existing object has the uid of the object on which it was decided, and every update
//! also its resourceVersion. An update that was decided on an old state is refused, and decided again.

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::{Status, StatusReason};
use berth_client::{Answer, Client};
use berth_dialect_kcp::syncer_view::copy::{Record, brought_up_to_date, is_another, owner};
use berth_dialect_kcp::syncer_view::located;
use berth_dialect_kcp::syncer_view::registration::{Claim, Owner};
use berth_dialect_kcp::syncer_view::step::Step;
use http::Method;
use serde_json::{Value, json};

use super::kinds::SyncedKind;
use super::mirrors::{Key, NAMESPACES, Plan};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Executor of steps: the owner of the copies, and the connections.
pub(super) struct Hands {
    /// Owner of the created copies.
    pub(super) of: Owner,
    /// Client of the view that the hub shows the syncer.
    pub(super) view: Client,
    /// Client of the workload cluster.
    pub(super) cluster: Client,
}

impl Hands {
    /// Carries out `plan` for `key`, an object of `kind`. The watches of both sides show the effect.
    ///
    /// # Errors
    /// When a write was refused, a server did not answer, the step is blocked, or a copy still exists that
    /// should be gone. The key then has to be planned again.
    pub(super) async fn make(&self, kind: &SyncedKind, key: &Key, plan: Plan) -> Result<()> {
        let Plan { step, down } = plan;
        let upstream_path = format!("{}/{}", kind.collection(&key.namespace), key.name);
        let downstream_path = format!("{}/{}", kind.collection(&down.0), down.1);
        match step {
            Step::Rest | Step::Wait(_) => Ok(()),
            Step::Blocked(why) => bail!(why),
            Step::Hold(object) => self.set_finalizers(&upstream_path, &object).await,
            Step::Release(object) => {
                if self.is_gone(key, &downstream_path).await? {
                    self.set_finalizers(&upstream_path, &object).await
                } else {
                    bail!("the copy still exists, although the watch does not show it")
                }
            }
            Step::Report(object) => {
                let path = format!("{upstream_path}/status");
                check_answer(self.view.send(Method::PUT, &path, Some((JSON, &object))).await?)
            }
            Step::Create(object) => {
                let answer = self
                    .cluster
                    .send(Method::POST, &kind.collection(&down.0), Some((JSON, &object)))
                    .await?;
                match answer {
                    Err(status) if status.is(StatusReason::AlreadyExists) => {
                        self.take_over(key, &downstream_path, &object).await
                    }
                    answer => check_answer(answer),
                }
            }
            Step::Update(object) => check_answer(
                self.cluster
                    .send(Method::PUT, &downstream_path, Some((JSON, &object)))
                    .await?,
            ),
            Step::Delete => self.delete(&downstream_path).await,
        }
    }

    /// Writes only the finalizers of `object`.
    async fn set_finalizers(&self, path: &str, object: &Value) -> Result<()> {
        let metadata = &object["metadata"];
        let finalizers = metadata.get("finalizers").cloned().unwrap_or_else(|| json!([]));
        let patch = json!({"metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "uid": metadata["uid"],
            "finalizers": finalizers,
        }});
        check_answer(self.view.send(Method::PATCH, path, Some((MERGE, &patch))).await?)
    }

    /// Whether there is no object of this syncer at `path` downstream. The cluster is read, since the last
    /// observation may be older than the last write. An object of this syncer without its mark gets the mark
    /// back, so that the watch shows the object and it is removed.
    async fn is_gone(&self, key: &Key, path: &str) -> Result<bool> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) if status.code == 404 => return Ok(true),
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) => Ok(owner != self.of.identifier),
            None if self.was_ours(key, &found) => {
                self.mark(path, &found).await?;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Whether an unmarked downstream object is the copy of `key`: a namespace has its locator, other objects
    /// have their record.
    fn was_ours(&self, key: &Key, found: &Value) -> bool {
        if key.kind == NAMESPACES {
            located(&self.of.logical_cluster, found).as_ref() == Some(&key.name)
        } else {
            Record::of(found).name == key.name
        }
    }

    /// Puts the mark back on the object at `path`.
    async fn mark(&self, path: &str, found: &Value) -> Result<()> {
        let next = self.of.marked(found);
        check_answer(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?)
    }

    /// Takes over the existing object at `path` as the copy, unless it belongs to another workload cluster,
    /// or is a namespace that this syncer does not manage.
    async fn take_over(&self, key: &Key, path: &str, copy: &Value) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) if owner == self.of.identifier => return Ok(()),
            Some(other) if self.is_earlier(key, &found) => {
                tracing::info!(path, other, "takes over a copy of an earlier registration");
                // If the new copy cannot replace the old one by an update, the old copy has to be deleted
                // first.
                if is_another(copy, &found) {
                    return self.mark(path, &found).await;
                }
            }
            Some(other) => bail!(
                "{path} belongs to another workload cluster ({other}); if that was an earlier registration of this one, \
                 berth syncer --adopt {other} takes it over"
            ),
            // A namespace that never belonged to this syncer is left unchanged.
            None if key.kind == NAMESPACES && !self.was_ours(key, &found) => {
                bail!("{path} already exists and is not managed by this syncer")
            }
            None => {}
        }
        match brought_up_to_date(copy, &found) {
            Some(next) => check_answer(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?),
            None => Ok(()),
        }
    }

    /// Whether a downstream object is from an earlier registration. For an object in a namespace, the
    /// namespace decides: the namespace belongs to this syncer by now, and only this syncer creates
    /// objects there.
    fn is_earlier(&self, key: &Key, found: &Value) -> bool {
        match key.kind {
            NAMESPACES => self.of.claim(found) == Claim::Earlier,
            _ => self.was_ours(key, found),
        }
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) if status.code == 404 => return Ok(()),
            Err(status) => return Err(refused(&status)),
        };
        if owner(&found) != Some(&self.of.identifier) {
            return Ok(());
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": found["metadata"]["uid"]},
        });
        match self
            .cluster
            .send(Method::DELETE, path, Some((JSON, &options)))
            .await?
        {
            Err(status) if status.code != 404 => Err(refused(&status)),
            _ => Ok(()),
        }
    }
}

fn check_answer(answer: Answer) -> Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(status) => Err(refused(&status)),
    }
}

fn refused(status: &Status) -> anyhow::Error {
    anyhow!("{} ({} {})", status.message, status.code, status.reason)
}
