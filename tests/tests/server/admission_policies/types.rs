//! Type problems of a policy are in its status.

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

use super::{apply, create_accepted, deployment, rule, validating};

/// Waits until the policy's status is of its last generation, and returns it.
fn status(server: &Server, name: &str) -> Value {
    eventually("the types to be checked", || {
        let policy = server
            .kubectl(&format!(
                "get validatingadmissionpolicy {name} -o json --show-managed-fields"
            ))
            .json();
        let observed = policy["status"]["observedGeneration"] == policy["metadata"]["generation"];
        observed.then_some(policy)
    })
}

#[test]
fn what_does_not_go_with_the_kinds_of_the_rules_stands_in_the_status_until_it_is_mended() {
    let server = Server::start();
    let rules = json!([rule(&["CREATE"], &["deployments", "deployments/scale"]),
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]);
    let spec = |field: &str| {
        json!({
            "matchConstraints": {"resourceRules": rules},
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "spec", "expression": "object.spec"}],
            "validations": [
                {"expression": format!("variables.spec.{field} > 1 || object.kind == 'ConfigMap'")},
                {"expression": "params.data.most == 1 || true", "messageExpression": "string(object.kind)"}],
        })
    };
    let by = json!({"paramRef": {"name": "limits", "parameterNotFoundAction": "Allow"}});
    apply(&server, &validating("typed", &spec("replica"), &by)).succeeds();
    let policy = status(&server, "typed");
    // Variables of a kind without `spec` have any type.
    let text = "apps/v1, Kind=Deployment: ERROR: <input>:1:15: undefined field 'replica'\n \
                | variables.spec.replica > 1 || object.kind == 'ConfigMap'\n | ..............^\n";
    let params = |kind: &str| {
        format!(
            "{kind}: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(string, int)'\n \
             | params.data.most == 1 || true\n | .................^\n"
        )
    };
    assert_eq!(
        policy["status"]["typeChecking"],
        json!({"expressionWarnings": [
            {"fieldRef": "spec.validations[0].expression", "warning": text},
            {"fieldRef": "spec.validations[1].expression",
                "warning": format!("{}\n{}", params("/v1, Kind=ConfigMap"), params("apps/v1, Kind=Deployment"))},
        ]})
    );
    let managers = policy["metadata"]["managedFields"].as_array().unwrap().iter();
    let owner = managers
        .filter(|entry| entry["subresource"] == "status")
        .map(|entry| &entry["manager"]);
    assert_eq!(owner.collect::<Vec<_>>(), ["validatingadmissionpolicy-status"]);
    // The problem is a warning, and the policy is in force.
    create_accepted(
        &server,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}),
    );
    let mended = json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "has(object.kind)"}]});
    apply(&server, &validating("typed", &mended, &json!({}))).succeeds();
    let policy = status(&server, "typed");
    assert_eq!(policy["status"]["typeChecking"], json!({}));
    assert_eq!(policy["status"]["observedGeneration"], 2);
    create_accepted(&server, &deployment("web", "default", 1));
}
