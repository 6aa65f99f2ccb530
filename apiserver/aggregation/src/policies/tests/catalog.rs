//! The hub's policies and their parameters while they change, or while a watch of them fails.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use berth_policies::{Catalog, ParamError, ParamKind, Params, StoredSet};
use serde_json::json;
use tokio::task::JoinHandle;

use super::*;
use crate::policies::HubPolicies;

/// A server that stores no parameters.
struct NoParameters;

impl Catalog for NoParameters {
    fn stored(&self) -> Arc<StoredSet> {
        Arc::default()
    }

    fn find(&self, kind: &ParamKind) -> Result<(), ParamError> {
        Err(kind.unknown_error())
    }

    fn params(&self, kind: &ParamKind, _: &str, _: Option<&str>) -> Result<Params, ParamError> {
        Err(kind.unknown_error())
    }

    fn count(&self, _: &ParamKind, _: &str, _: usize) -> usize {
        0
    }
}

#[tokio::test(start_paused = true)]
async fn parameters_are_watched_until_the_policies_that_need_them_are_replaced() {
    // The hub never answers, so new policies come into force at the end of the wait for their parameters.
    let silent = tower::service_fn(|_: http::Request<Body>| pending::<Result<Response<Body>, Infallible>>());
    let policies = HubPolicies::new(kube::Client::new(silent, "default"), Arc::new(NoParameters));
    let param_kind = |name: &str| json!({"apiVersion": "example.com/v1", "kind": name});
    let policy_of = |name: &str| {
        let policy = json!({"spec": {"paramKind": param_kind(name)}});
        Arc::new(BTreeMap::from([("p".to_owned(), Arc::new(policy))]))
    };
    let is_watched = |name: &str| {
        let kind = ParamKind::of(&param_kind(name)).unwrap();
        policies.find(&kind).is_ok()
    };
    policies.replace(2, policy_of("Old")).await;
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        is_watched("Old")
    };
    let ((), was_watched) = tokio::join!(policies.replace(2, policy_of("New")), meanwhile);
    assert!(was_watched, "the former policy was still in force");
    assert_eq!((is_watched("Old"), is_watched("New")), (false, true));
}

#[tokio::test(start_paused = true)]
async fn policies_of_a_served_kind_stay_in_force_and_are_watched_again_soon_when_their_watch_is_not_found() {
    let watches = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&watches);
    let answer = move |request: http::Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let (code, body) = if query.contains("watch=true") {
            counter.fetch_add(1, Ordering::SeqCst);
            let missing = Status::failure(404, "NotFound", "no such resource");
            (404, serde_json::to_value(missing).expect("it is JSON"))
        } else {
            let items = json!([{"metadata": {"name": "p"}, "spec": {}}]);
            let metadata = json!({"resourceVersion": "1"});
            (
                200,
                json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items}),
            )
        };
        let response = Response::builder()
            .status(code)
            .body(Body::from(body.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(response.expect("it is well formed")) }
    };
    let hub = kube::Client::new(tower::service_fn(answer), "default");
    let policies = HubPolicies::new(hub, Arc::new(NoParameters));
    let tasks = policies.follow().await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(policies.stored().validating.len(), 1);
    assert!(watches.load(Ordering::SeqCst) > 2 * tasks.len());
    tasks.iter().for_each(JoinHandle::abort);
}
