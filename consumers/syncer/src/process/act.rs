//! Execution of one step of the syncer by requests to the hub or to the workload cluster.
//!
//! Every write of an existing object has the uid of the object that the write was computed from, and every
//! update also the resourceVersion. So an update that was computed from an old state is refused, and computed
//! again.

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::{Status, StatusReason};
use berth_client::{Answer, Client};
use berth_dialect_kcp::syncer_view::copy::{Record, brought_up_to_date, must_recreate, owner};
use berth_dialect_kcp::syncer_view::form::ClusterForm;
use berth_dialect_kcp::syncer_view::located;
use berth_dialect_kcp::syncer_view::registration::{Claim, Owner};
use berth_dialect_kcp::syncer_view::step::Step;
use http::Method;
use serde_json::{Value, json};

use super::identity::IdentityCheck;
use super::kinds::SyncedKind;
use super::mirrors::{Key, NAMESPACES, Plan};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Executor of the steps of one syncer.
pub(super) struct StepExecutor {
    /// Owner of the copies that the syncer creates.
    pub(super) owner: Owner,
    /// Check of the owner's identifier before deletions, and after lists of the view.
    pub(super) identity: IdentityCheck,
    /// Client of the view that the hub shows the syncer.
    pub(super) view: Client,
    /// Client of the workload cluster.
    pub(super) cluster: Client,
}

/// A write of a copy downstream.
#[derive(Debug)]
pub(super) struct CopyWrite {
    /// Whether the cluster stored anything. An update without an effect leaves the resourceVersion.
    pub(super) is_effective: bool,
    /// The form in which the cluster stores the copy, if it is not that of the copy.
    pub(super) form: Option<ClusterForm>,
}

impl CopyWrite {
    /// The write of `written`, to which the cluster answered with `stored`.
    fn new(written: &Value, stored: &Value) -> Self {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        Self {
            is_effective: version(written) != version(stored),
            form: ClusterForm::of(written, stored),
        }
    }
}

impl StepExecutor {
    /// Executes `plan` for the object `key` of `kind`. The watches of both sides show the effect. Returns the
    /// write of the copy, if there was one.
    ///
    /// # Errors
    /// When a write was refused, a server did not answer, the step is blocked, or the copy of a released
    /// object still exists. The step has to be computed again then.
    pub(super) async fn execute(
        &self,
        kind: &SyncedKind,
        key: &Key,
        plan: Plan,
    ) -> Result<Option<CopyWrite>> {
        let Plan { step, down } = plan;
        let upstream_path = format!("{}/{}", kind.collection(&key.namespace), key.name);
        let downstream_path = format!("{}/{}", kind.collection(&down.0), down.1);
        match step {
            Step::Rest | Step::Wait(_) => {}
            Step::Blocked(why) => bail!(why),
            Step::Hold(object) => self.set_finalizers(&upstream_path, &object).await?,
            Step::Release(object) => {
                if !self.is_gone(key, &downstream_path).await? {
                    bail!(
                        "the copy {downstream_path} still exists, although the watch does not show it: the syncer deletes it \
                         once the watch shows it; if this message stays, delete the copy on the workload cluster"
                    )
                }
                self.set_finalizers(&upstream_path, &object).await?;
            }
            Step::Report(object) => {
                let path = format!("{upstream_path}/status");
                check_answer(self.view.send(Method::PUT, &path, Some((JSON, &object))).await?)?;
            }
            Step::Create(object) => {
                let answer = self
                    .cluster
                    .send(Method::POST, &kind.collection(&down.0), Some((JSON, &object)))
                    .await?;
                return match answer {
                    Ok(stored) => Ok(Some(CopyWrite::new(&object, &stored))),
                    Err(status) if status.is(StatusReason::AlreadyExists) => {
                        self.take_over(key, &downstream_path, &object).await
                    }
                    Err(status) => Err(refused(&status)),
                };
            }
            Step::Update(object) => return self.update(&downstream_path, &object).await.map(Some),
            Step::Delete => self.delete(&downstream_path).await?,
        }
        Ok(None)
    }

    /// Updates the downstream object at `path` to `object`.
    async fn update(&self, path: &str, object: &Value) -> Result<CopyWrite> {
        match self.cluster.send(Method::PUT, path, Some((JSON, object))).await? {
            Ok(stored) => Ok(CopyWrite::new(object, &stored)),
            Err(status) => Err(refused(&status)),
        }
    }

    /// Writes only the finalizers of `object` to the object at `path` upstream.
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

