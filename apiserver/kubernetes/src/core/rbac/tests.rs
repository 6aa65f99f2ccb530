//! RBAC kinds: rules and columns.

use berth_apimachinery::{Cell, Kind, Object, Revision, Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::*;

fn errors(kind: &dyn Kind, old: Option<&Value>, new: &Value) -> Vec<String> {
    let operation = if old.is_some() {
        WriteOperation::Update
    } else {
        WriteOperation::Create
    };
    let write = Write {
        operation,
        old,
        now: Timestamp::UNIX_EPOCH,
    };
    let mut new = new.clone();
    kind.prepare(&write, &mut new);
    let mut errors: Vec<String> = kind
        .schema("v1")
        .validate(&new)
        .iter()
        .map(ToString::to_string)
        .collect();
    errors.extend(kind.validate(&write, &new).iter().map(ToString::to_string));
    errors
}

#[test]
fn rules_are_about_resources_or_about_paths() {
    let rule = |rule: Value| json!({"metadata": {"name": "x"}, "rules": [rule]});
    let good = rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}));
    assert!(errors(&Role, None, &good).is_empty() && errors(&ClusterRole, None, &good).is_empty());
    let empty = errors(&Role, None, &rule(json!({"verbs": []})));
    assert_eq!(empty.len(), 3, "{empty:?}");
    assert_eq!(
        empty[0],
        "rules[0].verbs: Required value: verbs must contain at least one value"
    );
    let path = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}));
    assert!(errors(&ClusterRole, None, &path).is_empty());
    assert!(errors(&Role, None, &path)[0].ends_with("namespaced rules cannot apply to non-resource URLs"));
    let both =
        rule(json!({"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["a"], "apiGroups": [""]}));
    assert_eq!(errors(&ClusterRole, None, &both).len(), 1);
}

#[test]
fn aggregation_needs_selectors_that_parse() {
    let role = |selectors: Value| json!({"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": selectors}});
    assert!(errors(&ClusterRole, None, &role(json!([{"matchLabels": {"a": "b"}}]))).is_empty());
    assert_eq!(errors(&ClusterRole, None, &role(json!([]))).len(), 1);
    let bad = errors(
        &ClusterRole,
        None,
        &role(json!([{"matchExpressions": [{"key": "a", "operator": "Near"}]}])),
    );
    assert!(
        bad[0].starts_with("aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator"),
        "{bad:?}"
    );
}

fn binding() -> Value {
    json!({"metadata": {"name": "x"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [
        {"kind": "User", "name": "jane"}, {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "sa", "namespace": "ns"},
    ]})
}

#[test]
fn groups_of_roles_and_subjects_are_filled_in() {
    let write = Write {
        operation: WriteOperation::Create,
        old: None,
        now: Timestamp::UNIX_EPOCH,
    };
    let mut new = binding();
    RoleBinding.prepare(&write, &mut new);
    assert_eq!(new["roleRef"]["apiGroup"], GROUP);
    assert_eq!(new["subjects"][0]["apiGroup"], GROUP);
    assert_eq!(new["subjects"][2].get("apiGroup"), None);
    assert!(
        errors(&RoleBinding, None, &binding()).is_empty(),
        "{:?}",
        errors(&RoleBinding, None, &binding())
    );
}

#[test]
fn bindings_name_known_roles_and_subjects() {
    let mut bad = binding();
    bad["roleRef"] = json!({"kind": "Role", "name": ""});
    bad["subjects"] = json!([{"kind": "Robot", "name": "r"}, {"kind": "User", "apiGroup": "x", "name": ""},
        {"kind": "ServiceAccount", "name": "sa"}]);
    let found = errors(&ClusterRoleBinding, None, &bad);
    let starts = [
        "roleRef.kind: Unsupported value: \"Role\"",
        "roleRef.name: Required value",
        "subjects[0].kind: Unsupported value: \"Robot\"",
        "subjects[1].name: Required value",
        "subjects[1].apiGroup: Unsupported value: \"x\"",
        "subjects[2].namespace: Required value",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (error, start) in found.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
    assert!(errors(&RoleBinding, None, &json!({"metadata": {"name": "x"}}))[0].contains("roleRef"));
}

#[test]
fn the_role_of_a_binding_stays() {
    let mut old = binding();
    old["roleRef"]["apiGroup"] = GROUP.into();
    let mut new = binding();
    new["roleRef"]["name"] = "edit".into();
    let found = errors(&RoleBinding, Some(&old), &new);
    assert!(found[0].ends_with("cannot change roleRef"), "{found:?}");
    assert!(errors(&RoleBinding, Some(&old), &binding()).is_empty());
}

#[test]
fn rows_name_the_role_and_whom_it_is_given_to() {
    let mut value = binding();
    value["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
    value["kind"] = "ClusterRoleBinding".into();
    let row = ClusterRoleBinding.row(&Object::new(&value, Revision(1)).unwrap());
    let texts = ["x", "ClusterRole/view", "", "jane", "g", "ns/sa"];
    for (index, text) in texts.iter().enumerate().filter(|(index, _)| *index != 2) {
        assert_eq!(row[index], Cell::from(*text));
    }
}
