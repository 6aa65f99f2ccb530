//! The body of a call of a webhook: an AdmissionReview with a request.

use serde_json::{Map, Value, json};

use super::versioned_write::VersionedWrite;
use crate::request::{Operation, Request};
use crate::wire::{API_VERSION, GroupVersionKind, GroupVersionResource, KIND};

/// Returns the AdmissionReview with `request`.
#[must_use]
pub fn review(request: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": KIND, "request": request})
}

/// Returns the `request` of an AdmissionReview about `write`, with objects in `version`. `object`, and the
/// old object of `write`, are given in their stored form.
#[must_use]
pub fn request(uid: &str, write: &VersionedWrite<'_>, version: &str, object: Option<&Value>) -> Value {
    let attributes = write.request;
    let convert = |value: Option<&Value>| value.map_or(Value::Null, |value| write.in_version(version, value));
    let mut request = json!({
        "uid": uid,
        "kind": kind(&write.kind(version)),
        "resource": resource(&write.resource(version)),
        "requestKind": kind(&write.kind(write.version)),
        "requestResource": resource(&write.resource(write.version)),
        "operation": attributes.operation.as_str(),
        "userInfo": user(attributes),
        "object": convert(object),
        "oldObject": convert(attributes.old),
        "dryRun": attributes.dry_run,
        "options": options(attributes),
    });
    let texts = [
        ("subResource", attributes.subresource),
        ("requestSubResource", attributes.subresource),
        ("name", attributes.name),
        ("namespace", attributes.namespace_attribute()),
    ];
    for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        request[field] = text.into();
    }
    request
}

fn kind(kind: &GroupVersionKind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

fn resource(resource: &GroupVersionResource) -> Value {
    json!({"group": resource.group, "version": resource.version, "resource": resource.resource})
}

fn user(request: &Request<'_>) -> Value {
    let user = request.user;
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.as_str().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        info.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(info)
}

/// CreateOptions, UpdateOptions or DeleteOptions, with the fields that this server keeps; null on connect.
fn options(request: &Request<'_>) -> Value {
    let kind = match request.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    let mut options = json!({"apiVersion": "meta.k8s.io/v1", "kind": kind});
    if request.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options
}
