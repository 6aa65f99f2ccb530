//! The numbers in the status of quotas: counted again after every creation or deletion in a namespace
//! with a quota.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Change, Draft, GroupResource, Key, Object};
use berth_storage::informer::{self, Handler};
use berth_storage::{At, Event, Expect, Scope, Step, Store, StoreError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SERVICES, is_counted, limits, names, used};
use crate::core::resource_quota::RESOURCE;
use crate::core::value;
use crate::garbage::Kinds;

/// Time for collecting changes before a count, so that a thousand creates do not lead to a thousand
/// counts.
const COLLECT: Duration = Duration::from_millis(100);

/// Counts in `store` until `stop` is cancelled.
pub fn spawn(store: Arc<dyn Store>, kinds: &Kinds, stop: CancellationToken) -> tokio::task::JoinHandle<()> {
    let resources = kinds
        .namespaced()
        .into_iter()
        .filter(|resource| is_counted(*resource));
    let by_name = resources
        .flat_map(|resource| names(resource).into_iter().map(move |name| (name, resource)))
        .collect();
    let source = Arc::clone(&store);
    let counter = Counter {
        store,
        by_name,
        dirty: BTreeSet::new(),
    };
    tokio::spawn(informer::run(source, Scope::All, counter, stop.cancelled_owned()))
}

struct Counter {
    store: Arc<dyn Store>,
    /// The resource of a limit's name.
    by_name: BTreeMap<String, GroupResource>,
    /// The namespaces to count in.
    dirty: BTreeSet<String>,
}

impl Handler for Counter {
    /// Everything is counted at the start, since missed changes are unknown.
    async fn list(&mut self) -> Result<(), StoreError> {
        let quotas = self.store.list(RESOURCE, At::Latest).await?;
        let namespaces = quotas.iter(None, None).map(|(name, _)| &name.namespace);
        self.dirty = namespaces.map(ToString::to_string).collect();
        Ok(())
    }

    async fn handle(&mut self, events: &[Arc<Event>]) {
        let affected = events.iter().filter_map(|event| self.affected(&event.change));
        let affected: Vec<String> = affected.collect();
        if !affected.is_empty() {
            self.dirty.extend(affected);
            tokio::time::sleep(COLLECT).await;
        }
    }

    /// Counts in each; those that could not be dealt with are counted again.
    async fn work(&mut self) -> bool {
        for namespace in std::mem::take(&mut self.dirty) {
            match self.count(&namespace).await {
                Ok(()) => continue,
                // The quota was changed in between, or it is gone.
                Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {}
                Err(problem) => {
                    tracing::warn!(namespace, %problem, "cannot update the status of a ResourceQuota; retrying");
                }
            }
            self.dirty.insert(namespace);
        }
        self.dirty.is_empty()
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        tracing::warn!(%problem, "quota watch ended; recounting usage");
        Self::RETRY_AFTER
    }
}

impl Counter {
    /// The namespace with quotas that a change concerns.
    fn affected(&self, change: &Change) -> Option<String> {
        let namespace = &change.key.namespace;
        let comes_or_goes = change.old.is_none() || change.new.is_none();
        // A Service may change what it takes: node ports, and a load balancer.
        let counts = comes_or_goes || [RESOURCE, SERVICES].contains(&change.key.resource);
        if namespace.is_empty() || !counts {
            return None;
        }
        let quotas = self.store.cached(RESOURCE);
        quotas.iter(Some(namespace), None).next()?;
        Some(namespace.to_string())
    }

    async fn count(&self, namespace: &str) -> Result<(), StoreError> {
        let quotas = self.store.list(RESOURCE, At::Latest).await?;
        for (_, quota) in quotas.iter(Some(namespace), None) {
            let status = self.status(quota, namespace);
            let mut value = quota.parse();
            if value["status"] == status {
                continue;
            }
            value["status"] = status;
            let draft = Draft::new(&value).map_err(|problem| StoreError::Unavailable(problem.to_string()))?;
            let step = Step {
                verb: Verb::Update,
                key: Key::new(RESOURCE, namespace, quota.meta().name()),
                subresource: "status",
                object: Some(draft),
                expect: Expect::At(quota.revision()),
                guards: Vec::new(),
            };
            self.store.apply(vec![step]).await?;
        }
        Ok(())
    }

    /// Limits of the quota, in its own words, and the amount of each that is counted here.
    fn status(&self, quota: &Object, namespace: &str) -> Value {
        let (mut hard, mut amounts) = (json!({}), json!({}));
        let own = value::object(quota.value(), &["spec", "hard"]);
        for (name, most) in limits(quota) {
            let text = own.and_then(|own| own[&name].as_str()).map(str::to_owned);
            hard[&name] = text.unwrap_or_else(|| most.to_string()).into();
            let count = match self.by_name.get(&name) {
                Some(resource) => used(&name, &self.store.cached(*resource), namespace),
                // Resources that Kubernetes counts and this server does not have, such as Pods and
                // their requests.
                None if !name.starts_with("count/") => 0,
                None => continue,
            };
            amounts[&name] = count.to_string().into();
        }
        json!({"hard": hard, "used": amounts})
    }
}
