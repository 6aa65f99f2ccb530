//! Writer of audit events. A separate thread behind a bounded queue writes the log file, so that a slow disk
//! delays requests and never blocks the runtime.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::batch::{BatchDestination, BatchLimits, Batches};
use super::event::Event;
use super::policy::{Policy, PolicyAttributes, Verdict};
use super::rotate::{RotatingFile, Rotation};
use crate::annotations::Annotations;
use crate::metrics::Metrics;

/// Highest number of lines in the queue.
const MAX_QUEUE_LINES: usize = 1024;
/// Highest number of bytes in the queue; a single line may have two bodies of a megabyte each.
const MAX_QUEUE_BYTES: usize = 16 * 1024 * 1024;
/// Highest number of bytes in the lines that wait for room in the queue while no request waits for them: with
/// a disk that hangs, clients that give up and ask again must not fill the memory.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Longest wait for an audit webhook during shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Message to the thread that writes the log.
enum Message {
    /// A line, with the permit for its bytes in the queue.
    Line(Bytes, OwnedSemaphorePermit),
    /// A request to write everything to the file, with the channel for the reply.
    Flush(oneshot::Sender<()>),
}

/// Log file of audit events.
#[derive(Clone, Debug)]
pub struct AuditLog {
    /// Path of the file; `-` is standard output.
    pub path: String,
    /// Limits for the rotation of the file.
    pub rotation: Rotation,
}

/// Audit policy and destinations of events.
pub struct AuditConfig {
    /// Policy that selects the events.
    pub policy: Policy,
    /// The log file; `None` writes no log.
    pub log: Option<AuditLog>,
    /// The webhook, with the limits of batches; `None` sends no events.
    pub webhook: Option<(Arc<dyn BatchDestination>, BatchLimits)>,
    /// The domain of the server's own annotations: with the domain `example.com`, the annotation
    /// `audit.example.com/cause` has the cause of a write. Without a domain the key is `audit/cause`.
    pub domain: String,
}

impl AuditConfig {
    /// Returns a configuration that writes all events at level Metadata to the file at `path`, without
    /// rotation.
    #[must_use]
    pub fn to_file(path: &str) -> Self {
        let rotation = Rotation {
            max_size: 0,
            max_backups: 0,
            max_age: 0,
        };
        let path = path.to_owned();
        Self {
            policy: Policy::metadata(),
            log: Some(AuditLog { path, rotation }),
            webhook: None,
            domain: String::new(),
        }
    }
}

/// Audit policy, and the opened destinations of events.
#[derive(Clone)]
pub struct Audit {
    policy: Arc<Policy>,
    log: Option<Log>,
    webhook: Option<Batches>,
    metrics: Arc<Metrics>,
    domain: Arc<str>,
}

/// Queue of lines for the thread that writes the log file.
#[derive(Clone)]
struct Log {
    queue: mpsc::Sender<Message>,
    bytes: Arc<Semaphore>,
    /// Tasks that wait for room in the queue, each with a line.
    waiting: TaskTracker,
    /// Bytes that the lines of these tasks may still have.
    waiting_bytes: Arc<Semaphore>,
}

/// A line whose request waits for room in the queue. If the request stops waiting, a task waits instead.
struct UnsentLine<'a> {
    audit: &'a Audit,
    line: Option<Bytes>,
}

impl Drop for UnsentLine<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            self.audit.send_later(line);
        }
    }
}

/// Reason why an audit log could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("audit log {path:?} cannot be opened: {problem}")]
pub struct AuditError {
    path: String,
    problem: io::Error,
}

