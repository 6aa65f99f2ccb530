//! Heartbeats: the hub passes a workload cluster over when its syncer has been silent for too long.

use std::time::Duration;

use apiserver::SystemClock;
use berth_client::Client;
use dialect_kcp::names::{VERSION, WORKLOAD_CLUSTERS};
use http::Method;
use meta::{Clock, time};
use serde_json::{Value, json};

/// How long to wait after one that did not arrive.
const RETRY: Duration = Duration::from_secs(1);

/// The path of the WorkloadCluster `name` on the hub.
pub(super) fn path(name: &str) -> String {
    format!(
        "/apis/{}/{VERSION}/{}/{name}",
        WORKLOAD_CLUSTERS.group, WORKLOAD_CLUSTERS.resource
    )
}

/// The uid of a WorkloadCluster, or its name where it has none: what its objects are labelled with.
pub(super) fn identifier(cluster: &Value) -> &str {
    let text = |field: &str| {
        cluster["metadata"][field]
            .as_str()
            .filter(|text| !text.is_empty())
    };
    text("uid").or_else(|| text("name")).unwrap_or_default()
}

/// Says every `interval` that the syncer of `target` is alive and syncs `resources`. Ends when the WorkloadCluster is
/// another one than that of `expected`.
pub(super) async fn beat(
    hub: &Client,
    target: &str,
    expected: &str,
    resources: &[String],
    interval: Duration,
) {
    let path = format!("{}/status", path(target));
    let mut silent = false;
    loop {
        let status = json!({
            "lastSyncerHeartbeatTime": time::rfc3339(SystemClock.now()),
            "syncedResources": resources,
        });
        let patch = json!({"status": status});
        let body = Some(("application/merge-patch+json", &patch));
        let problem = match hub.send(Method::PATCH, &path, body).await {
            Ok(Ok(cluster)) if identifier(&cluster) != expected => return,
            Ok(Ok(_)) => None,
            Ok(Err(status)) => Some(status.message.clone()),
            Err(problem) => Some(format!("{problem:#}")),
        };
        if let Some(problem) = problem.as_ref().filter(|_| !silent) {
            tracing::warn!(cluster = target, problem, "the heartbeat did not arrive");
        }
        silent = problem.is_some();
        tokio::time::sleep(if silent { RETRY } else { interval }).await;
    }
}
