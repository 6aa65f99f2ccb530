//! Selection of the webhooks for a write.

use berth_apimachinery::Labels;

use serde_json::{Value, json};

use super::*;

fn hook(fields: &Value) -> Hook {
    let mut hook = json!({
        "name": "a.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": ["g.example"], "apiVersions": ["v1"], "resources": ["foos"], "operations": ["CREATE"]}],
    });
    for (name, value) in fields.as_object().expect("fields") {
        hook[name] = value.clone();
    }
    let mut all = Hook::all(&json!({"metadata": {"name": "c"}, "webhooks": [hook]}));
    all.pop().expect("one webhook")
}

fn rule(groups: &[&str], versions: &[&str], resources: &[&str], operations: &[&str]) -> Value {
    json!([{"apiGroups": groups, "apiVersions": versions, "resources": resources, "operations": operations}])
}

fn labels(namespace: &str) -> Option<Labels> {
    (namespace == "team").then(|| [("tier", "gold")].into_iter().collect())
}

#[test]
fn rules_name_groups_versions_resources_and_operations() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let any = ["*"].as_slice();
    for (rules, subresource, wanted) in [
        (rule(&["g.example"], &["v1"], &["foos"], &["CREATE"]), "", true),
        (rule(any, any, any, any), "", true),
        (rule(any, any, any, any), "status", false),
        (rule(any, any, &["*/*"], any), "status", true),
        (rule(any, any, &["foos/*"], any), "status", true),
        (rule(any, any, &["foos/*"], any), "", true),
        (rule(any, any, &["*/status"], any), "status", true),
        (rule(any, any, &["*/status"], any), "", false),
        (rule(any, any, &["foos/binding"], any), "status", false),
        (rule(&[""], any, any, any), "", false),
        (rule(any, &["v2"], any, any), "", false),
        (rule(any, any, &["bars"], any), "", false),
        (rule(any, any, any, &["UPDATE", "DELETE"]), "", false),
    ] {
        let request = Request {
            subresource,
            ..create(&user)
        };
        let asked = hook(&json!({"rules": rules}));
        let version = asked.matching_version(&about(&request, &foo, "v1"), None, labels);
        assert_eq!(
            version.unwrap().is_some(),
            wanted,
            "{rules} about {subresource:?}"
        );
    }
}

#[test]
fn a_scope_is_namespaced_cluster_or_any() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    for (scope, namespaced, cluster) in [
        (json!("*"), true, true),
        (Value::Null, true, true),
        (json!("Namespaced"), true, false),
        (json!("Cluster"), false, true),
    ] {
        let mut rules = rule(&["*"], &["*"], &["*"], &["*"]);
        rules[0]["scope"] = scope.clone();
        let asked = hook(&json!({"rules": rules}));
        let about_one_in = |namespace| {
            let request = Request {
                namespace,
                ..create(&user)
            };
            asked
                .matching_version(&about(&request, &foo, "v1"), None, labels)
                .unwrap()
                .is_some()
        };
        assert_eq!(
            (about_one_in("team"), about_one_in("")),
            (namespaced, cluster),
            "{scope}"
        );
    }
}

#[test]
fn equivalent_versions_are_shown_in_the_one_a_rule_names_exact_ones_are_not() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let request = create(&user);
    let version = |policy: &str, named: &[&str], asked: &str| {
        let rules = rule(&["*"], named, &["*"], &["*"]);
        let hook = hook(&json!({"rules": rules, "matchPolicy": policy}));
        let version = hook
            .matching_version(&about(&request, &foo, asked), None, labels)
            .unwrap();
        version.map(str::to_owned)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(version("Equivalent", &["v1"], "v1beta1"), some("v1"));
    assert_eq!(
        version("Equivalent", &["v1", "v1beta1"], "v1beta1"),
        some("v1beta1")
    );
    assert_eq!(version("Equivalent", &["v7"], "v1beta1"), None);
    assert_eq!(version("Exact", &["v1"], "v1beta1"), None);
    assert_eq!(version("Exact", &["*"], "v1beta1"), some("v1beta1"));
}

