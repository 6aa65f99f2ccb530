//! Writes that the guard allows and refuses.

mod keys;
mod placement;
mod syncer;

use std::sync::Arc;

use berth_admission::{Chain, UserInfo};
use serde_json::json;

use super::*;
use crate::names::PLACEMENT;

const ALICE: &str = "alice";
const SYNCER_X: &str = "berth:syncer:x";
const DEPLOYMENTS: GroupResource = GroupResource::new("apps", "deployments");

/// The verdict of the guard on a write; an error is the code and the message of the refusal. Both phases
/// must agree.
fn review(
    guard: &PlacementGuard,
    user: &str,
    resource: GroupResource,
    subresource: &str,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), (u16, String)> {
    let user = UserInfo {
        name: user.to_owned(),
        groups: vec!["system:authenticated".to_owned(), "system:masters".to_owned()],
        ..UserInfo::default()
    };
    let request = Request {
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        resource,
        kind: if resource == NAMESPACES {
            "Namespace"
        } else {
            "Deployment"
        },
        subresource,
        namespace: "",
        name: "app",
        user: &user,
        old,
        dry_run: false,
    };
    if !guard.handles(&request) {
        return Ok(());
    }
    let first = guard.mutate(&request, &mut new.clone(), &mut Vec::new());
    let second = guard.validate(&request, Some(new), &mut Vec::new());
    assert_eq!(first, second);
    first.map_err(|denied| {
        let status = denied.into_status(&request);
        (status.code, status.message)
    })
}

/// An update of a namespace.
fn update(user: &str, old: &Value, new: &Value) -> Result<(), (u16, String)> {
    review(&PlacementGuard::default(), user, NAMESPACES, "", Some(old), new)
}

/// An update of a resource in a namespace.
fn update_resource(user: &str, old: &Value, new: &Value) -> Result<(), (u16, String)> {
    review(&PlacementGuard::default(), user, DEPLOYMENTS, "", Some(old), new)
}

/// A namespace with this annotation.
fn placed(text: Option<&str>) -> Value {
    let mut namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app", "annotations": {"note": "a"}},
        "spec": {"finalizers": ["kubernetes"]},
    });
    if let Some(text) = text {
        namespace["metadata"]["annotations"][PLACEMENT] = text.into();
    }
    namespace
}

/// An object with these labels, annotations and finalizers.
fn object(labels: Value, annotations: Value, finalizers: Value) -> Value {
    json!({
        "metadata": {"name": "web", "labels": labels, "annotations": annotations, "finalizers": finalizers},
        "spec": {"replicas": 1}, "status": {},
    })
}

#[track_caller]
fn refused(answer: Result<(), (u16, String)>, code: u16, parts: &[&str]) {
    let (found, message) = answer.expect_err("the write must be refused");
    assert_eq!(found, code, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}
