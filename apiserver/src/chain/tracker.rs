//! Tracker of a request in progress: the data for its log line, metrics and audit events, and the resources
//! that it holds.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use berth_admission::UserInfo;
use berth_apimachinery::{Clock, Timestamp};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Response};
use prometheus_client::metrics::gauge::Gauge;

use crate::annotations::Annotations;
use crate::audit::{
    self, Audit, Event, Level, ObjectReference, PolicyAttributes, ResponseStatus, Stage, Verdict,
};
use crate::authn::Connection;
use crate::limit::Places;
use crate::memory::Charge;
use crate::metrics::{Labels, Metrics, WatchMeter};
use crate::negotiation;
use crate::request_info::RequestInfo;
use crate::response_facts::{Failure, WatchProgress};

/// Header that links this server's audit events with the events of the kube-apiserver that forwarded the
/// request.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Size of the longest Audit-ID that is accepted from a client, in bytes.
const MAX_AUDIT_ID_BYTES: usize = 64;

/// Highest number of bytes of a user agent in the audit log, as in kube-apiserver: headers may have many
/// kilobytes.
const MAX_USER_AGENT_BYTES: usize = 1024;

fn truncated(user_agent: &str) -> String {
    match user_agent.get(..user_agent.floor_char_boundary(MAX_USER_AGENT_BYTES)) {
        Some(begin) if begin.len() < user_agent.len() => format!("{begin}...TRUNCATED"),
        _ => user_agent.to_owned(),
    }
}

/// Data and resources of one request, until its end.
pub(super) struct RequestTracker {
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
    /// Verdict of the audit policy, once the user is known.
    pub(super) verdict: Option<Verdict>,
    /// Bodies for the request's audit event.
    pub(super) bodies: Bodies,
    /// Place among the requests in flight.
    pub(super) place: Option<Places>,
    /// Memory charge of the request, until it is answered.
    pub(super) charge: Option<Charge>,
    pub(super) long_running: bool,
    /// Whether a `Status` is rendered as YAML.
    pub(super) yaml: bool,
    /// Counter of the events that a watch has sent.
    pub(super) progress: Option<WatchProgress>,
    /// Marker by which the connection counts as busy.
    pub(super) busy: Option<super::BusyMarker>,
}

impl RequestTracker {
    /// Starts to track a request, with the data of the request line, headers and connection.
    pub(super) fn start(
        parts: &Parts,
        connection: &Connection,
        received: Timestamp,
        annotations: Annotations,
    ) -> Self {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let id = header(AUDIT_ID)
            .filter(|id| !id.is_empty() && id.len() <= MAX_AUDIT_ID_BYTES)
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        Self {
            id,
            received,
            started: Instant::now(),
            uri: parts
                .uri
                .path_and_query()
                .map_or_else(|| parts.uri.to_string(), ToString::to_string),
            user_agent: truncated(header(USER_AGENT).unwrap_or_default()),
            source_ips: source_ips(&parts.headers, connection),
            info: None,
            labels: Labels::of(&RequestInfo::default(), None),
            user: UserInfo::default(),
            impersonated: None,
            annotations,
            verdict: None,
            bodies: Bodies::default(),
            place: None,
            charge: None,
            long_running: false,
            yaml: negotiation::wants_yaml(&parts.headers),
            progress: None,
            busy: None,
        }
    }
}

/// Bodies for an audit event.
#[derive(Default)]
pub(super) struct Bodies {
    /// The request's body in its original form, with its media type.
    raw: Option<(String, Bytes)>,
    /// The request's body as JSON on one line.
    request: Option<Vec<u8>>,
    /// The response's body as JSON on one line.
    response: Option<Vec<u8>>,
}

impl RequestTracker {
    /// Applies the audit policy, and records the event of the stage `RequestReceived` if the policy requires
    /// it. The parsed request and the user must be known.
    pub(super) async fn apply_audit_policy(&mut self, audit: Option<&Audit>, clock: &dyn Clock) {
        let Some(audit) = audit else { return };
        let verdict = self.verdict_of(audit);
        if self.may_write_bodies(&verdict, Level::Request) {
            self.annotations.require_request_body();
        }
        if self.may_write_bodies(&verdict, Level::RequestResponse) {
            self.annotations.require_response_body();
        }
        if verdict.writes(Stage::RequestReceived) {
            let event = self.event(&verdict, Stage::RequestReceived, clock.now(), None);
            audit.record(&event).await;
        }
        self.verdict = Some(verdict);
    }

