//! Events on Workloads: nominations, and reasons why there is no nomination.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use parking_lot::Mutex;
use serde_json::Value;

use super::DISPATCHER;
use super::problem::Problem;

/// Highest number of bytes of a note that Kubernetes accepts.
const MAX_NOTE: usize = 1024;
/// Highest number of Workloads whose last Event is remembered. With more Workloads, some Events are repeated.
const MAX_ENTRIES: usize = 10_000;

/// Writer of Events about nominations and problems, which does not repeat the last Event of a Workload.
pub(super) struct EventReporter {
    client: Client,
    /// Reason and note of the last Event, by the uid of the Workload.
    last: Mutex<HashMap<String, (&'static str, String)>>,
}

impl EventReporter {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            last: Mutex::default(),
        }
    }

    /// Reports the reason why no cluster is nominated.
    pub(super) async fn report_problem(&self, workload: &Value, problem: &Problem) {
        let note = problem.to_string();
        self.report_event(workload, EventType::Warning, problem.reason(), note)
            .await;
    }

    /// Reports a nomination.
    pub(super) async fn report_nomination(&self, workload: &Value, note: String) {
        self.report_event(workload, EventType::Normal, "ClustersNominated", note)
            .await;
    }

    async fn report_event(&self, workload: &Value, type_: EventType, reason: &'static str, note: String) {
        let note = truncated(note);
        let metadata = &workload["metadata"];
        let uid = metadata["uid"].as_str().unwrap_or_default().to_owned();
        {
            let mut last = self.last.lock();
            if last.len() >= MAX_ENTRIES {
                last.clear();
            }
            let report = (reason, note.clone());
            if last.get(&uid) == Some(&report) {
                return;
            }
            last.insert(uid.clone(), report);
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let regarding = ObjectReference {
            api_version: text(&workload["apiVersion"]),
            kind: text(&workload["kind"]),
            name: text(&metadata["name"]),
            namespace: text(&metadata["namespace"]),
            uid: Some(uid.clone()),
            ..ObjectReference::default()
        };
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: "Nominate".to_owned(),
            secondary: None,
        };
        // Each Event has a new recorder, since a recorder compares only the reasons of Events: it would count
        // an Event with another note as a repetition, and keep the earlier note.
        let recorder = Recorder::new(self.client.clone(), reporter());
        if let Err(error) = recorder.publish(&event, &regarding).await {
            // The next report writes the Event, also if it is equal.
            self.last.lock().remove(&uid);
            let error = format!("{:#}", anyhow::Error::new(error));
            tracing::info!(name = ?regarding.name, error, "cannot write an Event");
        }
    }
}

fn reporter() -> Reporter {
    Reporter {
        controller: DISPATCHER.to_owned(),
        instance: None,
    }
}

/// Returns `note`, truncated to [`MAX_NOTE`] bytes.
fn truncated(mut note: String) -> String {
    const DOTS: &str = "…";
    if note.len() > MAX_NOTE {
        note.truncate(note.floor_char_boundary(MAX_NOTE - DOTS.len()));
        note.push_str(DOTS);
    }
    note
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn an_event_that_was_not_written_is_written_with_the_next_report() {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let service = service_fn(move |_: http::Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Err::<http::Response<Body>, _>(std::io::Error::other("connection refused")) }
        });
        let reporter = EventReporter::new(Client::new(service, "default"));
        let workload = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "w", "namespace": "team", "uid": "u"},
        });
        for _ in 0..2 {
            reporter.report_problem(&workload, &Problem::NotNamed).await;
        }
        assert_eq!(requests.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_note_is_truncated_to_the_limit_of_kubernetes() {
        assert_eq!(truncated("short".to_owned()), "short");
        let long = truncated("ä".repeat(600));
        assert!(long.len() <= MAX_NOTE && long.ends_with('…'), "{}", long.len());
    }
}
