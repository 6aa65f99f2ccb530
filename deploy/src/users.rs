//! The cluster roles for users of Berth.

use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_dialect_contract::Dialect;
use berth_kubernetes::rbac;
use berth_kubernetes::rbac::bootstrap::RoleResources;
use serde_json::{Value, json};

use super::Installation;

/// The verbs of a reader.
const READ: [&str; 3] = ["get", "list", "watch"];
/// The verbs of a writer.
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Resources that users of `dialects` read and write. Demands of the core API group are left out, since
/// Kubernetes' own roles have rules for them.
#[must_use]
pub fn role_resources(dialects: &[Arc<dyn Dialect>]) -> RoleResources {
    let demands = |namespaced: bool| {
        let all = dialects.iter().flat_map(|dialect| dialect.demands());
        all.filter(|demand| demand.namespaced == namespaced && !demand.resource.group.is_empty())
            .map(|demand| demand.resource)
            .collect()
    };
    RoleResources {
        placeable: demands(true),
        fleet_wide: demands(false),
        readable: dialects
            .iter()
            .flat_map(|dialect| dialect.shown().readable)
            .copied()
            .collect(),
        accepts_bindings: true,
    }
}

/// The cluster roles for Berth's users, as a standalone server creates them at its start, and a role for
/// reading metrics.
#[must_use]
pub fn cluster_roles(installation: &Installation) -> Vec<Value> {
    let resources = RoleResources {
        accepts_bindings: !installation.is_observer(),
        ..role_resources(&installation.dialects)
    };
    let mut roles = rbac::bootstrap::manifests(&resources);
    roles.push(role(
        "berth:metrics-reader",
        &json!({}),
        &[json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})],
    ));
    roles
}

/// Roles that extend `view` and `edit` for `dialects` whose objects Berth stores, as a standalone server
/// does. A system that is installed on the hub brings these roles itself.
#[must_use]
pub fn owned_roles<'a>(dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>) -> Vec<Value> {
    let dialects: Vec<Arc<dyn Dialect>> = dialects.into_iter().map(Arc::clone).collect();
    if dialects.is_empty() {
        return Vec::new();
    }
    let resources = role_resources(&dialects);
    let readable = [
        &resources.placeable[..],
        &resources.fleet_wide,
        &resources.readable,
    ]
    .concat();
    let aggregated = |name: &str, to: &str, resources: &[GroupResource], verbs: &[&str]| {
        let labels = json!({format!("rbac.authorization.k8s.io/aggregate-to-{to}"): "true"});
        let rules: Vec<Value> = resources
            .iter()
            .map(|resource| json!({"apiGroups": [resource.group], "resources": [resource.resource], "verbs": verbs}))
            .collect();
        role(name, &labels, &rules)
    };
    let mut roles = vec![
        aggregated("berth:owned-viewer", "view", &readable, &READ),
        aggregated("berth:owned-editor", "edit", &resources.placeable, &WRITE),
    ];
    roles.retain(|role| role["rules"].as_array().is_some_and(|rules| !rules.is_empty()));
    roles
}

fn role(name: &str, labels: &Value, rules: &[Value]) -> Value {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    });
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        role["metadata"]["labels"] = labels.clone();
    }
    role
}