impl Audit {
    /// Opens the log for appending, and starts to send events to the webhook; must be called on a runtime.
    ///
    /// # Errors
    /// When the file cannot be opened or its thread cannot be started.
    pub fn open(
        config: AuditConfig,
        metrics: Arc<Metrics>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, AuditError> {
        let log = config
            .log
            .map(|log| Log::open(log, &metrics, clock))
            .transpose()?;
        let webhook = config
            .webhook
            .map(|(destination, batching)| Batches::start(destination, batching, Arc::clone(&metrics)));
        Ok(Self {
            policy: Arc::new(config.policy),
            log,
            webhook,
            metrics,
            domain: config.domain.into(),
        })
    }

    /// Creates the annotations of a new event.
    pub(crate) fn annotations(&self) -> Annotations {
        Annotations::of(Arc::clone(&self.domain))
    }

    /// Returns the verdict of the policy about a request.
    pub(crate) fn judge(&self, attributes: PolicyAttributes<'_>) -> Verdict {
        self.policy.judge(attributes)
    }

    /// Records one event; waits while the queue of the log is full. The event is recorded even if the caller
    /// stops waiting.
    pub(crate) async fn record(&self, event: &Event<'_>) {
        let Some(line) = self.encode(event) else { return };
        let Some(log) = &self.log else { return };
        let mut unsent = UnsentLine {
            audit: self,
            line: Some(line.clone()),
        };
        let result = log.send(line).await;
        unsent.line = None;
        if let Err(problem) = result {
            self.report_loss(problem);
        }
    }

    /// Records one event without waiting: if the queue of the log is full, a task waits instead.
    pub(crate) fn record_later(&self, event: &Event<'_>) {
        if let Some(line) = self.encode(event) {
            self.send_later(line);
        }
    }

    /// Sends a line to the log. If the queue is full, a task waits, as long as such tasks hold few bytes.
    fn send_later(&self, line: Bytes) {
        let Some(log) = self.log.clone() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return self.report_loss("the runtime has ended");
        };
        let Some(line) = log.try_send(line) else { return };
        let Ok(permit) = Arc::clone(&log.waiting_bytes).try_acquire_many_owned(weight(&line)) else {
            return self.report_loss("the disk is slow, and too many events wait for it already");
        };
        let audit = self.clone();
        let waiting = log.waiting.clone();
        let send = async move {
            if let Err(problem) = log.send(line).await {
                audit.report_loss(problem);
            }
            drop(permit);
        };
        drop(waiting.spawn_on(send, &runtime));
    }

    /// Waits until all recorded events are written to the log, and at most ten seconds until they are sent to
    /// the webhook.
    pub async fn flush(&self) {
        if let Some(log) = &self.log {
            // A closed tracker still takes tasks; only the wait requires that it is closed.
            log.waiting.close();
            log.waiting.wait().await;
            let (reply, written) = oneshot::channel();
            if log.queue.send(Message::Flush(reply)).await.is_err() || written.await.is_err() {
                tracing::error!("audit log writer ended early; the last events are lost");
            }
        }
        if let Some(webhook) = &self.webhook
            && tokio::time::timeout(SHUTDOWN_TIMEOUT, webhook.flush())
                .await
                .is_err()
        {
            tracing::error!("audit webhook did not accept the last events before shutdown; they are lost");
        }
    }

    /// Passes the event to the webhook, and returns it as a line of the log.
    fn encode(&self, event: &Event<'_>) -> Option<Bytes> {
        self.metrics.audit_event();
        match event.line() {
            Ok(mut line) => {
                if let Some(webhook) = &self.webhook {
                    webhook.push(line.clone().into());
                }
                line.push(b'\n');
                Some(line.into())
            }
            Err(problem) => {
                self.report_loss(&problem.to_string());
                None
            }
        }
    }

    fn report_loss(&self, problem: &str) {
        self.metrics.audit_error("log", 1);
        tracing::error!(
            problem,
            "cannot write an audit event, which is then missing in the audit log"
        );
    }
}

