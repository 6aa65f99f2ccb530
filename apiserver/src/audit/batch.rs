//! Events for an audit webhook: a bounded buffer, sent in batches. Requests never wait for the buffer: events
//! that do not fit are dropped and counted.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::metrics::Metrics;

/// Reason why a batch of events was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDelivered(pub String);

/// Destination of batches of events.
#[async_trait]
pub trait Deliver: Send + Sync + 'static {
    /// Delivers an `audit.k8s.io/v1` EventList.
    ///
    /// # Errors
    /// Reason why the batch was not accepted.
    async fn deliver(&self, events: Bytes) -> Result<(), NotDelivered>;
}

/// Limits of batches of events. The defaults are the same as in kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Highest number of events in the buffer.
    pub buffer_size: usize,
    /// Highest number of events in one request.
    pub max_size: usize,
    /// Longest wait of the first event of a batch for further events.
    pub max_wait: Duration,
    /// Delay before a batch that was not accepted is sent again; each further delay is 1.5 times as long.
    pub initial_backoff: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            buffer_size: 10_000,
            max_size: 400,
            max_wait: Duration::from_secs(30),
            initial_backoff: Duration::from_secs(10),
        }
    }
}

/// Highest number of attempts to send a batch before it is dropped.
const ATTEMPTS: u32 = 5;
/// Highest number of bytes in the buffer.
const BUFFER_BYTES: usize = 64 * 1024 * 1024;
/// Start and end of the JSON of a batch.
const HEAD: &[u8] = br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#;
const TAIL: &[u8] = b"]}";

enum Message {
    Event(Bytes, OwnedSemaphorePermit),
    Flush(oneshot::Sender<()>),
}

/// Buffer of events, which a task sends in batches.
#[derive(Clone)]
pub(super) struct Batches {
    queue: mpsc::Sender<Message>,
    bytes: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

impl Batches {
    /// Starts to send batches; must be called on a runtime.
    pub(super) fn start(destination: Arc<dyn Deliver>, batching: BatchLimits, metrics: Arc<Metrics>) -> Self {
        let (queue, messages) = mpsc::channel(batching.buffer_size.max(1));
        let sender = Sender {
            destination,
            batching,
            metrics: Arc::clone(&metrics),
        };
        tokio::spawn(sender.run(messages));
        Self {
            queue,
            bytes: Arc::new(Semaphore::new(BUFFER_BYTES)),
            metrics,
        }
    }

    /// Adds an event to the buffer, if there is room.
    pub(super) fn push(&self, event: Bytes) {
        let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
        let pushed = Arc::clone(&self.bytes)
            .try_acquire_many_owned(length)
            .is_ok_and(|room| self.queue.try_send(Message::Event(event, room)).is_ok());
        if !pushed {
            self.metrics.audit_error("webhook", 1);
            tracing::warn!(
                "audit webhook buffer is full; event dropped; see whether the webhook answers in time"
            );
        }
    }

    /// Waits until all earlier events are delivered or dropped.
    pub(super) async fn flush(&self) {
        let (reply, flushed) = oneshot::channel();
        if self.queue.send(Message::Flush(reply)).await.is_ok() {
            // An error means that the task which sends batches has ended.
            flushed.await.unwrap_or_default();
        }
    }
}

struct Sender {
    destination: Arc<dyn Deliver>,
    batching: BatchLimits,
    metrics: Arc<Metrics>,
}

impl Sender {
    async fn run(self, mut messages: mpsc::Receiver<Message>) {
        while let Some(first) = messages.recv().await {
            let (events, flush) = self.gather(first, &mut messages).await;
            if !events.is_empty() {
                self.send(&events).await;
            }
            drop(events);
            if let Some(reply) = flush {
                // The caller may have stopped waiting.
                reply.send(()).unwrap_or_default();
            }
        }
    }

