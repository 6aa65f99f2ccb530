//! Reflector of one kind on one side: lists and watches, resumes a broken watch, and lists again when the
//! revision of the watch has expired.

use std::sync::Arc;
use std::time::Duration;

use berth_dialect_kcp::names::DOWNSTREAM_CLUSTER;
use futures::StreamExt;
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;

use super::ends::Side;
use super::kinds::SyncedKind;

/// Pauses between attempts at a server that failed: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

/// Content of an observation, from one list or watch.
pub(super) enum ObservationContent {
    /// A list begins.
    Begin,
    /// An object was listed, added or changed.
    Object(Arc<Value>),
    /// The list is complete: objects that are not in it do not exist any more.
    End,
    /// An object was deleted.
    Gone(Arc<Value>),
    /// The list or watch failed; the value is the reason.
    Failed(String),
}

/// An observation of one kind on one side.
pub(super) struct Observation {
    pub(super) side: Side,
    /// The index of the kind in [`super::kinds::SyncedKinds::kinds`].
    pub(super) kind: usize,
    pub(super) content: ObservationContent,
}

/// Watch of one kind on one side, which sends observations to `out`.
pub(super) struct Reflector {
    pub(super) side: Side,
    /// The index of the kind in [`super::kinds::SyncedKinds::kinds`].
    pub(super) number: usize,
    pub(super) kind: SyncedKind,
    pub(super) client: Client,
    /// The identifier of the WorkloadCluster. Downstream, only objects that are labelled with this identifier
    /// are read.
    pub(super) identifier: String,
    pub(super) out: mpsc::Sender<Observation>,
}

/// State of the attempts at a server that fails.
struct Attempts {
    pause: Duration,
    last_problem: Option<String>,
    /// Number of failures in a row.
    failures: u32,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            pause: PAUSES.0,
            last_problem: None,
            failures: 0,
        }
    }
}

impl Attempts {
    /// Records `event`, which ends a row of failures unless it only begins a list.
    fn record_event(&mut self, event: &Event<DynamicObject>) {
        // Each attempt at a list begins with Init and its first pages, whatever the server answers then.
        if !matches!(event, Event::Init | Event::InitApply(_)) {
            *self = Self::default();
        }
    }

    /// Whether `problem` differs from the problem of the last failure.
    fn is_news(&self, problem: &str) -> bool {
        self.last_problem.as_deref() != Some(problem)
    }

    /// Records a failure. Returns the observations to send. `is_absent` is set if the cluster does not have
    /// the kind.
    fn record_failure(&mut self, problem: String, is_absent: bool) -> Vec<ObservationContent> {
        self.failures = self.failures.saturating_add(1);
        let contents = match is_absent {
            // A kind that the cluster does not have counts as a kind without objects. The view has all kinds.
            true if self.is_news(&problem) => vec![ObservationContent::Begin, ObservationContent::End],
            // Most broken watches begin again at once: a first failure is not reported.
            false if self.failures > 1 => vec![ObservationContent::Failed(problem.clone())],
            _ => Vec::new(),
        };
        self.last_problem = Some(problem);
        contents
    }

    /// The pause before the next attempt, which grows with each failure.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES.1);
        pause
    }
}

impl Reflector {
    /// Watches until the task is aborted or the receiver of `out` is dropped.
    pub(super) async fn run(self) {
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.kind.api);
        let mut config = watcher::Config::default();
        if self.side == Side::Down {
            config = config.labels(&format!("{DOWNSTREAM_CLUSTER}={}", self.identifier));
        }
        let mut events = watcher(objects, config).boxed();
        let mut attempts = Attempts::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    attempts.record_event(&event);
                    if !self.forward(event).await {
                        return;
                    }
                }
                Err(problem) => {
                    let is_absent = self.side == Side::Down && is_absent(&problem);
                    let text = format!("{:#}", anyhow::Error::new(problem));
                    // A problem may last: it is logged only when it changes.
                    if attempts.is_news(&text) {
                        let (side, resource) = (self.side, self.kind.name());
                        tracing::warn!(?side, resource, problem = text, "watch failed; retrying");
                    }
                    for content in attempts.record_failure(text, is_absent) {
                        if !self.send(content).await {
                            return;
                        }
                    }
                    tokio::time::sleep(attempts.next_pause()).await;
                }
            }
        }
    }

    /// Sends the observation that `event` contains. Returns whether `out` still has a receiver.
    async fn forward(&self, event: Event<DynamicObject>) -> bool {
        let content = match event {
            Event::Init => Some(ObservationContent::Begin),
            Event::InitApply(object) | Event::Apply(object) => {
                self.value(object).map(ObservationContent::Object)
            }
            Event::InitDone => Some(ObservationContent::End),
            Event::Delete(object) => self.value(object).map(ObservationContent::Gone),
        };
        match content {
            Some(content) => self.send(content).await,
            None => true,
        }
    }

    async fn send(&self, content: ObservationContent) -> bool {
        let observation = Observation {
            side: self.side,
            kind: self.number,
            content,
        };
        self.out.send(observation).await.is_ok()
    }

    /// The object as JSON, with apiVersion and kind, which items of some lists lack. `None` if the object
    /// cannot be converted.
    fn value(&self, object: DynamicObject) -> Option<Arc<Value>> {
        match serde_json::to_value(&object) {
            Ok(mut value) => {
                value["apiVersion"] = self.kind.api.api_version.as_str().into();
                value["kind"] = self.kind.api.kind.as_str().into();
                Some(Arc::new(value))
            }
            Err(problem) => {
                tracing::error!(resource = self.kind.name(), %problem, "cannot convert an object to JSON; it is not synced until it is changed");
                None
            }
        }
    }
}

/// Whether the server answers that it has no such kind.
fn is_absent(problem: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error)
    | watcher::Error::WatchStartFailed(error)
    | watcher::Error::WatchFailed(error)) = problem
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_cannot_be_listed_is_reported_although_each_attempt_begins_a_list() {
        let mut attempts = Attempts::default();
        let fail = |attempts: &mut Attempts| {
            attempts.record_event(&Event::Init);
            attempts.record_failure("forbidden".to_owned(), false)
        };
        assert!(fail(&mut attempts).is_empty(), "a first failure is not reported");
        assert_eq!(attempts.next_pause(), PAUSES.0);
        let contents = fail(&mut attempts);
        assert!(matches!(&contents[..], [ObservationContent::Failed(problem)] if problem == "forbidden"));
        assert_eq!(attempts.next_pause(), PAUSES.0 * 2);
        assert!(!attempts.is_news("forbidden"));
        attempts.record_event(&Event::InitDone);
        assert!(attempts.is_news("forbidden"), "the list was complete");
        assert!(fail(&mut attempts).is_empty());
        assert_eq!(attempts.next_pause(), PAUSES.0);
    }

    #[test]
    fn a_kind_that_the_cluster_does_not_have_is_sent_once_as_an_empty_list() {
        let mut attempts = Attempts::default();
        let mut fail = |problem: &str| {
            attempts.record_event(&Event::Init);
            attempts.record_failure(problem.to_owned(), true)
        };
        let is_empty_list = |contents: &[ObservationContent]| {
            matches!(contents, [ObservationContent::Begin, ObservationContent::End])
        };
        assert!(is_empty_list(&fail("not found")));
        assert!(fail("not found").is_empty());
        assert!(is_empty_list(&fail("no such group")));
    }
}
