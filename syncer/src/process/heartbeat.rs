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
/// How long the workload cluster may take to answer, at most.
const PATIENCE: Duration = Duration::from_secs(10);
/// The condition about the syncer and its cluster.
const SYNCER_READY: &str = "SyncerReady";
/// Its reason while the cluster does not answer.
const UNREACHABLE: &str = "ClusterUnreachable";

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

/// The sender of heartbeats.
pub(super) struct Heart<'a> {
    /// The hub.
    pub(super) hub: &'a Client,
    /// The workload cluster.
    pub(super) cluster: &'a Client,
    /// The name of the WorkloadCluster.
    pub(super) target: &'a str,
    /// Its identifier.
    pub(super) expected: &'a str,
    /// What is synced.
    pub(super) resources: &'a [String],
}

/// What came of a request about the WorkloadCluster.
enum Told {
    Arrived(Value),
    /// It is another one than it was.
    Replaced,
    Lost(String),
}

impl Heart<'_> {
    /// Says every `interval` that the syncer is alive, as long as the workload cluster answers it: work would only seem to
    /// be done there. While it does not, the condition SyncerReady says so, and the hub hears of no heartbeat. Ends when
    /// the WorkloadCluster is another one.
    pub(super) async fn beat(&self, interval: Duration) {
        let mut last: Option<String> = None;
        loop {
            let below = self.below(interval).await;
            let told = match &below {
                Ok(()) => self.alive().await,
                Err(problem) => self.say(&Said::unreachable(problem)).await,
            };
            let problem = match (told, below) {
                (Told::Replaced, _) => return,
                (Told::Lost(problem), _) => Some(format!("the heartbeat did not arrive: {problem}")),
                (Told::Arrived(_), Err(problem)) => Some(format!("the cluster does not answer: {problem}")),
                (Told::Arrived(_), Ok(())) => None,
            };
            // One line for each kind of problem: it may last.
            if let Some(problem) = problem.as_ref().filter(|problem| last.as_ref() != Some(problem)) {
                tracing::warn!(
                    cluster = self.target,
                    problem,
                    "cannot send a heartbeat; retrying"
                );
            }
            let pause = if problem.is_some() { RETRY } else { interval };
            last = problem;
            tokio::time::sleep(pause).await;
        }
    }

    /// Whether the workload cluster answers, and lets the syncer in.
    async fn below(&self, interval: Duration) -> Result<(), String> {
        let patience = interval.clamp(RETRY, PATIENCE);
        match tokio::time::timeout(patience, self.cluster.send(Method::GET, "/version", None)).await {
            Err(_) => Err(format!("no answer within {} s", patience.as_secs())),
            Ok(Err(problem)) => Err(format!("{problem:#}")),
            Ok(Ok(Err(status))) if status.code == 401 || status.code >= 500 => Err(status.message),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// A heartbeat; and the word that all is well again, where it was said that it is not.
    async fn alive(&self) -> Told {
        let status = json!({
            "lastSyncerHeartbeatTime": time::rfc3339(SystemClock.now()),
            "syncedResources": self.resources,
        });
        match self.patch(&json!({"status": status})).await {
            Told::Arrived(cluster) if complains(&cluster) => self.say(&Said::fine()).await,
            told => told,
        }
    }

    /// Writes the condition SyncerReady, unless it says so already.
    async fn say(&self, said: &Said) -> Told {
        let cluster = match self.hub.send(Method::GET, &path(self.target), None).await {
            Ok(Ok(cluster)) if identifier(&cluster) != self.expected => return Told::Replaced,
            Ok(Ok(cluster)) => cluster,
            Ok(Err(status)) => return Told::Lost(status.message),
            Err(problem) => return Told::Lost(format!("{problem:#}")),
        };
        let Some(conditions) = said.among(&cluster["status"]["conditions"]) else {
            return Told::Arrived(cluster);
        };
        let version = &cluster["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
        self.patch(&patch).await
    }

    async fn patch(&self, patch: &Value) -> Told {
        let path = format!("{}/status", path(self.target));
        let body = Some(("application/merge-patch+json", patch));
        match self.hub.send(Method::PATCH, &path, body).await {
            Ok(Ok(cluster)) if identifier(&cluster) != self.expected => Told::Replaced,
            Ok(Ok(cluster)) => Told::Arrived(cluster),
            Ok(Err(status)) => Told::Lost(status.message),
            Err(problem) => Told::Lost(format!("{problem:#}")),
        }
    }
}

/// What the condition SyncerReady says.
struct Said {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Said {
    fn unreachable(problem: &str) -> Self {
        Self {
            status: "False",
            reason: UNREACHABLE,
            message: format!("the cluster does not answer the syncer: {problem}"),
        }
    }

    fn fine() -> Self {
        Self {
            status: "True",
            reason: "",
            message: String::new(),
        }
    }

    /// `conditions` with this among them; `None` when it is there already. Words alone are no news.
    fn among(&self, conditions: &Value) -> Option<Value> {
        let mut list = conditions.as_array().cloned().unwrap_or_default();
        let slot = list.iter_mut().find(|known| known["type"] == SYNCER_READY);
        if let Some(known) = &slot
            && known["status"] == self.status
            && known["reason"].as_str().unwrap_or_default() == self.reason
        {
            return None;
        }
        let mut new = json!({
            "type": SYNCER_READY, "status": self.status,
            "lastTransitionTime": time::rfc3339(SystemClock.now()),
        });
        if !self.reason.is_empty() {
            new["severity"] = "Error".into();
            new["reason"] = self.reason.into();
            new["message"] = self.message.as_str().into();
        }
        match slot {
            Some(known) => *known = new,
            None => list.push(new),
        }
        Some(Value::Array(list))
    }
}

/// Whether SyncerReady says that the cluster does not answer.
fn complains(cluster: &Value) -> bool {
    let conditions = cluster["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|known| {
        known["type"] == SYNCER_READY && known["status"] == "False" && known["reason"] == UNREACHABLE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_does_not_answer_is_told_once_and_taken_back() {
        let others = json!([{"type": "Ready", "status": "True"}]);
        let told = Said::unreachable("connection refused").among(&others).unwrap();
        assert_eq!(told[0], others[0]);
        assert_eq!(
            (&told[1]["type"], &told[1]["status"], &told[1]["reason"]),
            (
                &json!("SyncerReady"),
                &json!("False"),
                &json!("ClusterUnreachable")
            )
        );
        assert_eq!(
            told[1]["message"],
            "the cluster does not answer the syncer: connection refused"
        );
        assert_eq!(Said::unreachable("no answer within 10 s").among(&told), None);
        let cluster = json!({"status": {"conditions": told}});
        assert!(complains(&cluster) && !complains(&json!({"status": {"conditions": others}})));
        let back = Said::fine().among(&told).unwrap();
        assert_eq!(back[1]["status"], "True");
        assert_eq!(back[1].get("reason"), None);
        assert_eq!(Said::fine().among(&back), None);
    }
}