    /// Collects the events of one batch, beginning with `first`; a flush ends the batch at once.
    async fn gather(
        &self,
        first: Message,
        messages: &mut mpsc::Receiver<Message>,
    ) -> (Vec<(Bytes, OwnedSemaphorePermit)>, Option<oneshot::Sender<()>>) {
        let deadline = Instant::now() + self.batching.max_wait;
        let mut events = Vec::new();
        let mut next = Some(first);
        loop {
            match next.take() {
                Some(Message::Event(event, room)) => events.push((event, room)),
                Some(Message::Flush(reply)) => return (events, Some(reply)),
                None => return (events, None),
            }
            if events.len() >= self.batching.max_size.max(1) {
                return (events, None);
            }
            next = tokio::time::timeout_at(deadline, messages.recv())
                .await
                .unwrap_or_default();
        }
    }

    async fn send(&self, events: &[(Bytes, OwnedSemaphorePermit)]) {
        let mut body = HEAD.to_vec();
        for (index, (event, _)) in events.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(event);
        }
        body.extend_from_slice(TAIL);
        let body = Bytes::from(body);
        let mut pause = self.batching.initial_backoff;
        for attempt in 1.. {
            let Err(problem) = self.destination.deliver(body.clone()).await else {
                return;
            };
            if attempt == ATTEMPTS {
                self.metrics.audit_error("webhook", events.len());
                tracing::error!(
                    %problem,
                    events = events.len(),
                    "audit webhook call failed; events dropped"
                );
                return;
            }
            tracing::warn!(%problem, "audit webhook call failed; retrying");
            tokio::time::sleep(pause).await;
            pause += pause / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use serde_json::Value;

    use super::*;

    /// Receiver that refuses the first few batches and keeps the others.
    struct FakeWebhook {
        refuse: Mutex<u32>,
        received: Mutex<Vec<usize>>,
    }

    #[async_trait]
    impl Deliver for FakeWebhook {
        async fn deliver(&self, events: Bytes) -> Result<(), NotDelivered> {
            let list: Value = serde_json::from_slice(&events).unwrap();
            assert_eq!(list["kind"], "EventList");
            let mut refuse = self.refuse.lock();
            if *refuse > 0 {
                *refuse -= 1;
                return Err(NotDelivered("503".to_owned()));
            }
            self.received.lock().push(list["items"].as_array().unwrap().len());
            Ok(())
        }
    }

    fn start(refuse: u32, batching: BatchLimits) -> (Arc<FakeWebhook>, Batches, Arc<Metrics>) {
        let taker = Arc::new(FakeWebhook {
            refuse: Mutex::new(refuse),
            received: Mutex::default(),
        });
        let metrics = Arc::new(Metrics::new());
        let batches = Batches::start(taker.clone(), batching, metrics.clone());
        (taker, batches, metrics)
    }

    fn dropped(metrics: &Metrics) -> String {
        let text = metrics.render().unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("apiserver_audit_error_total{plugin=\"webhook\"}"));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn events_go_in_batches_of_a_size_or_when_they_have_waited() {
        let batching = BatchLimits {
            max_size: 3,
            ..BatchLimits::default()
        };
        let (taker, batches, metrics) = start(0, batching);
        for number in 0..8 {
            batches.push(number.to_string().into());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(*taker.received.lock(), [3, 3]);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(*taker.received.lock(), [3, 3, 2]);
        assert_eq!(dropped(&metrics), "0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_that_is_not_taken_is_sent_again_and_what_does_not_fit_meanwhile_is_counted() {
        let batching = BatchLimits {
            buffer_size: 2,
            max_size: 1,
            ..BatchLimits::default()
        };
        let (taker, batches, metrics) = start(2, batching);
        batches.push("1".into());
        tokio::time::sleep(Duration::from_secs(1)).await;
        for _ in 0..5 {
            batches.push("2".into());
        }
        assert_eq!(dropped(&metrics), "3");
        batches.flush().await;
        assert_eq!(*taker.received.lock(), [1, 1, 1]);
        assert_eq!(dropped(&metrics), "3");
    }

    #[tokio::test(start_paused = true)]
    async fn a_webhook_that_never_answers_well_costs_its_events_and_nothing_else() {
        let (taker, batches, metrics) = start(u32::MAX, BatchLimits::default());
        batches.push("1".into());
        batches.push("2".into());
        batches.flush().await;
        assert!(taker.received.lock().is_empty());
        assert_eq!(dropped(&metrics), "2");
    }
}