impl Log {
    fn open(log: AuditLog, metrics: &Arc<Metrics>, clock: &Arc<dyn Clock>) -> Result<Self, AuditError> {
        let AuditLog { path, rotation } = log;
        let open = || -> io::Result<Self> {
            let sink: Box<dyn Write + Send> = match path.as_str() {
                "-" => Box::new(BufWriter::new(io::stdout())),
                path => {
                    // No buffer: each write must be a whole line, so that no line is split over two files.
                    Box::new(RotatingFile::open(Path::new(path), rotation, Arc::clone(clock))?)
                }
            };
            let (queue, messages) = mpsc::channel(MAX_QUEUE_LINES);
            let errors = Arc::clone(metrics);
            std::thread::Builder::new()
                .name("audit".to_owned())
                .spawn(move || write_lines(sink, messages, &errors))?;
            Ok(Self {
                queue,
                bytes: Arc::new(Semaphore::new(MAX_QUEUE_BYTES)),
                waiting: TaskTracker::new(),
                waiting_bytes: Arc::new(Semaphore::new(MAX_WAITING_BYTES)),
            })
        };
        open().map_err(|problem| AuditError {
            path: path.clone(),
            problem,
        })
    }

    async fn send(&self, line: Bytes) -> Result<(), &'static str> {
        const ENDED: &str = "the thread that writes the audit log has ended";
        let permit = Arc::clone(&self.bytes).acquire_many_owned(weight(&line)).await;
        let permit = permit.map_err(|_| ENDED)?;
        self.queue
            .send(Message::Line(line, permit))
            .await
            .map_err(|_| ENDED)
    }

    /// Returns the line if it cannot be queued now.
    fn try_send(&self, line: Bytes) -> Option<Bytes> {
        let Ok(permit) = Arc::clone(&self.bytes).try_acquire_many_owned(weight(&line)) else {
            return Some(line);
        };
        match self.queue.try_send(Message::Line(line, permit)) {
            Ok(()) => None,
            Err(error) => match error.into_inner() {
                Message::Line(line, _) => Some(line),
                Message::Flush(_) => None,
            },
        }
    }
}

/// Returns the number of permits that a line needs. A line that is larger than the queue needs all of them.
fn weight(line: &Bytes) -> u32 {
    u32::try_from(line.len().min(MAX_QUEUE_BYTES)).unwrap_or(u32::MAX)
}