#[test]
fn namespaces_are_selected_by_their_labels_and_what_is_in_none_always() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let rules = rule(&["*"], &["*"], &["*"], &["*"]);
    let asked = |value: &str, namespace: &str| {
        let hook = hook(&json!({"rules": rules, "namespaceSelector": {"matchLabels": {"tier": value}}}));
        let request = Request {
            namespace,
            ..create(&user)
        };
        let version = hook.matching_version(&about(&request, &foo, "v1"), None, labels);
        version.map(|version| version.is_some())
    };
    assert_eq!(asked("gold", "team"), Ok(true));
    assert_eq!(asked("iron", "team"), Ok(false));
    assert_eq!(asked("iron", ""), Ok(true));
    let missing = asked("gold", "nowhere").unwrap_err();
    assert_eq!(
        (missing.code, missing.message.as_str()),
        (404, "namespaces \"nowhere\" not found")
    );
}

#[test]
fn objects_are_selected_by_their_new_labels_or_their_old_ones() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let labelled = json!({"metadata": {"labels": {"policy": "on"}}});
    let plain = json!({"metadata": {}});
    let asked = hook(&json!({"objectSelector": {"matchLabels": {"policy": "on"}}}));
    let selected = |new: Option<&Value>, old: Option<&Value>| {
        let request = Request { old, ..create(&user) };
        let version = asked.matching_version(&about(&request, &foo, "v1"), new, labels);
        version.unwrap().is_some()
    };
    assert!(selected(Some(&labelled), None));
    assert!(selected(Some(&plain), Some(&labelled)));
    assert!(selected(None, Some(&labelled)));
    assert!(!selected(Some(&plain), Some(&plain)));
    assert!(!selected(None, None));
}

#[test]
fn what_a_configuration_leaves_out_has_kubernetes_defaults() {
    let plain = hook(&json!({}));
    assert!(!plain.fails_open && !plain.reinvoked && plain.supports_dry_run);
    assert_eq!(plain.timeout.as_secs(), 10);
    assert_eq!(plain.problem, None);
    let service =
        hook(&json!({"clientConfig": {"service": {"namespace": "n", "name": "s"}, "caBundle": "eA=="}}));
    let there = Endpoint::Service {
        namespace: "n".to_owned(),
        name: "s".to_owned(),
        path: "/".to_owned(),
        port: 443,
    };
    assert_eq!(
        (service.endpoint, service.ca_bundle.as_slice()),
        (there, b"x".as_slice())
    );
    let said = hook(
        &json!({"failurePolicy": "Ignore", "reinvocationPolicy": "IfNeeded", "timeoutSeconds": 3,
        "sideEffects": "Some", "clientConfig": {"service": {"namespace": "n", "name": "s", "path": "p", "port": 8443}}}),
    );
    assert!(said.fails_open && said.reinvoked && !said.supports_dry_run);
    assert_eq!(said.timeout.as_secs(), 3);
    assert!(matches!(said.endpoint, Endpoint::Service { path, port: 8443, .. } if path == "/p"));
}

#[test]
fn what_cannot_be_understood_is_the_hooks_problem() {
    for (fields, part) in [
        (
            json!({"admissionReviewVersions": ["v1beta1"]}),
            "the only version that this server supports",
        ),
        (
            json!({"clientConfig": {"url": "https://x/", "caBundle": "%"}}),
            "not base64",
        ),
        (
            json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
            "objectSelector",
        ),
    ] {
        let problem = hook(&fields).problem.unwrap_or_default();
        assert!(problem.contains(part), "{fields}: {problem}");
    }
}

#[test]
fn a_written_namespace_is_selected_by_its_own_labels() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let namespace = |tier: &str| json!({"metadata": {"name": "n", "labels": {"tier": tier}}});
    let (gold, iron) = (namespace("gold"), namespace("iron"));
    let asked = hook(&json!({
        "rules": rule(&[""], &["v1"], &["namespaces", "namespaces/*"], &["*"]),
        "namespaceSelector": {"matchLabels": {"tier": "gold"}},
    }));
    for (operation, subresource, old, new, wanted) in [
        (Operation::Create, "", None, Some(&gold), true),
        (Operation::Create, "", None, Some(&iron), false),
        (Operation::Update, "", Some(&gold), Some(&iron), false),
        (Operation::Update, "", Some(&iron), Some(&gold), true),
        (Operation::Update, "status", Some(&gold), Some(&iron), true),
        (Operation::Delete, "", Some(&gold), None, true),
        (Operation::Delete, "", Some(&iron), None, false),
    ] {
        let request = Request {
            operation,
            resource: NAMESPACES,
            subresource,
            namespace: "",
            name: "n",
            old,
            ..create(&user)
        };
        let version = asked.matching_version(&about(&request, &foo, "v1"), new, labels);
        assert_eq!(
            version.unwrap().is_some(),
            wanted,
            "{operation:?} {subresource} {old:?} {new:?}"
        );
    }
}
