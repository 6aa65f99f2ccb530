//! Heartbeats of the demo's clusters. No agents run in the demo, and schedulers refuse members and workload
//! clusters whose last heartbeat is too old.

use std::time::Duration;

use anyhow::Result;
use berth_apimachinery::{Clock, Timestamp, time};
use berth_apiserver::SystemClock;
use berth_client::Client;
use http::Method;
use serde_json::{Value, json};

use super::examples;

/// Interval between heartbeats: less than half of the shortest age at which a system regards a heartbeat as
/// too old (kcp: one minute).
const INTERVAL: Duration = Duration::from_secs(20);
/// Highest age of a heartbeat in the examples with which a cluster counts as live. Older heartbeats are not
/// renewed, so that the examples also have dead clusters.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Field of a cluster with the time of the last heartbeat.
pub(super) struct Heartbeat {
    /// Path of the subresource `status` of the cluster.
    path: String,
    /// The field, as a JSON pointer.
    field: &'static str,
}

/// Sends `heartbeats` at each interval until the task is aborted.
pub(super) async fn send(client: Client, heartbeats: Vec<Heartbeat>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        ticks.tick().await;
        let now = time::rfc3339(SystemClock.now());
        for heartbeat in &heartbeats {
            let patch = json!([{"op": "replace", "path": heartbeat.field, "value": now}]);
            let body = Some(("application/json-patch+json", &patch));
            let path = &heartbeat.path;
            // Failures are only logged: the user may have deleted the demo's clusters, or the server may be
            // ending.
            match client.send(Method::PATCH, path, body).await {
                Ok(Ok(_)) => {}
                Ok(Err(status)) => tracing::debug!(path, status.message, "a heartbeat was refused"),
                Err(error) => tracing::debug!(path, %error, "a heartbeat was not sent"),
            }
        }
    }
}

/// The heartbeats of the clusters in the examples that are live at `now`.
///
/// # Errors
/// When an example cannot be read.
pub(super) fn of_live_clusters(now: Timestamp) -> Result<Vec<Heartbeat>> {
    let mut list = Vec::new();
    for (file, kind, resource, field) in [
        (
            "fleet/fleet.yaml",
            "MemberCluster",
            "cluster.kubernetes-fleet.io/v1beta1/memberclusters",
            "/status/agentStatus/0/lastReceivedHeartbeat",
        ),
        (
            "kcp/fleet.yaml",
            "WorkloadCluster",
            "workloads.kcp.dev/v1alpha1/workloadclusters",
            "/status/lastSyncerHeartbeatTime",
        ),
    ] {
        let documents = examples::read(file, now)?;
        let live = documents
            .iter()
            .filter(|document| document.kind() == kind && is_live(&document.object, field, now));
        list.extend(live.map(|document| Heartbeat {
            path: format!("/apis/{resource}/{}/status", document.name()),
            field,
        }));
    }
    Ok(list)
}

fn is_live(object: &Value, field: &str, now: Timestamp) -> bool {
    let last = object
        .pointer(field)
        .and_then(Value::as_str)
        .and_then(time::parse);
    last.is_some_and(|last| now.duration_since(last).unsigned_abs() <= MAX_AGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_clusters_stay_silent() {
        let heartbeats = of_live_clusters(time::parse("2031-10-28T09:00:00Z").unwrap()).unwrap();
        let sent = |name: &str| {
            heartbeats
                .iter()
                .any(|beat| beat.path.ends_with(&format!("/{name}/status")))
        };
        assert!(sent("member-eu-1") && sent("us-1"));
        assert!(!sent("member-asia-1"));
    }
}
