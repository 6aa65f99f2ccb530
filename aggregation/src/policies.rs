//! The hub's admission webhooks, asked about the objects that this server stores. kube-apiserver passes requests for them on
//! before its own admission (docs/api.md, "Webhooks of the hub"), so a policy that somebody set up for the whole hub
//! would not hold for them unless it is called from here.
//!
//! Configurations are watched and compiled when they change; what is known stays in force while the watch is lost.
//! Which webhook is called about which write, and what its answer may be, are pure questions, answered by
//! [`admission::client`].

mod call;
mod conditions;
mod consult;
mod follow;
mod not_run;
mod own;
mod prepared;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use admission::client::Manner;
use anyhow::{Result, bail};
use apiserver::metrics::WebhookMetrics;
use kube::Client;
use meta::GroupResource;
pub use own::Own;
use parking_lot::RwLock;
use prepared::{Maker, Prepared};
use serde_json::{Value, json};
use storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The resource of the namespaces whose labels selectors are about.
const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

/// The API group of configurations.
const GROUP: &str = "admissionregistration.k8s.io";

/// What is watched: group and resource.
pub const WATCHED: [(&str, &str); 2] = [
    (GROUP, "mutatingwebhookconfigurations"),
    (GROUP, "validatingwebhookconfigurations"),
];

/// What is looked at once, to say that it does not hold here.
pub const LOOKED_AT: [(&str, &str); 2] = [
    (GROUP, "validatingadmissionpolicies"),
    (GROUP, "mutatingadmissionpolicies"),
];

/// What is read to find the way to a webhook.
pub const READ: (&str, &str) = ("", "services");

/// The rights on the hub that this needs: rules of a cluster role.
#[must_use]
pub fn rights() -> Vec<Value> {
    let rule = |(group, resource): (&str, &str), verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let watched = WATCHED.map(|watched| rule(watched, &["list", "watch"]));
    let looked_at = LOOKED_AT.map(|looked_at| rule(looked_at, &["list"]));
    let mut rules: Vec<Value> = watched.into_iter().chain(looked_at).collect();
    rules.push(rule(READ, &["get"]));
    rules
}

/// How long the first list of configurations may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The webhooks in force.
#[derive(Clone, Default)]
struct Hooks {
    mutating: Arc<[Arc<Prepared>]>,
    validating: Arc<[Arc<Prepared>]>,
}

impl Hooks {
    fn of(&self, manner: Manner) -> &Arc<[Arc<Prepared>]> {
        match manner {
            Manner::Mutating => &self.mutating,
            Manner::Validating => &self.validating,
        }
    }
}

/// The hub's policies, as far as they are webhooks.
pub struct Policies {
    hooks: RwLock<Hooks>,
    /// Where the copies of the hub's namespaces are.
    store: Arc<dyn Store>,
    maker: Maker,
    metrics: Arc<WebhookMetrics>,
}

impl Policies {
    /// None yet. `client` finds the Services of webhooks, `store` has the copies of the hub's namespaces, and `own` tells
    /// which webhooks are this server's.
    #[must_use]
    pub fn new(client: Client, store: &Arc<dyn Store>, own: Own) -> Arc<Self> {
        Arc::new(Self {
            hooks: RwLock::default(),
            store: Arc::clone(store),
            maker: Maker { client, own },
            metrics: WebhookMetrics::new(),
        })
    }

    /// What is counted about calls.
    #[must_use]
    pub fn metrics(&self) -> &Arc<WebhookMetrics> {
        &self.metrics
    }

    /// Begins to follow the configurations, and waits until all there are now are in force. Says in the log which other
    /// policies about `served` are not.
    ///
    /// # Errors
    /// When the hub does not list them within a minute.
    pub async fn follow(self: &Arc<Self>, served: Vec<GroupResource>) -> Result<Vec<JoinHandle<()>>> {
        let mut tasks = Vec::new();
        let client = &self.maker.client;
        for manner in [Manner::Mutating, Manner::Validating] {
            let (report, mut complete) = watch::channel(false);
            let follower = follow::follow(client.clone(), manner, Arc::clone(self), report);
            tasks.push(tokio::spawn(follower));
            let listed = tokio::time::timeout(PATIENCE, complete.wait_for(|complete| *complete)).await;
            if !matches!(listed, Ok(Ok(_))) {
                tasks.iter().for_each(JoinHandle::abort);
                bail!(
                    "the hub did not list {} within {PATIENCE:?}",
                    follow::resource(manner).plural
                );
            }
        }
        tasks.push(tokio::spawn(not_run::warn(client.clone(), served)));
        Ok(tasks)
    }

    /// Puts the webhooks of `configurations`, by their name, in force. What did not change keeps its connections.
    fn replace(&self, manner: Manner, configurations: &BTreeMap<String, Value>) {
        let before = Arc::clone(self.hooks.read().of(manner));
        let now: Arc<[_]> = self.maker.all(configurations, &before).into();
        tracing::info!(
            r#type = manner.label(),
            webhooks = now.len(),
            "webhooks of the hub are in force"
        );
        let mut hooks = self.hooks.write();
        match manner {
            Manner::Mutating => hooks.mutating = now,
            Manner::Validating => hooks.validating = now,
        }
    }

    fn hooks(&self, manner: Manner) -> Arc<[Arc<Prepared>]> {
        Arc::clone(self.hooks.read().of(manner))
    }

    /// The labels of a namespace of the hub.
    fn labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let copies = self.store.cached(NAMESPACES);
        let copy = copies.get("", name)?;
        Some(copy.meta().labels.clone())
    }
}
