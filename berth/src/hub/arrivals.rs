//! Namespaces that were just created on the hub: a `kubectl apply` that creates a namespace and then an
//! object in it must not fail because the copy is still on the way.

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

/// Time limit of the wait for the hub's answer about a namespace, and for the copy of the namespace.
const TIMEOUT: Duration = Duration::from_secs(2);

/// An API in which a create waits for its namespace, if the hub has it.
pub(crate) struct Arrivals {
    api: Arc<dyn Api>,
    store: Arc<dyn Store>,
    namespaces: kube::Api<Namespace>,
}

impl Arrivals {
    /// Wraps `api`. Namespaces are copied from the hub of `client` into `store`.
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
        // The watch begins before the hub is asked, so that no change in between is missed.
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
impl Api for Arrivals {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        self.api.route(info)
    }

    fn changes(&self, info: &RequestInfo) -> usize {
        self.api.changes(info)
    }

    fn effort(&self, info: &RequestInfo, headers: &HeaderMap) -> usize {
        self.api.effort(info, headers)
    }

    async fn tidy(&self) {
        self.api.tidy().await;
    }

    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body> {
        let info = &request.info;
        if info.verb == "create" && !info.namespace.is_empty() && !self.has(&info.namespace) {
            // If the namespace is still missing after the time limit, admission reports the error.
            drop(tokio::time::timeout(TIMEOUT, self.wait_for(&info.namespace)).await);
        }
        self.api.dispatch(request).await
    }
}
