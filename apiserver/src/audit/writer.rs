//! The audit log's writer: a thread of its own behind a bounded queue, so that a slow disk slows requests down and
//! never blocks the runtime.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::event::Event;
use crate::metrics::Metrics;

/// How many lines may wait. At a few hundred bytes each this is well under a megabyte.
const QUEUE: usize = 1024;

enum Message {
    Line(Vec<u8>),
    Flush(oneshot::Sender<()>),
}

/// An open audit log.
#[derive(Clone)]
pub struct Audit {
    queue: mpsc::Sender<Message>,
    metrics: Arc<Metrics>,
}

/// Why an audit log could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("audit log {path:?} cannot be opened: {problem}")]
pub struct AuditError {
    path: String,
    problem: io::Error,
}

impl Audit {
    /// Opens the log at `path` for appending; `-` is standard output.
    ///
    /// # Errors
    /// When the file cannot be opened or its thread cannot be started.
    pub fn open(path: &str, metrics: Arc<Metrics>) -> Result<Self, AuditError> {
        let failed = |problem| AuditError {
            path: path.to_owned(),
            problem,
        };
        let sink: Box<dyn Write + Send> = if path == "-" {
            Box::new(io::stdout())
        } else {
            // It says who did what: for its owner only, as in kube-apiserver. The mode of one that is there stays.
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            Box::new(options.open(path).map_err(failed)?)
        };
        Self::start(sink, metrics).map_err(failed)
    }

    fn start(sink: Box<dyn Write + Send>, metrics: Arc<Metrics>) -> io::Result<Self> {
        let (queue, messages) = mpsc::channel(QUEUE);
        let errors = metrics.clone();
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write_all(BufWriter::new(sink), messages, &errors))?;
        Ok(Self { queue, metrics })
    }

    /// Hands one event to the log, waiting while the queue is full.
    pub(crate) async fn record(&self, event: &Event<'_>) {
        let Some(line) = self.line(event) else { return };
        if self.queue.send(Message::Line(line)).await.is_err() {
            self.lost("its thread has ended");
        }
    }

    /// The same from where waiting is impossible: a task waits instead.
    pub(crate) fn record_later(&self, event: &Event<'_>) {
        let Some(line) = self.line(event) else { return };
        match self.queue.try_send(Message::Line(line)) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Closed(_)) => self.lost("its thread has ended"),
            Err(mpsc::error::TrySendError::Full(message)) => match tokio::runtime::Handle::try_current() {
                Ok(runtime) => {
                    let audit = self.clone();
                    runtime.spawn(async move {
                        if audit.queue.send(message).await.is_err() {
                            audit.lost("its thread has ended");
                        }
                    });
                }
                Err(_) => self.lost("its queue is full and the runtime has ended"),
            },
        }
    }

    /// Waits until everything handed over so far is written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.queue.send(Message::Flush(done)).await.is_err() || written.await.is_err() {
            tracing::error!("the audit log's thread ended before everything was written");
        }
    }

    fn line(&self, event: &Event<'_>) -> Option<Vec<u8>> {
        self.metrics.audit_event();
        match serde_json::to_vec(event) {
            Ok(mut line) => {
                line.push(b'\n');
                Some(line)
            }
            Err(problem) => {
                self.lost(&problem.to_string());
                None
            }
        }
    }

    fn lost(&self, problem: &str) {
        self.metrics.audit_error();
        tracing::error!(problem, "an audit event could not be written");
    }
}

fn write_all(
    mut sink: BufWriter<Box<dyn Write + Send>>,
    mut messages: mpsc::Receiver<Message>,
    metrics: &Metrics,
) {
    while let Some(message) = messages.blocking_recv() {
        let result = match message {
            Message::Line(line) => sink.write_all(&line).and_then(|()| {
                // Flush when nothing waits: lines are on their way at once when idle, and joined under load.
                if messages.is_empty() { sink.flush() } else { Ok(()) }
            }),
            Message::Flush(done) => {
                let result = sink.flush();
                // Whoever asked may have given up waiting.
                let _: Result<(), ()> = done.send(());
                result
            }
        };
        if let Err(problem) = result {
            metrics.audit_error();
            tracing::error!(%problem, "writing the audit log failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use admission::UserInfo;

    use super::*;
    use crate::audit::Stage;
    use crate::testing::now;

    #[tokio::test]
    async fn more_events_than_the_queue_holds_are_all_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::open(path.to_str().unwrap(), Arc::new(Metrics::new())).unwrap();
        let user = UserInfo {
            name: "alice".to_owned(),
            ..UserInfo::default()
        };
        for index in 0..3 * QUEUE {
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
            (0..3 * QUEUE).map(|index| index.to_string()).collect::<Vec<_>>()
        );
        assert!(text.contains("\"stageTimestamp\":\"2026-11-21T12:00:00.000000Z\""));
    }

    #[test]
    fn a_path_that_cannot_be_opened_is_named() {
        let problem = Audit::open("/nowhere/audit.log", Arc::new(Metrics::new()))
            .err()
            .unwrap();
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
            level: "Metadata",
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
        }
    }
}
