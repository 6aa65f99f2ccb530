//! What a hub must be told where the systems' objects are its own (`--source=<system>=hub`): Berth reads them as itself
//! and writes its decisions as the systems' scheduler, whom it impersonates (CONTRACT.md section 5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dialect_contract::Dialect;
use dialect_kcp::names::DIALECT;
use meta::GroupResource;
use serde_json::{Value, json};

use super::{Service, syncers};

/// The cluster roles, by what they are for, and who has them, where the objects of `dialects` are on the hub.
#[must_use]
pub fn hub_sources<'a>(
    service: &Service,
    dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>,
) -> Vec<Value> {
    let dialects: Vec<&Arc<dyn Dialect>> = dialects.into_iter().collect();
    if dialects.is_empty() {
        return Vec::new();
    }
    let account = json!({"kind": "ServiceAccount", "name": service.name, "namespace": service.namespace});
    let mut objects = Vec::new();
    let read = dialects.iter().map(|dialect| {
        let kinds = dialect.kinds().into_iter().map(|kind| kind.info().resource());
        let followers = dialect.followers(None);
        let watched = followers.iter().flat_map(|follower| follower.watches());
        let all: BTreeSet<GroupResource> = kinds.chain(watched).collect();
        rules(all.into_iter().collect(), &[], &["get", "list", "watch"])
    });
    objects.extend(granted(
        "berth:reader",
        &read.flatten().collect::<Vec<_>>(),
        &account,
    ));
    let mut acting: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for dialect in &dialects {
        acting.entry(dialect.actor()).or_default().extend(writes(dialect));
        for follower in dialect.followers(None) {
            let written = rules(follower.writes(), &["status"], &["update"]);
            acting.entry(follower.actor()).or_default().extend(written);
        }
    }
    let actors: Vec<&str> = acting.keys().copied().collect();
    let impersonate = json!({
        "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": actors,
    });
    objects.extend(granted("berth:impersonator", &[impersonate], &account));
    let deciders: BTreeSet<&str> = dialects.iter().map(|dialect| dialect.actor()).collect();
    for (actor, mut written) in acting {
        let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": actor});
        // Whoever decides tells of decisions.
        if deciders.contains(actor) {
            written.push(
                json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
            );
        }
        objects.extend(granted(actor, &written, &user));
    }
    let synced = dialects.iter().filter(|dialect| dialect.name() == DIALECT);
    objects.extend(synced.map(|dialect| syncers::on_hub(dialect.guards(None))));
    objects
}

/// What a scheduler writes: what it places, and its records.
fn writes(dialect: &Arc<dyn Dialect>) -> Vec<Value> {
    let demands = dialect.demands().iter().map(|demand| demand.resource);
    let mut all = rules(
        demands.collect(),
        &["status", "binding"],
        &["get", "update", "patch"],
    );
    all.extend(rules(
        dialect.records().to_vec(),
        &["status"],
        &["get", "create", "update", "patch", "delete"],
    ));
    all
}

/// One rule for each group.
pub(super) fn rules(resources: Vec<GroupResource>, subresources: &[&str], verbs: &[&str]) -> Vec<Value> {
    let groups: BTreeSet<&str> = resources.iter().map(|resource| resource.group).collect();
    let in_group = |group: &str| -> Vec<String> {
        let names = resources.iter().filter(|resource| resource.group == group);
        names
            .flat_map(|resource| {
                let own = std::iter::once(resource.resource.to_owned());
                // Kubernetes' own kinds have other subresources that are nobody's business here.
                let meant = subresources
                    .iter()
                    .filter(|sub| !group.is_empty() || **sub == "status");
                own.chain(meant.map(|sub| format!("{}/{sub}", resource.resource)))
            })
            .collect()
    };
    groups
        .into_iter()
        .map(|group| json!({"apiGroups": [group], "resources": in_group(group), "verbs": verbs}))
        .collect()
}

/// A cluster role, and who has it.
fn granted(name: &str, rules: &[Value], subject: &Value) -> [Value; 2] {
    [role(name, rules), bound(name, name, subject)]
}

pub(super) fn role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    })
}

/// `subject` has the cluster role `role`.
pub(super) fn bound(name: &str, role: &str, subject: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    })
}
