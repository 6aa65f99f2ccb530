//! Requests that apply an object.

use std::convert::Infallible;

use berth_apimachinery::Status;
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;

#[tokio::test]
async fn an_object_without_a_name_is_refused_before_any_request() {
    let service = service_fn(|_: Request<Body>| async {
        let answer = Response::builder()
            .status(500)
            .body(Body::from(b"a request was sent".to_vec()));
        Ok::<_, Infallible>(answer.unwrap())
    });
    let mut client = Client::new(kube::Client::new(service, "default"));
    for metadata in [
        json!({"generateName": "a-"}),
        json!({"name": ""}),
        json!({"name": 1}),
    ] {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let error = client.apply(&object, false).await.unwrap_err();
        assert!(
            error.to_string().starts_with("metadata.name: Required value"),
            "{error}"
        );
    }
}

#[test]
fn the_status_is_applied_with_the_name_of_its_object_and_no_more() {
    let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}},
        "spec": {"a": 1}});
    assert_eq!(
        status_config(&object, json!({"phase": "P"})),
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "namespace": "n"}, "status": {"phase": "P"}})
    );
    let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}});
    let alone = status_config(&object, json!({}));
    assert_eq!(alone["metadata"], json!({"name": "a"}));
}

#[test]
fn a_conflict_says_how_it_is_overcome_and_another_refusal_does_not() {
    let told_after = |force: bool, status: serde_json::Value| {
        let status: Status = serde_json::from_value(status).unwrap();
        conflict_or_refused(Box::new(status), force).to_string()
    };
    let told = |status| told_after(false, status);
    let conflict = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409, "reason": "Conflict",
        "message": "Apply failed with 1 conflict: conflict with \"a\": .spec.x",
        "details": {"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"a\"", "field": ".spec.x"}]}});
    assert!(told(conflict.clone()).ends_with("--force-conflicts"));
    let forced = told_after(true, conflict.clone());
    assert!(forced.ends_with("cannot take ownership of them"), "{forced}");
    let mut other = conflict;
    other["details"] = json!({});
    assert!(!told(other).contains("--force-conflicts"));
}
