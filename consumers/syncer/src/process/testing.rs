//! Servers for tests.

use std::convert::Infallible;
use std::sync::Arc;

use berth_client::Client;
use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;
use tower::service_fn;

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
