//! The endpoints of the webhooks, `/admission/mutate` and `/admission/validate`. Reviews have no side
//! effects. The size of a review and the reviews from one address are limited.
//!
//! With a client CA, callers need a certificate of that CA. Without it every caller is answered, but without
//! data of other objects ([`super::Audience`]), since the user in the body is only a claim.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::routing::post;
use berth_admission::webhook::{self, Body as Read, Review, Subject};
use berth_admission::{Chain, Phase, SelectedPlugins};
use berth_apimachinery::{Clock, GroupResource, Status};
use berth_apiserver::authn::{CaPool, Connection};
use berth_apiserver::heavy::{self, HeavyExecutor};
use berth_apiserver::memory::{ByteLimiter, Share};
use berth_apiserver::{memory, respond};
use berth_scheduling_rest::EffortEstimator;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use serde_json::Value;

use super::Rules;
use super::address_limits::{self, AddressLimits};

/// Path of mutating reviews.
pub const MUTATE_PATH: &str = "/admission/mutate";
/// Path of validating reviews.
pub const VALIDATE_PATH: &str = "/admission/validate";
/// Paths of all reviews.
pub const PATHS: [&str; 2] = [MUTATE_PATH, VALIDATE_PATH];

/// Highest number of concurrent reviews from one address. A kube-apiserver sends about as many as it has
/// writes in flight.
const MAX_REVIEWS: usize = 200;
/// Time limit for the arrival of a body: the longest timeout that a kube-apiserver allows for a webhook.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Share of the memory for requests that all reviews from one address together may use.
const MEMORY_SHARE: Share = Share::OneIn(4);

/// Answers admission reviews by a chain of plugins.
pub struct ReviewServer {
    chain: Chain,
    /// Resources that the plugins may handle, by plural name.
    resources: HashMap<&'static str, Vec<GroupResource>>,
    /// Rules of the dialects, which may guard further resources.
    rules: Vec<Arc<Rules>>,
    /// CA of the required client certificates; `None` if callers need no certificate.
    client_ca: Option<CaPool>,
    memory: Arc<ByteLimiter>,
    clock: Arc<dyn Clock>,
    limits: Arc<AddressLimits>,
    /// Queue for reviews that take long to read and judge.
    heavy: HeavyExecutor,
    /// Returns the cost of judging a review, which is added to the size of the review.
    effort: EffortEstimator,
}

impl ReviewServer {
    /// Creates a server that answers by `chain` about `resources`, and admits writes to other resources.
    #[must_use]
    pub fn new(
        chain: Chain,
        resources: impl IntoIterator<Item = GroupResource>,
        client_ca: Option<CaPool>,
        memory: Arc<ByteLimiter>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut by_name: HashMap<&'static str, Vec<GroupResource>> = HashMap::new();
        for resource in resources {
            by_name.entry(resource.resource).or_default().push(resource);
        }
        Self {
            chain,
            resources: by_name,
            rules: Vec::new(),
            client_ca,
            memory,
            clock,
            limits: AddressLimits::new(MAX_REVIEWS),
            heavy: HeavyExecutor::default(),
            effort: Arc::new(|| 0),
        }
    }

    /// Adds `rules`: reviews of the resources that they guard are judged, too.
    #[must_use]
    pub fn with_rules(self, rules: Vec<Arc<Rules>>) -> Self {
        Self { rules, ..self }
    }

    /// Sets the cost of judging a review, which is added to the size of the review.
    #[must_use]
    pub fn with_effort(self, effort: EffortEstimator) -> Self {
        Self { effort, ..self }
    }

    async fn handle(
        self: &Arc<Self>,
        phase: Phase,
        request: Request,
        peer: &Arc<Connection>,
    ) -> Response<Body> {
        match self.answer(phase, request, peer).await {
            Ok(answer) => respond::bytes(StatusCode::OK, "application/json", answer),
            Err(status) => respond::status(&status),
        }
    }

