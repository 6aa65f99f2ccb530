//! RBAC objects as JSON: the rights of Berth and its actors on a hub.

use std::collections::BTreeSet;

use berth_apimachinery::GroupResource;
use serde_json::{Value, json};

/// One rule for each API group of `resources`, including their `subresources`; of the core group, only the
/// subresource `status`.
#[must_use]
pub fn rules(resources: Vec<GroupResource>, subresources: &[&str], verbs: &[&str]) -> Vec<Value> {
    let groups: BTreeSet<&str> = resources.iter().map(|resource| resource.group).collect();
    let in_group = |group: &str| -> Vec<String> {
        let names = resources.iter().filter(|resource| resource.group == group);
        names
            .flat_map(|resource| {
                let own = std::iter::once(resource.resource.to_owned());
                // Other subresources of core kinds are not relevant here.
                let relevant = subresources
                    .iter()
                    .filter(|sub| !group.is_empty() || **sub == "status");
                own.chain(relevant.map(|sub| format!("{}/{sub}", resource.resource)))
            })
            .collect()
    };
    groups
        .into_iter()
        .map(|group| json!({"apiGroups": [group], "resources": in_group(group), "verbs": verbs}))
        .collect()
}

/// The ClusterRole `name` with `rules`, and the ClusterRoleBinding that grants it to `subject`.
#[must_use]
pub fn granted(name: &str, rules: &[Value], subject: &Value) -> [Value; 2] {
    [role(name, rules), bound(name, name, subject)]
}

/// The ClusterRole `name` with `rules`.
#[must_use]
pub fn role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    })
}

/// The ClusterRoleBinding `name`, which binds the cluster role `role` to `subject`.
#[must_use]
pub fn bound(name: &str, role: &str, subject: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    })
}
