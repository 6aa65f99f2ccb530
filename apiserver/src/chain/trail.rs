//! Data about a request in progress, for its log line, metrics and audit events.

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
use crate::respond::{Failure, Progress};

/// Header that links this server's audit events with the events of the kube-apiserver that forwarded the
/// request.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Longest Audit-ID that is accepted from a client.
const LONGEST_ID: usize = 64;

/// Bytes that are kept of a client's user agent, as in kube-apiserver's audit log: headers may have many
/// kilobytes.
const LONGEST_AGENT: usize = 1024;

fn cut(user_agent: &str) -> String {
    match user_agent.get(..user_agent.floor_char_boundary(LONGEST_AGENT)) {
        Some(begin) if begin.len() < user_agent.len() => format!("{begin}...TRUNCATED"),
        _ => user_agent.to_owned(),
    }
}

/// Trail of one request.
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
    /// Decision of the audit policy, once the user is known.
    pub(super) verdict: Option<Verdict>,
    /// Bodies for the request's audit event.
    pub(super) bodies: Bodies,
    pub(super) place: Option<Places>,
    /// Memory charge of the request, until it is answered.
    pub(super) charge: Option<Charge>,
    pub(super) long_running: bool,
    /// Whether a `Status` is rendered as YAML.
    pub(super) yaml: bool,
    /// Counter of the events that a watch has sent.
    pub(super) progress: Option<Progress>,
    /// Marker that is kept while the request runs, so that its connection counts as busy.
    pub(super) busy: Option<Arc<dyn std::any::Any + Send + Sync>>,
}