    async fn answer(
        self: &Arc<Self>,
        phase: Phase,
        request: Request,
        peer: &Arc<Connection>,
    ) -> Result<Bytes, Status> {
        if let Some(ca) = &self.client_ca {
            peer.certified_by(ca, self.clock.now())
                .map_err(|problem| Status::failure(401, "Unauthorized", problem.to_string()))?;
        }
        let _slot = self.limits.admit(peer.peer().ip()).ok_or_else(|| {
            Status::too_many_requests("too many concurrent admission reviews from this address", 1)
        })?;
        let (parts, body) = request.into_parts();
        check_json(&parts.headers)?;
        let mut charge = self
            .memory
            .charge(&memory_owner(peer), MEMORY_SHARE, memory::REQUEST)?;
        let reading =
            berth_apiserver::read_body(&parts.headers, body, webhook::MAX_REVIEW_BYTES, &mut charge);
        let body = tokio::time::timeout(BODY_TIMEOUT, reading)
            .await
            .map_err(|_| Status::timeout(format!("the review did not arrive within {BODY_TIMEOUT:?}")))??;
        let answer = match self.unhandled_subject(&body) {
            Some(subject) => subject.allow(),
            None => {
                charge.grow(memory::tree_size(&body))?;
                if body.len().saturating_add((self.effort)()) <= heavy::LIGHT {
                    self.read(phase, &body, peer).await?
                } else {
                    let (server, peer, turn) = (Arc::clone(self), Arc::clone(peer), memory_owner(peer));
                    let work = async move { server.read(phase, &body, &peer).await };
                    self.heavy.run(&turn, work).await??
                }
            }
        };
        serde_json::to_vec(&answer)
            .map(Bytes::from)
            .map_err(|problem| Status::internal(problem.to_string()))
    }

    async fn read(&self, phase: Phase, body: &[u8], peer: &Connection) -> Result<Value, Status> {
        match webhook::read(body)? {
            Read::OtherVersion { api_version, uid } => Ok(webhook::refused_version(&api_version, &uid)),
            Read::V1(review) => self.judge(phase, &review, peer).await,
        }
    }

    /// Returns the subject of the review in `body` if no plugin handles the resource. Such a review is
    /// admitted, and the objects in it are not parsed.
    fn unhandled_subject(&self, body: &[u8]) -> Option<Subject> {
        let subject = Subject::of(body)?;
        self.known_resource(&subject.group, &subject.resource)
            .is_none()
            .then_some(subject)
    }

    async fn judge(&self, phase: Phase, review: &Review, peer: &Connection) -> Result<Value, Status> {
        let Some(resource) = self.known_resource(&review.resource.group, &review.resource.resource) else {
            return Ok(review.allow());
        };
        let request = review.request(resource);
        let plugins = self.chain.plugins_for(&request);
        if let Err(status) = plugins.ready().await {
            return Ok(review.refuse(status));
        }
        match phase {
            Phase::Mutate => review.mutate(&self.chain, resource),
            Phase::Validate => {
                let object = Some(&review.object).filter(|object| !object.is_null());
                if let Err(status) = self.check_rights_limit(&plugins, object, peer) {
                    return Ok(review.refuse(status));
                }
                match plugins.check_rights(object).await {
                    Ok(()) => Ok(review.validate(&self.chain, resource)),
                    Err(status) => Ok(review.refuse(status)),
                }
            }
        }
    }

    /// Counts the checks of users' rights that the write needs, if callers need no certificate.
    ///
    /// # Errors
    /// When the address of the caller has caused too many checks.
    fn check_rights_limit(
        &self,
        plugins: &SelectedPlugins<'_>,
        object: Option<&Value>,
        peer: &Connection,
    ) -> Result<(), Status> {
        let count = match self.client_ca {
            Some(_) => 0,
            None => plugins.needs(object).len(),
        };
        if count == 0
            || self
                .limits
                .count_checks(peer.peer().ip(), count, self.clock.now())
        {
            return Ok(());
        }
        let text = "too many reviews from this address need checks of users' rights";
        Err(Status::too_many_requests(text, 1))
    }

    fn known_resource(&self, group: &str, resource: &str) -> Option<GroupResource> {
        let same_name = self.resources.get(resource).into_iter().flatten();
        let known = same_name.copied().find(|known| known.group == group);
        known.or_else(|| self.rules.iter().find_map(|rules| rules.guarded(group, resource)))
    }
}

