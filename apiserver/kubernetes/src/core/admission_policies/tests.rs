//! Rules of policies and bindings.

use berth_apimachinery::{Kind, Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::*;

/// All errors of `object`, with the defaults applied.
fn errors(kind: &dyn Kind, old: Option<&Value>, mut object: Value) -> Vec<String> {
    let write = Write {
        operation: old.map_or(WriteOperation::Create, |_| WriteOperation::Update),
        old,
        now: Timestamp::UNIX_EPOCH,
    };
    let schema = kind.schema(kind.info().versions[0]);
    schema.default(&mut object);
    let mut errors = schema.validate(&object);
    errors.extend(kind.validate(&write, &object));
    errors.iter().map(ToString::to_string).collect()
}

fn rules(operations: &[&str]) -> Value {
    json!({"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": operations,
        "resources": ["deployments"]}]})
}

fn validating(spec: &Value) -> Value {
    object("ValidatingAdmissionPolicy", &rules(&["*"]), spec)
}

fn mutating(spec: &Value) -> Value {
    object("MutatingAdmissionPolicy", &rules(&["CREATE", "UPDATE"]), spec)
}

fn object(kind: &str, constraints: &Value, spec: &Value) -> Value {
    let mut all = json!({"matchConstraints": constraints});
    for (field, value) in spec.as_object().expect("fields") {
        all[field] = value.clone();
    }
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": all})
}

#[test]
fn the_example_of_kubernetes_documentation_is_taken_and_gets_its_defaults() {
    let mut policy = validating(&json!({"validations": [{"expression": "object.spec.replicas <= 5"}]}));
    assert_eq!(errors(&ValidatingAdmissionPolicy, None, policy.clone()), [""; 0]);
    ValidatingAdmissionPolicy.schema("v1").default(&mut policy);
    assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    let constraints = &policy["spec"]["matchConstraints"];
    assert_eq!(constraints["matchPolicy"], "Equivalent");
    assert_eq!(constraints["namespaceSelector"], json!({}));
    assert_eq!(constraints["objectSelector"], json!({}));
    assert_eq!(constraints["resourceRules"][0]["scope"], "*");
}

#[test]
fn a_validating_policy_says_everything_that_is_wrong_with_it_at_once() {
    let spec = json!({
        "failurePolicy": "Maybe", "paramKind": {"apiVersion": "a/b/c"},
        "matchConstraints": {"matchPolicy": "Roughly", "resourceRules": [{
            "apiGroups": ["*", "apps"], "apiVersions": [""], "operations": ["READ"],
            "resources": ["*", "pods", "pods/*", "pods/log"], "scope": "Here", "resourceNames": ["a", "a"]}]},
        "matchConditions": [{"name": "c", "expression": "variables.v"}, {"name": "d", "expression": " "}],
        "variables": [{"name": "v", "expression": "true"}, {"name": "if", "expression": "1"}],
        "validations": [{"expression": "object.x("}, {"expression": "1"}, {"message": "a\nb", "reason": "Because"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "'a'"}, {"key": "k", "valueExpression": ""}],
    });
    let errors = errors(&ValidatingAdmissionPolicy, None, validating(&spec));
    for wanted in [
        "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
        "spec.paramKind.kind: Required value",
        "spec.matchConstraints.matchPolicy: Unsupported value: \"Roughly\": supported values: \"Equivalent\", \"Exact\"",
        "spec.matchConstraints.resourceRules[0].apiGroups: Invalid value: [\"*\",\"apps\"]: if '*' is present, must not \
         specify other API groups",
        "spec.matchConstraints.resourceRules[0].apiVersions[0]: Required value",
        "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"READ\": supported values: \"*\", \
         \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        "spec.matchConstraints.resourceRules[0].resources[3]: Invalid value: \"pods/log\": if 'pods/*' is present, must \
         not specify pods/log",
        "spec.matchConstraints.resourceRules[0].scope: Unsupported value: \"Here\": supported values: \"*\", \
         \"Cluster\", \"Namespaced\"",
        "spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\"",
        "spec.matchConditions[1].expression: Required value",
        "spec.variables[1].name: Invalid value: \"if\": must be a valid CEL identifier",
        "spec.validations[1].expression: Invalid value: \"1\": must evaluate to bool but got int",
        "spec.validations[2].expression: Required value: expression is not specified",
        "spec.validations[2].message: Invalid value: \"a\\nb\": must not contain line breaks",
        "spec.validations[2].reason: Unsupported value: \"Because\": supported values: \"Forbidden\", \"Invalid\", \
         \"RequestEntityTooLarge\"",
        "spec.auditAnnotations[1].key: Duplicate value: \"k\"",
        "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
    ] {
        assert!(
            errors.iter().any(|error| error == wanted),
            "{wanted} is not in {errors:#?}"
        );
    }
    for begins in [
        "spec.validations[0].expression: Invalid value: \"object.x(\": compilation failed: ERROR: <input>:1:10: Syntax error",
        "spec.matchConditions[0].expression: Invalid value: \"variables.v\": compilation failed: ",
    ] {
        assert!(
            errors.iter().any(|error| error.starts_with(begins)),
            "{begins} is not in {errors:#?}"
        );
    }
}

