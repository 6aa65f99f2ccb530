//! Reviews as a kube-apiserver sends them, and malformed ones.

use std::sync::Arc;

use base64::Engine;
use berth_apimachinery::Status;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::chain::Chain;
use crate::plugin::Plugin;
use crate::request::Denial;

const FOOS: GroupResource = GroupResource::new("g", "foos");

/// Sets `place` if it is missing, with a warning, and refuses bad objects.
struct Police;

impl Plugin for Police {
    fn name(&self) -> &'static str {
        "Police"
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource == FOOS
    }
    fn mutate(&self, _: &Request<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<(), Denial> {
        let spec = object.get_mut("spec").and_then(Value::as_object_mut);
        if let Some(spec) = spec.filter(|spec| !spec.contains_key("place")) {
            spec.insert("place".to_owned(), "here".into());
            warnings.push("placed".to_owned());
        }
        Ok(())
    }
    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denial> {
        match object {
            Some(object) if object["spec"]["bad"] == true => {
                Err(Denial::Invalid(vec![berth_apimachinery::FieldError::forbidden(
                    "spec.bad", "never",
                )]))
            }
            None if request.old.is_some_and(|old| old["used"] == true) => {
                Err(Denial::Forbidden("it is used".to_owned()))
            }
            _ => Ok(()),
        }
    }
    fn annotate(&self, request: &Request<'_>, _: Option<&Value>) -> Vec<(&'static str, String)> {
        vec![("by", request.user.name.clone())]
    }
}

fn chain() -> Chain {
    Chain::new(vec![Arc::new(Police)])
}

/// A review with all fields kube-apiserver fills in.
fn sent(operation: &str, object: Value, old: Value) -> Value {
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "g", "version": "v1", "kind": "Foo"},
            "resource": {"group": "g", "version": "v1", "resource": "foos"},
            "requestKind": {"group": "g", "version": "v1beta1", "kind": "Foo"},
            "requestResource": {"group": "g", "version": "v1beta1", "resource": "foos"},
            "name": "x", "namespace": "ns", "operation": operation,
            "userInfo": {"username": "alice", "uid": "7", "groups": ["dev"], "extra": {"k": ["v"]}},
            "object": object, "oldObject": old, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

fn review(value: &Value) -> Review {
    match read(value.to_string().as_bytes()).unwrap() {
        Body::V1(review) => *review,
        Body::OtherVersion { api_version, .. } => panic!("{api_version}"),
    }
}

fn refusal(value: &Value) -> Status {
    read(value.to_string().as_bytes()).unwrap_err()
}

#[test]
fn a_review_is_read_with_everything_in_it() {
    let review = review(&sent("CREATE", json!({"spec": {}}), Value::Null));
    assert_eq!(
        (review.kind.kind.as_str(), review.resource.resource.as_str()),
        ("Foo", "foos")
    );
    assert_eq!(review.request_kind.as_ref().unwrap().version, "v1beta1");
    assert_eq!(review.request_resource.as_ref().unwrap().version, "v1beta1");
    assert_eq!(
        (review.user.name.as_str(), review.user.uid.as_str()),
        ("alice", "7")
    );
    assert_eq!(
        (review.user.groups.as_slice(), &review.user.extra["k"]),
        (&["dev".to_owned()][..], &vec!["v".to_owned()])
    );
    assert_eq!(review.options["kind"], "CreateOptions");
    let request = review.request(FOOS);
    assert_eq!((request.namespace, request.name), ("ns", "x"));
    assert!(request.old.is_none() && !request.dry_run);
}

#[test]
fn without_a_name_in_the_request_the_object_has_it() {
    let named = |operation: &str, object: Value, old: Value| {
        let mut sent = sent(operation, object, old);
        sent["request"]["name"] = "".into();
        review(&sent).request(FOOS).name.to_owned()
    };
    let own = json!({"metadata": {"name": "own"}});
    assert_eq!(
        named("DELETE", Value::Null, own.clone()),
        "own",
        "of a collection that is deleted"
    );
    assert_eq!(named("CREATE", own, Value::Null), "own", "generated");
    assert_eq!(
        named("CREATE", json!({"metadata": {"generateName": "x-"}}), Value::Null),
        ""
    );
}

