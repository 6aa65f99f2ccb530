//! Heartbeats: the hub's scheduler does not pick a workload cluster whose syncer has sent no heartbeat for
//! too long.

use std::time::Duration;

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;
use berth_client::{Answer, Client};
use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::condition_text::{ConditionText, reports_unreachable};
use super::identity::{identifier, path};
use super::problems::Problems;

/// Pause after a failed heartbeat, and shortest interval of heartbeats.
const RETRY: Duration = Duration::from_secs(1);
/// Highest number of attempts to write conditions, since other clients may change the object in between.
const MAX_ATTEMPTS: usize = 3;
/// Longest time limit of the check whether the workload cluster answers. The time limit is the heartbeat
/// interval, but at least [`RETRY`] and at most this.
const MAX_TIMEOUT: Duration = Duration::from_secs(10);

/// Sender of the heartbeats of one session.
pub(super) struct HeartbeatSender<'a> {
    /// The hub.
    pub(super) hub: &'a Client,
    /// The workload cluster.
    pub(super) cluster: &'a Client,
    /// The name of the WorkloadCluster.
    pub(super) target: &'a str,
    /// The identifier of the WorkloadCluster at the start of the session.
    pub(super) expected: &'a str,
    /// Resources that are synced.
    pub(super) resources: &'a [String],
    /// Problems with the synced objects.
    pub(super) problems: &'a Mutex<Problems>,
}

/// Outcome of a request about the WorkloadCluster.
enum ReportOutcome {
    /// The request succeeded; the value is the WorkloadCluster in the answer.
    Arrived(Value),
    /// The WorkloadCluster was replaced by another with this name.
    Replaced,
    /// The WorkloadCluster was changed in between.
    Outdated(String),
    /// The hub refused the request, or did not answer.
    Failed(String),
}