/// Returns the routes of `server`.
pub fn routes(server: ReviewServer) -> Router {
    let server = Arc::new(server);
    let route = |phase: Phase| {
        let server = Arc::clone(&server);
        post(
            move |Extension(peer): Extension<Arc<Connection>>, request: Request| {
                let server = Arc::clone(&server);
                async move { server.handle(phase, request, &peer).await }
            },
        )
    };
    Router::new()
        .route(MUTATE_PATH, route(Phase::Mutate))
        .route(VALIDATE_PATH, route(Phase::Validate))
}

/// Returns the name under which the memory for reviews from `peer` is counted.
fn memory_owner(peer: &Connection) -> String {
    format!(
        "admission webhooks for {}",
        address_limits::network(peer.peer().ip())
    )
}

/// Checks by the headers that a review is JSON. A body without a media type counts as JSON.
fn check_json(headers: &HeaderMap) -> Result<(), Status> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(());
    };
    let media_type = value.to_str().unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if media_type.is_empty() || media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Status::unsupported_media_type(&["application/json"]))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use berth_apimachinery::FixedClock;
    use http::header::RETRY_AFTER;

    use super::*;

    fn server(client_ca: Option<CaPool>) -> Arc<ReviewServer> {
        let clock = Arc::new(FixedClock(berth_apimachinery::Timestamp::UNIX_EPOCH));
        Arc::new(ReviewServer::new(
            Chain::default(),
            [],
            client_ca,
            ByteLimiter::new(1 << 20),
            clock,
        ))
    }

    fn peer(address: &str) -> Arc<Connection> {
        Arc::new(Connection::new(
            SocketAddr::new(address.parse().unwrap(), 443),
            Vec::new(),
        ))
    }

    fn review() -> Request {
        let body = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
            "kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},
            "operation":"CREATE","object":{}}}"#;
        Request::post("/admission/validate")
            .body(Body::from(body))
            .unwrap()
    }

    #[tokio::test]
    async fn an_address_with_too_many_reviews_under_way_is_told_to_come_back() {
        let server = server(None);
        let busy = peer("10.0.0.1");
        let held: Vec<_> = (0..MAX_REVIEWS)
            .map(|_| server.limits.admit(busy.peer().ip()).unwrap())
            .collect();
        let refused = server.handle(Phase::Validate, review(), &busy).await;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()[RETRY_AFTER], "1");
        let other = server.handle(Phase::Validate, review(), &peer("10.0.0.2")).await;
        assert_eq!(other.status(), 200, "others are not held up");
        drop(held);
        let again = server.handle(Phase::Mutate, review(), &busy).await;
        assert_eq!(again.status(), 200);
    }

    #[tokio::test]
    async fn a_demanded_certificate_that_is_missing_is_said_so() {
        let refused = server(Some(CaPool::default()))
            .handle(Phase::Validate, review(), &peer("10.0.0.1"))
            .await;
        assert_eq!(refused.status(), 401);
    }

    #[tokio::test]
    async fn a_review_of_what_nobody_here_knows_is_answered_without_reading_its_objects() {
        // The densest JSON: its tree would need more memory than one address may use.
        let objects = "[".to_owned() + &"1,".repeat(100_000) + "1]";
        let body = |resource: &str| {
            format!(
                r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",
                "kind":{{"version":"v1","kind":"Pod"}},"resource":{{"version":"v1","resource":"{resource}"}},
                "operation":"CREATE","object":{{"a":{objects}}}}}}}"#
            )
        };
        let clock = Arc::new(FixedClock(berth_apimachinery::Timestamp::UNIX_EPOCH));
        let known = GroupResource::new("", "secrets");
        let server = Arc::new(ReviewServer::new(
            Chain::default(),
            [known],
            None,
            ByteLimiter::new(8 << 20),
            clock,
        ));
        let ask = async |resource: &str| {
            let request = Request::post("/admission/validate");
            let request = request.body(Body::from(body(resource))).unwrap();
            server
                .handle(Phase::Validate, request, &peer("10.0.0.1"))
                .await
                .status()
        };
        assert_eq!(ask("pods").await, 200);
        assert_eq!(ask("secrets").await, 413);
    }
}
