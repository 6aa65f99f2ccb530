//! Writes that validating policies accept, and their messages.

use berth_tests::{Server, eventually};
use serde_json::json;

use super::{apply, create_accepted, deployment, refused, rule, validating};

fn namespace(server: &Server, name: &str, environment: &str) {
    server.kubectl(&format!("create namespace {name}")).succeeds();
    server
        .kubectl(&format!("label namespace {name} environment={environment}"))
        .succeeds();
}

/// The example of Kubernetes' documentation: at most five replicas in test namespaces.
#[test]
fn the_documented_example_holds_in_the_namespaces_its_binding_selects() {
    let server = Server::start();
    namespace(&server, "trial", "test");
    let selects = json!({"matchResources": {"namespaceSelector": {"matchLabels": {"environment": "test"}}}});
    let spec = json!({"failurePolicy": "Fail", "validations": [{"expression": "object.spec.replicas <= 5"}]});
    let policy = validating("demo-policy.example.com", &spec, &selects);
    // In force for the next request.
    apply(&server, &policy).succeeds();
    let text = refused(&server, &deployment("web", "trial", 6));
    assert!(
        text.contains(
            "ValidatingAdmissionPolicy 'demo-policy.example.com' with binding 'demo-policy.example.com' denied request: \
             failed expression: object.spec.replicas <= 5"
        ),
        "{text}"
    );
    create_accepted(&server, &deployment("web", "default", 6));
    create_accepted(&server, &deployment("web", "trial", 5));
    let text = server
        .kubectl("-n trial patch deployment web -p {\"spec\":{\"replicas\":7}}")
        .fails();
    assert!(text.contains("denied request"), "{text}");
    // The rule is about deployments, not about their scale.
    server
        .kubectl("-n trial scale deployment web --replicas=9")
        .succeeds();
    let table = server.kubectl("get validatingadmissionpolicies").succeeds();
    assert!(
        table.starts_with("NAME") && table.contains("VALIDATIONS") && table.contains("<unset>"),
        "{table}"
    );
    let table = server.kubectl("get validatingadmissionpolicybindings").succeeds();
    assert!(
        table.contains("POLICYNAME") && table.contains("PARAMREF"),
        "{table}"
    );
    server
        .kubectl("delete validatingadmissionpolicybinding demo-policy.example.com")
        .succeeds();
    create_accepted(&server, &deployment("more", "trial", 6));
}

#[test]
fn messages_warnings_and_audit_annotations_reach_who_is_to_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let server = Server::start_with(&[&format!("--audit-log-path={}", log.display())]);
    let spec = json!({
        "variables": [{"name": "replicas", "expression": "object.spec.replicas"}],
        "validations": [
            {"expression": "variables.replicas <= 5", "message": "too many", "reason": "Forbidden",
                "messageExpression": "'at most 5 replicas, not ' + string(variables.replicas)"},
            {"expression": "variables.replicas != 3", "message": "three is a crowd"}],
        "auditAnnotations": [{"key": "replicas", "valueExpression": "'replicas: ' + string(variables.replicas)"}],
    });
    apply(&server, &validating("limits", &spec, &json!({}))).succeeds();
    let text = refused(&server, &deployment("web", "default", 6));
    assert!(
        text.contains("Error from server (Forbidden)")
            && text.ends_with("denied request: at most 5 replicas, not 6\n"),
        "{text}"
    );
    let text = refused(&server, &deployment("web", "default", 3));
    assert!(text.contains("three is a crowd"), "{text}");
    let listened = json!({"validationActions": ["Warn", "Audit"]});
    apply(&server, &validating("limits", &spec, &listened)).succeeds();
    let warnings = create_accepted(&server, &deployment("web", "default", 6));
    assert_eq!(
        warnings,
        "Warning: Validation failed for ValidatingAdmissionPolicy 'limits' with binding 'limits': at most 5 replicas, not 6\n"
    );
    let annotations = eventually("the annotation in the audit log", || {
        let text = std::fs::read_to_string(&log).ok()?;
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        events
            .map(|event| event["annotations"].clone())
            .find(|annotations| {
                !annotations["validation.policy.admission.k8s.io/validation_failure"].is_null()
            })
    });
    assert_eq!(annotations["limits/replicas"], "replicas: 6");
    let failure = annotations["validation.policy.admission.k8s.io/validation_failure"]
        .as_str()
        .unwrap();
    let failure: serde_json::Value = serde_json::from_str(failure).unwrap();
    assert_eq!(
        failure,
        json!([{"message": "at most 5 replicas, not 6", "policy": "limits", "binding": "limits", "expressionIndex": 0,
            "validationActions": ["Warn", "Audit"]}])
    );
    let metrics = server.kubectl("get --raw /metrics").succeeds();
    for action in ["deny", "warn", "audit"] {
        let line = format!(
            "apiserver_validating_admission_policy_check_total{{policy=\"limits\",policy_binding=\"limits\",error_type=\"no_error\",enforcement_action=\"{action}\"}} "
        );
        assert!(metrics.contains(&line), "{line}");
    }
}

