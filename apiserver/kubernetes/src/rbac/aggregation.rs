//! Controller that writes the rules of the selected roles into aggregated ClusterRoles, like the controller
//! clusterrole-aggregation of kube-controller-manager.

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

/// Delay between changes and the write of aggregated rules: the roles of an application are created one after
/// the other, and each may affect all aggregated roles.
const WRITE_DELAY: Duration = Duration::from_millis(50);

/// Writes the rules of aggregated roles in `store` until `stop` is cancelled.
pub fn spawn(store: Arc<dyn Store>, stop: CancellationToken) -> tokio::task::JoinHandle<()> {
    let source = Arc::clone(&store);
    let controller = AggregationController {
        store,
        needs_check: true,
    };
    tokio::spawn(informer::run(
        source,
        Scope::One(CLUSTER_ROLES),
        controller,
        stop.cancelled_owned(),
    ))
}

/// Controller that writes the rules of aggregated roles.
struct AggregationController {
    store: Arc<dyn Store>,
    /// Whether ClusterRoles have changed since the last check, or a write of that check failed.
    needs_check: bool,
}

impl Handler for AggregationController {
    async fn list(&mut self) -> Result<(), StoreError> {
        self.needs_check = true;
        Ok(())
    }

    async fn handle(&mut self, _: &[Arc<Event>]) {
        self.needs_check = true;
        tokio::time::sleep(WRITE_DELAY).await;
    }

    /// Writes the rules that differ from the stored ones; again after a conflict or a failure.
    async fn work(&mut self) -> bool {
        if !std::mem::take(&mut self.needs_check) {
            return true;
        }
        match self.write_rules().await {
            Ok(()) => {}
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => self.needs_check = true,
            Err(problem) => {
                tracing::warn!(%problem, "cannot write the rules of an aggregated ClusterRole; retrying");
                self.needs_check = true;
            }
        }
        !self.needs_check
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        tracing::warn!(%problem, "the watch of ClusterRoles ended; checking the aggregated roles again");
        Self::RETRY_AFTER
    }
}

impl AggregationController {
    /// Writes the rules of every role whose stored rules differ, and returns the first failure: a role that
    /// cannot be stored keeps no other one out of date.
    async fn write_rules(&self) -> Result<(), StoreError> {
        let roles = self.store.list(CLUSTER_ROLES, At::Latest).await?;
        if !roles.iter(None, None).any(|(_, role)| is_aggregated(role)) {
            return Ok(());
        }
        let rules: BTreeMap<String, Arc<[PolicyRule]>> = cluster_roles_of(&roles).into_iter().collect();
        let mut written = Ok(());
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
            let applied = self.store.apply(vec![step]).await;
            written = written.and(applied.map(drop));
        }
        written
    }
}

fn is_aggregated(role: &Object) -> bool {
    role.meta().deletion_timestamp().is_none() && role.value()["aggregationRule"].is_object()
}

/// Returns `role` with the rules `aggregated`; `None` if it already has these rules.
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

    async fn until_all_has(store: &dyn Store, resources: &[&str]) {
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
    async fn an_aggregated_role_follows_changes_of_the_selected_roles() {
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
        until_all_has(&*store, &["secrets"]).await;
        store
            .apply(vec![
                put(&*store, &role("a", "to-all", "configmaps")),
                put(&*store, &role("c", "other", "pods")),
            ])
            .await
            .unwrap();
        until_all_has(&*store, &["configmaps", "secrets"]).await;
        store
            .apply(vec![put(&*store, &role("b", "other", "secrets"))])
            .await
            .unwrap();
        until_all_has(&*store, &["configmaps"]).await;
        // Rules that a client writes there are replaced.
        let mut emptied = store.cached(CLUSTER_ROLES).get("", "all").unwrap().parse();
        emptied["rules"] = json!([]);
        store.apply(vec![put(&*store, &emptied)]).await.unwrap();
        until_all_has(&*store, &["configmaps"]).await;
        stop.cancel();
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_role_that_cannot_be_stored_keeps_no_other_one_out_of_date() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Revision(1), Limits::default()));
        let aggregating = |name: &str, label: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}, "rules": [],
            })
        };
        let half = berth_storage::MAX_OBJECT_BYTES / 2 + 1;
        let roles = [
            aggregating("a", "to-a"),
            aggregating("all", "to-all"),
            role("b", "to-a", &"b".repeat(half)),
            role("c", "to-a", &"c".repeat(half)),
            role("d", "to-all", "pods"),
        ];
        let steps = roles.iter().map(|role| put(&*store, role)).collect();
        store.apply(steps).await.unwrap();
        let stop = CancellationToken::new();
        let task = spawn(Arc::clone(&store), stop.clone());
        until_all_has(&*store, &["pods"]).await;
        let stored = store.cached(CLUSTER_ROLES);
        let first = stored.get("", "a").unwrap();
        assert_eq!(first.value()["rules"], json!([]));
        stop.cancel();
        task.await.unwrap();
    }
}
