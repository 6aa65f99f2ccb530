//! The heartbeat controller: records whether syncers send heartbeats, and the URLs of their views.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Reconciler, Step};
use serde_json::{Value, json};

use super::{editable, fleet, update};
use crate::heartbeat::{awaited_since, reconcile};
use crate::names::{DIALECT, WORKLOAD_CLUSTERS};

/// The heartbeat controller.
pub(super) struct HeartbeatController {
    /// The URL of all Targets, if it is known.
    pub(super) targets_url: Option<Arc<str>>,
}

impl HeartbeatController {
    /// Returns `cluster` with the URL of its syncer's view (`status.virtualWorkspaces`); `None` if it has
    /// the URL already, or the URL is not known.
    fn with_view_url(&self, cluster: &Value, name: &str) -> Option<Value> {
        let targets = self.targets_url.as_ref()?;
        let views = json!([{"url": format!("{targets}/{name}.{DIALECT}/proxy")}]);
        (cluster["status"]["virtualWorkspaces"] != views).then(|| {
            let mut new = cluster.clone();
            new["status"]["virtualWorkspaces"] = views;
            new
        })
    }

    fn has_work(&self, key: &Key, context: &Context<'_>) -> bool {
        !self.step(key, context).writes.is_empty()
    }
}

impl Reconciler for HeartbeatController {
    fn name(&self) -> &'static str {
        "kcp-heartbeat"
    }

    fn actor(&self) -> &'static str {
        "berth:heartbeat-controller"
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![WORKLOAD_CLUSTERS]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![WORKLOAD_CLUSTERS]
    }

    /// The key of a changed workload cluster. The key is due if heartbeats are awaited for the first time or
    /// from an earlier instant than before, or if the status has to be written.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let since = |object: Option<&Object>| object.and_then(|object| awaited_since(object.value()));
        let (old, new) = (since(change.old.as_deref()), since(change.new.as_deref()));
        let first = new.is_some() && (old.is_none() || new < old);
        let due = first || change.new.is_some() && self.has_work(&change.key, context);
        due.then(|| change.key.clone()).into_iter().collect()
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let clusters = context.objects.list(WORKLOAD_CLUSTERS, None);
        let keys = clusters.map(|cluster| {
            let key = Key::new(WORKLOAD_CLUSTERS, "", cluster.meta().name());
            (awaited_since(cluster.value()).is_some(), key)
        });
        keys.filter(|(awaited, key)| *awaited || self.has_work(key, context))
            .map(|(_, key)| key)
            .collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let Some((fleet, object)) = fleet(context).zip(context.objects.get(key)) else {
            return Step::default();
        };
        let value = editable(object);
        let threshold = fleet.config.heartbeat_threshold;
        let fresh_until = awaited_since(&value).map(|at| at.checked_add(threshold).unwrap_or(Timestamp::MAX));
        let stale_at = fresh_until.and_then(|at| at.checked_add(std::time::Duration::from_nanos(1)).ok());
        let with_conditions = reconcile(&value, threshold, context.now);
        let with_url = self.with_view_url(with_conditions.as_ref().unwrap_or(&value), &key.name);
        let write = with_url.or(with_conditions).map(|new| {
            let mut write = update(key, object, new);
            write.subresource = "status";
            write
        });
        Step {
            writes: write.into_iter().collect(),
            due_at: stale_at.filter(|&at| at > context.now),
        }
    }
}
