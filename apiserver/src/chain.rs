//! The request pipeline: the steps of a request, in order, between the connection and the API.
//!
//! The steps begin at [`Chain::handle`] and follow from top to bottom; each states the reason for its
//! position. A refusal at any step is a `Status`, and every answer, including refusals, passes through
//! [`Chain::finish`].

mod body;
mod builder;
mod limits;
mod paths;
mod timeout;
mod trail;
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
use crate::heavy::{self, Heavy};
use crate::limit::{Limiters, Places};
use crate::memory::{self, ByteLimiter, Charge, Share};
use crate::metrics::{Labels, Metrics};
use crate::request_info::RequestInfo;
use crate::respond::{self, Failure, JoinedList, Progress};
use crate::unread::Patience;
use crate::version::VersionInfo;

pub use builder::ChainBuilder;
pub use limits::Limits;

use body::{BodyReservation, OutlivingBody};
use trail::{AUDIT_ID, Completion, Trail};

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

/// Bytes of memory for each byte of a stored object: a change needs several trees of it.
const BYTES_PER_STORED_BYTE: usize = 8;

/// Highest number of bytes of a small answer, which every client that reads receives at once.
const SMALL_ANSWER: u64 = 64 * 1024;

/// The pipeline of a server.
pub struct Chain {
    api: Arc<dyn Api>,
    authentication: Authentication,
    authorizer: Arc<dyn Authorizer>,
    limits: Limits,
    memory: Arc<ByteLimiter>,
    reads: Limiters,
    writes: Limiters,
    heavy: Heavy,
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
/// 413 when the body is longer, by its header or in fact; 429 when there is no memory for it; 400 when it is
/// incomplete; 408 when it is too slow.
pub async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    charge: &mut Charge,
) -> Result<bytes::Bytes, Status> {
    body::read(headers, body, limit, charge).await
}

/// Marker that keeps a connection busy while a request on it runs.
pub(crate) type Busy = Arc<dyn std::any::Any + Send + Sync>;

impl Chain {
    /// Creates a pipeline. Its long-running requests end when `closing` is cancelled.
    ///
    /// # Errors
    /// When the version cannot be rendered, which no version is known to cause.
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
            heavy: Heavy::default(),
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
    pub(crate) fn knows(&self, connection: &Connection) -> bool {
        self.authentication.knows(connection, self.clock.now())
    }

    /// Frees data that the API caches for expected requests that were not sent.
    pub(crate) async fn tidy(&self) {
        self.api.tidy().await;
    }

    /// Answers one request of `connection`.
    pub async fn handle(&self, connection: &Connection, request: Request<Body>) -> Response<Body> {
        self.handle_busy(connection, request, None).await
    }

    /// Handles a request, and keeps `busy` until the answer's last byte.
    pub(crate) async fn handle_busy(
        &self,
        connection: &Connection,
        request: Request<Body>,
        busy: Option<Busy>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (body, unread) = body::split(body);
        // The Audit-ID is set first: everything after it, including a panic, can be found by it.
        let mut trail = self.trail(&parts, connection);
        trail.busy = busy;
        let steps = async |trail: &mut Trail| self.understand(trail, connection, parts, body).await;
        self.catch_panics(trail, unread, steps).await
    }

    /// Answers a request to one of the program's own routes without authentication (admission webhooks).
    pub(crate) async fn handle_open(
        &self,
        connection: &Connection,
        request: Request<Body>,
        route: impl AsyncFnOnce(Request<Body>) -> Response<Body>,
        busy: Option<Busy>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (body, unread) = body::split(body);
        let mut trail = self.trail(&parts, connection);
        trail.busy = busy;
        let steps = async |trail: &mut Trail| {
            let info = RequestInfo::parse(&parts.method, &parts.uri)?;
            trail.labels = Labels::of(&info, None);
            trail.info = Some(Arc::new(info));
            Ok(route(Request::from_parts(parts, body)).await)
        };
        self.catch_panics(trail, unread, steps).await
    }

