//! Rights of Berth itself on a hub: only rights that the code needs (docs/security.md, "What Berth may do on
//! a hub").

use berth_aggregation::policies;
use berth_apiserver::authn::delegated;
use berth_configuration::validity;
use berth_dialect_contract::config;
use berth_hub::mirror;
use berth_hub::roles::{bound, role};
use berth_multicluster::{CLUSTER_PROFILES, PLACEMENT_DECISIONS};
use berth_publications::PUBLICATIONS;
use serde_json::{Value, json};

use super::Installation;

/// The cluster role with the rights of Berth itself.
const SERVER: &str = "berth:server";
/// The role for setting the conditions of configurations.
const CONFIGURATION: &str = "berth:configuration";
/// The role for publishing.
const PUBLISHER: &str = "berth:publisher";
/// The cluster role that is aggregated from the rights to read parameters of admission policies.
const PARAMETERS: &str = "berth:policy-params";
/// The role that extends [`PARAMETERS`] with ConfigMaps.
const CONFIG_MAPS: &str = "berth:policy-params-configmaps";
/// The role for lock records: the leading replica, the owner of the store, and fences of counted capacity.
const LOCKS: &str = "berth:locks";

/// The service account, and its rights: create TokenReviews and SubjectAccessReviews, read the hub's
/// trust settings, copy the objects on which decisions and quotas depend, set the conditions of
/// configurations, publish, call the hub's admission webhooks about objects stored here, and keep lock
/// records in its own namespace. An observer only reads, creates reviews, and keeps lock records.
#[must_use]
pub fn server_rights(installation: &Installation) -> Vec<Value> {
    let (service, decides) = (&installation.service, !installation.is_observer());
    let (name, namespace) = (&service.name, &service.namespace);
    let account = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    let scheduler = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": validity::ACTOR});
    let mut rules: Vec<Value> = mirror::ALWAYS
        .iter()
        .map(|(group, resource)| {
            json!({"apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"]})
        })
        .collect();
    let read_rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]});
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
    let mut all = vec![
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }),
        role(SERVER, &rules),
        bound(SERVER, SERVER, &account),
    ];
    if decides {
        all.extend([
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": PARAMETERS},
                // The hub sets the rules.
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {policies::PARAMETERS: "true"}}]},
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": CONFIG_MAPS, "labels": {policies::PARAMETERS: "true"}},
                "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
            }),
            bound(PARAMETERS, PARAMETERS, &account),
            role(CONFIGURATION, &[conditions]),
            bound(CONFIGURATION, CONFIGURATION, &scheduler),
            role(PUBLISHER, &[publish]),
            bound(PUBLISHER, PUBLISHER, &scheduler),
        ]);
    }
    all.extend([
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
            "subjects": [account],
        }),
        // Kubernetes' own role for TokenReviews and SubjectAccessReviews.
        bound("berth:auth-delegator", "system:auth-delegator", &account),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "berth:authentication-reader", "namespace": delegated::NAMESPACE},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "extension-apiserver-authentication-reader",
            },
            "subjects": [account],
        }),
    ]);
    all
}
