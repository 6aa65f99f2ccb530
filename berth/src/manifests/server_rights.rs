//! What Berth itself may do on a hub: no more than the code needs (CONTRACT.md sections 4 and 5).

use apiserver::authn::delegated;
use serde_json::{Value, json};

use super::Service;
use crate::hub::{mirror, policies};

/// The cluster role of the rights that are Berth's own.
const SERVER: &str = "berth:server";
/// The role of the lock records: which replica works, whose store it is, and fences of counted capacity.
const LOCKS: &str = "berth:locks";

/// The service account, and what it may do: ask whose token something is and who may do what, read whom the hub
/// believes, copy what decisions depend on, ask the hub's admission webhooks about what is stored here, and keep lock
/// records in its own namespace.
#[must_use]
pub fn server_rights(service: &Service) -> Vec<Value> {
    let (name, namespace) = (&service.name, &service.namespace);
    let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
    let mut rules: Vec<Value> = mirror::ALWAYS
        .iter()
        .map(|(group, resource)| {
            json!({"apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"]})
        })
        .collect();
    // Of decisions about Berth's own objects; about the hub's, their schedulers write events themselves.
    rules
        .push(json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}));
    rules.extend(policies::rights());
    let bound = |name: &str, role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        })
    };
    vec![
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": SERVER},
            "rules": rules,
        }),
        bound(SERVER, SERVER),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": LOCKS, "namespace": namespace},
            "rules": [{
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"],
            }],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": LOCKS, "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": LOCKS},
            "subjects": subjects,
        }),
        // Kubernetes' own role for exactly that: TokenReview and SubjectAccessReview.
        bound("berth:auth-delegator", "system:auth-delegator"),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "berth:authentication-reader", "namespace": delegated::NAMESPACE},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "extension-apiserver-authentication-reader",
            },
            "subjects": subjects,
        }),
    ]
}