#[test]
fn parameters_are_config_maps_or_anything_stored_by_name_and_by_selector() {
    let server = Server::start();
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.spec.replicas <= int(params.data.most)"}]});
    let by = |by: serde_json::Value| validating("limits", &spec, &json!({"paramRef": by}));
    let named = json!({"name": "limits", "parameterNotFoundAction": "Deny"});
    apply(&server, &by(named)).succeeds();
    let text = refused(&server, &deployment("web", "default", 1));
    assert!(
        text.contains("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
        "{text}"
    );
    server
        .kubectl("create configmap limits --from-literal=most=2")
        .succeeds();
    create_accepted(&server, &deployment("two", "default", 2));
    refused(&server, &deployment("three", "default", 3));
    server
        .kubectl("patch configmap limits -p {\"data\":{\"most\":\"3\"}}")
        .succeeds();
    create_accepted(&server, &deployment("three", "default", 3));
    apply(
        &server,
        &by(json!({"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow"})),
    )
    .succeeds();
    create_accepted(&server, &deployment("many", "default", 9));
    server.kubectl("label configmap limits limit=yes").succeeds();
    refused(&server, &deployment("more", "default", 9));
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "Nothing"}, "validations": [{"expression": "true"}]});
    let unknown = validating(
        "limits",
        &spec,
        &json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}),
    );
    apply(&server, &unknown).succeeds();
    let text = refused(&server, &deployment("more", "default", 1));
    assert!(
        text.contains(
            "failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=Nothing'"
        ),
        "{text}"
    );
}

#[test]
fn conditions_selectors_and_rights_choose_the_writes_that_are_judged() {
    let server = Server::start();
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule(&["*"], &["deployments"])],
            "objectSelector": {"matchLabels": {"judge": "me"}}},
        "matchConditions": [{"name": "not-the-admin", "expression": "request.userInfo.username != 'berth-admin'"}],
        "validations": [{
            "expression": "authorizer.group('apps').resource('deployments').namespace(request.namespace).check('escape').allowed()",
            "messageExpression": "request.userInfo.username + ' may not ' + request.operation"}],
    });
    apply(&server, &validating("escape", &spec, &json!({}))).succeeds();
    server
        .kubectl("create clusterrolebinding ann --clusterrole=cluster-admin --user=bob")
        .succeeds();
    server
        .kubectl("create clusterrolebinding edit --clusterrole=edit --user=ann")
        .succeeds();
    let (ann, bob) = (
        server.kubeconfig_for("ann", &[]),
        server.kubeconfig_for("bob", &[]),
    );
    let mut judged = deployment("web", "default", 1);
    judged["metadata"]["labels"] = json!({"judge": "me"});
    let create = |kubeconfig, object: &serde_json::Value| {
        server
            .kubectl_as(kubeconfig, &["create", "-f", "-"])
            .input(object.to_string())
    };
    create(&ann, &deployment("other", "default", 1)).succeeds();
    let text = create(&ann, &judged).fails();
    assert!(text.contains("ann may not CREATE"), "{text}");
    create(&bob, &judged).succeeds();
    let text = server.kubectl_as(&ann, &["delete", "deployment", "web"]).fails();
    assert!(text.contains("ann may not DELETE"), "{text}");
    server.kubectl("delete deployment web").succeeds();
}