    /// Whether there is no object of this syncer at `path` downstream. The cluster is read, since the watch
    /// may be behind the last write. A copy of this syncer that has lost its mark is marked again, so that
    /// the watch shows the copy, and the syncer deletes it.
    async fn is_gone(&self, key: &Key, path: &str) -> Result<bool> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) if status.code == 404 => return Ok(true),
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) => Ok(owner != self.owner.identifier),
            None if self.was_ours(key, &found) => {
                self.mark(path, &found).await?;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Whether the unmarked downstream object `found` is the copy of `key`: for a namespace according to its
    /// locator, for any other object according to its record.
    fn was_ours(&self, key: &Key, found: &Value) -> bool {
        if key.kind == NAMESPACES {
            located(&self.owner.logical_cluster, found).as_ref() == Some(&key.name)
        } else {
            Record::of(found).name == key.name
        }
    }

    /// Marks the downstream object at `path` as a copy of this syncer.
    async fn mark(&self, path: &str, found: &Value) -> Result<()> {
        let next = self.owner.marked(found);
        check_answer(self.cluster.send(Method::PUT, path, Some((JSON, &next))).await?)
    }

    /// Takes over the existing object at `path` as the copy, unless it belongs to another workload cluster,
    /// or is a namespace that this syncer does not manage. Returns the write of the copy, if there was one.
    async fn take_over(&self, key: &Key, path: &str, copy: &Value) -> Result<Option<CopyWrite>> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) => return Err(refused(&status)),
        };
        match owner(&found) {
            Some(owner) if owner == self.owner.identifier => return Ok(None),
            Some(other) if self.is_earlier(key, &found) => {
                tracing::info!(path, other, "takes over a copy of an earlier registration");
                // If the new copy cannot replace the old one by an update, the old copy has to be deleted
                // first.
                if must_recreate(copy, &found) {
                    self.mark(path, &found).await?;
                    return Ok(None);
                }
            }
            Some(other) => bail!(
                "{path} belongs to another workload cluster ({other}); if that was an earlier registration of this one, \
                 berth syncer --adopt {other} takes the object over"
            ),
            // A namespace that never belonged to this syncer is left unchanged.
            None if key.kind == NAMESPACES && !self.was_ours(key, &found) => {
                bail!(
                    "{path} already exists and is not managed by this syncer: if nothing else uses this namespace, delete it on \
                     the workload cluster, and the syncer creates its own"
                )
            }
            None => {}
        }
        match brought_up_to_date(copy, &found) {
            Some(next) => self.update(path, &next).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether the downstream object `found` is a copy of `key` from an earlier registration of this workload
    /// cluster. Of objects in namespaces only the record is checked: their namespace belongs to this syncer
    /// by now, and only this syncer creates objects there.
    fn is_earlier(&self, key: &Key, found: &Value) -> bool {
        match key.kind {
            NAMESPACES => self.owner.claim(found) == Claim::Earlier,
            _ => self.was_ours(key, found),
        }
    }

    /// Deletes the downstream object at `path` if it is a copy of this syncer, and the hub still has the
    /// WorkloadCluster for which it was made: the copies of an earlier registration are taken over, even if
    /// the view of the new registration does not show their objects yet.
    async fn delete(&self, path: &str) -> Result<()> {
        let found = match self.cluster.send(Method::GET, path, None).await? {
            Ok(found) => found,
            Err(status) if status.code == 404 => return Ok(()),
            Err(status) => return Err(refused(&status)),
        };
        if owner(&found) != Some(&self.owner.identifier) {
            return Ok(());
        }
        self.identity.confirm().await?;
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

#[cfg(test)]
mod tests {
    use berth_dialect_kcp::names::DOWNSTREAM_CLUSTER;

    use super::super::testing::{config_maps, key, owner_of_copies, server};
    use super::*;

    fn executor(hub: Client, cluster: Client) -> StepExecutor {
        StepExecutor {
            owner: owner_of_copies(),
            identity: IdentityCheck::new(hub.clone(), "east", "u-1"),
            view: hub,
            cluster,
        }
    }

    fn plan(step: Step) -> Plan {
        Plan {
            step,
            down: ("kcp1".to_owned(), "a".to_owned()),
        }
    }

    #[tokio::test]
    async fn an_update_that_changes_nothing_tells_the_form_of_the_cluster_and_has_no_effect() {
        let written = json!({"metadata": {"name": "a", "resourceVersion": "3"}, "spec": {"cpu": 0.5}});
        for (version, cpu, is_effective, is_other_form) in [
            ("3", json!("500m"), false, true),
            ("4", json!("500m"), true, true),
            ("4", json!(0.5), true, false),
        ] {
            let stored = json!({"metadata": {"name": "a", "resourceVersion": version}, "spec": {"cpu": cpu}});
            let (hub, _) = server(200, &json!({}));
            let (cluster, _) = server(200, &stored);
            let outcome = executor(hub, cluster)
                .execute(&config_maps(), &key(), plan(Step::Update(written.clone())))
                .await;
            let write = outcome.unwrap().expect("a write");
            assert_eq!(write.is_effective, is_effective, "{stored}");
            assert_eq!(write.form.is_some(), is_other_form, "{stored}");
        }
    }

    #[tokio::test]
    async fn a_copy_is_deleted_only_for_the_workload_cluster_for_which_it_was_made() {
        let copy = json!({"metadata": {"name": "a", "uid": "d", "labels": {DOWNSTREAM_CLUSTER: "u-1"}}});
        for (code, uid, is_deleted, is_replaced) in [
            (200, "u-1", true, false),
            (200, "u-2", false, true),
            (404, "", false, false),
        ] {
            let (hub, _) = server(code, &json!({"metadata": {"name": "east", "uid": uid}}));
            let (cluster, methods) = server(200, &copy);
            let executor = executor(hub, cluster);
            let outcome = executor.execute(&config_maps(), &key(), plan(Step::Delete)).await;
            assert_eq!(outcome.is_ok(), is_deleted, "{code} {uid}");
            assert_eq!(
                methods.lock().contains(&Method::DELETE),
                is_deleted,
                "{code} {uid}"
            );
            assert_eq!(
                executor.identity.replaced().is_cancelled(),
                is_replaced,
                "{code} {uid}"
            );
        }
    }
}