#[test]
fn a_change_is_answered_as_a_patch_and_the_second_time_there_is_none() {
    let first = review(&sent("CREATE", json!({"spec": {}}), Value::Null));
    let answer = first.mutate(&chain(), FOOS).unwrap();
    let response = &answer["response"];
    assert_eq!(
        (&answer["apiVersion"], &answer["kind"]),
        (&json!(API_VERSION), &json!(KIND))
    );
    assert_eq!(response["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(
        (&response["allowed"], &response["patchType"]),
        (&json!(true), &json!("JSONPatch"))
    );
    assert_eq!(response["warnings"], json!(["placed"]));
    let patch = base64::engine::general_purpose::STANDARD
        .decode(response["patch"].as_str().unwrap())
        .unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    let mut object = first.object.clone();
    json_patch::patch(&mut object, &patch).unwrap();
    assert_eq!(object, json!({"spec": {"place": "here"}}));
    let again = review(&sent("CREATE", object, Value::Null))
        .mutate(&chain(), FOOS)
        .unwrap();
    assert_eq!(
        again["response"],
        json!({"uid": first.uid, "allowed": true}),
        "nothing but the verdict"
    );
}

#[test]
fn a_refusal_carries_code_reason_message_and_causes() {
    let answer = review(&sent("UPDATE", json!({"spec": {"bad": true}}), json!({}))).validate(&chain(), FOOS);
    let response = &answer["response"];
    assert_eq!(response["allowed"], false);
    assert!(response.get("patch").is_none() && response.get("auditAnnotations").is_none());
    let status = &response["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(422), &json!("Invalid"))
    );
    assert_eq!(
        status["message"],
        "Foo.g \"x\" is invalid: spec.bad: Forbidden: never"
    );
    assert_eq!(status["details"]["causes"][0]["field"], "spec.bad");
}

#[test]
fn a_delete_is_judged_by_the_old_object_and_never_patched() {
    let used = review(&sent("DELETE", Value::Null, json!({"used": true})));
    assert_eq!(
        used.validate(&chain(), FOOS)["response"]["status"]["message"],
        "foos.g \"x\" is forbidden: it is used"
    );
    let free = review(&sent("DELETE", Value::Null, json!({})));
    let answer = free.validate(&chain(), FOOS);
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(answer["response"]["auditAnnotations"], json!({"by": "alice"}));
    assert_eq!(free.mutate(&chain(), FOOS).unwrap(), free.allow());
}

#[test]
fn other_versions_get_a_readable_refusal_of_their_own_version() {
    let mut value = sent("CREATE", json!({}), Value::Null);
    value["apiVersion"] = "admission.k8s.io/v1beta1".into();
    let Body::OtherVersion { api_version, uid } = read(value.to_string().as_bytes()).unwrap() else {
        panic!("v1beta1 was taken for v1");
    };
    let answer = refused_version(&api_version, &uid);
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(answer["response"]["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(answer["response"]["allowed"], false);
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(message.contains("admissionReviewVersions"), "{message}");
}

#[test]
fn what_is_no_review_is_answered_with_400_and_the_reason() {
    for (body, expected) in [
        ("", "the body is not JSON: EOF"),
        ("{", "the body is not JSON"),
        ("[]", "kind AdmissionReview are expected, not \"\" and \"\""),
        (r#"{"apiVersion":"v1","kind":"Pod"}"#, "not \"v1\" and \"Pod\""),
        (
            r#"{"apiVersion":"v1","kind":"AdmissionReview"}"#,
            "admission.k8s.io/v1",
        ),
        (
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
            "request: Required value",
        ),
        (
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":7}"#,
            "request: Invalid value: 7: an object is expected",
        ),
    ] {
        let status = read(body.as_bytes()).unwrap_err();
        assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
        assert!(status.message.contains(expected), "{body}: {}", status.message);
    }
}

#[test]
fn every_mistake_in_a_request_is_told() {
    let mut value = sent("CREATE", Value::Null, Value::Null);
    value["request"]["uid"] = "".into();
    value["request"]["userInfo"]["groups"] = json!(["a", 7]);
    value["request"]["kind"]["kind"] = Value::Null;
    value["request"]["dryRun"] = "yes".into();
    let status = refusal(&value);
    for text in [
        "request.uid: Required value: the answer must repeat it",
        "request.userInfo.groups[1]: Invalid value: 7: a string is expected",
        "request.kind.kind: Required value",
        "request.dryRun: Invalid value: \"yes\": true or false is expected",
        "request.object: Required value: must be set for operation CREATE",
    ] {
        assert!(
            status.message.contains(text),
            "{text} is not in {}",
            status.message
        );
    }
    assert_eq!(status.details.unwrap().causes.len(), 5);
    value["request"]["operation"] = "EXPLODE".into();
    assert!(refusal(&value).message.contains("supported values: \"CREATE\""));
    let delete = sent("DELETE", json!({}), json!({}));
    assert!(
        refusal(&delete)
            .message
            .contains("request.object: Forbidden: must not be set for operation DELETE")
    );
    let update = sent("UPDATE", json!({}), Value::Null);
    assert!(refusal(&update).message.contains("request.oldObject"));
}

#[test]
fn connects_are_judged_with_their_options_as_the_object() {
    let mut value = sent("CONNECT", json!({"kind": "PodExecOptions"}), Value::Null);
    value["request"]["subResource"] = "proxy".into();
    let review = review(&value);
    assert_eq!(review.request(FOOS).subresource, "proxy");
    assert_eq!(review.validate(&chain(), FOOS)["response"]["allowed"], true);
    assert!(
        review.mutate(&chain(), FOOS).unwrap()["response"]
            .get("patch")
            .is_none()
    );
}

/// JSON values that are often almost a review.
fn near_reviews() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/.]{0,12}".prop_map(Value::from),
        prop_oneof![Just("CREATE"), Just("DELETE"), Just("UPDATE"), Just("CONNECT")].prop_map(Value::from),
    ];
    let any_value = leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let field = prop_oneof![
        Just("uid"),
        Just("kind"),
        Just("resource"),
        Just("operation"),
        Just("userInfo"),
        Just("object"),
        Just("oldObject"),
        Just("requestKind"),
        Just("options"),
    ];
    (
        proptest::collection::vec((field, any_value), 0..4),
        proptest::sample::select(vec!["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    )
        .prop_map(|(changes, operation)| {
            let mut value = sent(operation, json!({"spec": {}}), json!({}));
            for (field, other) in changes {
                value["request"][field] = other;
            }
            value
        })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        prop_assert_eq!(read(&bytes).unwrap_err().code, 400);
    }

    #[test]
    fn every_near_review_is_answered_with_its_uid_or_refused_with_400(value in near_reviews()) {
        match read(value.to_string().as_bytes()) {
            Err(status) => prop_assert_eq!(status.code, 400),
            Ok(Body::OtherVersion { .. }) => prop_assert!(false, "the version was not touched"),
            Ok(Body::V1(review)) => {
                let chain = chain();
                for answer in [review.mutate(&chain, FOOS).unwrap(), review.validate(&chain, FOOS)] {
                    prop_assert_eq!(&answer["response"]["uid"], &value["request"]["uid"]);
                    prop_assert!(answer["response"]["allowed"].is_boolean());
                }
            }
        }
    }
}

#[test]
fn what_a_review_is_about_is_known_before_its_objects_are_read() {
    let foo = sent("CREATE", json!({"spec": {"deep": [[[1]]]}}), Value::Null);
    let subject = Subject::of(foo.to_string().as_bytes()).unwrap();
    assert_eq!((subject.group.as_str(), subject.resource.as_str()), ("g", "foos"));
    assert_eq!(subject.allow(), review(&foo).allow());
}

#[test]
fn a_body_that_is_no_plain_review_has_no_subject_and_is_read_to_say_why() {
    let foo = sent("CREATE", json!({}), Value::Null);
    for (path, value) in [
        ("/apiVersion", json!("admission.k8s.io/v1beta1")),
        ("/kind", json!("Pod")),
        ("/request", Value::Null),
        ("/request/uid", json!("")),
        ("/request/resource", json!(7)),
    ] {
        let mut foo = foo.clone();
        *foo.pointer_mut(path).unwrap() = value;
        assert_eq!(Subject::of(foo.to_string().as_bytes()), None, "{path}");
    }
    assert_eq!(Subject::of(b"{"), None);
}
