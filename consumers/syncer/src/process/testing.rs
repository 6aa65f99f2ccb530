//! Servers, kinds and keys for tests.

use std::convert::Infallible;
use std::sync::Arc;

use berth_client::Client;
use berth_dialect_kcp::syncer_view::registration::Owner;
use http::{Method, Request, Response};
use kube::client::Body;
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde_json::Value;
use tower::service_fn;

use super::kinds::SyncedKind;
use super::mirrors::Key;

/// The methods of the requests to a server.
pub(super) type Methods = Arc<Mutex<Vec<Method>>>;

/// A client of a server that answers every request with `code` and `object`.
pub(super) fn server(code: u16, object: &Value) -> (Client, Methods) {
    let methods = Methods::default();
    let (seen, answer) = (Arc::clone(&methods), object.to_string());
    let service = service_fn(move |request: Request<Body>| {
        seen.lock().push(request.method().clone());
        let body = Body::from(answer.clone().into_bytes());
        let response = Response::builder().status(code).body(body);
        async move { Ok::<_, Infallible>(response.unwrap()) }
    });
    (Client::new(kube::Client::new(service, "default")), methods)
}

/// The kind ConfigMap.
pub(super) fn config_maps() -> SyncedKind {
    SyncedKind {
        api: ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
        },
        reports: false,
    }
}

/// The key of an object of the second kind.
pub(super) fn key() -> Key {
    Key {
        kind: 1,
        namespace: "app".to_owned(),
        name: "a".to_owned(),
    }
}

/// The owner of copies for the workload cluster `u-1`.
pub(super) fn owner_of_copies() -> Owner {
    Owner {
        identifier: "u-1".to_owned(),
        logical_cluster: "root".to_owned(),
        registration: None,
        adopted: Vec::new(),
    }
}
