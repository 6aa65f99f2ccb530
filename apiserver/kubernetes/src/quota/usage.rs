//! Usage in the status of quotas. In a namespace with a quota, the usage is counted again after every
//! creation or deletion, and after every change of a Service or a quota.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Change, Draft, GroupResource, Key, Object};
use berth_storage::informer::{self, Handler};
use berth_storage::{At, Event, Expect, Scope, Step, Store, StoreError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SERVICES, is_counted, limit_names, limits, used};
use crate::core::resource_quota::RESOURCE;
use crate::core::value;
use crate::garbage::Kinds;

/// Delay between changes and the count, so that a thousand creates do not lead to a thousand counts.
const COUNT_DELAY: Duration = Duration::from_millis(100);

/// Counts usage in `store` until `stop` is cancelled.
pub fn spawn(store: Arc<dyn Store>, kinds: &Kinds, stop: CancellationToken) -> tokio::task::JoinHandle<()> {
    let resources = kinds
        .namespaced()
        .into_iter()
        .filter(|resource| is_counted(*resource));
    let by_name = resources
        .flat_map(|resource| {
            limit_names(resource)
                .into_iter()
                .map(move |name| (name, resource))
        })
        .collect();
    let source = Arc::clone(&store);
    let counter = UsageCounter {
        store,
        by_name,
        dirty: BTreeSet::new(),
    };
    tokio::spawn(informer::run(source, Scope::All, counter, stop.cancelled_owned()))
}

/// Controller that counts usage.
struct UsageCounter {
    store: Arc<dyn Store>,
    /// Resources by the names of their limits.
    by_name: BTreeMap<String, GroupResource>,
    /// Namespaces to count.
    dirty: BTreeSet<String>,
}

impl Handler for UsageCounter {
    /// Marks every namespace with a quota for a count, since changes may have been missed.
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
            tokio::time::sleep(COUNT_DELAY).await;
        }
    }

    /// Counts the usage in each marked namespace; failed namespaces are retried.
    async fn work(&mut self) -> bool {
        for namespace in std::mem::take(&mut self.dirty) {
            match self.update_statuses(&namespace).await {
                Ok(()) => continue,
                // The quota was changed or deleted concurrently.
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

impl UsageCounter {
    /// Returns the namespace of a change, if it has a quota and the change may affect the usage.
    fn affected(&self, change: &Change) -> Option<String> {
        let namespace = &change.key.namespace;
        let creates_or_deletes = change.old.is_none() || change.new.is_none();
        // An update of a Service may change its node ports and load balancer.
        let counts = creates_or_deletes || [RESOURCE, SERVICES].contains(&change.key.resource);
        if namespace.is_empty() || !counts {
            return None;
        }
        let quotas = self.store.cached(RESOURCE);
        quotas.iter(Some(namespace), None).next()?;
        Some(namespace.to_string())
    }

    /// Counts the usage in a namespace, and writes the statuses that differ.
    async fn update_statuses(&self, namespace: &str) -> Result<(), StoreError> {
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

    /// Returns the status of the quota: the limits as written in the spec, and the used amounts. A limit
    /// `count/…` of a resource that this server does not count has no used amount.
    fn status(&self, quota: &Object, namespace: &str) -> Value {
        let (mut hard, mut amounts) = (json!({}), json!({}));
        let spec_limits = value::object(quota.value(), &["spec", "hard"]);
        for (name, most) in limits(quota) {
            let text = spec_limits
                .and_then(|limits| limits[&name].as_str())
                .map(str::to_owned);
            hard[&name] = text.unwrap_or_else(|| most.to_string()).into();
            let count = match self.by_name.get(&name) {
                Some(resource) => used(&name, &self.store.cached(*resource), namespace),
                // A standard name of Kubernetes, such as `pods` or `requests.cpu`: this server stores no such
                // objects.
                None if !name.starts_with("count/") => 0,
                None => continue,
            };
            amounts[&name] = count.to_string().into();
        }
        json!({"hard": hard, "used": amounts})
    }
}
