//! The cluster roles for Berth's users.

use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_dialect_contract::Dialect;
use berth_kubernetes::rbac;
use berth_kubernetes::rbac::bootstrap::Reach;
use serde_json::{Value, json};

use super::Installation;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Resources with which the users of `dialects` work. Kubernetes' own roles already have rules for
/// Kubernetes' own kinds.
#[must_use]
pub fn reach(dialects: &[Arc<dyn Dialect>]) -> Reach {
    let demands = |namespaced: bool| {
        let all = dialects.iter().flat_map(|dialect| dialect.demands());
        all.filter(|demand| demand.namespaced == namespaced && !demand.resource.group.is_empty())
            .map(|demand| demand.resource)
            .collect()
    };
    Reach {
        placeable: demands(true),
        fleet_wide: demands(false),
        readable: dialects
            .iter()
            .flat_map(|dialect| dialect.shown().readable)
            .copied()
            .collect(),
        is_bound: true,
    }
}

/// The cluster roles for Berth's users, as a standalone server creates them at its start, and a role for
/// reading metrics.
#[must_use]
pub fn cluster_roles(installation: &Installation) -> Vec<Value> {
    let reach = Reach {
        is_bound: !installation.is_observer(),
        ..reach(&installation.dialects)
    };
    let mut roles = rbac::bootstrap::manifests(&reach);
    roles.push(role(
        "berth:metrics-reader",
        &json!({}),
        &[json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})],
    ));
    roles
}

/// Roles that extend `view` and `edit` where Berth stores the objects of `dialects`: as in a standalone
/// server. On a hub with the systems, the systems themselves bring these roles.
#[must_use]
pub fn owned_roles<'a>(dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>) -> Vec<Value> {
    let dialects: Vec<Arc<dyn Dialect>> = dialects.into_iter().map(Arc::clone).collect();
    if dialects.is_empty() {
        return Vec::new();
    }
    let reach = reach(&dialects);
    let readable = [&reach.placeable[..], &reach.fleet_wide, &reach.readable].concat();
    let aggregated = |name: &str, to: &str, resources: &[GroupResource], verbs: &[&str]| {
        let labels = json!({format!("rbac.authorization.k8s.io/aggregate-to-{to}"): "true"});
        let rules: Vec<Value> = resources
            .iter()
            .map(|one| json!({"apiGroups": [one.group], "resources": [one.resource], "verbs": verbs}))
            .collect();
        role(name, &labels, &rules)
    };
    let mut roles = vec![
        aggregated("berth:owned-viewer", "view", &readable, &READ),
        aggregated("berth:owned-editor", "edit", &reach.placeable, &WRITE),
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