    fn trail(&self, parts: &Parts, connection: &Connection) -> Trail {
        let annotations = self.audit.as_ref().map(Audit::annotations);
        Trail::start(
            parts,
            connection,
            self.clock.now(),
            annotations.unwrap_or_default(),
        )
    }

    /// Runs a request with panic recovery, which is outermost: a panic of one request must not end its
    /// connection, and with it other requests.
    async fn catch_panics(
        &self,
        mut trail: Trail,
        unread: Option<OutlivingBody>,
        steps: impl AsyncFnOnce(&mut Trail) -> Result<Response<Body>, Status>,
    ) -> Response<Body> {
        let span = tracing::info_span!("request", audit_id = trail.id);
        let outcome = AssertUnwindSafe(steps(&mut trail))
            .catch_unwind()
            .instrument(span)
            .await;
        let panicked = outcome.is_err();
        let response = match outcome {
            Ok(Ok(response)) => response,
            Ok(Err(status)) => respond::status(&status),
            Err(panic) => {
                tracing::error!(
                    audit_id = trail.id,
                    uri = trail.uri,
                    panic = body::panic_text(&*panic),
                    "a request's handler panicked and was answered with 500; report it as a bug, with this line"
                );
                respond::status(&Status::internal(format!(
                    "the handler of this request panicked; the log has more under audit ID {}",
                    trail.id
                )))
            }
        };
        self.finish(trail, unread, response, panicked).await
    }

