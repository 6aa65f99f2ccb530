//! Removal of outdated views: the rules of a view depend on the WorkloadCluster and on kcp's configuration.
//! When the rules change, the view is dropped at once. This ends the watches of the view, so that their
//! clients list again. The next request builds a view of the present state.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_dialect_contract::config;
use berth_dialect_kcp::names::{DIALECT, WORKLOAD_CLUSTERS};
use berth_storage::informer::{self, Handler};
use berth_storage::{Event, Scope, StoreError};
use tokio::task::JoinHandle;

use super::SyncerViews;

impl SyncerViews {
    /// Watches the WorkloadClusters and kcp's configuration, and drops outdated views, until the task is
    /// aborted.
    pub fn spawn(self: &Arc<Self>) -> JoinHandle<()> {
        let updater = ViewUpdater {
            views: Arc::clone(self),
            changed: ViewChanges::All,
        };
        let scope = Scope::Many(vec![WORKLOAD_CLUSTERS, config::RESOURCE]);
        let source = Arc::clone(&self.shown.source);
        tokio::spawn(informer::run(source, scope, updater, std::future::pending()))
    }

    /// Drops the view of the workload cluster `name` if it is not up to date.
    fn drop_if_outdated(&self, name: &str) {
        let clusters = self.shown.source.cached(WORKLOAD_CLUSTERS);
        let synced = self.synced();
        let mut views = self.views.lock();
        let is_current = |view: &super::View| {
            let cluster = clusters.get("", name);
            cluster.is_some_and(|cluster| view.is_current(cluster, &synced))
        };
        if views.get(name).is_some_and(|view| !is_current(view)) {
            views.remove(name);
        }
    }
}

/// Changes since the last check of the views.
enum ViewChanges {
    /// Every view may be outdated.
    All,
    /// The views of the WorkloadClusters with these names may be outdated.
    Clusters(BTreeSet<Arc<str>>),
}

/// Handler of the events that can make views outdated.
struct ViewUpdater {
    views: Arc<SyncerViews>,
    changed: ViewChanges,
}

impl Handler for ViewUpdater {
    async fn list(&mut self) -> Result<(), StoreError> {
        self.changed = ViewChanges::All;
        Ok(())
    }

    async fn handle(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let key = &event.change.key;
            match &mut self.changed {
                _ if *key == config::key(DIALECT) => self.changed = ViewChanges::All,
                ViewChanges::Clusters(names) if key.resource == WORKLOAD_CLUSTERS => {
                    names.insert(Arc::clone(&key.name));
                }
                _ => {}
            }
        }
    }

    async fn work(&mut self) -> bool {
        let none = ViewChanges::Clusters(BTreeSet::new());
        match std::mem::replace(&mut self.changed, none) {
            ViewChanges::All => {
                let names: Vec<String> = self.views.views.lock().keys().cloned().collect();
                names.iter().for_each(|name| self.views.drop_if_outdated(name));
            }
            ViewChanges::Clusters(names) => names.iter().for_each(|name| self.views.drop_if_outdated(name)),
        }
        true
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        match problem {
            StoreError::Expired { .. } => Duration::ZERO,
            problem => {
                tracing::warn!(
                    %problem,
                    "cannot watch the workload clusters and kcp's configuration, on which the views of syncers depend; \
                     retrying"
                );
                Self::RETRY_AFTER
            }
        }
    }
}
