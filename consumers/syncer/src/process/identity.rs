//! The identity of the WorkloadCluster of a session. The hub addresses the view by the name of the
//! WorkloadCluster. So if the WorkloadCluster is deleted and made again, or another hub answers at this
//! address, the view is that of another registration, which mostly shows no objects at first. The objects of
//! the session have not left then.

use anyhow::{Context, Result, bail};
use berth_client::Client;
use berth_dialect_kcp::names::{VERSION, WORKLOAD_CLUSTERS};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The end of a session whose WorkloadCluster has another identifier by now.
pub(super) const REPLACED: &str = "the WorkloadCluster was replaced by another with its name";

/// The path of the WorkloadCluster `name` on the hub.
pub(super) fn path(name: &str) -> String {
    format!(
        "/apis/{}/{VERSION}/{}/{name}",
        WORKLOAD_CLUSTERS.group, WORKLOAD_CLUSTERS.resource
    )
}

/// The identifier of a WorkloadCluster, with which its copies are labelled: the uid, or the name if there is
/// no uid.
pub(super) fn identifier(cluster: &Value) -> &str {
    let text = |field: &str| {
        cluster["metadata"][field]
            .as_str()
            .filter(|text| !text.is_empty())
    };
    text("uid").or_else(|| text("name")).unwrap_or_default()
}

/// Check that the WorkloadCluster on the hub is still that of the session.
pub(super) struct IdentityCheck {
    hub: Client,
    /// The name of the WorkloadCluster.
    target: String,
    /// The identifier of the WorkloadCluster at the start of the session.
    expected: String,
    /// Start of the last request that was answered with the expected identifier.
    confirmed: Mutex<Option<Instant>>,
    /// Token that is cancelled once the WorkloadCluster has another identifier.
    replaced: CancellationToken,
}

impl IdentityCheck {
    pub(super) fn new(hub: Client, target: &str, expected: &str) -> Self {
        Self {
            hub,
            target: target.to_owned(),
            expected: expected.to_owned(),
            confirmed: Mutex::new(None),
            replaced: CancellationToken::new(),
        }
    }

    /// Token that is cancelled once a check finds that the WorkloadCluster was replaced.
    pub(super) fn replaced(&self) -> CancellationToken {
        self.replaced.clone()
    }

    /// Asks the hub whether the WorkloadCluster is still that of the session. An identifier that was replaced
    /// never returns, so everything that the view showed before the call was the view of this session.
    /// Concurrent calls share a request.
    ///
    /// # Errors
    /// When the WorkloadCluster was replaced or deleted, or the hub does not answer or refuses.
    pub(super) async fn confirm(&self) -> Result<()> {
        let called = Instant::now();
        let mut confirmed = self.confirmed.lock().await;
        // While this call waited, a request of another call began, and was answered.
        if confirmed.is_some_and(|start| start >= called) {
            return Ok(());
        }
        let start = Instant::now();
        let cluster = self
            .hub
            .get(&path(&self.target))
            .await
            .context("no copy is deleted while the WorkloadCluster cannot be read")?;
        if identifier(&cluster) != self.expected {
            self.replaced.cancel();
            bail!(REPLACED);
        }
        *confirmed = Some(start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::server;
    use super::*;

    #[tokio::test]
    async fn a_confirmation_is_as_new_as_its_call_and_concurrent_calls_share_one() {
        let (hub, requests) = server(200, &json!({"metadata": {"name": "east", "uid": "u-1"}}));
        let check = IdentityCheck::new(hub, "east", "u-1");
        for expected in 1..=2 {
            check.confirm().await.unwrap();
            assert_eq!(requests.lock().len(), expected);
        }
        let all = futures::future::join_all((0..8).map(|_| check.confirm())).await;
        assert!(all.iter().all(Result::is_ok));
        let count = requests.lock().len();
        assert!((3..=4).contains(&count), "{count}");
        assert!(!check.replaced().is_cancelled());
    }
}