    /// Parses the request before the user is known: limits, metrics, timeouts and all later steps depend on
    /// it.
    async fn understand(
        &self,
        trail: &mut Trail,
        connection: &Connection,
        parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, Status> {
        let info = Arc::new(RequestInfo::parse(&parts.method, &parts.uri)?);
        trail.labels = Labels::of(&info, info.is_resource.then(|| self.api.route(&info)).flatten());
        trail.info = Some(info.clone());
        if info.verb.is_empty() {
            return Err(Status::method_not_allowed());
        }
        // The timeout applies to all that follows, including the wait for authenticators and authorizers.
        let Some(longest) = timeout::of(&info, self.limits.request_timeout)? else {
            return self.admit(trail, connection, info, parts, body).await;
        };
        match tokio::time::timeout(longest, self.admit(trail, connection, info, parts, body)).await {
            Ok(result) => result,
            Err(_) => {
                self.metrics.terminated(&trail.labels, 504);
                Err(Status::timeout(
                    "Timeout: request did not complete within the allotted timeout",
                ))
            }
        }
    }

    /// Authenticates and authorizes the request, reserves a place for it, and answers it.
    async fn admit(
        &self,
        trail: &mut Trail,
        connection: &Connection,
        info: Arc<RequestInfo>,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, Status> {
        let user = self.authenticate(connection, &mut parts.headers, trail).await?;
        trail.user = user.clone();
        trail.judge(self.audit.as_ref(), &*self.clock).await;
        // Impersonation precedes limits and authorization: both are about the impersonated user.
        let user = match impersonate::impersonate(&user, &mut parts.headers, &*self.authorizer).await? {
            Some(other) => {
                trail.impersonated = Some(other.clone());
                other
            }
            None => user,
        };
        // Limits come after authentication, because administrators are exempt. Where the authorizer sends a
        // request to another server, which takes time, the place is reserved before authorization. Elsewhere
        // a refused request needs no place.
        trail.charge = Some(self.charge(&info, &user, &trail.labels)?);
        if !self.authorizer.is_local() {
            trail.place = self.place(&info, &user, &trail.labels)?;
        }
        self.authorize(&info, &user, trail).await?;
        trail.long_running = info.is_long_running();
        // The body is read after authorization, so that refused bodies are not read. A place is reserved only
        // once the body is complete.
        let reads = !info.is_resource || matches!(info.verb, "get" | "list" | "watch");
        let (body, weight) = if reads {
            (bytes::Bytes::new(), 0)
        } else {
            trail.place = None;
            self.body(trail, &info, &parts, body).await?
        };
        if trail.place.is_none() {
            trail.place = self.place(&info, &user, &trail.labels)?;
        }
        if !info.is_resource {
            return self.path(&info, &parts);
        }
        let weight = weight.saturating_add(self.api.effort(&info, &parts.headers));
        self.dispatch(info, user, parts, body, weight, trail).await
    }

    /// Reads the body, charges its memory, and returns the body with the number of bytes to process.
    async fn body(
        &self,
        trail: &mut Trail,
        info: &RequestInfo,
        parts: &Parts,
        body: Body,
    ) -> Result<(bytes::Bytes, usize), Status> {
        let refuse = |status: Status| {
            if status.code == 429 {
                self.metrics.terminated(&trail.labels, 429);
            }
            status
        };
        let Some(charge) = &mut trail.charge else {
            return Err(Status::internal("a request without a charge"));
        };
        let body = body::read(&parts.headers, body, self.limits.body, charge).await;
        let body = body.map_err(refuse)?;
        self.metrics.body(&trail.labels, body.len());
        let changed_bytes = self.api.changes(info);
        charge
            .grow(memory::tree(&body) + changed_bytes * BYTES_PER_STORED_BYTE)
            .map_err(refuse)?;
        trail.keep_body(&parts.headers, &body);
        let weight = body.len() + changed_bytes;
        Ok((body, weight))
    }

    async fn authenticate(
        &self,
        connection: &Connection,
        headers: &mut HeaderMap,
        trail: &Trail,
    ) -> Result<UserInfo, Status> {
        match self
            .authentication
            .authenticate(connection, headers, trail.received)
            .await
        {
            Ok(AuthenticatedUser {
                user,
                certificate_expires,
            }) => {
                self.metrics.authenticated(&user.name);
                if !user.is_in(UNAUTHENTICATED) {
                    connection.identified();
                }
                if let Some(expires) = certificate_expires {
                    self.metrics
                        .certificate_life(expires - trail.received.as_second());
                }
                Ok(user)
            }
            Err(refusals) => {
                self.metrics.unauthenticated();
                let reasons = refusals.join("; ");
                tracing::info!(audit_id = trail.id, peer = %connection.peer(), reasons, "request is not authenticated");
                Err(Status::unauthorized())
            }
        }
    }

    /// Reserves a place among the requests in flight. Long-running requests, administrators and probes need
    /// none.
    fn place(&self, info: &RequestInfo, user: &UserInfo, labels: &Labels) -> Result<Option<Places>, Status> {
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

    /// Charges the memory that the request needs from the start.
    fn charge(&self, info: &RequestInfo, user: &UserInfo, labels: &Labels) -> Result<Charge, Status> {
        let share = if user.is_in(authz::MASTERS) || is_probe(info) {
            Share::Exempt
        } else if user.is_in(UNAUTHENTICATED) {
            Share::UNAUTHENTICATED
        } else {
            Share::USER
        };
        let charge = self.memory.charge(holder(user), share, least(info));
        charge.inspect_err(|_| self.metrics.terminated(labels, 429))
    }

    async fn authorize(&self, info: &RequestInfo, user: &UserInfo, trail: &Trail) -> Result<(), Status> {
        let attributes = authz::attributes(info, user);
        let result = authz::require(&*self.authorizer, &attributes).await;
        let (decision, reason) = match &result {
            Ok(reason) => ("allow", reason.as_str()),
            Err(status) if status.code == 403 => ("forbid", ""),
            Err(_) => ("error", ""),
        };
        if self.audit.is_some() {
            trail.annotations.add("authorization.k8s.io/decision", decision);
            trail.annotations.add("authorization.k8s.io/reason", reason);
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
        trail: &Trail,
    ) -> Result<Response<Body>, Status> {
        let warnings = Warnings::default();
        let request = RequestCx {
            info,
            user,
            method: parts.method,
            headers: parts.headers,
            body,
            now: trail.received,
            authorizer: self.authorizer.clone(),
            warnings: warnings.clone(),
            annotations: trail.annotations.clone(),
        };
        let request = AuthorizedRequest::new(request);
        let mut response = if weight > heavy::LIGHT {
            let api = Arc::clone(&self.api);
            let turn = holder(&request.user).to_owned();
            let work = async move { api.dispatch(request).await };
            self.heavy.run(&turn, work).await?
        } else {
            self.api.dispatch(request).await
        };
        for value in warnings::headers(&warnings.take()) {
            response.headers_mut().append(WARNING, value);
        }
        Ok(response)
    }

    /// Adds the headers of every answer, records the audit event, and prepares the body for sending.
    async fn finish(
        &self,
        mut trail: Trail,
        unread: Option<OutlivingBody>,
        mut response: Response<Body>,
        panicked: bool,
    ) -> Response<Body> {
        respond::set_default(
            &mut response,
            CACHE_CONTROL,
            HeaderValue::from_static("no-cache, private"),
        );
        response
            .headers_mut()
            .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(id) = HeaderValue::from_str(&trail.id) {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        if trail.yaml && response.extensions().get::<Failure>().is_some() {
            response = respond::as_yaml(response).await;
        }
        // A refused watch is an ordinary, short answer.
        trail.long_running &= response.status().is_success() || response.status().is_informational();
        response = trail.read_bodies(response).await;
        let long_running = trail.long_running;
        let reservation = self.reserve_answer(&mut trail, &response);
        trail.progress = response.extensions_mut().remove::<Progress>();
        let failure = response.extensions_mut().remove::<Failure>();
        let mut completion = Completion::new(
            trail,
            response.status().as_u16(),
            failure,
            self.metrics.clone(),
            self.clock.clone(),
            self.audit.clone(),
        );
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

    /// Reserves the bytes of the answer while the client reads it, in place of the request's bytes. The place
    /// among the requests in flight is free once the whole answer exists.
    fn reserve_answer(&self, trail: &mut Trail, response: &Response<Body>) -> BodyReservation {
        let mut charge = trail
            .charge
            .take()
            .unwrap_or_else(|| self.memory.free(UNAUTHENTICATED, Share::UNAUTHENTICATED));
        charge.shrink_to(match &trail.info {
            Some(info) if trail.long_running => least(info),
            _ => memory::REQUEST,
        });
        let size = http_body::Body::size_hint(response.body()).exact();
        if size.is_some() {
            trail.place = None;
        }
        let has_own_bytes = response.extensions().get::<JoinedList>().is_none();
        if let (true, Some(size)) = (has_own_bytes, size) {
            charge.add(usize::try_from(size).unwrap_or(usize::MAX / 2));
        }
        let patience = Patience::of_task();
        if !trail.long_running {
            let small = size.is_some_and(|size| size <= SMALL_ANSWER);
            patience.limit(if small {
                self.limits.unread
            } else {
                self.limits.request_timeout
            });
        }
        BodyReservation::new(charge, patience)
    }
}

/// Owner of the places, bytes and turns of a request: its user, or all unauthenticated users together.
fn holder(user: &UserInfo) -> &str {
    match user.is_in(UNAUTHENTICATED) {
        true => UNAUTHENTICATED,
        false => &user.name,
    }
}

/// Minimal memory of a request, in bytes, including the selectors of a watch: they are kept, and compared
/// with every change.
fn least(info: &RequestInfo) -> usize {
    match info.is_long_running() {
        true => memory::LONG_RUNNING + info.selectors() * memory::SELECTOR,
        false => memory::REQUEST,
    }
}

fn is_probe(info: &RequestInfo) -> bool {
    !info.is_resource && crate::health::Probe::of_path(&info.path).is_some()
}

#[cfg(test)]
mod tests;
