//! Rules of aggregated ClusterRoles, which are the rules of the selected roles. In Kubernetes, the controller
//! clusterrole-aggregation of kube-controller-manager writes them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key, Object};
use berth_storage::informer::{self, Handler};
use berth_storage::{At, Event, Expect, Scope, Step, Store, StoreError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::compiled::cluster_roles_of;
use crate::core::rbac::{CLUSTER_ROLES, PolicyRule};

/// Delay for collecting changes: an application's roles are created one after the other, and each affects all
/// aggregated roles.
const COLLECT: Duration = Duration::from_millis(50);

/// Writes the rules of aggregated roles in `store` until `stop` is cancelled.
pub fn spawn(store: Arc<dyn Store>, stop: CancellationToken) -> tokio::task::JoinHandle<()> {
    let source = Arc::clone(&store);
    let writer = Writer { store, is_due: true };
    tokio::spawn(informer::run(
        source,
        Scope::One(CLUSTER_ROLES),
        writer,
        stop.cancelled_owned(),
    ))
}

struct Writer {
    store: Arc<dyn Store>,
    is_due: bool,
}

impl Handler for Writer {
    async fn list(&mut self) -> Result<(), StoreError> {
        self.is_due = true;
        Ok(())
    }

    async fn handle(&mut self, _: &[Arc<Event>]) {
        self.is_due = true;
        tokio::time::sleep(COLLECT).await;
    }

    /// Writes the differences. A role that changed concurrently is processed again.
    async fn work(&mut self) -> bool {
        if !std::mem::take(&mut self.is_due) {
            return true;
        }
        match self.write().await {
            Ok(()) => {}
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => self.is_due = true,
            Err(problem) => {
                tracing::warn!(%problem, "cannot write the rules of an aggregated ClusterRole; retrying");
                self.is_due = true;
            }
        }
        !self.is_due
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        tracing::warn!(%problem, "the watch of ClusterRoles ended; checking the aggregated roles again");
        Self::RETRY_AFTER
    }
}

impl Writer {
    async fn write(&self) -> Result<(), StoreError> {
        let roles = self.store.list(CLUSTER_ROLES, At::Latest).await?;
        if !roles.iter(None, None).any(|(_, role)| is_aggregated(role)) {
            return Ok(());
        }
        let rules: BTreeMap<String, Arc<[PolicyRule]>> = cluster_roles_of(&roles).into_iter().collect();
        for (name, role) in roles.iter(None, None).filter(|(_, role)| is_aggregated(role)) {
            let aggregated = rules.get(&*name.name).map_or(&[][..], |rules| rules);
            let Some(next) = with_rules(role, aggregated) else {
                continue;
            };
            let draft = Draft::new(&next).map_err(|problem| StoreError::Unavailable(problem.to_string()))?;
            let step = Step {
                verb: Verb::Update,
                key: Key::new(CLUSTER_ROLES, "", &name.name),
                subresource: "",
                object: Some(draft),
                expect: Expect::At(role.revision()),
                guards: Vec::new(),
            };
            self.store.apply(vec![step]).await?;
        }
        Ok(())
    }
}

fn is_aggregated(role: &Object) -> bool {
    role.meta().deletion_timestamp().is_none() && role.value()["aggregationRule"].is_object()
}

/// Returns `role` with the rules `aggregated`; `None` if it has them already.
fn with_rules(role: &Object, aggregated: &[PolicyRule]) -> Option<Value> {
    let aggregated = json!(aggregated);
    let current = &role.value()["rules"];
    let same = *current == aggregated || (current.is_null() && aggregated == json!([]));
    (!same).then(|| {
        let mut next = role.parse();
        next["rules"] = aggregated;
        next
    })
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Revision;
    use berth_storage::{Limits, MemoryStore};

    use super::*;

    fn put(store: &dyn Store, value: &Value) -> Step {
        let name = value["metadata"]["name"].as_str().unwrap();
        let key = Key::new(CLUSTER_ROLES, "", name);
        let present = store
            .cached(CLUSTER_ROLES)
            .get("", name)
            .map(|role| role.revision());
        Step {
            verb: present.map_or(Verb::Create, |_| Verb::Update),
            key,
            subresource: "",
            object: Some(Draft::new(value).unwrap()),
            expect: present.map_or(Expect::Absent, Expect::At),
            guards: Vec::new(),
        }
    }

    fn role(name: &str, label: &str, resource: &str) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {label: "true"}},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}],
        })
    }

    async fn until_it_has(store: &dyn Store, resources: &[&str]) {
        let mut watch = store
            .watch(Scope::One(CLUSTER_ROLES), store.cached(CLUSTER_ROLES).revision)
            .unwrap();
        loop {
            let all = store.cached(CLUSTER_ROLES);
            let rules = all.get("", "all").unwrap().value()["rules"].clone();
            let rules = rules.as_array().cloned().unwrap_or_default();
            let have: Vec<_> = rules
                .iter()
                .map(|rule| rule["resources"][0].as_str().unwrap().to_owned())
                .collect();
            if have == resources {
                return;
            }
            tokio::time::timeout(Duration::from_secs(30), watch.next(16))
                .await
                .expect("the role changes")
                .unwrap();
        }
    }

    #[tokio::test]
    async fn an_aggregated_role_shows_the_rules_of_those_it_selects_as_they_come_and_change() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Revision(1), Limits::default()));
        let all = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to-all": "true"}}]}, "rules": [],
        });
        store
            .apply(vec![
                put(&*store, &all),
                put(&*store, &role("b", "to-all", "secrets")),
            ])
            .await
            .unwrap();
        let stop = CancellationToken::new();
        let task = spawn(Arc::clone(&store), stop.clone());
        until_it_has(&*store, &["secrets"]).await;
        store
            .apply(vec![
                put(&*store, &role("a", "to-all", "configmaps")),
                put(&*store, &role("c", "other", "pods")),
            ])
            .await
            .unwrap();
        until_it_has(&*store, &["configmaps", "secrets"]).await;
        store
            .apply(vec![put(&*store, &role("b", "other", "secrets"))])
            .await
            .unwrap();
        until_it_has(&*store, &["configmaps"]).await;
        // Rules that a client writes there are replaced.
        let mut emptied = store.cached(CLUSTER_ROLES).get("", "all").unwrap().parse();
        emptied["rules"] = json!([]);
        store.apply(vec![put(&*store, &emptied)]).await.unwrap();
        until_it_has(&*store, &["configmaps"]).await;
        stop.cancel();
        task.await.unwrap();
    }
}
