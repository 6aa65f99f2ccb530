//! Views depend on their workload clusters and on kcp's configuration. A view whose rules changed is
//! dropped at once, which ends its watches, so that their clients list again. A request gets a view of
//! the present state.

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
    /// Watches the inputs of views, until the task is aborted.
    pub fn spawn(self: &Arc<Self>) -> JoinHandle<()> {
        let follower = Follower {
            views: Arc::clone(self),
            changed: ViewChanges::All,
        };
        let scope = Scope::Many(vec![WORKLOAD_CLUSTERS, config::RESOURCE]);
        let source = Arc::clone(&self.shown.source);
        tokio::spawn(informer::run(source, scope, follower, std::future::pending()))
    }

    /// Drops the view of the workload cluster `name` if it is not up to date.
    fn review(&self, name: &str) {
        let clusters = self.shown.source.cached(WORKLOAD_CLUSTERS);
        let synced = self.synced();
        let mut views = self.views.lock();
        let is_current = |view: &super::View| {
            let cluster = clusters.get("", name);
            cluster.is_some_and(|cluster| view.is_for(cluster, &synced))
        };
        if views.get(name).is_some_and(|view| !is_current(view)) {
            views.remove(name);
        }
    }
}

/// Changes since the last check of the views.
enum ViewChanges {
    All,
    Clusters(BTreeSet<Arc<str>>),
}

struct Follower {
    views: Arc<SyncerViews>,
    changed: ViewChanges,
}

impl Handler for Follower {
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
                names.iter().for_each(|name| self.views.review(name));
            }
            ViewChanges::Clusters(names) => names.iter().for_each(|name| self.views.review(name)),
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