#[test]
fn what_cannot_be_evaluated_follows_the_failure_policy() {
    let server = Server::start();
    let broken =
        json!({"failurePolicy": "Fail", "validations": [{"expression": "object.spec.nothing == 1"}]});
    apply(&server, &validating("broken", &broken, &json!({}))).succeeds();
    let text = refused(&server, &deployment("web", "default", 1));
    assert!(
        text.contains("expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"),
        "{text}"
    );
    let dear = "lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))";
    let dear = json!({"failurePolicy": "Fail", "validations": [{"expression": dear}]});
    apply(&server, &validating("broken", &dear, &json!({}))).succeeds();
    let text = refused(&server, &deployment("web", "default", 1));
    assert!(
        text.contains("actual cost limit exceeded") || text.contains("cost"),
        "{text}"
    );
    let mut ignored = dear;
    ignored["failurePolicy"] = "Ignore".into();
    apply(&server, &validating("broken", &ignored, &json!({}))).succeeds();
    create_accepted(&server, &deployment("web", "default", 1));
    let metrics = server.kubectl("get --raw /metrics").succeeds();
    let line = "apiserver_validating_admission_policy_check_total{policy=\"broken\",policy_binding=\"broken\",error_type=\"invalid_error\",enforcement_action=\"allow\"} 1";
    assert!(metrics.lines().any(|have| have == line), "{metrics}");
    let wrong = json!({"validations": [{"expression": "object.spec.replicas <="}]});
    let text = apply(&server, &validating("wrong", &wrong, &json!({}))).fails();
    assert!(
        text.contains("spec.validations[0].expression: Invalid value: \"object.spec.replicas <=\": compilation failed: ERROR:"),
        "{text}"
    );
}

#[test]
fn deletions_and_subresources_are_judged_as_themselves() {
    let server = Server::start();
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule(&["UPDATE"], &["deployments/scale", "deployments/status"])]},
        "validations": [{"messageExpression": "object.kind + ' ' + request.subResource + ' of ' + object.metadata.name",
            "expression": "object.kind == 'Scale' ? object.spec.replicas <= oldObject.spec.replicas + 1 : !has(object.status.replicas)"}],
    });
    apply(&server, &validating("parts", &spec, &json!({}))).succeeds();
    create_accepted(&server, &deployment("web", "default", 1));
    let text = server.kubectl("scale deployment web --replicas=5").fails();
    assert!(text.contains("Scale scale of web"), "{text}");
    server.kubectl("scale deployment web --replicas=2").succeeds();
    server
        .kubectl("patch deployment web -p {\"spec\":{\"replicas\":9}}")
        .succeeds();
    let text = server
        .kubectl("patch deployment web --subresource=status -p {\"status\":{\"replicas\":9}}")
        .fails();
    assert!(text.contains("Deployment status of web"), "{text}");
    let kept = json!({
        "matchConstraints": {"resourceRules": [rule(&["DELETE"], &["*"])]},
        "validations": [{"expression": "object == null && oldObject.spec.replicas < 9", "message": "too large to go"}],
    });
    apply(&server, &validating("kept", &kept, &json!({}))).succeeds();
    let text = server.kubectl("delete deployment web").fails();
    assert!(text.contains("too large to go"), "{text}");
    let text = server.kubectl("delete deployments --all").fails();
    assert!(text.contains("too large to go"), "{text}");
}

#[test]
fn a_policy_is_judged_before_quota_and_what_it_denies_takes_no_room() {
    let server = Server::start();
    server
        .kubectl("create quota limits --hard=count/deployments.apps=1")
        .succeeds();
    let spec = json!({"validations": [{"expression": "object.spec.replicas <= 5", "message": "too large"}]});
    apply(&server, &validating("limits", &spec, &json!({}))).succeeds();
    refused(&server, &deployment("large", "default", 6));
    create_accepted(&server, &deployment("small", "default", 1));
    let text = refused(&server, &deployment("other", "default", 1));
    assert!(text.contains("exceeded quota: limits"), "{text}");
    // Both refuse it, and the policy's refusal is first.
    let text = refused(&server, &deployment("large", "default", 6));
    assert!(
        text.contains("too large") && !text.contains("exceeded quota"),
        "{text}"
    );
}