#[test]
fn a_policy_needs_constraints_and_something_to_do() {
    let empty = json!({"metadata": {"name": "p"}, "spec": {}});
    assert_eq!(
        errors(&ValidatingAdmissionPolicy, None, empty.clone()),
        [
            "spec.matchConstraints: Required value",
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
        ]
    );
    assert_eq!(
        errors(&MutatingAdmissionPolicy, None, empty),
        [
            "spec.matchConstraints: Required value",
            "spec.mutations: Required value: mutations must contain at least one item",
            "spec.reinvocationPolicy: Required value",
        ]
    );
}

#[test]
fn a_mutation_has_the_patch_of_its_type_and_changes_only_what_is_written() {
    let apply = json!({"patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}});
    let good = json!({"reinvocationPolicy": "Never", "mutations": [apply]});
    assert_eq!(errors(&MutatingAdmissionPolicy, None, mutating(&good)), [""; 0]);
    let bad = json!({
        "matchConstraints": rules(&["CREATE", "DELETE"]), "reinvocationPolicy": "Always",
        "mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}}, {"patchType": "Merge"},
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "1"}}],
    });
    assert_eq!(
        errors(&MutatingAdmissionPolicy, None, mutating(&bad)),
        [
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \
             \"CREATE\", \"UPDATE\"",
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when \
             patchType is JSONPatch",
            "spec.mutations[1].patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \
             \"JSONPatch\"",
            "spec.reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \"Never\"",
            "spec.mutations[2].applyConfiguration.expression: Invalid value: \"1\": must evaluate to Object but got int",
        ]
    );
}

#[test]
fn bindings_name_a_policy_its_parameters_and_what_follows() {
    let binding = |spec: &Value| json!({"metadata": {"name": "b"}, "spec": spec});
    let good = json!({"policyName": "p", "validationActions": ["Deny", "Audit"], "paramRef": {
        "selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Deny"}});
    assert_eq!(
        errors(&ValidatingAdmissionPolicyBinding, None, binding(&good)),
        [""; 0]
    );
    let bad = json!({"policyName": "P", "validationActions": ["Deny", "Warn", "Shout"],
        "paramRef": {"name": "a/b", "selector": {}}, "matchResources": {"resourceRules": [{}]}});
    let found = errors(&ValidatingAdmissionPolicyBinding, None, binding(&bad));
    for begins in [
        "spec.policyName: Invalid value: \"P\": a lowercase RFC 1123 subdomain",
        "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.parameterNotFoundAction: Required value",
        "spec.matchResources.resourceRules[0].operations: Required value",
        "spec.matchResources.resourceRules[0].apiGroups: Required value",
        "spec.matchResources.resourceRules[0].apiVersions: Required value",
        "spec.matchResources.resourceRules[0].resources: Required value",
        "spec.validationActions[2]: Unsupported value: \"Shout\": supported values: \"Audit\", \"Deny\", \"Warn\"",
        "spec.validationActions: Invalid value: [\"Deny\",\"Warn\",\"Shout\"]: must not contain both Deny and Warn",
    ] {
        assert!(
            found.iter().any(|error| error.starts_with(begins)),
            "{begins} is not in {found:#?}"
        );
    }
    assert_eq!(
        errors(
            &MutatingAdmissionPolicyBinding,
            None,
            binding(&json!({"paramRef": {}}))
        ),
        [
            "spec.policyName: Required value",
            "spec.paramRef: Required value: one of name or selector must be specified",
            "spec.paramRef.parameterNotFoundAction: Required value",
        ]
    );
}

#[test]
fn a_policy_that_was_stored_with_an_expression_unknown_here_can_still_be_labelled() {
    let old = validating(&json!({"validations": [{"expression": "newer(object)"}]}));
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"a": "b"});
    // Defaults are applied first, as before storing.
    let mut stored = old.clone();
    ValidatingAdmissionPolicy.schema("v1").default(&mut stored);
    assert_eq!(errors(&ValidatingAdmissionPolicy, Some(&stored), new), [""; 0]);
    assert_eq!(errors(&ValidatingAdmissionPolicy, None, old).len(), 1);
}
