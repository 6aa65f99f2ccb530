//! Checks of a registration against a hub of the test.

use std::convert::Infallible;

use berth_apiserver::SystemClock;
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use serde_json::json;

use super::*;

/// A hub that answers each request with a code and a body.
fn hub(answer: impl Fn(&Method, &Value) -> (u16, Value) + Clone + Send + Sync + 'static) -> Client {
    let serve = move |request: Request<Body>| {
        let answer = answer.clone();
        async move {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.expect("it is whole");
            let (code, body) = answer(&method, &serde_json::from_slice(&body).unwrap_or_default());
            let response = Response::builder()
                .status(code)
                .body(Body::from(body.to_string().into_bytes()));
            Ok::<_, Infallible>(response.expect("it is well formed"))
        }
    };
    Client::new(tower::service_fn(serve), "default")
}

fn failure(code: u16) -> (u16, Value) {
    let status = berth_apimachinery::Status::failure(code, "Failure", "no");
    (code, serde_json::to_value(status).expect("it is JSON"))
}

fn options(issuer: Issuer) -> Options {
    let service = Service {
        name: "berth".to_owned(),
        namespace: "berth-system".to_owned(),
        port: 443,
    };
    let api_service = json!({"kind": "APIService", "metadata": {"name": "v1.toys.example.com"}});
    let mut options = Options::own(service, vec![api_service], "tests");
    options.issuer = issuer;
    options
}

fn shared(step: SignedDuration) -> SharedCaOptions {
    SharedCaOptions {
        secret: "berth-ca".to_owned(),
        step,
        rotate_annotation: "example.com/rotate".to_owned(),
    }
}

#[tokio::test]
async fn a_check_with_a_problem_is_repeated_soon() {
    let directory = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let folder = Arc::new(Folder::open(directory.path(), clock.now()).unwrap());
    let client = hub(|_, _| failure(500));
    let registration = Registration::new(&client, options(Issuer::Own), &folder, &clock);
    let certificate = ServingCertificate::issued(folder, &[], clock).unwrap();
    let findings = registration.check(&certificate).await.unwrap();
    assert_eq!(findings.problems.len(), 1);
    assert_eq!(findings.state, RegistrationState::Unsettled);
}

#[tokio::test]
async fn checks_have_a_pause_however_short_the_steps_of_a_rotation_are() {
    let directory = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let folder = Folder::open(directory.path(), clock.now()).unwrap();
    for (step, [least, unwatched, watched]) in [(0, [1, 1, 2]), (8, [2, 2, 4]), (3600, [30, 60, 600])] {
        let issuer = Issuer::Shared(shared(SignedDuration::from_secs(step)));
        let registration = Registration::new(&hub(|_, _| failure(500)), options(issuer), &folder, &clock);
        let pauses = Pauses {
            least: Duration::from_secs(least),
            unwatched: Duration::from_secs(unwatched),
            watched: Duration::from_secs(watched),
        };
        assert_eq!(registration.pauses_after(RegistrationState::Settled), pauses);
    }
}

#[tokio::test]
async fn a_published_bundle_is_replaced_only_as_it_was_read() {
    let client = hub(|method, body| {
        assert_eq!(*method, Method::PATCH);
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        failure(409)
    });
    let ca = SharedCa::new(client, "berth-system", shared(SignedDuration::ZERO), "");
    let found = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": "old"},
        "metadata": {"name": "berth-ca", "resourceVersion": "7"}});
    let found: ConfigMap = serde_json::from_value(found).unwrap();
    ca.publish(&found, "new").await.unwrap();
}
