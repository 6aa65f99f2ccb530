//! The events of decisions: recorded when a decision is bound, and written by a separate task.
//!
//! Decisions do not wait for events. Events that come faster than they can be written are dropped and
//! counted.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::write::{Verb, Write as Planned, WriteRefusal};
use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_apiserver::{Author, Registry};
use berth_dialect_contract::{Note, NoteType};
use berth_engine::{Bind, BindError, BindObserver, BindOutcome, Engine};
use futures::StreamExt as _;
use futures::stream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::event::EventContent;
use super::metrics::ControllerMetrics;
use super::series::{EventCorrelator, EventWrite, WriteResult};

/// Destination of events: this server, or a hub.
#[async_trait]
pub(crate) trait EventSink: Send + Sync + 'static {
    /// Writes one event, and returns the outcome.
    async fn store(&self, write: EventWrite) -> WriteResult;
}

/// Destination that stores events in this server.
pub(crate) struct OwnEvents(pub(crate) Arc<Registry>);

/// The resource of written events.
pub(crate) const EVENTS: GroupResource = GroupResource::new(berth_kubernetes::core::event::GROUP, "events");
/// Highest number of events that wait to be written.
const QUEUE_LENGTH: usize = 4096;
/// Highest number of events that are taken from the queue at once.
const BATCH: usize = 256;
/// Highest number of events that are written concurrently, so that they share commits.
const CONCURRENT_WRITES: usize = 32;
/// Time for which the first queued event waits for further events, so that events of objects that are created
/// one after the other share a commit.
const BATCH_DELAY: Duration = Duration::from_millis(100);

/// Observer of bindings, which sends the events of each binding to the task that writes events.
pub struct Events {
    engine: Weak<Engine>,
    sender: mpsc::Sender<(EventContent, Timestamp)>,
    metrics: Arc<ControllerMetrics>,
}

impl Events {
    /// Observer of the bindings of `engine`, and the task that stores the events in `registry`.
    #[must_use]
    pub fn for_registry(
        engine: &Arc<Engine>,
        registry: &Arc<Registry>,
        metrics: Arc<ControllerMetrics>,
    ) -> (Self, JoinHandle<()>) {
        let sink = Arc::new(OwnEvents(Arc::clone(registry)));
        Self::spawn(engine, sink, metrics)
    }

    /// Observer of the bindings of `engine`, and the task that writes the events to `sink`.
    #[must_use]
    pub(crate) fn spawn(
        engine: &Arc<Engine>,
        sink: Arc<dyn EventSink>,
        metrics: Arc<ControllerMetrics>,
    ) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE_LENGTH);
        let writer = Writer {
            sink,
            metrics: Arc::clone(&metrics),
            correlator: EventCorrelator::new(format!("berth-{}", std::process::id())),
        };
        let events = Self {
            engine: Arc::downgrade(engine),
            sender,
            metrics,
        };
        (events, tokio::spawn(writer.run(receiver)))
    }

    pub(super) fn send(&self, event: Option<EventContent>, now: Timestamp) {
        if let Some(event) = event
            && self.sender.try_send((event, now)).is_err()
        {
            self.metrics.count_event("dropped");
        }
    }
}

impl BindObserver for Events {
    fn bound(&self, _bind: &Bind<'_>, outcome: &BindOutcome) {
        let (snapshot, decision) = (&outcome.snapshot, &outcome.decision);
        for note in snapshot.inventory.notes(decision, !outcome.written.is_empty()) {
            let event = EventContent::new(snapshot, &decision.demand, decision.demand_revision, note);
            self.send(event, decision.now);
        }
    }

    /// Reports three errors to the owner of the object: the writes were refused, admission changed the
    /// writes, or another writer keeps changing the decision. Other errors have no event.
    fn failed(&self, dialect: &str, demand: &Key, error: &BindError) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let (reason, text) = match error {
            BindError::Rejected(status) | BindError::Overruled(status) => (
                "FailedScheduling",
                format!("The decision could not be written: {}", status.message),
            ),
            BindError::Contested(contest) if contest.is_new => ("Contested", contest.to_string()),
            _ => return,
        };
        let Some(snapshot) = engine.snapshot(dialect) else {
            return;
        };
        let note = Note {
            r#type: NoteType::Warning,
            reason,
            action: "Binding",
            text,
            related: None,
        };
        let Some(object) = snapshot.inventory.object(demand) else {
            return;
        };
        let event = EventContent::new(&snapshot, demand, object.revision(), note);
        self.send(event, engine.clock().now());
    }
}

struct Writer {
    sink: Arc<dyn EventSink>,
    metrics: Arc<ControllerMetrics>,
    correlator: EventCorrelator,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<(EventContent, Timestamp)>) {
        let mut batch = Vec::with_capacity(BATCH);
        while receiver.recv_many(&mut batch, BATCH).await > 0 {
            if batch.len() < BATCH && !receiver.is_closed() {
                tokio::time::sleep(BATCH_DELAY).await;
                batch.extend(std::iter::from_fn(|| receiver.try_recv().ok()).take(BATCH));
            }
            for (event, now) in batch.drain(..) {
                if !self.correlator.record(event, now) {
                    self.metrics.count_event("dropped");
                }
            }
            self.write().await;
        }
    }

    /// Writes the recorded events. An event that was deleted before its update is created again.
    async fn write(&mut self) {
        for _ in 0..2 {
            let writes = self.correlator.take_writes();
            if writes.is_empty() {
                return;
            }
            let sink = &self.sink;
            let results: Vec<_> = stream::iter(writes)
                .map(|write| async move { (write.series.clone(), write.is_stored, sink.store(write).await) })
                .buffer_unordered(CONCURRENT_WRITES)
                .collect()
                .await;
            for (series, was_stored, result) in results {
                self.metrics.count_event(match result {
                    WriteResult::Stored if was_stored => "repeated",
                    WriteResult::Stored => "created",
                    WriteResult::Gone => "gone",
                    WriteResult::Refused => "failed",
                });
                self.correlator.record_result(&series, result);
            }
        }
    }
}

#[async_trait]
impl EventSink for OwnEvents {
    async fn store(&self, write: EventWrite) -> WriteResult {
        let user = berth_scheduling_rest::actor_user(write.actor);
        let manager = write.actor.replace(':', "-");
        let author = Author {
            user: &user,
            manager: &manager,
            cause: Some("the result of a decision is reported as an Event"),
        };
        let planned = Planned {
            verb: if write.is_stored {
                Verb::Update
            } else {
                Verb::Create
            },
            key: Key::new(EVENTS, &write.namespace, &write.name),
            subresource: "",
            object: write.object,
            base: None,
        };
        match self.0.commit(author, vec![planned], Vec::new(), false).await {
            Ok(_) => WriteResult::Stored,
            Err(error) if write.is_stored && error.reason == WriteRefusal::Gone => WriteResult::Gone,
            // For example, the namespace is being deleted, or the store closes: only the log can report it.
            Err(error) => {
                tracing::info!(
                    name = write.name,
                    namespace = write.namespace,
                    cause = %error,
                    "cannot write an Event; it is lost"
                );
                WriteResult::Refused
            }
        }
    }
}
