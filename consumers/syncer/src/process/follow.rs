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

impl Reflector {
    /// Watches until the task is aborted or the receiver of `out` is dropped.
    pub(super) async fn run(self) {
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.kind.api);
        let mut config = watcher::Config::default();
        if self.side == Side::Down {
            config = config.labels(&format!("{DOWNSTREAM_CLUSTER}={}", self.identifier));
        }
        let mut events = watcher(objects, config).boxed();
        let mut pause = PAUSES.0;
        let (mut last_problem, mut failures) = (None, 0_u32);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    (pause, last_problem, failures) = (PAUSES.0, None, 0);
                    if !self.forward(event).await {
                        return;
                    }
                }
                Err(problem) => {
                    let is_absent = self.side == Side::Down && is_absent(&problem);
                    let text = format!("{:#}", anyhow::Error::new(problem));
                    failures = failures.saturating_add(1);
                    let contents = match is_absent {
                        // A kind that the cluster does not have counts as a kind without objects. The view
                        // has all kinds.
                        true => vec![ObservationContent::Begin, ObservationContent::End],
                        // Most broken watches begin again at once: a first failure is not reported.
                        false if failures > 1 => vec![ObservationContent::Failed(text.clone())],
                        false => Vec::new(),
                    };
                    for content in contents {
                        if !self.send(content).await {
                            return;
                        }
                    }
                    // A problem may last: it is logged only when it changes.
                    if last_problem.as_ref() != Some(&text) {
                        let (side, resource) = (self.side, self.kind.name());
                        tracing::warn!(?side, resource, problem = text, "watch failed; retrying");
                    }
                    last_problem = Some(text);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
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

    /// The object as JSON, with apiVersion and kind, which items of some lists lack. `None` where it cannot
    /// be converted.
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
