//! One step, made: a request or two, and what came of it.
//!
//! Every write carries what it was decided on (resourceVersion, uid), so that one decided on an old state is
//! refused and decided again.

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

/// The connections that steps are made on.
pub(super) struct Hands {
    /// Owner of the copies that are made.
    pub(super) of: Owner,
    /// Client of the view that the hub shows the syncer.
    pub(super) view: Client,
    /// The workload cluster.
    pub(super) cluster: Client,
}

impl Hands {
    /// Makes `plan` about `key`, which is of `kind`. What it leads to is seen by who follows both sides.
    ///
    /// # Errors
    /// When it was refused or nobody answered; it is to be planned again then.
    pub(super) async fn make(&self, kind: &SyncedKind, key: &Key, plan: Plan) -> Result<()> {
        let Plan { step, down } = plan;
        let above = format!("{}/{}", kind.collection(&key.namespace), key.name);
        let below = format!("{}/{}", kind.collection(&down.0), down.1);
        match step {
            Step::Rest | Step::Wait(_) => Ok(()),
            Step::Blocked(why) => bail!(why),
            Step::Hold(object) => self.set_finalizers(&above, &object).await,
            Step::Release(object) => {
                if self.is_gone(key, &below).await? {
                    self.set_finalizers(&above, &object).await
                } else {
                    bail!("the copy still exists, although the watch does not show it")
                }
            }
            Step::Report(object) => {
                let path = format!("{above}/status");
                done(self.view.send(Method::PUT, &path, Some((JSON, &object))).await?)
            }
            Step::Create(object) => {
                let made = self
                    .cluster
                    .send(Method::POST, &kind.collection(&down.0), Some((JSON, &object)))
                    .await?;
                match made {
                    Err(status) if status.is(StatusReason::AlreadyExists) => {
                        self.take_over(key, &below, &object).await
                    }
                    made => done(made),
                }
            }
            Step::Update(object) => done(
                self.cluster
                    .send(Method::PUT, &below, Some((JSON, &object)))
                    .await?,
            ),
            Step::Delete => self.delete(&below).await,
        }
    }

    /// Writes the finalizers of `object`, and nothing else.
    async fn set_finalizers(&self, path: &str, object: &Value) -> Result<()> {
        let metadata = &object["metadata"];
        let finalizers = metadata.get("finalizers").cloned().unwrap_or_else(|| json!([]));
        let patch = json!({"metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "uid": metadata["uid"],
            "finalizers": finalizers,
        }});
        done(self.view.send(Method::PATCH, path, Some((MERGE, &patch))).await?)
    }

    /// Whether nothing of ours is at `path` downstream: what was seen may be older than what was made. What
    /// lost its mark gets it back, so that it is seen and goes its way.
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

    /// Whether what stands below without a mark is the copy of `key`: a namespace has its locator, all else
    /// its record.
    fn was_ours(&self, key: &Key, found: &Value) -> bool {
        if key.kind == NAMESPACES {
            located(&self.of.logical_cluster, found).as_ref() == Some(&key.name)
        } else {
            Record::of(found).name == key.name
        }
    }

    /// Puts the mark back on what is at `path`.
    async fn mark(&self, path: &str, found: &Value) -> Result<()> {
        let next = self.of.marked(found);
        done(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?)
    }

    /// Makes what is at `path` already, and nobody else's, the copy that was to be made there.
    async fn take_over(&self, key: &Key, path: &str, copy: &Value) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) if owner == self.of.identifier => return Ok(()),
            Some(other) if self.is_earlier(key, &found) => {
                tracing::info!(path, other, "takes over a copy of an earlier registration");
                // It has to go first, as the copy that it is.
                if is_another(copy, &found) {
                    return self.mark(path, &found).await;
                }
            }
            Some(other) => bail!(
                "{path} belongs to another workload cluster ({other}); if that was an earlier registration of this one, \
                 berth syncer --adopt {other} takes it over"
            ),
            // What is in a namespace that was never ours is nobody's business here.
            None if key.kind == NAMESPACES && !self.was_ours(key, &found) => {
                bail!("{path} already exists and is not managed by this syncer")
            }
            None => {}
        }
        match brought_up_to_date(copy, &found) {
            Some(next) => done(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?),
            None => Ok(()),
        }
    }

    /// Whether what stands below was made by an earlier registration. Of what is in a namespace, that
    /// namespace tells: it is ours by now, and nobody else makes anything there.
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

fn done(answer: Answer) -> Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(status) => Err(refused(&status)),
    }
}

fn refused(status: &Status) -> anyhow::Error {
    anyhow!("{} ({} {})", status.message, status.code, status.reason)
}
