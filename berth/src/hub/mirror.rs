//! Copies of what the hub stores and decisions depend on, kept current in Berth's store.
//!
//! A copy has the hub's bytes, but for managedFields and the revision, which is one of Berth's store: so a copy is
//! folded, guarded and decided on like any object stored here. A kind the hub does not have yet counts as a kind without
//! objects, and is looked for again.

mod follow;
mod shadows;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dialect_contract::config;
use kube::Client;
use meta::{GroupResource, Kind};
use storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::core::namespace;
use follow::Follower;
pub(crate) use shadows::Shadows;

/// What is always copied: group and resource.
pub const ALWAYS: [(&str, &str); 2] = [
    (namespace::RESOURCE.group, namespace::RESOURCE.resource),
    (config::RESOURCE.group, config::RESOURCE.resource),
];

/// How long the first copies may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Running copies.
pub struct Mirror {
    /// The resources copied in full at least once, or found to be absent.
    complete: watch::Receiver<BTreeSet<GroupResource>>,
    resources: BTreeSet<GroupResource>,
    /// One task for each kind.
    pub tasks: Vec<JoinHandle<()>>,
}

impl Mirror {
    /// Begins to copy the objects of `kinds` from the hub into `store`. Nobody else may write them there. `shadows` is
    /// told what the copies are copies of.
    pub(crate) fn start(
        client: &Client,
        store: &Arc<dyn Store>,
        kinds: &[Arc<dyn Kind>],
        shadows: &Arc<Shadows>,
    ) -> Self {
        let (report, complete) = watch::channel(BTreeSet::new());
        let report = Arc::new(report);
        let tasks = kinds
            .iter()
            .map(|kind| {
                let follower = Follower::new(
                    client.clone(),
                    Arc::clone(store),
                    kind,
                    Arc::clone(&report),
                    Arc::clone(shadows),
                );
                tokio::spawn(follower.run())
            })
            .collect();
        Self {
            complete,
            resources: kinds.iter().map(|kind| kind.info().resource()).collect(),
            tasks,
        }
    }

    /// Waits until everything is copied once.
    ///
    /// # Errors
    /// What is not, after a minute.
    pub async fn complete(&self) -> Result<()> {
        let mut complete = self.complete.clone();
        let all = |done: &BTreeSet<GroupResource>| self.resources.is_subset(done);
        match tokio::time::timeout(PATIENCE, complete.wait_for(all)).await {
            Ok(waited) => waited.map(drop).context("copying from the hub ended"),
            Err(_) => {
                let missing = self.missing();
                bail!("the hub did not list within {PATIENCE:?}: {missing}")
            }
        }
    }

    /// What is not copied yet, for people.
    fn missing(&self) -> String {
        let done = self.complete.borrow();
        let names: Vec<String> = self
            .resources
            .difference(&done)
            .map(ToString::to_string)
            .collect();
        names.join(", ")
    }
}