impl Trail {
    /// Starts a trail with the data of request line, headers and connection.
    pub(super) fn start(
        parts: &Parts,
        connection: &Connection,
        received: Timestamp,
        annotations: Annotations,
    ) -> Self {
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
            user_agent: cut(header(USER_AGENT).unwrap_or_default()),
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

impl Trail {
    /// Applies the audit policy, and writes the event of the stage `RequestReceived` if the policy requires
    /// it. User and request must be known.
    pub(super) async fn judge(&mut self, audit: Option<&Audit>, clock: &dyn Clock) {
        let Some(audit) = audit else { return };
        let verdict = self.verdict_of(audit);
        if self.may_write_bodies(&verdict, Level::Request) {
            self.annotations.want_object();
        }
        if self.may_write_bodies(&verdict, Level::RequestResponse) {
            self.annotations.want_answer();
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

    /// Whether an event of `verdict` has the bodies that `level` requires. An omission because of credentials
    /// is annotated.
    fn may_write_bodies(&self, verdict: &Verdict, level: Level) -> bool {
        if verdict.level < level {
            return false;
        }
        if self.info.as_deref().is_none_or(|info| !info.is_resource) {
            return false;
        }
        let confidential = self.is_confidential();
        if confidential {
            self.leave_out("bodies", audit::CONFIDENTIAL);
        }
        !confidential
    }

    /// Whether the request is about credentials, itself or through a proxy.
    fn is_confidential(&self) -> bool {
        let info = self.info.as_deref().filter(|info| info.is_resource);
        let inner = info.and_then(|info| info.inner.as_deref());
        [info, inner]
            .into_iter()
            .flatten()
            .any(|info| audit::are_confidential(PolicyAttributes::of(info, &self.user)))
    }

    fn leave_out(&self, what: &str, why: &str) {
        self.annotations.add_own("audit", &format!("omitted-{what}"), why);
    }

    /// Keeps the request's body, if the event needs it.
    pub(super) fn keep_body(&mut self, headers: &HeaderMap, body: &Bytes) {
        let Some(verdict) = &self.verdict else { return };
        if !body.is_empty() && self.may_write_bodies(verdict, Level::Request) {
            self.bodies.raw = Some((crate::decode::media_type(headers), body.clone()));
        }
    }

    /// Reads the bodies that the event needs. The response is returned unchanged.
    pub(super) async fn read_bodies(&mut self, response: Response<Body>) -> Response<Body> {
        let Some(verdict) = self.verdict.clone() else {
            return response;
        };
        let omit = verdict.omit_managed_fields;
        if let Some((media_type, raw)) = self.bodies.raw.take() {
            let result = match self.annotations.take_object() {
                Some(object) => audit::line("application/json", &object, omit),
                None => audit::line(&media_type, &raw, omit),
            };
            match result {
                Ok(line) => self.bodies.request = Some(line),
                Err(why) => self.leave_out("request-object", why),
            }
        }
        if self.long_running || !self.may_write_bodies(&verdict, Level::RequestResponse) {
            return response;
        }
        let (response, result) = match self.annotations.take_answer() {
            Some(answer) => (response, audit::line("application/json", &answer, omit)),
            None => audit::of_response(response, omit).await,
        };
        match result {
            Ok(line) => self.bodies.response = Some(line),
            Err(why) => self.leave_out("response-object", why),
        }
        response
    }

    /// Creates the event of `stage`, with the outcome of the request once it is known.
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

/// Completion of a request whose response is decided: runs when dropped, after the last byte or an abort.
pub(super) struct Completion {
    trail: Trail,
    code: u16,
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
    progress: Progress,
    meter: WatchMeter,
    /// Whether all initial objects are known to be sent.
    listed: bool,
}

impl Completion {
    /// Tracks the request of `trail`, which is answered with `code`.
    pub(super) fn new(
        mut trail: Trail,
        code: u16,
        failure: Option<Failure>,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        audit: Option<Audit>,
    ) -> Self {
        if let (None, Some(audit)) = (&trail.verdict, &audit) {
            // The request ended before its user was known.
            trail.verdict = Some(trail.verdict_of(audit));
        }
        let long_running = trail.long_running.then(|| metrics.long_running(&trail.labels));
        let progress = trail.progress.take().filter(|_| trail.long_running);
        let watch = progress.map(|progress| WatchCounters {
            progress,
            meter: metrics.watch_meter(&trail.labels),
            listed: false,
        });
        Self {
            trail,
            code,
            failure,
            sent_bytes: 0,
            metrics,
            clock,
            audit,
            long_running,
            watch,
        }
    }

    /// Counts sent bytes. This happens for every event of every watcher, so the counters are looked up in
    /// advance.
    pub(super) fn sent(&mut self, data: &Bytes) {
        self.sent_bytes += data.len() as u64;
        let Some(watch) = &mut self.watch else {
            return;
        };
        watch.meter.sent(watch.progress.take(), data.len());
        if !watch.listed && watch.progress.is_listed() {
            watch.listed = true;
            let seconds = self.trail.started.elapsed().as_secs_f64();
            self.metrics.watch_listed(&self.trail.labels, seconds);
        }
    }

    /// Writes the audit event that is due when the response is decided: the start of a long-running request,
    /// the end of any other request, or a panic. At this point the log may make the request wait.
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
        if let (Some(audit), Some(verdict)) = (audit, &self.trail.verdict)
            && verdict.writes(stage)
        {
            audit.record(&self.event(verdict, stage)).await;
        }
    }

    fn event<'a>(&'a self, verdict: &Verdict, stage: Stage) -> Event<'a> {
        let (reason, message) = match &self.failure {
            // Errors may quote the request.
            Some(failure) if self.trail.is_confidential() => (failure.reason.as_str(), ""),
            Some(failure) => (failure.reason.as_str(), failure.message.as_str()),
            None => ("", ""),
        };
        let status = ResponseStatus {
            metadata: std::collections::BTreeMap::new(),
            status: if reason.is_empty() { "" } else { "Failure" },
            message,
            reason,
            code: self.code,
        };
        self.trail.event(verdict, stage, self.clock.now(), Some(status))
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let seconds = self.trail.started.elapsed().as_secs_f64();
        let long_running = self.long_running.take();
        self.metrics.answered(
            &self.trail.labels,
            self.code,
            seconds,
            self.sent_bytes,
            long_running.is_some(),
        );
        if let Some(gauge) = long_running {
            gauge.dec();
        }
        let audit = self.audit.take();
        if let (Some(audit), Some(verdict)) = (audit, &self.trail.verdict)
            && verdict.writes(Stage::ResponseComplete)
        {
            audit.record_later(&self.event(verdict, Stage::ResponseComplete));
        }
        tracing::debug!(
            audit_id = self.trail.id,
            uri = self.trail.uri,
            user = self.trail.impersonated.as_ref().unwrap_or(&self.trail.user).name,
            code = self.code,
            bytes = self.sent_bytes,
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
