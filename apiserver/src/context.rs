//! Context that the request pipeline passes to the API.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use berth_admission::UserInfo;
use berth_apimachinery::{Status, Timestamp};
use bytes::Bytes;
use http::{HeaderMap, Method, Response};

use crate::annotations::Annotations;
use crate::auth::Authorizer;
use crate::call::Warnings;
use crate::request_info::RequestInfo;

/// One request with the results of the pipeline.
#[derive(Clone)]
pub struct RequestCx {
    /// The request.
    pub info: Arc<RequestInfo>,
    /// The user, after impersonation.
    pub user: UserInfo,
    /// The HTTP method.
    pub method: Method,
    /// The headers, without credentials and identity headers.
    pub headers: HeaderMap,
    /// The whole body, within the body limit; empty for reads.
    pub body: Bytes,
    /// The instant of the request's arrival.
    pub now: Timestamp,
    /// Authorizer for additional rights.
    pub authorizer: Arc<dyn Authorizer>,
    /// Warnings for the client. The pipeline sends them as `Warning: 299` headers.
    pub warnings: Warnings,
    /// Annotations of the request's audit event.
    pub annotations: Annotations,
}

/// A request that was authorized. Only this crate creates such requests: the pipeline, and a view
/// ([`crate::view::ViewApi`]) for the requests below its path. So a program cannot dispatch an unauthorized
/// request.
pub struct AuthorizedRequest(RequestCx);

impl AuthorizedRequest {
    pub(crate) fn new(request: RequestCx) -> Self {
        Self(request)
    }

    /// Returns the request.
    #[must_use]
    pub fn into_inner(self) -> RequestCx {
        self.0
    }
}

impl std::ops::Deref for AuthorizedRequest {
    type Target = RequestCx;

    fn deref(&self) -> &RequestCx {
        &self.0
    }
}

/// Served resource of a request, as the labels of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The API group.
    pub group: &'static str,
    /// The API version.
    pub version: &'static str,
    /// The plural resource.
    pub resource: &'static str,
    /// The subresource, or the empty string.
    pub subresource: &'static str,
}

/// The API behind the pipeline: everything below `/api/<version>/` and `/apis/<group>/<version>/`.
#[async_trait]
pub trait Api: Send + Sync + 'static {
    /// Returns the served resource of a request, as names that live as long as the program; `None` when it is
    /// not served. Only these names label metrics, so invented paths add no series.
    fn route(&self, info: &RequestInfo) -> Option<Route>;

    /// Size in bytes of the stored object that a write would change; 0 if there is no such object. The size
    /// is needed before the write, to estimate the cost of the write.
    fn changed_bytes(&self, info: &RequestInfo) -> usize;

    /// Approximate size in bytes of the tree of values that `body` is decoded to, in the encoding that
    /// `headers` name. The size is charged before the body is decoded ([`crate::memory`]).
    fn tree_size(&self, headers: &HeaderMap, body: &[u8]) -> usize;

    /// Cost of the answer in addition to the size of the body and of the object that a write would change
    /// ([`Api::changed_bytes`]). The unit is the number of bytes that could be parsed in the same time: see
    /// [`crate::heavy`].
    fn effort(&self, info: &RequestInfo, headers: &HeaderMap) -> usize;

    /// Frees expired data that are cached for later requests. Called every minute.
    async fn tidy(&self);

    /// Answers one request; errors are answered with a [`Status`] body (see [`crate::respond::status`]).
    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body>;
}

/// An API below a subresource of an object, such as `proxy`.
#[async_trait]
pub trait SubresourceApi: Send + Sync + 'static {
    /// Answers `outer`. The part of the path below the subresource is the path within this API.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn answer(&self, outer: &RequestCx) -> Result<Response<Body>, Status>;

    /// Frees expired data that are cached for later requests, as [`Api::tidy`] does.
    async fn tidy(&self) {}
}
