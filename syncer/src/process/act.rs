//! One step, made: a request or two, and what came of it.
//!
//! Every write carries what it was decided on (resourceVersion, uid), so that one decided on an old picture is refused
//! and decided again.

use anyhow::{Result, anyhow, bail};
use berth_client::{Answer, Client};
use dialect_kcp::syncer_view::copy::{SYNCED, brought_up_to_date, owner};
use dialect_kcp::syncer_view::step::Step;
use http::Method;
use meta::Status;
use serde_json::{Value, json};

use super::kinds::SyncedKind;
use super::world::{Key, Plan};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// The connections that steps are made on.
pub(super) struct Hands {
    /// The identifier of the cluster.
    pub(super) identifier: String,
    /// What the hub shows the syncer.
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
                if self.is_gone(&below).await? {
                    self.set_finalizers(&above, &object).await
                } else {
                    bail!("the copy is still there, although it was not seen")
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
                    Err(status) if status.reason == "AlreadyExists" => self.take_over(&below, &object).await,
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

    /// Whether nothing of ours is at `path` downstream: what was seen may be older than what was made.
    async fn is_gone(&self, path: &str) -> Result<bool> {
        match self.cluster.send(Method::GET, path, None).await? {
            Ok(object) => Ok(owner(&object) != Some(&self.identifier)),
            Err(status) if status.code == 404 => Ok(true),
            Err(status) => Err(refused(&status)),
        }
    }

    /// Makes what is at `path` already, and nobody else's, the copy that was to be made there.
    async fn take_over(&self, path: &str, copy: &Value) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) if owner == self.identifier => Ok(()),
            Some(other) => bail!("{path} was put there for another workload cluster ({other})"),
            // A namespace with a copy's record would be none: what is in it is nobody's business here.
            None if copy["metadata"]["annotations"].get(SYNCED).is_none() => {
                bail!("{path} is on the cluster already and was not made for this workload cluster")
            }
            None => match brought_up_to_date(copy, &found) {
                Some(next) => done(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?),
                None => Ok(()),
            },
        }
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) if status.code == 404 => return Ok(()),
            Err(status) => return Err(refused(&status)),
        };
        if owner(&found) != Some(&self.identifier) {
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
