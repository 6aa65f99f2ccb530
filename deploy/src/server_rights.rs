//! Rights of Berth's service account on a hub: only rights that the code needs (docs/security.md, "What Berth
//! may do on a hub").

use berth_aggregation::policies;
use berth_apiserver::authn::delegated;
use berth_configuration::validity;
use berth_dialect_contract::config;
use berth_hub::mirror;
use berth_hub::roles::{cluster_role, cluster_role_binding};
use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS};
use berth_publications::PUBLICATIONS;
use serde_json::{Value, json};

use super::Installation;

/// The cluster role with the rights of the service account.
const SERVER: &str = "berth:server";
/// The role for setting the conditions of configurations.
const CONFIGURATION: &str = "berth:configuration";
/// The role for writing published objects.
const PUBLISHER: &str = "berth:publisher";
/// The cluster role that is aggregated from the rights to read parameters of admission policies.
const PARAMETERS: &str = "berth:policy-params";
/// The role that extends [`PARAMETERS`] with ConfigMaps.
const CONFIG_MAPS: &str = "berth:policy-params-configmaps";
/// The role for Leases as lock records: of the leading replica, of the owner of the store, and of fences.
const LOCKS: &str = "berth:locks";

/// RBAC's API group.
const RBAC: &str = "rbac.authorization.k8s.io";
/// The version of RBAC's API.
const RBAC_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// The service account, and its rights: create TokenReviews and SubjectAccessReviews, read the hub's
/// trust settings, copy the objects on which decisions and quotas depend, set the conditions of
/// configurations, publish, call the hub's admission webhooks about objects that Berth stores, and keep lock
/// records in Berth's namespace. An observer only reads, creates reviews, and keeps lock records.
#[must_use]
pub fn server_rights(installation: &Installation) -> Vec<Value> {
    let (service, decides) = (&installation.service, !installation.is_observer());
    let (name, namespace) = (&service.name, &service.namespace);
    let account = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    let mut all = vec![
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }),
        cluster_role(SERVER, &server_rules(decides)),
        cluster_role_binding(SERVER, SERVER, &account),
    ];
    if decides {
        all.extend(parameter_rights(&account));
        all.extend(scheduler_rights());
    }
    all.extend(lock_rights(namespace, &account));
    all.extend(review_rights(&account));
    all
}

/// A rule to read `resources` of `group`.
fn read_rule(group: &str, resources: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]})
}

/// The rules of the cluster role [`SERVER`].
fn server_rules(decides: bool) -> Vec<Value> {
    let mut rules: Vec<Value> = mirror::ALWAYS
        .iter()
        .map(|&(group, resource)| read_rule(group, &[resource]))
        .collect();
    if decides {
        let (group, resource) = mirror::QUOTAS;
        rules.insert(1, read_rule(group, &[resource]));
        // Events of decisions about Berth's own objects. For objects of the hub, events are written as the
        // systems' schedulers.
        rules.push(
            json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
        );
        rules.push(json!({
            "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": [validity::ACTOR],
        }));
        rules.extend(policies::rights());
    }
    rules.push(read_rule(config::GROUP, &[PUBLICATIONS.resource]));
    if decides {
        let published = [CLUSTER_PROFILES, PLACEMENT_DECISIONS].map(|resource| resource.resource);
        rules.push(read_rule(berth_multicluster::GROUP, &published));
    }
    rules
}

/// The right to read parameters of admission policies.
fn parameter_rights(account: &Value) -> [Value; 3] {
    [
        json!({
            "apiVersion": RBAC_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": PARAMETERS},
            // The hub sets the rules.
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {policies::PARAMETERS_LABEL: "true"}}]},
        }),
        json!({
            "apiVersion": RBAC_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": CONFIG_MAPS, "labels": {policies::PARAMETERS_LABEL: "true"}},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
        }),
        cluster_role_binding(PARAMETERS, PARAMETERS, account),
    ]
}

/// The rights of the user [`validity::ACTOR`]: to set the conditions of configurations, and to publish.
fn scheduler_rights() -> [Value; 4] {
    let scheduler = json!({"apiGroup": RBAC, "kind": "User", "name": validity::ACTOR});
    let conditions = json!({
        "apiGroups": [config::GROUP],
        "resources": ["schedulerconfigurations/status", "publications/status"],
        "verbs": ["update"],
    });
    let publish = json!({
        "apiGroups": [berth_multicluster::GROUP],
        "resources": ["clusterprofiles", "clusterprofiles/status", "placementdecisions"],
        "verbs": ["create", "patch", "delete"],
    });
    [
        cluster_role(CONFIGURATION, &[conditions]),
        cluster_role_binding(CONFIGURATION, CONFIGURATION, &scheduler),
        cluster_role(PUBLISHER, &[publish]),
        cluster_role_binding(PUBLISHER, PUBLISHER, &scheduler),
    ]
}

/// The right to keep lock records in `namespace`.
fn lock_rights(namespace: &str, account: &Value) -> [Value; 2] {
    [
        json!({
            "apiVersion": RBAC_VERSION,
            "kind": "Role",
            "metadata": {"name": LOCKS, "namespace": namespace},
            "rules": [{
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"],
            }],
        }),
        role_binding(LOCKS, namespace, LOCKS, account),
    ]
}

/// The rights to create TokenReviews and SubjectAccessReviews, and to read the hub's trust settings, by
/// Kubernetes' own roles for these purposes.
fn review_rights(account: &Value) -> [Value; 2] {
    [
        cluster_role_binding("berth:auth-delegator", "system:auth-delegator", account),
        role_binding(
            "berth:authentication-reader",
            delegated::NAMESPACE,
            "extension-apiserver-authentication-reader",
            account,
        ),
    ]
}

/// A RoleBinding of `role` to `account`.
fn role_binding(name: &str, namespace: &str, role: &str, account: &Value) -> Value {
    json!({
        "apiVersion": RBAC_VERSION,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role},
        "subjects": [account],
    })
}
