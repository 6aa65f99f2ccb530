//! Buffer of events for an audit webhook, which are sent in batches. Requests never wait for the buffer:
//! events that do not fit are dropped and counted.

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
pub struct DeliveryError(pub String);

/// Destination of batches of events.
#[async_trait]
pub trait BatchDestination: Send + Sync + 'static {
    /// Delivers an `audit.k8s.io/v1` EventList.
    ///
    /// # Errors
    /// Reason why the batch was not accepted.
    async fn deliver(&self, events: Bytes) -> Result<(), DeliveryError>;
}

/// Limits of the buffer and of batches. The defaults are those of kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Highest number of events in the buffer.
    pub buffer_size: usize,
    /// Highest number of events in one request.
    pub max_size: usize,
    /// Longest time for which the first event of a batch waits for further events.
    pub max_wait: Duration,
    /// Delay before a batch that was not accepted is sent again; each further delay is 1.5 times the previous
    /// delay.
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
const MAX_ATTEMPTS: u32 = 5;
/// Highest number of bytes in the buffer.
const MAX_BUFFER_BYTES: usize = 64 * 1024 * 1024;
/// JSON before the events of a batch.
const HEAD: &[u8] = br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#;
/// JSON after the events of a batch.
const TAIL: &[u8] = b"]}";

/// Message to the task that sends batches.
enum Message {
    /// An event, with the permit for its bytes in the buffer.
    Event(Bytes, OwnedSemaphorePermit),
    /// A request to send all earlier events at once, with the channel for the reply.
    Flush(oneshot::Sender<()>),
}

/// Handle of the buffer of events. A task sends the events in batches.
#[derive(Clone)]
pub(super) struct Batches {
    queue: mpsc::Sender<Message>,
    bytes: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

impl Batches {
    /// Starts to send batches; must be called on a runtime.
    pub(super) fn start(
        destination: Arc<dyn BatchDestination>,
        batching: BatchLimits,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (queue, messages) = mpsc::channel(batching.buffer_size.max(1));
        let sender = Sender {
            destination,
            batching,
            metrics: Arc::clone(&metrics),
        };
        tokio::spawn(sender.run(messages));
        Self {
            queue,
            bytes: Arc::new(Semaphore::new(MAX_BUFFER_BYTES)),
            metrics,
        }
    }

    /// Adds an event to the buffer, if there is room.
    pub(super) fn push(&self, event: Bytes) {
        let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
        let pushed = Arc::clone(&self.bytes)
            .try_acquire_many_owned(length)
            .is_ok_and(|permit| self.queue.try_send(Message::Event(event, permit)).is_ok());
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

/// Task that sends batches.
struct Sender {
    destination: Arc<dyn BatchDestination>,
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
                Some(Message::Event(event, permit)) => events.push((event, permit)),
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

    /// Sends one batch, again after a failure; drops it after the last attempt.
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
            if attempt == MAX_ATTEMPTS {
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

    /// Webhook that refuses the first few batches and records the sizes of the others.
    struct FakeWebhook {
        refuse: Mutex<u32>,
        received: Mutex<Vec<usize>>,
    }

    #[async_trait]
    impl BatchDestination for FakeWebhook {
        async fn deliver(&self, events: Bytes) -> Result<(), DeliveryError> {
            let list: Value = serde_json::from_slice(&events).unwrap();
            assert_eq!(list["kind"], "EventList");
            let mut refuse = self.refuse.lock();
            if *refuse > 0 {
                *refuse -= 1;
                return Err(DeliveryError("503".to_owned()));
            }
            self.received.lock().push(list["items"].as_array().unwrap().len());
            Ok(())
        }
    }

    fn start(refuse: u32, batching: BatchLimits) -> (Arc<FakeWebhook>, Batches, Arc<Metrics>) {
        let webhook = Arc::new(FakeWebhook {
            refuse: Mutex::new(refuse),
            received: Mutex::default(),
        });
        let metrics = Arc::new(Metrics::new());
        let batches = Batches::start(webhook.clone(), batching, metrics.clone());
        (webhook, batches, metrics)
    }

    fn dropped(metrics: &Metrics) -> String {
        let text = metrics.render().unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("apiserver_audit_error_total{plugin=\"webhook\"}"));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_sent_when_it_is_full_or_has_waited() {
        let batching = BatchLimits {
            max_size: 3,
            ..BatchLimits::default()
        };
        let (webhook, batches, metrics) = start(0, batching);
        for number in 0..8 {
            batches.push(number.to_string().into());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(*webhook.received.lock(), [3, 3]);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(*webhook.received.lock(), [3, 3, 2]);
        assert_eq!(dropped(&metrics), "0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_batch_is_sent_again_and_events_that_do_not_fit_are_counted() {
        let batching = BatchLimits {
            buffer_size: 2,
            max_size: 1,
            ..BatchLimits::default()
        };
        let (webhook, batches, metrics) = start(2, batching);
        batches.push("1".into());
        tokio::time::sleep(Duration::from_secs(1)).await;
        for _ in 0..5 {
            batches.push("2".into());
        }
        assert_eq!(dropped(&metrics), "3");
        batches.flush().await;
        assert_eq!(*webhook.received.lock(), [1, 1, 1]);
        assert_eq!(dropped(&metrics), "3");
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_dropped_when_the_webhook_always_fails() {
        let (webhook, batches, metrics) = start(u32::MAX, BatchLimits::default());
        batches.push("1".into());
        batches.push("2".into());
        batches.flush().await;
        assert!(webhook.received.lock().is_empty());
        assert_eq!(dropped(&metrics), "2");
    }
}
