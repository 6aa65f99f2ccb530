//! Wait for namespaces that were just created on the hub: a `kubectl apply` that creates a namespace and then
//! an object in it must not fail because the namespace is not copied into the store yet.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use berth_apiserver::{Api, AuthorizedRequest, RequestInfo, Route};
use berth_kubernetes::core::namespace::RESOURCE;
use berth_storage::{Scope, Store};
use http::{HeaderMap, Response};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;

/// Longest wait for a namespace, including the hub's answer whether it exists.
const TIMEOUT: Duration = Duration::from_secs(2);

/// An API in which the creation of an object waits until the namespace of the object is copied from the hub.
pub(crate) struct NamespaceWaiter {
    api: Arc<dyn Api>,
    store: Arc<dyn Store>,
    namespaces: kube::Api<Namespace>,
}

impl NamespaceWaiter {
    /// Wraps `api`. The namespaces of the hub of `client` are copied into `store`.
    pub(crate) fn new(api: Arc<dyn Api>, store: Arc<dyn Store>, client: Client) -> Self {
        Self {
            api,
            store,
            namespaces: kube::Api::all(client),
        }
    }

    fn has(&self, namespace: &str) -> bool {
        self.store.cached(RESOURCE).get("", namespace).is_some()
    }

    /// Waits until `namespace` is copied, if the hub has it.
    async fn wait_for(&self, namespace: &str) {
        // The watch begins before the request to the hub, so that no change in between is missed.
        let Ok(mut changes) = self.store.watch(Scope::One(RESOURCE), self.store.revision()) else {
            return;
        };
        if !matches!(self.namespaces.get_opt(namespace).await, Ok(Some(_))) {
            return;
        }
        while !self.has(namespace) {
            if changes.next(64).await.is_err() {
                return;
            }
        }
    }
}

#[async_trait]
impl Api for NamespaceWaiter {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        self.api.route(info)
    }

    fn changed_bytes(&self, info: &RequestInfo) -> usize {
        self.api.changed_bytes(info)
    }

    fn tree_size(&self, headers: &HeaderMap, body: &[u8]) -> usize {
        self.api.tree_size(headers, body)
    }

    fn effort(&self, info: &RequestInfo, headers: &HeaderMap) -> usize {
        self.api.effort(info, headers)
    }

    async fn tidy(&self) {
        self.api.tidy().await;
    }

    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body> {
        let info = &request.info;
        // A server-side apply and an update may create the object, too.
        let may_create = matches!(info.verb, "create" | "patch" | "update");
        if may_create && !info.namespace.is_empty() && !self.has(&info.namespace) {
            // If the namespace is still missing after the time limit, admission reports the error.
            drop(tokio::time::timeout(TIMEOUT, self.wait_for(&info.namespace)).await);
        }
        self.api.dispatch(request).await
    }
}
