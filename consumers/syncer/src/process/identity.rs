//! The identity of the WorkloadCluster of a session. The hub addresses the view by the name of the
//! WorkloadCluster. So if the WorkloadCluster is deleted and made again, or another hub answers at this
//! address, the view is that of another registration, which mostly shows no objects at first. The objects of
//! the session have not left then.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use berth_client::Client;
use berth_dialect_kcp::names::{VERSION, WORKLOAD_CLUSTERS};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The end of a session whose WorkloadCluster has another identifier by now.
pub(super) const REPLACED: &str = "the WorkloadCluster was replaced by another with its name";

/// Longest time for which a check waits for the hub.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for which a failed check is the answer to further calls, so that many deletions do not wait for the
/// hub one after the other.
const FAILURE_SHARED: Duration = Duration::from_secs(1);

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

/// The last check.
enum LastCheck {
    /// The hub answered with the expected identifier to a request that began at this time.
    Confirmed(Instant),
    /// The check ended at this time with this problem.
    Failed(Instant, String),
}

impl LastCheck {
    /// The answer of this check to a call at the time `called`; `None` if the call needs another check.
    fn answer(&self, called: Instant) -> Option<Result<()>> {
        match self {
            Self::Confirmed(start) => (*start >= called).then_some(Ok(())),
            Self::Failed(end, problem) => {
                (*end + FAILURE_SHARED >= called).then(|| Err(anyhow!("{problem}")))
            }
        }
    }
}

/// Check that the WorkloadCluster on the hub is still that of the session.
pub(super) struct IdentityCheck {
    hub: Client,
    /// The name of the WorkloadCluster.
    target: String,
    /// The identifier of the WorkloadCluster at the start of the session.
    expected: String,
    /// The last check. It is locked during a check.
    last: Mutex<Option<LastCheck>>,
    /// Token that is cancelled once the WorkloadCluster has another identifier.
    replaced: CancellationToken,
}

impl IdentityCheck {
    pub(super) fn new(hub: Client, target: &str, expected: &str) -> Self {
        Self {
            hub,
            target: target.to_owned(),
            expected: expected.to_owned(),
            last: Mutex::new(None),
            replaced: CancellationToken::new(),
        }
    }

    /// Token that is cancelled once a check finds that the WorkloadCluster was replaced.
    pub(super) fn replaced(&self) -> CancellationToken {
        self.replaced.clone()
    }

    /// Asks the hub whether the WorkloadCluster is still that of the session. An identifier that was replaced
    /// never returns, so everything that the view showed before the call was the view of this session.
    /// Concurrent calls share a request, and calls soon after a failure share the failure.
    ///
    /// # Errors
    /// When the WorkloadCluster was replaced or deleted, or the hub does not answer or refuses.
    pub(super) async fn confirm(&self) -> Result<()> {
        let called = Instant::now();
        let mut last = self.last.lock().await;
        // While this call waited, a request of another call may have begun, and was answered.
        if let Some(answer) = last.as_ref().and_then(|check| check.answer(called)) {
            return answer;
        }
        let start = Instant::now();
        let outcome = self.ask().await;
        *last = Some(match &outcome {
            Ok(()) => LastCheck::Confirmed(start),
            Err(problem) => LastCheck::Failed(Instant::now(), format!("{problem:#}")),
        });
        outcome
    }

    /// Asks the hub for the identifier of the WorkloadCluster, and compares it.
    async fn ask(&self) -> Result<()> {
        let path = path(&self.target);
        let cluster = tokio::time::timeout(TIMEOUT, self.hub.get(&path))
            .await
            .map_err(|_| anyhow!("the hub does not answer within {} s", TIMEOUT.as_secs()))
            .and_then(|answer| answer.map_err(anyhow::Error::from))
            .context("no copy is deleted or overwritten while the WorkloadCluster cannot be read")?;
        if identifier(&cluster) != self.expected {
            self.replaced.cancel();
            bail!(REPLACED);
        }
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

    #[tokio::test]
    async fn concurrent_calls_share_a_failure_and_a_later_call_asks_again() {
        let (hub, requests) = server(403, &json!({}));
        let check = IdentityCheck::new(hub, "east", "u-1");
        let all = futures::future::join_all((0..8).map(|_| check.confirm())).await;
        assert!(all.iter().all(Result::is_err));
        assert_eq!(requests.lock().len(), 1);
        let deadline = Instant::now() + Duration::from_secs(30);
        while requests.lock().len() < 2 {
            assert!(Instant::now() < deadline, "the failure stays");
            check.confirm().await.unwrap_err();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
