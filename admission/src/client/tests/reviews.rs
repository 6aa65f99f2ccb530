//! Reviews that are sent to webhooks.

use serde_json::{Value, json};

use super::*;
use crate::webhook::{self, Body};

fn read_back(request: &Value) -> webhook::Review {
    let body = serde_json::to_vec(&review(request)).unwrap();
    match webhook::read(body.as_slice()).unwrap() {
        Body::V1(review) => *review,
        Body::OtherVersion { api_version, .. } => panic!("{api_version}"),
    }
}

#[test]
fn a_review_is_what_the_serving_side_understands() {
    let user = UserInfo {
        name: "alice".to_owned(),
        uid: "7".to_owned(),
        groups: vec!["dev".to_owned()],
        extra: [("scope".to_owned(), vec!["a".to_owned()])].into(),
    };
    let (foo, old) = (
        Foo::new(),
        json!({"apiVersion": "g.example/v1", "kind": "Foo", "metadata": {"name": "x"}}),
    );
    let asked = Request {
        operation: Operation::Update,
        subresource: "status",
        old: Some(&old),
        dry_run: true,
        ..create(&user)
    };
    let new =
        json!({"apiVersion": "g.example/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": {"a": 1}});
    let write = about(&asked, &foo, "v1beta1");
    let read = read_back(&request("u1", &write, "v1", Some(&new)));
    assert_eq!(
        (read.uid.as_str(), read.name.as_str(), read.namespace.as_str()),
        ("u1", "x", "team")
    );
    assert_eq!(
        (read.subresource.as_str(), read.operation, read.dry_run),
        ("status", Operation::Update, true)
    );
    assert_eq!((&read.object, &read.old_object), (&new, &old));
    assert_eq!(read.user, user);
    assert_eq!(read.resource.version, "v1");
    assert_eq!(read.request_resource.unwrap().version, "v1beta1");
    assert_eq!(read.request_kind.unwrap().version, "v1beta1");
    assert_eq!(read.options["kind"], "UpdateOptions");
}

#[test]
fn objects_are_shown_in_the_version_of_the_rule_and_taken_back() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let asked = create(&user);
    let held =
        json!({"apiVersion": "g.example/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": {"a": 1}});
    let write = about(&asked, &foo, "v1");
    let shown = request("u1", &write, "v1beta1", Some(&held))["object"].clone();
    assert_eq!(
        (&shown["apiVersion"], &shown["oldSpec"]),
        (&json!("g.example/v1beta1"), &json!({"a": 1}))
    );
    assert_eq!(shown["spec"], Value::Null);
    assert_eq!(write.in_object_version("v1beta1", shown), held);
}

#[test]
fn a_body_of_another_kind_keeps_its_own_version() {
    let user = UserInfo::default();
    let asked = Request {
        subresource: "binding",
        ..create(&user)
    };
    let write = VersionedWrite {
        request: &asked,
        version: "v1",
        versions: &["v1", "v1beta1"],
        object_kind: ObjectKind::Unconverted {
            group: "other.example",
            version: "v3",
            kind: "Binding",
        },
    };
    let body = json!({"apiVersion": "other.example/v3", "kind": "Binding"});
    let sent = request("u", &write, "v1beta1", Some(&body));
    assert_eq!(
        sent["kind"],
        json!({"group": "other.example", "version": "v3", "kind": "Binding"})
    );
    assert_eq!(sent["resource"]["version"], "v1beta1");
    assert_eq!((&sent["object"], &sent["oldObject"]), (&body, &Value::Null));
}

#[test]
fn the_namespace_of_a_review_about_a_namespace_is_its_own_name() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let asked = Request {
        operation: Operation::Delete,
        resource: NAMESPACES,
        namespace: "",
        name: "n",
        ..create(&user)
    };
    let sent = request("u", &about(&asked, &foo, "v1"), "v1", None);
    assert_eq!(sent["namespace"], "n");
}

#[test]
fn a_delete_shows_only_what_was_there() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let old = json!({"apiVersion": "g.example/v1", "kind": "Foo", "metadata": {"name": "x"}});
    let asked = Request {
        operation: Operation::Delete,
        old: Some(&old),
        ..create(&user)
    };
    let read = read_back(&request("u", &about(&asked, &foo, "v1"), "v1", None));
    assert_eq!((read.object, read.old_object), (Value::Null, old));
}
