//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy on a standalone server, with the real kubectl.

mod inside;
mod mutating;
mod repair;
mod rights;
mod types;
mod validating;

use berth_tests::{Kubectl, Server};
use serde_json::{Value, json};

/// `kubectl apply -f -` of `objects`.
fn apply(server: &Server, objects: &[Value]) -> Kubectl {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    server.kubectl("apply -f -").input(list.to_string())
}

/// A rule for `operations` on `resources` of apps/v1.
fn rule(operations: &[&str], resources: &[&str]) -> Value {
    json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": operations, "resources": resources})
}

/// A policy about creates and updates of Deployments by default, and its binding, which denies by default;
/// `spec` and `bound` have further fields.
fn policy(kind: &str, name: &str, spec: &Value, bound: &Value) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let rules = [rule(&["CREATE", "UPDATE"], &["deployments"])];
    let mut policy = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": rules}}});
    let mut binding = json!({"apiVersion": api, "kind": format!("{kind}Binding"), "metadata": {"name": name},
        "spec": {"policyName": name}});
    if kind == "ValidatingAdmissionPolicy" {
        binding["spec"]["validationActions"] = json!(["Deny"]);
    }
    for (object, fields) in [(&mut policy, spec), (&mut binding, bound)] {
        for (field, value) in fields.as_object().expect("fields") {
            object["spec"][field] = value.clone();
        }
    }
    [policy, binding]
}

/// A validating policy and its binding.
fn validating(name: &str, spec: &Value, bound: &Value) -> [Value; 2] {
    policy("ValidatingAdmissionPolicy", name, spec, bound)
}

/// A mutating policy and its binding.
fn mutating(name: &str, spec: &Value) -> [Value; 2] {
    let mut spec = spec.clone();
    if spec["reinvocationPolicy"].is_null() {
        spec["reinvocationPolicy"] = "Never".into();
    }
    policy("MutatingAdmissionPolicy", name, &spec, &json!({}))
}

/// A Deployment of `replicas` Pods.
fn deployment(name: &str, namespace: &str, replicas: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

/// Creates `object`, which must be refused, and returns kubectl's error.
fn refused(server: &Server, object: &Value) -> String {
    server.kubectl("create -f -").input(object.to_string()).fails()
}

/// Creates `object`, which must be accepted, and returns kubectl's warnings.
fn create_accepted(server: &Server, object: &Value) -> String {
    let output = server.kubectl("create -f -").input(object.to_string()).run();
    assert!(output.success, "{}", output.err);
    output.err
}
