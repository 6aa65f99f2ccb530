//! The hub's admission policies about a kind that Berth owns.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use serde_json::{Value, json};

use super::{GROUP, shared};

/// A policy about creates of placements in the namespace `name`, and its binding.
fn policy(kind: &str, name: &str, spec: &Value, bound: &Value) -> String {
    let api = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["placements"], "operations": ["CREATE"]});
    let mut policy = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": {"matchConstraints": {
        "resourceRules": [rule], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}}});
    let mut binding = json!({"apiVersion": api, "kind": format!("{kind}Binding"), "metadata": {"name": name},
        "spec": {"policyName": name}});
    for (object, fields) in [(&mut policy, spec), (&mut binding, bound)] {
        for (field, value) in fields.as_object().expect("fields") {
            object["spec"][field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]}).to_string()
}

fn validating(name: &str, spec: &Value, bound: &Value) -> String {
    let mut bound = bound.clone();
    if bound["validationActions"].is_null() {
        bound["validationActions"] = json!(["Deny"]);
    }
    policy("ValidatingAdmissionPolicy", name, spec, &bound)
}

fn placement(namespace: &str, number: i64) -> String {
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"generateName": "p-", "namespace": namespace}, "spec": {"numberOfClusters": number},
    })
    .to_string()
}

/// Tries to create a placement with `number` requested clusters until it is refused with `part`.
fn refused(hub: &Hub, namespace: &str, number: i64, part: &str) {
    eventually(&format!("a refusal with {part:?}"), || {
        let tried = hub
            .kubectl("create --dry-run=server -f -")
            .input(placement(namespace, number))
            .run();
        (!tried.success && tried.err.contains(part)).then_some(())
    });
}

/// Tries to create such a placement until it is accepted, and returns the warnings.
fn passes(hub: &Hub, namespace: &str, number: i64) -> String {
    eventually("a placement to pass", || {
        let tried = hub
            .kubectl("create -f -")
            .input(placement(namespace, number))
            .run();
        tried.success.then_some(tried.err)
    })
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_validating_policy_of_the_hub_holds_for_owned_placements_until_it_goes() {
    let hub = shared();
    hub.ensure(&["create", "namespace", "limited"]);
    let spec = json!({"validations": [{"expression": "object.spec.numberOfClusters <= 5",
        "messageExpression": "'not ' + string(object.spec.numberOfClusters) + ' in ' + namespaceObject.metadata.name"}]});
    hub.kubectl("apply -f -")
        .input(validating("limited", &spec, &json!({})))
        .succeeds();
    refused(
        hub,
        "limited",
        6,
        "ValidatingAdmissionPolicy 'limited' with binding 'limited' denied request: not 6 in limited",
    );
    passes(hub, "limited", 5);
    let warns = json!({"validationActions": ["Warn"]});
    hub.kubectl("apply -f -")
        .input(validating("limited", &spec, &warns))
        .succeeds();
    let warnings = passes(hub, "limited", 6);
    assert!(
        warnings.contains("Warning: Validation failed for ValidatingAdmissionPolicy 'limited'"),
        "{warnings}"
    );
    hub.kubectl("delete validatingadmissionpolicy limited").succeeds();
    eventually("the policy to be gone", || {
        let warnings = passes(hub, "limited", 6);
        (!warnings.contains("AdmissionPolicy")).then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn parameters_and_rights_of_a_policy_are_the_hubs() {
    let hub = shared();
    // The controller of aggregated roles does not run here.
    hub.ensure(&[
        "create",
        "clusterrolebinding",
        "policy-params",
        "--clusterrole=berth:policy-params-configmaps",
        "--serviceaccount=berth-system:berth",
    ]);
    hub.ensure(&["create", "namespace", "parameters"]);
    hub.ensure(&[
        "create",
        "configmap",
        "limits",
        "-n",
        "parameters",
        "--from-literal=most=2",
    ]);
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{
        "expression": "object.spec.numberOfClusters <= int(params.data.most) && \
                       authorizer.group('apps').resource('deployments').check('create').allowed() && \
                       !authorizer.serviceAccount('parameters', 'default').group('apps').resource('deployments').check('create').allowed()",
        "messageExpression": "'at most ' + params.data.most"}]});
    let by = json!({"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}});
    hub.kubectl("apply -f -")
        .input(validating("parameters", &spec, &by))
        .succeeds();
    refused(hub, "parameters", 3, "at most 2");
    passes(hub, "parameters", 2);
    hub.kubectl("patch configmap limits -n parameters -p {\"data\":{\"most\":\"3\"}}")
        .succeeds();
    passes(hub, "parameters", 3);
    hub.kubectl("delete configmap limits -n parameters").succeeds();
    refused(
        hub,
        "parameters",
        1,
        "no params found for policy binding with `Deny` parameterNotFoundAction",
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_mutating_policy_of_the_hub_changes_owned_placements() {
    let hub = shared();
    hub.ensure(&["create", "namespace", "changed"]);
    let expression = "Object{metadata: Object.metadata{labels: {'policy': 'seen'}}, spec: Object.spec{numberOfClusters: 4}}";
    let spec = json!({"reinvocationPolicy": "Never", "mutations": [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]});
    hub.kubectl("apply -f -")
        .input(policy("MutatingAdmissionPolicy", "changed", &spec, &json!({})))
        .succeeds();
    let made = eventually("a placement to be changed", || {
        let made = hub
            .kubectl("create -o json -f -")
            .input(placement("changed", 1))
            .json();
        (made["metadata"]["labels"]["policy"] == "seen").then_some(made)
    });
    assert_eq!(made["spec"]["numberOfClusters"], 4);
}