impl HeartbeatSender<'_> {
    /// Sends a heartbeat every `interval`, as long as the workload cluster answers: a syncer without its
    /// cluster does no work. While the cluster does not answer, no heartbeat is sent, and the condition
    /// SyncerReady is False. Ends when the WorkloadCluster was replaced by another with this name.
    pub(super) async fn run(&self, interval: Duration) {
        let mut last: Option<String> = None;
        // The WorkloadCluster in the last answer.
        let mut known: Option<Value> = None;
        loop {
            let cluster_answer = self.check_cluster(interval).await;
            // Taken in any case: what is known from before an outage lacks the condition about it.
            let last_known = known.take();
            let outcome = match &cluster_answer {
                Ok(()) => self.send(last_known).await,
                Err(problem) => self.report_unreachable(problem).await,
            };
            let problem = match (outcome, cluster_answer) {
                (ReportOutcome::Replaced, _) => return,
                (ReportOutcome::Failed(problem) | ReportOutcome::Outdated(problem), _) => {
                    Some(format!("heartbeat or condition not written: {problem}"))
                }
                (ReportOutcome::Arrived(_), Err(problem)) => {
                    Some(format!("the cluster does not answer: {problem}"))
                }
                (ReportOutcome::Arrived(cluster), Ok(())) => {
                    known = Some(cluster);
                    None
                }
            };
            // A problem may last: it is logged only when it changes.
            if let Some(problem) = problem.as_ref().filter(|problem| last.as_ref() != Some(problem)) {
                tracing::warn!(
                    cluster = self.target,
                    problem,
                    "cannot send a heartbeat; retrying"
                );
            }
            let pause = pause(interval, problem.is_some());
            last = problem;
            tokio::time::sleep(pause).await;
        }
    }

    /// Checks that the workload cluster answers, and accepts the syncer's credentials.
    async fn check_cluster(&self, interval: Duration) -> Result<(), String> {
        let timeout = interval.clamp(RETRY, MAX_TIMEOUT);
        match tokio::time::timeout(timeout, self.cluster.send(Method::GET, "/version", None)).await {
            Err(_) => Err(format!("no answer within {} s", timeout.as_secs())),
            Ok(Err(problem)) => Err(format!("{problem:#}")),
            Ok(Ok(Err(status))) if status.code == 401 || status.code >= 500 => Err(status.message),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Writes the conditions about the synced objects and about a cluster that answers again, and sends a
    /// heartbeat. The conditions come first, since the hub summarizes them in Ready at the heartbeat. A
    /// condition that cannot be written does not prevent the heartbeat. `known` is the WorkloadCluster in the
    /// last answer; it is only read anew if the last heartbeat failed, and if it was changed since.
    async fn send(&self, known: Option<Value>) -> ReportOutcome {
        let read = match known {
            Some(cluster) => ReportOutcome::Arrived(cluster),
            None => self.get().await,
        };
        let written = match read {
            ReportOutcome::Arrived(cluster) => {
                let synced = self.problems.lock().condition();
                let back = reports_unreachable(&cluster).then(ConditionText::reachable);
                let conditions: Vec<ConditionText> = back.into_iter().chain([synced]).collect();
                self.write_conditions(cluster, &conditions).await
            }
            outcome => outcome,
        };
        if matches!(written, ReportOutcome::Replaced) {
            return written;
        }
        let status = json!({
            "lastSyncerHeartbeatTime": time::rfc3339(SystemClock.now()),
            "syncedResources": self.resources,
        });
        match self.patch(&json!({"status": status})).await {
            ReportOutcome::Arrived(cluster) => match written {
                ReportOutcome::Arrived(_) => ReportOutcome::Arrived(cluster),
                problem => problem,
            },
            outcome => outcome,
        }
    }

    /// Writes the condition that the cluster does not answer, unless it is set already.
    async fn report_unreachable(&self, problem: &str) -> ReportOutcome {
        match self.get().await {
            ReportOutcome::Arrived(cluster) => {
                self.write_conditions(cluster, &[ConditionText::unreachable(problem)])
                    .await
            }
            outcome => outcome,
        }
    }

    /// Writes those of `texts` that differ from the conditions of `cluster`. Tries again after a conflict,
    /// since controllers of the hub write conditions, too.
    async fn write_conditions(&self, mut cluster: Value, texts: &[ConditionText]) -> ReportOutcome {
        let mut outcome = ReportOutcome::Outdated(String::new());
        for _ in 0..MAX_ATTEMPTS {
            let Some(conditions) = with_texts(&cluster["status"]["conditions"], texts) else {
                return ReportOutcome::Arrived(cluster);
            };
            let version = &cluster["metadata"]["resourceVersion"];
            let patch =
                json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
            outcome = self.patch(&patch).await;
            let ReportOutcome::Outdated(_) = outcome else {
                break;
            };
            cluster = match self.get().await {
                ReportOutcome::Arrived(cluster) => cluster,
                failure => return failure,
            };
        }
        outcome
    }

    /// The present WorkloadCluster.
    async fn get(&self) -> ReportOutcome {
        self.outcome(self.hub.send(Method::GET, &path(self.target), None).await)
    }

    async fn patch(&self, patch: &Value) -> ReportOutcome {
        let path = format!("{}/status", path(self.target));
        let body = Some(("application/merge-patch+json", patch));
        self.outcome(self.hub.send(Method::PATCH, &path, body).await)
    }

    fn outcome(&self, answer: berth_client::Result<Answer>) -> ReportOutcome {
        match answer {
            Ok(Ok(cluster)) if identifier(&cluster) != self.expected => ReportOutcome::Replaced,
            Ok(Ok(cluster)) => ReportOutcome::Arrived(cluster),
            Ok(Err(status)) if status.code == 409 => ReportOutcome::Outdated(status.message),
            Ok(Err(status)) => ReportOutcome::Failed(status.message),
            Err(problem) => ReportOutcome::Failed(format!("{problem:#}")),
        }
    }
}

/// The pause before the next heartbeat. An interval of zero would keep both servers busy.
fn pause(interval: Duration, is_retry: bool) -> Duration {
    if is_retry { RETRY } else { interval.max(RETRY) }
}

/// `conditions` with `texts` added or replaced; `None` if nothing has to be written.
fn with_texts(conditions: &Value, texts: &[ConditionText]) -> Option<Value> {
    let now = SystemClock.now();
    let mut new = None;
    for text in texts {
        new = text.set_in(new.as_ref().unwrap_or(conditions), now).or(new);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_are_at_least_a_second_apart() {
        let seconds = |interval, is_retry| pause(Duration::from_secs(interval), is_retry).as_secs();
        assert_eq!([0, 1, 20].map(|interval| seconds(interval, false)), [1, 1, 20]);
        assert_eq!(seconds(20, true), 1);
    }
}