/// Writes the lines of the queue to `sink` until the queue is closed.
fn write_lines(mut sink: Box<dyn Write + Send>, mut messages: mpsc::Receiver<Message>, metrics: &Metrics) {
    while let Some(message) = messages.blocking_recv() {
        let result = match message {
            Message::Line(line, _permit) => sink.write_all(&line).and_then(|()| {
                // The sink is flushed when the queue is empty: lines are written immediately at low load, and
                // in groups at high load.
                if messages.is_empty() { sink.flush() } else { Ok(()) }
            }),
            Message::Flush(done) => {
                let result = sink.flush();
                // The caller may have stopped waiting.
                let _: Result<(), ()> = done.send(());
                result
            }
        };
        if let Err(problem) = result {
            metrics.audit_error("log", 1);
            tracing::error!(%problem, "cannot write to the audit log, so events are missing in it; check the disk");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_admission::UserInfo;
    use futures::FutureExt;

    use super::*;
    use crate::audit::{Level, Stage};
    use crate::testing::{clock, now};

    fn open(path: &str) -> Result<Audit, AuditError> {
        Audit::open(AuditConfig::to_file(path), Arc::new(Metrics::new()), &clock())
    }

    #[tokio::test]
    async fn more_events_than_the_queue_holds_are_all_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = open(path.to_str().unwrap()).unwrap();
        let user = UserInfo {
            name: "alice".to_owned(),
            ..UserInfo::default()
        };
        for index in 0..3 * MAX_QUEUE_LINES {
            let id = index.to_string();
            audit.record(&event(&id, &user)).await;
        }
        audit.flush().await;
        let text = std::fs::read_to_string(&path).unwrap();
        let ids: Vec<String> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["auditID"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(
            ids,
            (0..3 * MAX_QUEUE_LINES)
                .map(|index| index.to_string())
                .collect::<Vec<_>>()
        );
        assert!(text.contains("\"stageTimestamp\":\"2026-11-21T12:00:00.000000Z\""));
    }

    #[tokio::test]
    async fn a_flush_waits_for_the_events_that_wait_for_room_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = open(path.to_str().unwrap()).unwrap();
        let log = audit.log.clone().unwrap();
        let all = u32::try_from(MAX_QUEUE_BYTES).unwrap();
        let full = Arc::clone(&log.bytes).acquire_many_owned(all).await.unwrap();
        audit.record_later(&event("late", &UserInfo::default()));
        let flushing = tokio::spawn({
            let audit = audit.clone();
            async move { audit.flush().await }
        });
        tokio::task::yield_now().await;
        // The thread answers in order: after this answer, a flush that does not wait has its answer, too.
        let (reply, written) = oneshot::channel();
        assert!(log.queue.send(Message::Flush(reply)).await.is_ok());
        written.await.unwrap();
        tokio::task::yield_now().await;
        assert!(!flushing.is_finished());
        drop(full);
        flushing.await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"auditID\":\"late\""), "{text}");
    }

    #[tokio::test]
    async fn an_event_is_written_once_if_its_request_stops_waiting_for_room_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = open(path.to_str().unwrap()).unwrap();
        let log = audit.log.clone().unwrap();
        let all = u32::try_from(MAX_QUEUE_BYTES).unwrap();
        let full = Arc::clone(&log.bytes).acquire_many_owned(all).await.unwrap();
        let user = UserInfo::default();
        let left = event("left", &user);
        assert!(audit.record(&left).now_or_never().is_none(), "the queue is full");
        drop(full);
        audit.flush().await;
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("\"auditID\":\"left\"").count(), 1, "{text}");
    }

    #[tokio::test]
    async fn events_that_no_request_waits_for_are_counted_as_lost_beyond_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let metrics = Arc::new(Metrics::new());
        let config = AuditConfig::to_file(path.to_str().unwrap());
        let audit = Audit::open(config, Arc::clone(&metrics), &clock()).unwrap();
        let log = audit.log.clone().unwrap();
        let [queue, waiting] = [MAX_QUEUE_BYTES, MAX_WAITING_BYTES].map(|most| u32::try_from(most).unwrap());
        let full = Arc::clone(&log.bytes).acquire_many_owned(queue).await.unwrap();
        let others = Arc::clone(&log.waiting_bytes).acquire_many_owned(waiting).await;
        let user = UserInfo::default();
        audit.record_later(&event("lost", &user));
        drop(others);
        audit.record_later(&event("kept", &user));
        drop(full);
        audit.flush().await;
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"kept\"") && !text.contains("\"lost\""), "{text}");
        let page = metrics.render().unwrap();
        assert!(
            page.contains("apiserver_audit_error_total{plugin=\"log\"} 1\n"),
            "{page}"
        );
    }

    #[test]
    fn a_path_that_cannot_be_opened_is_named() {
        let problem = open("/nowhere/audit.log").err().unwrap();
        assert!(
            problem
                .to_string()
                .starts_with("audit log \"/nowhere/audit.log\" cannot be opened"),
            "{problem}"
        );
    }

    fn event<'a>(id: &'a str, user: &'a UserInfo) -> Event<'a> {
        Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: Level::Metadata,
            audit_id: id,
            stage: Stage::ResponseComplete,
            request_uri: "/",
            verb: "get",
            user: user.into(),
            impersonated_user: None,
            source_ips: &[],
            user_agent: "",
            object_ref: None,
            response_status: None,
            request_received_timestamp: now(),
            stage_timestamp: now(),
            annotations: BTreeMap::new(),
            request_object: None,
            response_object: None,
        }
    }
}
