//! Consultation of the hub's admission webhooks and policies about the objects that this server stores.
//! kube-apiserver proxies requests for these objects before its own admission (docs/admission.md, "Policies
//! and webhooks of the hub"), so this server has to consult the hub's webhooks and policies; otherwise they
//! would not apply to these objects.
//!
//! Configurations are watched and compiled when they change; the known ones stay in force while the watch is
//! lost. [`berth_admission::client`], which is pure, selects the webhooks of a write and checks their
//! answers. The crate `berth-policies` evaluates policies; [`HubPolicies`] provides them.

mod call;
mod catalog;
mod conditions;
mod consult;
mod follow;
mod own;
mod params;
mod prepared;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::client::WebhookType;
use berth_apimachinery::{GroupResource, Labels};
use berth_apiserver::metrics::WebhookMetrics;
use berth_policies::Decider;
use berth_storage::Store;
pub use catalog::HubPolicies;
use kube::Client;
pub use own::OwnAddresses;
use parking_lot::RwLock;
use prepared::{Maker, PreparedWebhook};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::HubError;

/// The resource of namespaces, for namespace selectors.
const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

/// The API group of webhook configurations and policies.
const GROUP: &str = "admissionregistration.k8s.io";

/// Watched resources: group and resource.
pub const WATCHED: [(&str, &str); 6] = [
    (GROUP, "mutatingwebhookconfigurations"),
    (GROUP, "validatingwebhookconfigurations"),
    (GROUP, catalog::KINDS[0].1),
    (GROUP, catalog::KINDS[1].1),
    (GROUP, catalog::KINDS[2].1),
    (GROUP, catalog::KINDS[3].1),
];

/// The label of cluster roles whose rules allow further kinds of parameters for policies, in addition
/// to ConfigMaps.
pub const PARAMETERS: &str = "rbac.berth.dev/aggregate-to-policy-params";

/// Resource of the reads that find a webhook's Service.
pub const READ: (&str, &str) = ("", "services");

/// Rights on the hub that consulting its policies and webhooks needs: rules of a cluster role.
#[must_use]
pub fn rights() -> Vec<Value> {
    let rule = |(group, resource): (&str, &str), verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let watched = WATCHED.map(|watched| rule(watched, &["list", "watch"]));
    let mut rules: Vec<Value> = watched.into_iter().collect();
    rules.push(rule(READ, &["get"]));
    rules
}

/// Time limit of the first list of each watched resource.
const PATIENCE: Duration = Duration::from_mins(1);

/// The webhooks in force.
#[derive(Clone, Default)]
struct Hooks {
    mutating: Arc<[Arc<PreparedWebhook>]>,
    validating: Arc<[Arc<PreparedWebhook>]>,
}

impl Hooks {
    fn of(&self, webhook_type: WebhookType) -> &Arc<[Arc<PreparedWebhook>]> {
        match webhook_type {
            WebhookType::Mutating => &self.mutating,
            WebhookType::Validating => &self.validating,
        }
    }
}

/// The hub's webhooks.
pub struct Policies {
    hooks: RwLock<Hooks>,
    /// Store with the copies of the hub's namespaces.
    store: Arc<dyn Store>,
    maker: Maker,
    /// Reviewer of the access reviews that match conditions need.
    decider: Arc<dyn Decider>,
    metrics: Arc<WebhookMetrics>,
}

impl Policies {
    /// Creates policies without configurations. `client` finds the Services of webhooks, `store` has the
    /// copies of the hub's namespaces, `own` recognises this server's webhooks, and `decider` checks rights.
    #[must_use]
    pub fn new(
        client: Client,
        store: &Arc<dyn Store>,
        own: OwnAddresses,
        decider: Arc<dyn Decider>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hooks: RwLock::default(),
            store: Arc::clone(store),
            maker: Maker { client, own },
            decider,
            metrics: WebhookMetrics::new(),
        })
    }

    /// Returns the metrics of webhook calls.
    #[must_use]
    pub fn metrics(&self) -> &Arc<WebhookMetrics> {
        &self.metrics
    }

    /// Starts to watch the configurations, and waits until all existing ones are in force.
    ///
    /// # Errors
    /// When the hub does not list the configurations of one kind within a minute.
    pub async fn follow(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>, HubError> {
        let mut tasks = Vec::new();
        let client = &self.maker.client;
        for webhook_type in [WebhookType::Mutating, WebhookType::Validating] {
            let (report, mut complete) = watch::channel(false);
            let reflector = follow::follow(client.clone(), webhook_type, Arc::clone(self), report);
            tasks.push(tokio::spawn(reflector));
            let listed = tokio::time::timeout(PATIENCE, complete.wait_for(|complete| *complete)).await;
            if !matches!(listed, Ok(Ok(_))) {
                tasks.iter().for_each(JoinHandle::abort);
                return Err(HubError::NotListed {
                    resource: follow::resource(webhook_type).plural,
                    limit: PATIENCE,
                });
            }
        }
        Ok(tasks)
    }

    /// Puts the webhooks of `configurations`, which are keyed by name, in force. Unchanged webhooks keep
    /// their connections.
    fn replace(&self, webhook_type: WebhookType, configurations: &BTreeMap<String, Arc<Value>>) {
        let before = Arc::clone(self.hooks.read().of(webhook_type));
        let now: Arc<[_]> = self.maker.all(configurations, &before).into();
        tracing::info!(
            r#type = webhook_type.label(),
            webhooks = now.len(),
            "the hub's admission webhooks are loaded"
        );
        let mut hooks = self.hooks.write();
        match webhook_type {
            WebhookType::Mutating => hooks.mutating = now,
            WebhookType::Validating => hooks.validating = now,
        }
    }

    /// Configurations with match conditions that do not compile, by kind and name, with the number of these
    /// conditions.
    #[must_use]
    pub fn uncompiled(&self) -> BTreeMap<(&'static str, String), usize> {
        let mut found = BTreeMap::new();
        for webhook_type in [WebhookType::Mutating, WebhookType::Validating] {
            for prepared in self.hooks(webhook_type).iter() {
                let problems = prepared.conditions.problems().count();
                if problems > 0 {
                    let place = (
                        follow::kind(webhook_type),
                        prepared.hook.configuration.to_string(),
                    );
                    *found.entry(place).or_default() += problems;
                }
            }
        }
        found
    }

    fn hooks(&self, webhook_type: WebhookType) -> Arc<[Arc<PreparedWebhook>]> {
        Arc::clone(self.hooks.read().of(webhook_type))
    }

    /// Returns the labels of a namespace of the hub.
    fn labels(&self, name: &str) -> Option<Labels> {
        let copies = self.store.cached(NAMESPACES);
        let copy = copies.get("", name)?;
        Some(copy.meta().labels().clone())
    }
}
