//! Valid answers, and the messages for invalid ones.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

fn answer(webhook_type: WebhookType, response: Value) -> Result<Answer, BadAnswer> {
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    read(webhook_type, "u", &serde_json::to_vec(&review).unwrap())
}

#[test]
fn an_answer_that_keeps_to_the_rules_is_read_whole() {
    let operations = br#"[{"op": "remove", "path": "/spec/a"}]"#;
    let patch = STANDARD.encode(operations);
    let read = answer(
        WebhookType::Mutating,
        json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch", "warnings": ["w"],
               "auditAnnotations": {"k": "v"}}),
    );
    let read = read.unwrap();
    assert!(read.allowed);
    assert_eq!(read.patch.as_deref(), Some(operations.as_slice()));
    assert_eq!(read.warnings, ["w"]);
    assert_eq!(read.annotations, [("k".to_owned(), "v".to_owned())]);
}

#[test]
fn a_patch_without_operations_and_the_patch_of_a_refusal_are_none() {
    for (allowed, patch) in [(true, "[]"), (true, "null"), (false, "{}")] {
        let patch = STANDARD.encode(patch);
        let response = json!({"uid": "u", "allowed": allowed, "patch": patch, "patchType": "JSONPatch"});
        assert_eq!(answer(WebhookType::Mutating, response).unwrap().patch, None);
    }
}

#[test]
fn every_broken_rule_of_an_answer_is_named() {
    use WebhookType::{Mutating, Validating};
    for (webhook_type, response, part) in [
        (Validating, Value::Null, "no response"),
        (
            Validating,
            json!({"uid": "other", "allowed": true}),
            "response.uid is \"other\"",
        ),
        (
            Validating,
            json!({"uid": "u", "allowed": "yes"}),
            "neither true nor false",
        ),
        (
            Validating,
            json!({"uid": "u", "allowed": true, "patch": "eA=="}),
            "response.patch",
        ),
        (
            Validating,
            json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}),
            "response.patchType",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "patch": "eA=="}),
            "no response.patchType",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}),
            "no response.patch",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "patch": "eA==", "patchType": "Merge"}),
            "\"Merge\" is not supported",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "patch": "%", "patchType": "JSONPatch"}),
            "not base64",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "patch": STANDARD.encode("{}"), "patchType": "JSONPatch"}),
            "response.patch is not a JSON Patch",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "warnings": "w"}),
            "response.warnings",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": true, "auditAnnotations": {"a": 1}}),
            "auditAnnotations",
        ),
        (
            Mutating,
            json!({"uid": "u", "allowed": false, "status": "no"}),
            "response.status",
        ),
    ] {
        let problem = answer(webhook_type, response.clone()).unwrap_err();
        assert!(problem.to_string().contains(part), "{response}: {problem}");
    }
    let other = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"});
    let problem = read(Validating, "u", other.to_string().as_bytes()).unwrap_err();
    assert!(problem.to_string().contains("v1beta1"), "{problem}");
    assert!(
        read(Validating, "u", b"<html>")
            .unwrap_err()
            .to_string()
            .contains("not JSON")
    );
}

#[test]
fn a_refusal_reads_as_kube_apiserver_says_it_and_is_always_an_error() {
    let no = |status: Value| {
        let answer = answer(
            WebhookType::Validating,
            json!({"uid": "u", "allowed": false, "status": status}),
        );
        let status = denied("h.example", &answer.unwrap());
        (status.code, status.reason, status.message)
    };
    let (code, reason, message) = no(Value::Null);
    assert_eq!((code, reason.as_str()), (400, ""));
    assert_eq!(
        message,
        "admission webhook \"h.example\" denied the request without explanation"
    );
    let (code, reason, message) = no(json!({"code": 200, "reason": "Nope"}));
    assert_eq!((code, reason.as_str()), (400, "Nope"));
    assert_eq!(
        message,
        "admission webhook \"h.example\" denied the request: Nope"
    );
    let (code, _, message) = no(json!({"code": 403, "reason": "Forbidden", "message": "not on Fridays"}));
    assert_eq!(code, 403);
    assert_eq!(
        message,
        "admission webhook \"h.example\" denied the request: not on Fridays"
    );
    let failed = failed("h.example", "connection refused");
    assert_eq!((failed.code, failed.reason.as_str()), (500, "InternalError"));
    assert_eq!(
        failed.message,
        "Internal error occurred: failed calling webhook \"h.example\": connection refused"
    );
    let dry = dry_run_unsupported("h.example");
    assert_eq!((dry.code, dry.reason.as_str()), (400, "BadRequest"));
    assert_eq!(
        dry.message,
        "admission webhook \"h.example\" does not support dry run"
    );
}

#[test]
fn a_patch_changes_the_object_and_never_which_one_it_is() {
    let object =
        json!({"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "x", "namespace": "n"}, "a": [1]});
    let patched = |patch: Value| apply(patch.to_string().as_bytes(), &object);
    let labelled = patched(json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])).unwrap();
    assert_eq!(labelled["metadata"]["labels"], json!({"a": "b"}));
    for (patch, part) in [
        (
            json!([{"op": "replace", "path": "/metadata/name", "value": "y"}]),
            "/metadata/name",
        ),
        (json!([{"op": "remove", "path": "/kind"}]), "/kind"),
        (json!([{"op": "replace", "path": "", "value": {}}]), "/apiVersion"),
        (json!([{"op": "remove", "path": "/nothing"}]), "operation 0"),
        (
            json!([{"op": "test", "path": "/kind", "value": "Bar"}]),
            "operation 0",
        ),
        (json!({"metadata": {}}), "not a JSON Patch"),
        (
            json!(vec![
                json!({"op": "test", "path": "/kind", "value": "Foo"});
                10_001
            ]),
            "got 10001",
        ),
        (
            json!(vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 40]),
            "3145728 bytes",
        ),
        (
            json!(vec![json!({"op": "copy", "from": "/a", "path": "/a/0"}); 30]),
            "3145728 bytes",
        ),
    ] {
        let problem = patched(patch).unwrap_err();
        assert!(problem.to_string().contains(part), "{problem}");
    }
}

#[test]
fn a_patch_replaces_and_tests_a_field_that_is_not_there_as_in_kube_apiserver() {
    let object = json!({"metadata": {"labels": {}}});
    let patched = |patch: Value| apply(patch.to_string().as_bytes(), &object);
    let (path, annotations) = ("/metadata/annotations", json!({"a": "b"}));
    let patch = json!([
        {"op": "test", "path": path, "value": null},
        {"op": "replace", "path": path, "value": annotations},
    ]);
    assert_eq!(patched(patch).unwrap()["metadata"]["annotations"], annotations);
    let other = patched(json!([{"op": "test", "path": path, "value": annotations}]));
    assert!(matches!(other, Err(PatchError::Test(_))), "{other:?}");
    let beyond = patched(json!([{"op": "replace", "path": "/spec/a", "value": 1}]));
    assert!(matches!(beyond, Err(PatchError::Impossible(_))), "{beyond:?}");
}