    fn verdict_of(&self, audit: &Audit) -> Verdict {
        let empty = RequestInfo::default();
        let info = self.info.as_deref().unwrap_or(&empty);
        audit.judge(PolicyAttributes::of(info, &self.user))
    }

    /// Whether events under `verdict` have the bodies of `level`. If they are omitted because of credentials,
    /// adds an annotation.
    fn may_write_bodies(&self, verdict: &Verdict, level: Level) -> bool {
        if verdict.level < level {
            return false;
        }
        if self.info.as_deref().is_none_or(|info| !info.is_resource) {
            return false;
        }
        let confidential = self.is_confidential();
        if confidential {
            self.annotate_omission("bodies", audit::CONFIDENTIAL);
        }
        !confidential
    }

    /// Whether the bodies of the request, or of the request that it sends through a proxy, may have
    /// credentials.
    fn is_confidential(&self) -> bool {
        let info = self.info.as_deref().filter(|info| info.is_resource);
        let inner = info.and_then(|info| info.inner.as_deref());
        [info, inner]
            .into_iter()
            .flatten()
            .any(|info| audit::are_confidential(PolicyAttributes::of(info, &self.user)))
    }

    fn annotate_omission(&self, part: &str, reason: &str) {
        self.annotations
            .add_own("audit", &format!("omitted-{part}"), reason);
    }

    /// Keeps the request's body, if the audit event needs it.
    pub(super) fn keep_body(&mut self, headers: &HeaderMap, body: &Bytes) {
        let Some(verdict) = &self.verdict else { return };
        if !body.is_empty() && self.may_write_bodies(verdict, Level::Request) {
            self.bodies.raw = Some((crate::decode::media_type(headers), body.clone()));
        }
    }

    /// Converts the request's body, if the audit event needs it.
    fn read_request_body(&mut self, omit_managed_fields: bool) {
        let Some((media_type, raw)) = self.bodies.raw.take() else {
            return;
        };
        let result = match self.annotations.take_request_body() {
            Some(body) => audit::json_line("application/json", &body, omit_managed_fields),
            None => audit::json_line(&media_type, &raw, omit_managed_fields),
        };
        match result {
            Ok(line) => self.bodies.request = Some(line),
            Err(reason) => self.annotate_omission("request-object", reason),
        }
    }

    /// Converts the bodies that the audit event needs. Returns the unchanged response.
    pub(super) async fn read_bodies(&mut self, response: Response<Body>) -> Response<Body> {
        let Some(verdict) = self.verdict.clone() else {
            return response;
        };
        let omit = verdict.omit_managed_fields;
        self.read_request_body(omit);
        if self.long_running || !self.may_write_bodies(&verdict, Level::RequestResponse) {
            return response;
        }
        let (response, result) = match self.annotations.take_response_body() {
            Some(body) => (response, audit::json_line("application/json", &body, omit)),
            None => audit::read_response(response, omit).await,
        };
        match result {
            Ok(line) => self.bodies.response = Some(line),
            Err(reason) => self.annotate_omission("response-object", reason),
        }
        response
    }

    /// Creates the audit event of `stage`.
    fn event<'a>(
        &'a self,
        verdict: &Verdict,
        stage: Stage,
        at: Timestamp,
        response_status: Option<ResponseStatus<'a>>,
    ) -> Event<'a> {
        Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: verdict.level,
            audit_id: &self.id,
            stage,
            request_uri: &self.uri,
            verb: self.info.as_ref().map_or("", |info| info.verb),
            user: (&self.user).into(),
            impersonated_user: self.impersonated.as_ref().map(Into::into),
            source_ips: &self.source_ips,
            user_agent: &self.user_agent,
            object_ref: self.info.as_deref().and_then(object_reference),
            response_status,
            request_received_timestamp: self.received,
            stage_timestamp: at,
            annotations: self.annotations.all(),
            request_object: self.bodies.request.as_deref(),
            response_object: self.bodies.response.as_deref(),
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

/// Message in the audit event of a request whose client went away before there was an answer, as in
/// kube-apiserver.
const CLOSED_EARLY: &str = "Connection closed early";

/// Completion of a request. Dropping it completes the request: after the last byte of the response or an
/// abort, or without a response if the client has gone. So every request has an audit event and is counted: a
/// write may be stored although nobody reads the answer.
pub(super) struct Completion {
    pub(super) tracker: RequestTracker,
    /// Status code of the response; `None` until there is one.
    code: Option<u16>,
    failure: Option<Failure>,
    sent_bytes: u64,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    audit: Option<Audit>,
    long_running: Option<Gauge>,
    watch: Option<WatchCounters>,
}

