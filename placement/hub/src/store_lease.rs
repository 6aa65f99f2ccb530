//! Ownership of the store behind a hub. A Berth that stores systems' objects in its own file or memory
//! has to be the only such server behind a hub, since every replica would otherwise answer from
//! different data. A Lease on the hub names the owner.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use berth_apimachinery::Clock;
use berth_engine::controller::{LeaderElector, LeaseDurations, LeaseElector, ResourceLock};
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::lease::LeaseLock;

/// The name of the Lease.
pub const NAME: &str = "berth-store";
/// The file in the data folder with the store's identity. With this identity, a restarted server holds its
/// own Lease again at once.
const FILE: &str = "store-id";
/// Longest wait for the Lease of a server that has ended.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Pause before the next attempt to get the Lease.
const PAUSE: Duration = Duration::from_secs(1);

/// The Lease that names the only store behind a hub.
pub struct StoreLease {
    lease: LeaseElector,
    lock: Arc<LeaseLock>,
    terms: LeaseDurations,
    clock: Arc<dyn Clock>,
}

impl StoreLease {
    /// The Lease in `namespace` for the store in the folder `data`.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn new(
        client: Client,
        namespace: &str,
        data: &Path,
        terms: LeaseDurations,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let lock = Arc::new(LeaseLock::new(client, namespace, NAME));
        let identity = identity(data)?;
        let lease = LeaseElector::with_lock(Arc::clone(&lock) as Arc<dyn ResourceLock>, identity, terms);
        Ok(Self {
            lease,
            lock,
            terms,
            clock,
        })
    }

    /// Waits until this store holds the Lease.
    ///
    /// # Errors
    /// When another server holds the Lease (the message names the holder and the remedy), or when the hub
    /// refuses or cannot be reached.
    pub async fn begin(&self) -> Result<()> {
        let start = tokio::time::Instant::now();
        loop {
            let hold = self.lease.hold(self.clock.now()).await;
            if hold
                .context("holding the Lease of Berth's own store")?
                .until
                .is_some()
            {
                return Ok(());
            }
            if start.elapsed() > MAX_WAIT {
                bail!("{}", self.refusal().await);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Renews the Lease until the task is dropped; cancels `end` when another store has taken over
    /// meanwhile.
    pub async fn keep(self, end: CancellationToken) {
        loop {
            tokio::time::sleep(self.terms.retry()).await;
            match self.lease.hold(self.clock.now()).await {
                Ok(held) if held.until.is_none() => {
                    // Another client may have written the same record in between. The Lease is lost only to
                    // another holder.
                    if self.holder().await.is_some() {
                        tracing::error!("{}", self.refusal().await);
                        end.cancel();
                        return;
                    }
                }
                Ok(_) => {}
                // A server that lost the Lease while it could not reach the hub learns of it at the hub's
                // next answer.
                Err(problem) => tracing::debug!(%problem, "the Lease of Berth's own store is not renewed"),
            }
        }
    }

    /// The holder of the Lease, if another server holds it.
    async fn holder(&self) -> Option<String> {
        let record = self.lock.read().await.ok()??;
        let holder = record.holder();
        (!holder.is_empty() && !self.lease.is_mine(&record)).then(|| holder.to_owned())
    }

    async fn refusal(&self) -> String {
        let (namespace, name) = self.lock.place();
        let holder = self.holder().await.unwrap_or_else(|| "somebody".to_owned());
        format!(
            "another Berth keeps objects in a store of its own behind this hub (the Lease {namespace}/{name} is held by \
             {holder:?}): several replicas need one store for all, --storage etcd, or have every system's objects on \
             the hub, --source=<system>=hub"
        )
    }
}

/// The identity of the store in the folder `data`. The first start creates it.
fn identity(data: &Path) -> Result<String> {
    let file = data.join(FILE);
    if let Ok(text) = std::fs::read_to_string(&file)
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "berth".to_owned());
    let identity = format!("{host}_{}", uuid::Uuid::new_v4());
    std::fs::write(&file, &identity).with_context(|| format!("writing {}", file.display()))?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_its_identity() {
        let folder = tempfile::tempdir().unwrap();
        let first = identity(folder.path()).unwrap();
        assert_eq!(identity(folder.path()).unwrap(), first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(identity(other.path()).unwrap(), first);
    }
}
