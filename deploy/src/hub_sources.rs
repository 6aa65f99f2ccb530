//! What a hub must be told where the systems' objects are its own (`--source=<system>=hub`): Berth reads them as itself
//! and writes its decisions as the systems' scheduler, whom it impersonates (CONTRACT.md section 5).

use std::collections::BTreeSet;
use std::sync::Arc;

use dialect_contract::Dialect;
use meta::GroupResource;
use serde_json::{Value, json};

use crate::Service;

/// The cluster roles, by what they are for, and who has them.
#[must_use]
pub fn hub_sources(service: &Service) -> Vec<Value> {
    let account = json!({"kind": "ServiceAccount", "name": service.name, "namespace": service.namespace});
    let dialects = dialect_registry::all();
    let actors: BTreeSet<&str> = dialects.iter().map(|dialect| dialect.actor()).collect();
    let mut objects = Vec::new();
    let read = dialects.iter().map(|dialect| {
        let resources = dialect.kinds().into_iter().map(|kind| kind.info().resource());
        rules(resources.collect(), &[], &["get", "list", "watch"])
    });
    objects.extend(granted("berth:reader", read.flatten().collect(), &account));
    let impersonate = json!({
        "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": actors,
    });
    objects.extend(granted("berth:impersonator", vec![impersonate], &account));
    for actor in actors {
        let acting = dialects.iter().filter(|dialect| dialect.actor() == actor);
        let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": actor});
        objects.extend(granted(actor, acting.flat_map(writes).collect(), &user));
    }
    objects
}

/// The CustomResourceDefinitions of every system's kinds, for hubs without the systems. Never to be applied over the
/// systems' own.
#[must_use]
pub fn system_definitions() -> Vec<Value> {
    let kinds = dialect_registry::all()
        .into_iter()
        .flat_map(|dialect| dialect.kinds());
    kinds.map(|kind| openapi::crd::definition(&*kind)).collect()
}

/// What a scheduler writes: what it places, and the records that nobody else may write.
fn writes(dialect: &Arc<dyn Dialect>) -> Vec<Value> {
    let demands = dialect
        .demands()
        .iter()
        .map(|demand| demand.resource)
        .filter(|resource| !resource.group.is_empty());
    let mut all = rules(
        demands.collect(),
        &["status", "binding"],
        &["get", "update", "patch"],
    );
    let records = dialect.reserves().to_vec();
    all.extend(rules(
        records,
        &["status"],
        &["get", "create", "update", "patch", "delete"],
    ));
    all
}

/// One rule for each group.
fn rules(resources: Vec<GroupResource>, subresources: &[&str], verbs: &[&str]) -> Vec<Value> {
    let groups: BTreeSet<&str> = resources.iter().map(|resource| resource.group).collect();
    let in_group = |group: &str| -> Vec<String> {
        let names = resources.iter().filter(|resource| resource.group == group);
        names
            .flat_map(|resource| {
                let own = std::iter::once(resource.resource.to_owned());
                own.chain(
                    subresources
                        .iter()
                        .map(|sub| format!("{}/{sub}", resource.resource)),
                )
            })
            .collect()
    };
    groups
        .into_iter()
        .map(|group| json!({"apiGroups": [group], "resources": in_group(group), "verbs": verbs}))
        .collect()
}

fn granted(name: &str, rules: Vec<Value>, subject: &Value) -> [Value; 2] {
    [
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        }),
    ]
}
