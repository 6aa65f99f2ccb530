//! What is noted about a request on its way, and what becomes of it at the end: a log line, metrics, audit events.

use std::sync::Arc;
use std::time::Instant;

use admission::UserInfo;
use bytes::Bytes;
use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use meta::{Clock, Timestamp};
use prometheus_client::metrics::gauge::Gauge;

use crate::audit::{Audit, Event, ObjectReference, ResponseStatus, Stage};
use crate::authn::Connection;
use crate::context::Annotations;
use crate::limit::Places;
use crate::memory::Charge;
use crate::metrics::{Labels, Metrics, WatchMeter};
use crate::request_info::RequestInfo;
use crate::respond::{Failure, Progress};

/// The header that joins this server's audit events with those of a kube-apiserver before it.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The longest Audit-ID taken over from a client.
const LONGEST_ID: usize = 64;

/// One request's trail.
pub(super) struct Trail {
    pub(super) id: String,
    pub(super) received: Timestamp,
    pub(super) started: Instant,
    pub(super) uri: String,
    pub(super) user_agent: String,
    pub(super) source_ips: Vec<String>,
    pub(super) info: Option<Arc<RequestInfo>>,
    pub(super) labels: Labels,
    pub(super) user: UserInfo,
    pub(super) impersonated: Option<UserInfo>,
    pub(super) annotations: Annotations,
    pub(super) place: Option<Places>,
    /// What the request is charged for, until it is answered.
    pub(super) charge: Option<Charge>,
    pub(super) long_running: bool,
    /// Of a watch: what it has handed out.
    pub(super) progress: Option<Progress>,
    /// Kept while the request runs, so that its connection counts as busy.
    pub(super) busy: Option<Arc<dyn std::any::Any + Send + Sync>>,
}

impl Trail {
    /// Starts with what the request line, headers and connection tell.
    pub(super) fn start(parts: &Parts, connection: &Connection, received: Timestamp) -> Self {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let id = header(AUDIT_ID)
            .filter(|id| !id.is_empty() && id.len() <= LONGEST_ID)
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        Self {
            id,
            received,
            started: Instant::now(),
            uri: parts
                .uri
                .path_and_query()
                .map_or_else(|| parts.uri.to_string(), ToString::to_string),
            user_agent: header(USER_AGENT).unwrap_or_default().to_owned(),
            source_ips: source_ips(&parts.headers, connection),
            info: None,
            labels: Labels::of(&RequestInfo::default(), None),
            user: UserInfo::default(),
            impersonated: None,
            annotations: Annotations::default(),
            place: None,
            charge: None,
            long_running: false,
            progress: None,
            busy: None,
        }
    }
}

fn source_ips(headers: &HeaderMap, connection: &Connection) -> Vec<String> {
    let forwarded = headers
        .get(FORWARDED_FOR)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut ips: Vec<String> = forwarded
        .split(',')
        .filter_map(|ip| ip.trim().parse::<std::net::IpAddr>().ok())
        .map(|ip| ip.to_string())
        .collect();
    let peer = connection.peer().ip().to_string();
    if ips.last() != Some(&peer) {
        ips.push(peer);
    }
    ips
}

/// A request whose answer is decided: completes it when dropped, after the last byte or whatever came instead.
pub(super) struct Ending {
    trail: Trail,
    code: u16,
    failure: Option<Failure>,
    sent: u64,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    audit: Option<Audit>,
    long_running: Option<Gauge>,
    watching: Option<Watching>,
}

/// What is counted of a watch while it runs.
struct Watching {
    progress: Progress,
    meter: WatchMeter,
    /// Whether it is known that all there was at the start has been sent.
    listed: bool,
}

impl Ending {
    /// Follows the request of `trail`, answered with `code`.
    pub(super) fn new(
        mut trail: Trail,
        code: u16,
        failure: Option<Failure>,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        audit: Option<Audit>,
    ) -> Self {
        let long_running = trail.long_running.then(|| metrics.long_running(&trail.labels));
        let progress = trail.progress.take().filter(|_| trail.long_running);
        let watching = progress.map(|progress| Watching {
            progress,
            meter: metrics.watch_meter(&trail.labels),
            listed: false,
        });
        Self {
            trail,
            code,
            failure,
            sent: 0,
            metrics,
            clock,
            audit,
            long_running,
            watching,
        }
    }

    /// Notes bytes handed over. This is done for every event of every watcher: what it takes is looked up beforehand.
    pub(super) fn sent(&mut self, data: &Bytes) {
        self.sent += data.len() as u64;
        let Some(watching) = &mut self.watching else {
            return;
        };
        watching.meter.sent(watching.progress.take(), data.len());
        if !watching.listed && watching.progress.is_listed() {
            watching.listed = true;
            let seconds = self.trail.started.elapsed().as_secs_f64();
            self.metrics.watch_listed(&self.trail.labels, seconds);
        }
    }

    /// Writes the audit event that is due when the answer is decided: the start of a long-running one, the end of any
    /// other. Here the log may make the request wait.
    pub(super) async fn record(&mut self, panicked: bool) {
        let stage = match (panicked, self.trail.long_running) {
            (true, _) => Stage::Panic,
            (false, true) => Stage::ResponseStarted,
            (false, false) => Stage::ResponseComplete,
        };
        let audit = if stage == Stage::ResponseStarted {
            self.audit.clone()
        } else {
            self.audit.take()
        };
        if let Some(audit) = audit {
            audit.record(&self.event(stage)).await;
        }
    }

    fn event(&self, stage: Stage) -> Event<'_> {
        let trail = &self.trail;
        let (reason, message) = match &self.failure {
            Some(failure) => (failure.reason.as_str(), failure.message.as_str()),
            None => ("", ""),
        };
        Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: "Metadata",
            audit_id: &trail.id,
            stage,
            request_uri: &trail.uri,
            verb: trail.info.as_ref().map_or("", |info| info.verb),
            user: (&trail.user).into(),
            impersonated_user: trail.impersonated.as_ref().map(Into::into),
            source_ips: &trail.source_ips,
            user_agent: &trail.user_agent,
            object_ref: trail.info.as_deref().and_then(object_reference),
            response_status: Some(ResponseStatus {
                metadata: std::collections::BTreeMap::new(),
                status: if reason.is_empty() { "" } else { "Failure" },
                message,
                reason,
                code: self.code,
            }),
            request_received_timestamp: trail.received,
            stage_timestamp: self.clock.now(),
            annotations: trail.annotations.all(),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let seconds = self.trail.started.elapsed().as_secs_f64();
        let long_running = self.long_running.take();
        self.metrics.answered(
            &self.trail.labels,
            self.code,
            seconds,
            self.sent,
            long_running.is_some(),
        );
        if let Some(gauge) = long_running {
            gauge.dec();
        }
        if let Some(audit) = self.audit.take() {
            audit.record_later(&self.event(Stage::ResponseComplete));
        }
        tracing::debug!(
            audit_id = self.trail.id,
            uri = self.trail.uri,
            user = self.trail.impersonated.as_ref().unwrap_or(&self.trail.user).name,
            code = self.code,
            bytes = self.sent,
            seconds,
            "answered"
        );
    }
}

fn object_reference(info: &RequestInfo) -> Option<ObjectReference<'_>> {
    info.is_resource.then_some(ObjectReference {
        resource: &info.resource,
        namespace: &info.namespace,
        name: &info.name,
        api_group: &info.group,
        api_version: &info.version,
        subresource: &info.subresource,
    })
}
