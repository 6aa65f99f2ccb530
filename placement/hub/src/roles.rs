//! RBAC objects as JSON: the rights of Berth and its actors on a hub.

use std::collections::BTreeSet;

use berth_apimachinery::GroupResource;
use serde_json::{Value, json};

/// Rules that allow `verbs` on `resources` and on their `subresources`, one rule for each API group. In the
/// core group, the only subresource is `status`.
#[must_use]
pub fn rules(resources: Vec<GroupResource>, subresources: &[&str], verbs: &[&str]) -> Vec<Value> {
    let groups: BTreeSet<&str> = resources.iter().map(|resource| resource.group).collect();
    let in_group = |group: &str| -> Vec<String> {
        let names = resources.iter().filter(|resource| resource.group == group);
        names
            .flat_map(|resource| {
                let own = std::iter::once(resource.resource.to_owned());
                // Berth writes no other subresources of core kinds.
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
pub fn role_with_binding(name: &str, rules: &[Value], subject: &Value) -> [Value; 2] {
    [
        cluster_role(name, rules),
        cluster_role_binding(name, name, subject),
    ]
}

/// The ClusterRole `name` with `rules`.
#[must_use]
pub fn cluster_role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    })
}

/// The ClusterRoleBinding `name`, which binds the cluster role `role` to `subject`.
#[must_use]
pub fn cluster_role_binding(name: &str, role: &str, subject: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    })
}
