//! The request pipeline: the steps of a request, in order, between the connection and the API.
//!
//! The steps begin at [`Chain::handle`], and comments there state the reasons for their order. A refusal at
//! any step is a `Status`, and every answer, including refusals, passes through [`Chain::finish`].

mod body;
mod builder;
mod limits;
mod paths;
mod timeout;
mod tracker;
mod warnings;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use berth_admission::UserInfo;
use berth_apimachinery::{Clock, Status};
use futures::FutureExt;
use http::header::{CACHE_CONTROL, HeaderValue, WARNING, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::audit::Audit;
use crate::auth::Authorizer;
use crate::authn::{AuthenticatedUser, Authentication, Connection, UNAUTHENTICATED, impersonate};
use crate::authz;
use crate::call::Warnings;
use crate::context::{Api, AuthorizedRequest, RequestCx};
use crate::documents::Documents;
use crate::health::Health;
use crate::heavy::{self, HeavyExecutor};
use crate::limit::{Limiters, Places};
use crate::memory::{self, ByteLimiter, Charge, Share};
use crate::metrics::{Labels, Metrics};
use crate::request_info::RequestInfo;
use crate::respond;
use crate::response_facts::{Failure, JoinedList, WatchProgress};
use crate::unread::ProgressLimit;
use crate::version::VersionInfo;

pub use builder::ChainBuilder;
pub use limits::Limits;

use body::{BodyReservation, SharedBody};
use tracker::{AUDIT_ID, Completion, RequestTracker};

/// Parts of a pipeline.
#[non_exhaustive]
pub struct ChainConfig {
    /// The API behind the pipeline.
    pub api: Arc<dyn Api>,
    /// Authentication of users.
    pub authentication: Authentication,
    /// The program's authorizer. Requests of `system:masters` and for the always-allowed paths do not reach
    /// it.
    pub authorizer: Arc<dyn Authorizer>,
    /// Paths that need no rights; a trailing `*` matches any rest. See [`authz::ALWAYS_ALLOWED`].
    pub always_allowed: Vec<String>,
    /// Limits of requests.
    pub limits: Limits,
    /// The bytes that all requests together may use; shared with the program's own routes.
    pub memory: Arc<ByteLimiter>,
    /// Audit policy and destinations of events, if there are any.
    pub audit: Option<Audit>,
    /// The health checks.
    pub health: Arc<Health>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The body of `/version`.
    pub version: VersionInfo,
    /// Discovery and OpenAPI.
    pub documents: Documents,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// Bytes of memory for each byte of a changed stored object: a change needs several trees of the object.
const BYTES_PER_STORED_BYTE: usize = 8;
/// Highest number of bytes of a stored object that are charged, so that with the default share of a user the
/// largest object can be made smaller and be deleted.
const MAX_CHARGED_STORED_BYTES: usize = 3 << 20;

/// Size of the largest small answer, in bytes. A client that reads at all receives a small answer at once.
const MAX_SMALL_ANSWER: u64 = 64 * 1024;

/// The pipeline of a server.
pub struct Chain {
    api: Arc<dyn Api>,
    authentication: Authentication,
    authorizer: Arc<dyn Authorizer>,
    limits: Limits,
    memory: Arc<ByteLimiter>,
    reads: Limiters,
    writes: Limiters,
    heavy: HeavyExecutor,
    audit: Option<Audit>,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    version: bytes::Bytes,
    documents: Documents,
    clock: Arc<dyn Clock>,
    /// Token that is cancelled when long-running requests must end.
    closing: CancellationToken,
}

/// Reads the body of a request to one of the program's own routes, of at most `limit` bytes, which are added
/// to `charge` as they arrive.
///
/// # Errors
/// 413 when the body is longer, by its header or in fact, or exceeds the memory share of `charge`; 429 when
/// there is no memory for it now; 400 when it is incomplete; 408 when it is too slow.
pub async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    charge: &mut Charge,
) -> Result<bytes::Bytes, Status> {
    body::read(headers, body, limit, charge).await
}

/// Marker of a request: while it exists, the connection of the request counts as busy.
pub(crate) type BusyMarker = Arc<dyn std::any::Any + Send + Sync>;

impl Chain {
    /// Creates a pipeline. Its long-running requests end when `closing` is cancelled.
    ///
    /// # Errors
    /// When the version cannot be rendered as JSON; no known version causes this.
    pub fn new(config: ChainConfig, closing: CancellationToken) -> Result<Self, serde_json::Error> {
        let limits = config.limits;
        let authorizer = authz::Union::new(vec![
            Arc::new(authz::Masters),
            Arc::new(authz::AlwaysAllowPaths::new(&config.always_allowed)),
            config.authorizer,
        ]);
        Ok(Self {
            api: config.api,
            authentication: config.authentication,
            authorizer: Arc::new(authorizer),
            limits,
            memory: config.memory,
            reads: Limiters::new(limits.reads, limits.request_timeout),
            writes: Limiters::new(limits.writes, limits.request_timeout),
            heavy: HeavyExecutor::default(),
            audit: config.audit,
            health: config.health,
            metrics: config.metrics,
            version: serde_json::to_vec_pretty(&config.version)?.into(),
            documents: config.documents,
            clock: config.clock,
            closing,
        })
    }

    /// Whether the peer presented a certificate of a trusted CA, for users or for front proxies.
    pub(crate) fn trusts_peer(&self, connection: &Connection) -> bool {
        self.authentication.trusts_peer(connection, self.clock.now())
    }

    /// Frees data that the API caches for expected requests that were not sent.
    pub(crate) async fn tidy(&self) {
        self.api.tidy().await;
    }

    /// Answers a request on `connection`.
    pub async fn handle(&self, connection: &Connection, request: Request<Body>) -> Response<Body> {
        self.handle_busy(connection, request, None).await
    }

    /// Answers a request on `connection`, and keeps `busy` until the answer's last byte.
    pub(crate) async fn handle_busy(
        &self,
        connection: &Connection,
        request: Request<Body>,
        busy: Option<BusyMarker>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (body, unread) = body::split(body);
        // The tracker is first: log lines of all later steps, and of a panic, have its Audit-ID.
        let completion = self.start_tracker(&parts, connection, busy);
        let steps =
            async |tracker: &mut RequestTracker| self.parse_and_admit(tracker, connection, parts, body).await;
        self.catch_panics(completion, unread, steps).await
    }

    /// Answers a request to one of the program's own routes without authentication (admission webhooks).
    pub(crate) async fn handle_open(
        &self,
        connection: &Connection,
        request: Request<Body>,
        route: impl AsyncFnOnce(Request<Body>) -> Response<Body>,
        busy: Option<BusyMarker>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (body, unread) = body::split(body);
        let completion = self.start_tracker(&parts, connection, busy);
        let steps = async |tracker: &mut RequestTracker| {
            let info = RequestInfo::parse(&parts.method, &parts.uri)?;
            tracker.labels = Labels::of(&info, None);
            tracker.info = Some(Arc::new(info));
            Ok(route(Request::from_parts(parts, body)).await)
        };
        self.catch_panics(completion, unread, steps).await
    }

    fn start_tracker(&self, parts: &Parts, connection: &Connection, busy: Option<BusyMarker>) -> Completion {
        let annotations = self.audit.as_ref().map(Audit::annotations);
        let annotations = annotations.unwrap_or_default();
        let mut tracker = RequestTracker::start(parts, connection, self.clock.now(), annotations);
        tracker.busy = busy;
        let (metrics, clock) = (self.metrics.clone(), self.clock.clone());
        Completion::new(tracker, metrics, clock, self.audit.clone())
    }

    /// Runs the steps of a request with panic recovery, which is outermost: a panic must not end the
    /// connection with its other requests. If the client goes away, the future is dropped, and `completion`
    /// with it, which records the request.
    async fn catch_panics(
        &self,
        mut completion: Completion,
        unread: Option<SharedBody>,
        steps: impl AsyncFnOnce(&mut RequestTracker) -> Result<Response<Body>, Status>,
    ) -> Response<Body> {
        let tracker = &mut completion.tracker;
        let span = tracing::info_span!("request", audit_id = tracker.id);
        let outcome = AssertUnwindSafe(steps(&mut *tracker))
            .catch_unwind()
            .instrument(span)
            .await;
        let panicked = outcome.is_err();
        let response = match outcome {
            Ok(Ok(response)) => response,
            Ok(Err(status)) => respond::status(&status),
            Err(panic) => {
                tracing::error!(
                    audit_id = tracker.id,
                    uri = tracker.uri,
                    panic = body::panic_text(&*panic),
                    "a request's handler panicked and was answered with 500; report it as a bug, with this line"
                );
                respond::status(&Status::internal(format!(
                    "the handler of this request panicked; the server's log has the details under audit ID {}",
                    tracker.id
                )))
            }
        };
        self.finish(completion, unread, response, panicked).await
    }

    /// Parses the request, then runs the later steps within the request's time limit. Limits, metrics,
    /// timeouts and all later steps depend on the parsed request.
    async fn parse_and_admit(
        &self,
        tracker: &mut RequestTracker,
        connection: &Connection,
        parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, Status> {
        let info = Arc::new(RequestInfo::parse(&parts.method, &parts.uri)?);
        tracker.labels = Labels::of(&info, info.is_resource.then(|| self.api.route(&info)).flatten());
        tracker.info = Some(info.clone());
        if info.verb.is_empty() {
            return Err(Status::method_not_allowed());
        }
        // The timeout applies to all that follows, including the wait for authenticators and authorizers.
        let Some(longest) = timeout::of_request(&info, self.limits.request_timeout)? else {
            return self.admit(tracker, connection, info, parts, body).await;
        };
        match tokio::time::timeout(longest, self.admit(tracker, connection, info, parts, body)).await {
            Ok(result) => result,
            Err(_) => {
                self.metrics.terminated(&tracker.labels, 504);
                Err(Status::timeout(
                    "Timeout: request did not complete within the allotted timeout",
                ))
            }
        }
    }

    /// Authenticates and authorizes the request, reserves a place for it, and answers it.
    async fn admit(
        &self,
        tracker: &mut RequestTracker,
        connection: &Connection,
        info: Arc<RequestInfo>,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, Status> {
        let user = self.authenticate(connection, &mut parts.headers, tracker).await?;
        tracker.user = user.clone();
        tracker
            .apply_audit_policy(self.audit.as_ref(), &*self.clock)
            .await;
        // Impersonation precedes limits and authorization: both are about the impersonated user.
        let user = match impersonate::impersonate(&user, &mut parts.headers, &*self.authorizer).await? {
            Some(other) => {
                tracker.impersonated = Some(other.clone());
                other
            }
            None => user,
        };
        // Limits come after authentication, because administrators are exempt. Where the authorizer sends a
        // request to another server, which takes time, the place is reserved before authorization. Elsewhere
        // a refused request needs no place.
        tracker.charge = Some(self.charge_memory(&info, &user, &tracker.labels)?);
        if !self.authorizer.is_local() {
            tracker.place = self.reserve_place(&info, &user, &tracker.labels)?;
        }
        self.authorize(&info, &user, tracker).await?;
        tracker.long_running = info.is_long_running();
        // The body is read after authorization, so that refused bodies are not read. No place is held while the
        // body arrives: a place that authorization needed is freed, and another is reserved afterwards.
        let reads = !info.is_resource || matches!(info.verb, "get" | "list" | "watch");
        let (body, weight) = if reads {
            (bytes::Bytes::new(), 0)
        } else {
            tracker.place = None;
            self.receive_body(tracker, &info, &parts, body).await?
        };
        if tracker.place.is_none() {
            tracker.place = self.reserve_place(&info, &user, &tracker.labels)?;
        }
        if !info.is_resource {
            return self.answer_path(&info, &parts);
        }
        let weight = weight.saturating_add(self.api.effort(&info, &parts.headers));
        self.dispatch(info, user, parts, body, weight, tracker).await
    }

    /// Reads the body and charges memory for it. Returns the body and the number of bytes to process.
    async fn receive_body(
        &self,
        tracker: &mut RequestTracker,
        info: &RequestInfo,
        parts: &Parts,
        body: Body,
    ) -> Result<(bytes::Bytes, usize), Status> {
        let refuse = |status: Status| {
            if status.code == 429 {
                self.metrics.terminated(&tracker.labels, 429);
            }
            status
        };
        let Some(charge) = &mut tracker.charge else {
            return Err(Status::internal(
                "no memory was reserved for this request; report this as a bug",
            ));
        };
        let body = body::read(&parts.headers, body, self.limits.body, charge).await;
        let body = body.map_err(refuse)?;
        self.metrics.body(&tracker.labels, body.len());
        let changed_bytes = self.api.changed_bytes(info);
        let stored = changed_bytes.min(MAX_CHARGED_STORED_BYTES) * BYTES_PER_STORED_BYTE;
        charge
            .grow(self.api.tree_size(&parts.headers, &body) + stored)
            .map_err(refuse)?;
        tracker.keep_body(&parts.headers, &body);
        let weight = body.len() + changed_bytes;
        Ok((body, weight))
    }

    async fn authenticate(
        &self,
        connection: &Connection,
        headers: &mut HeaderMap,
        tracker: &RequestTracker,
    ) -> Result<UserInfo, Status> {
        match self
            .authentication
            .authenticate(connection, headers, tracker.received)
            .await
        {
            Ok(AuthenticatedUser {
                user,
                certificate_expires,
            }) => {
                self.metrics.authenticated(&user.name);
                if !user.is_in(UNAUTHENTICATED) {
                    connection.mark_identified();
                }
                if let Some(expires) = certificate_expires {
                    self.metrics
                        .certificate_life(expires - tracker.received.as_second());
                }
                Ok(user)
            }
            Err(refusals) => {
                self.metrics.unauthenticated();
                let reasons = refusals.join("; ");
                tracing::info!(audit_id = tracker.id, peer = %connection.peer(), reasons, "request is not authenticated");
                Err(Status::unauthorized())
            }
        }
    }

    /// Reserves a place among the requests in flight. Long-running requests, administrators and probes need
    /// none.
    fn reserve_place(
        &self,
        info: &RequestInfo,
        user: &UserInfo,
        labels: &Labels,
    ) -> Result<Option<Places>, Status> {
        let exempt = info.is_long_running() || user.is_in(authz::MASTERS) || is_probe(info);
        if exempt {
            return Ok(None);
        }
        let limiters = if info.is_read_only() {
            &self.reads
        } else {
            &self.writes
        };
        if let Some(place) = limiters.admit(holder(user), user.is_in(UNAUTHENTICATED)) {
            return Ok(Some(place));
        }
        self.metrics.terminated(labels, 429);
        Err(Status::too_many_requests(
            "Too many requests, please try again later.",
            1,
        ))
    }

    /// Charges the minimal memory of the request to the user.
    fn charge_memory(&self, info: &RequestInfo, user: &UserInfo, labels: &Labels) -> Result<Charge, Status> {
        let share = if user.is_in(authz::MASTERS) || is_probe(info) {
            Share::Exempt
        } else if user.is_in(UNAUTHENTICATED) {
            Share::UNAUTHENTICATED
        } else {
            Share::USER
        };
        let charge = self.memory.charge(holder(user), share, minimal_bytes(info));
        charge.inspect_err(|_| self.metrics.terminated(labels, 429))
    }

    async fn authorize(
        &self,
        info: &RequestInfo,
        user: &UserInfo,
        tracker: &RequestTracker,
    ) -> Result<(), Status> {
        let attributes = authz::attributes(info, user);
        let result = authz::require(&*self.authorizer, &attributes).await;
        let (decision, reason) = match &result {
            Ok(reason) => ("allow", reason.as_str()),
            Err(status) if status.code == 403 => ("forbid", ""),
            Err(_) => ("error", ""),
        };
        if self.audit.is_some() {
            tracker.annotations.add("authorization.k8s.io/decision", decision);
            tracker.annotations.add("authorization.k8s.io/reason", reason);
        }
        result.map(drop)
    }

    async fn dispatch(
        &self,
        info: Arc<RequestInfo>,
        user: UserInfo,
        parts: Parts,
        body: bytes::Bytes,
        weight: usize,
        tracker: &RequestTracker,
    ) -> Result<Response<Body>, Status> {
        let warnings = Warnings::default();
        let request = RequestCx {
            info,
            user,
            method: parts.method,
            headers: parts.headers,
            body,
            now: tracker.received,
            authorizer: self.authorizer.clone(),
            warnings: warnings.clone(),
            annotations: tracker.annotations.clone(),
        };
        let request = AuthorizedRequest::new(request);
        let mut response = if weight > heavy::LIGHT {
            let api = Arc::clone(&self.api);
            let holder = holder(&request.user).to_owned();
            let work = async move { api.dispatch(request).await };
            self.heavy.run(&holder, work).await?
        } else {
            self.api.dispatch(request).await
        };
        for value in warnings::headers(&warnings.take()) {
            response.headers_mut().append(WARNING, value);
        }
        Ok(response)
    }

    /// Adds the headers that every answer has, records the audit event, and prepares the body for sending.
    async fn finish(
        &self,
        mut completion: Completion,
        unread: Option<SharedBody>,
        mut response: Response<Body>,
        panicked: bool,
    ) -> Response<Body> {
        let tracker = &mut completion.tracker;
        respond::set_default(
            &mut response,
            CACHE_CONTROL,
            HeaderValue::from_static("no-cache, private"),
        );
        response
            .headers_mut()
            .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(id) = HeaderValue::from_str(&tracker.id) {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        if tracker.yaml && response.extensions().get::<Failure>().is_some() {
            response = respond::as_yaml(response).await;
        }
        // A refused watch is an ordinary, short answer.
        tracker.long_running &= response.status().is_success() || response.status().is_informational();
        response = tracker.read_bodies(response).await;
        let long_running = tracker.long_running;
        let reservation = self.reserve_answer(tracker, &response);
        tracker.progress = response.extensions_mut().remove::<WatchProgress>();
        let failure = response.extensions_mut().remove::<Failure>();
        completion.answer(response.status().as_u16(), failure);
        completion.record(panicked).await;
        let closing = long_running.then_some(&self.closing);
        let longest = (!long_running).then_some(self.limits.request_timeout);
        response.map(|inner| {
            Body::new(body::TrackedBody::new(
                inner,
                completion,
                unread,
                closing,
                longest,
                reservation,
            ))
        })
    }

    /// Replaces the charge for the request by a charge for the answer, until the client has read it, and sets
    /// the time limit for sending it. Frees the place among the requests in flight, unless the answer is still
    /// being made.
    fn reserve_answer(&self, tracker: &mut RequestTracker, response: &Response<Body>) -> BodyReservation {
        let mut charge = tracker
            .charge
            .take()
            .unwrap_or_else(|| self.memory.empty_charge(UNAUTHENTICATED, Share::UNAUTHENTICATED));
        charge.shrink_to(match &tracker.info {
            Some(info) if tracker.long_running => minimal_bytes(info),
            _ => memory::REQUEST,
        });
        let size = http_body::Body::size_hint(response.body()).exact();
        if size.is_some() {
            tracker.place = None;
        }
        let has_own_bytes = response.extensions().get::<JoinedList>().is_none();
        if let (true, Some(size)) = (has_own_bytes, size) {
            charge.add(usize::try_from(size).unwrap_or(usize::MAX / 2));
        }
        let progress_limit = ProgressLimit::of_task();
        if !tracker.long_running {
            let small = size.is_some_and(|size| size <= MAX_SMALL_ANSWER);
            progress_limit.set(if small {
                self.limits.small_answer_timeout
            } else {
                self.limits.request_timeout
            });
        }
        BodyReservation::new(charge, progress_limit)
    }
}

/// Returns the holder of a request's places and bytes: the user, or one for all unauthenticated users.
fn holder(user: &UserInfo) -> &str {
    match user.is_in(UNAUTHENTICATED) {
        true => UNAUTHENTICATED,
        false => &user.name,
    }
}

/// Returns the minimal memory of a request, in bytes. It includes the selectors of a watch, which are kept
/// and compared with every change.
fn minimal_bytes(info: &RequestInfo) -> usize {
    match info.is_long_running() {
        true => memory::LONG_RUNNING + info.selector_bytes() * memory::SELECTOR,
        false => memory::REQUEST,
    }
}

fn is_probe(info: &RequestInfo) -> bool {
    !info.is_resource && crate::health::Probe::of_path(&info.path).is_some()
}

#[cfg(test)]
mod tests;
