//! What the request pipeline hands to the API behind it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admission::UserInfo;
use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use meta::Timestamp;

use crate::auth::Authorizer;
use crate::call::Warnings;
use crate::request_info::RequestInfo;

/// One request with everything the pipeline found out about it.
#[derive(Clone)]
pub struct RequestCx {
    /// What is asked for.
    pub info: Arc<RequestInfo>,
    /// Who asks, after impersonation.
    pub user: UserInfo,
    /// The HTTP method.
    pub method: Method,
    /// The headers, without those that carried credentials or identity.
    pub headers: HeaderMap,
    /// The whole body, within the body limit; empty for reads.
    pub body: Bytes,
    /// The instant the request arrived.
    pub now: Timestamp,
    /// For rights beyond the one already checked.
    pub authorizer: Arc<dyn Authorizer>,
    /// Texts for the client. The pipeline sends them as `Warning: 299` headers.
    pub warnings: Warnings,
    /// Annotations of the request's audit event.
    pub annotations: Annotations,
}

/// A request that was authorized. Only the pipeline makes one, so dispatching an unauthorized request does not compile.
pub struct Authorized(RequestCx);

impl Authorized {
    pub(crate) fn new(request: RequestCx) -> Self {
        Self(request)
    }

    /// The request.
    #[must_use]
    pub fn into_inner(self) -> RequestCx {
        self.0
    }
}

impl std::ops::Deref for Authorized {
    type Target = RequestCx;

    fn deref(&self) -> &RequestCx {
        &self.0
    }
}

/// The names a resource request is counted under in metrics.
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
    /// The served resource a request names, by names that live as long as the program; `None` when it is not served.
    /// Metrics are labelled only by what this returns, so made-up paths add no series.
    fn route(&self, info: &RequestInfo) -> Option<Route>;

    /// How many bytes the stored object has that a write would change; 0 where there is none. Asked before the write, to
    /// know what it will cost.
    fn changes(&self, _info: &RequestInfo) -> usize {
        0
    }

    /// What the answer takes beside that, in bytes that could be parsed meanwhile: see [`crate::resource::Effort`].
    fn effort(&self, _info: &RequestInfo) -> usize {
        0
    }

    /// Answers one request, errors included (as a [`meta::Status`] body, see [`crate::respond::status`]).
    async fn dispatch(&self, request: Authorized) -> Response<Body>;
}

/// Audit annotations, by key (`authorization.k8s.io/decision`). The first value of a key stays, as in kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Annotations(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    annotations: BTreeMap<String, String>,
    /// Whether the event has the request's body, which only a handler may be able to read.
    wants_object: bool,
    object: Option<Vec<u8>>,
}

impl Annotations {
    /// Adds one, unless the key has a value.
    pub fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let mut noted = self.noted();
        noted
            .annotations
            .entry(key.into())
            .or_insert_with(|| value.into());
    }

    /// All of them so far.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        self.noted().annotations.clone()
    }

    /// The event has the request's body.
    pub(crate) fn want_object(&self) {
        self.noted().wants_object = true;
    }

    /// Notes what a body that is no JSON says, if the event has it.
    pub(crate) fn object(&self, read: impl FnOnce() -> Vec<u8>) {
        let mut noted = self.noted();
        if noted.wants_object {
            noted.object = Some(read());
        }
    }

    /// Takes what was noted.
    pub(crate) fn take_object(&self) -> Option<Vec<u8>> {
        self.noted().object.take()
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