/// Counters of a running watch.
struct WatchCounters {
    progress: WatchProgress,
    meter: WatchMeter,
    /// Whether all initial objects are known to be sent.
    listed: bool,
}

impl Completion {
    /// Creates the completion of a request that has no answer yet.
    pub(super) fn new(
        tracker: RequestTracker,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        audit: Option<Audit>,
    ) -> Self {
        Self {
            tracker,
            code: None,
            failure: None,
            sent_bytes: 0,
            metrics,
            clock,
            audit,
            long_running: None,
            watch: None,
        }
    }

    /// Sets the response: its status code, and the failure that it reports.
    pub(super) fn answer(&mut self, code: u16, failure: Option<Failure>) {
        self.code = Some(code);
        self.failure = failure;
        self.judge();
        let Self { tracker, metrics, .. } = self;
        let progress = tracker.progress.take();
        if !tracker.long_running {
            return;
        }
        let watch = progress.map(|progress| WatchCounters {
            progress,
            meter: metrics.watch_meter(&tracker.labels),
            listed: false,
        });
        let long_running = metrics.long_running(&tracker.labels);
        (self.long_running, self.watch) = (Some(long_running), watch);
    }

    /// Applies the audit policy to a request that ended before its user was known.
    fn judge(&mut self) {
        if let (None, Some(audit)) = (&self.tracker.verdict, &self.audit) {
            self.tracker.verdict = Some(self.tracker.verdict_of(audit));
        }
    }

    /// Counts the bytes of a sent part, and the events of a watch. This happens for every event of every
    /// watch, so the counters were looked up before.
    pub(super) fn count_sent(&mut self, data: &Bytes) {
        self.sent_bytes += data.len() as u64;
        let Some(watch) = &mut self.watch else {
            return;
        };
        watch.meter.sent(watch.progress.take_events(), data.len());
        if !watch.listed && watch.progress.is_listed() {
            watch.listed = true;
            let seconds = self.tracker.started.elapsed().as_secs_f64();
            self.metrics.watch_listed(&self.tracker.labels, seconds);
        }
    }

    /// Records the audit event of the known response: of the start of a long-running request, of the end of
    /// any other request, or of a panic. At this point the request can wait for the log.
    pub(super) async fn record(&mut self, panicked: bool) {
        let stage = match (panicked, self.tracker.long_running) {
            (true, _) => Stage::Panic,
            (false, true) => Stage::ResponseStarted,
            (false, false) => Stage::ResponseComplete,
        };
        let audit = if stage == Stage::ResponseStarted {
            self.audit.clone()
        } else {
            self.audit.take()
        };
        if let (Some(audit), Some(verdict)) = (audit, &self.tracker.verdict)
            && verdict.writes(stage)
        {
            audit.record(&self.event(verdict, stage)).await;
        }
    }

    fn event<'a>(&'a self, verdict: &Verdict, stage: Stage) -> Event<'a> {
        let (reason, message) = match &self.failure {
            // An error message may quote credentials from the body.
            Some(failure) if self.tracker.is_confidential() => (failure.reason.as_str(), ""),
            Some(failure) => (failure.reason.as_str(), failure.message.as_str()),
            None if self.code.is_none() => ("", CLOSED_EARLY),
            None => ("", ""),
        };
        let status = ResponseStatus {
            metadata: std::collections::BTreeMap::new(),
            status: if reason.is_empty() { "" } else { "Failure" },
            message,
            reason,
            code: self.code,
        };
        self.tracker.event(verdict, stage, self.clock.now(), Some(status))
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let seconds = self.tracker.started.elapsed().as_secs_f64();
        let code = self.code.unwrap_or_default();
        self.metrics.ended(
            &self.tracker.labels,
            code,
            seconds,
            self.sent_bytes,
            self.tracker.long_running,
        );
        if let Some(gauge) = self.long_running.take() {
            gauge.dec();
        }
        if self.code.is_none() {
            self.judge();
            let verdict = self.tracker.verdict.as_ref();
            let omit = verdict.is_some_and(|verdict| verdict.omit_managed_fields);
            self.tracker.read_request_body(omit);
        }
        let audit = self.audit.take();
        if let (Some(audit), Some(verdict)) = (audit, &self.tracker.verdict)
            && verdict.writes(Stage::ResponseComplete)
        {
            audit.record_later(&self.event(verdict, Stage::ResponseComplete));
        }
        tracing::debug!(
            audit_id = self.tracker.id,
            uri = self.tracker.uri,
            user = self
                .tracker
                .impersonated
                .as_ref()
                .unwrap_or(&self.tracker.user)
                .name,
            code,
            bytes = self.sent_bytes,
            seconds,
            "the request has ended"
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
