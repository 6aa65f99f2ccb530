//! Type warnings: the same as those of the type checker of Kubernetes 1.36.3 for the same policies and kinds.

use serde_json::Value;

use crate::{Kinds, check_types};

/// Kinds, policies and upstream's warnings about each. Upstream numbers its type names per run; the numbers
/// are left out here.
const TYPED: &str = include_str!("typed.json");

struct Served(Vec<Value>);

impl Served {
    fn find(&self, names: [(&str, &str); 3]) -> Option<&Value> {
        let is_it = |kind: &&Value| names.iter().all(|(field, name)| kind[*field] == *name);
        self.0.iter().find(is_it)
    }
}

impl Kinds for Served {
    fn kind(&self, group: &str, version: &str, resource: &str) -> Option<String> {
        let found = self.find([("group", group), ("version", version), ("resource", resource)])?;
        found["kind"].as_str().map(str::to_owned)
    }

    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<&Value> {
        let found = self.find([("group", group), ("version", version), ("kind", kind)])?;
        Some(&found["schema"])
    }
}

#[test]
fn warnings_about_types_have_kube_apiservers_words() {
    let typed: Value = serde_json::from_str(TYPED).unwrap();
    let served = Served(typed["kinds"].as_array().unwrap().clone());
    let (mut rows, mut warned) = (0, 0);
    for policy in typed["policies"].as_array().unwrap() {
        let said: Vec<(String, String)> = check_types(policy, &served)
            .into_iter()
            .map(|warning| (warning.field, warning.text))
            .collect();
        let wanted = policy["status"].as_array().unwrap().iter().map(|warning| {
            let text = |field: &str| warning[field].as_str().unwrap().to_owned();
            (text("fieldRef"), text("warning"))
        });
        assert_eq!(
            said,
            wanted.collect::<Vec<_>>(),
            "{}",
            policy["spec"]["validations"]
        );
        (rows, warned) = (rows + 1, warned + said.len());
    }
    assert!(rows > 50 && warned > 30, "{rows} {warned}");
}

#[test]
fn only_so_many_kinds_are_checked_as_kube_apiserver_checks() {
    let kinds = (0..30).map(|number| {
        serde_json::json!({"group": "g", "version": "v1", "kind": format!("K{number:02}"), "resource": format!("k{number:02}"),
            "schema": {"type": "object"}})
    });
    let served = Served(kinds.collect());
    let resources: Vec<String> = (0..30).map(|number| format!("k{number:02}")).collect();
    let rule = serde_json::json!({"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["*"], "resources": resources});
    let policy = serde_json::json!({"spec": {"matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.x == 1"}]}});
    let warnings = check_types(&policy, &served);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].text.matches("undefined field 'x'").count(), 10);
}
