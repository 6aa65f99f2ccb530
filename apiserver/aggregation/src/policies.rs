//! The hub's admission webhooks and policies, for the objects that this server stores. kube-apiserver proxies
//! requests for these objects before its own admission (docs/admission.md, "Policies and webhooks of the
//! hub"), so this server has to apply the hub's webhooks and policies.
//!
//! [`HubWebhooks`] watches the webhook configurations and calls the webhooks; [`berth_admission::client`]
//! selects the webhooks for a write and validates their answers. [`HubPolicies`] watches the policies; the
//! crate `berth-policies` evaluates them. While a watch is interrupted, the last known objects stay in force.

mod budget;
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
use berth_policies::AccessReviewer;
use berth_storage::Store;
pub use catalog::HubPolicies;
use kube::Client;
pub use own::OwnAddresses;
use parking_lot::RwLock;
use prepared::{PreparedWebhook, WebhookPreparer};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::HubError;

/// Resource of Namespaces, whose labels namespace selectors read.
const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

/// The API group of webhook configurations and policies.
const GROUP: &str = "admissionregistration.k8s.io";

/// Groups and resources that are watched on the hub.
pub const WATCHED: [(&str, &str); 6] = [
    (GROUP, "mutatingwebhookconfigurations"),
    (GROUP, "validatingwebhookconfigurations"),
    (GROUP, catalog::KINDS[0].1),
    (GROUP, catalog::KINDS[1].1),
    (GROUP, catalog::KINDS[2].1),
    (GROUP, catalog::KINDS[3].1),
];

/// Label of ClusterRoles that grant the right to watch kinds of policy parameters, in addition to ConfigMaps.
pub const PARAMETERS_LABEL: &str = "rbac.berth.dev/aggregate-to-policy-params";

/// Group and resource of Services, which are read to find the address of a webhook.
pub const SERVICES: (&str, &str) = ("", "services");

/// Returns the rules of a ClusterRole with the rights that this server needs on the hub to watch policies and
/// webhook configurations, and to call webhooks. The rights to watch Namespaces, and kinds of policy
/// parameters ([`PARAMETERS_LABEL`]), are not included.
#[must_use]
pub fn rights() -> Vec<Value> {
    let rule = |(group, resource): (&str, &str), verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let watched = WATCHED.map(|watched| rule(watched, &["list", "watch"]));
    let mut rules: Vec<Value> = watched.into_iter().collect();
    rules.push(rule(SERVICES, &["get"]));
    rules
}

/// Time limit for the first list of each watched resource.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);

/// Webhooks in force, by type.
#[derive(Clone, Default)]
struct PreparedWebhooks {
    mutating: Arc<[Arc<PreparedWebhook>]>,
    validating: Arc<[Arc<PreparedWebhook>]>,
}

impl PreparedWebhooks {
    fn of(&self, webhook_type: WebhookType) -> &Arc<[Arc<PreparedWebhook>]> {
        match webhook_type {
            WebhookType::Mutating => &self.mutating,
            WebhookType::Validating => &self.validating,
        }
    }
}

/// The hub's admission webhooks.
pub struct HubWebhooks {
    hooks: RwLock<PreparedWebhooks>,
    /// Store with copies of the hub's Namespaces.
    store: Arc<dyn Store>,
    preparer: WebhookPreparer,
    /// Reviewer of the rights that match conditions check.
    access_reviewer: Arc<dyn AccessReviewer>,
    metrics: Arc<WebhookMetrics>,
}

impl HubWebhooks {
    /// Creates an empty set of webhooks. `client` reads the Services of webhooks, `store` has copies of the
    /// hub's Namespaces, `own` identifies this server's own webhooks, and `access_reviewer` checks rights for
    /// match conditions.
    #[must_use]
    pub fn new(
        client: Client,
        store: &Arc<dyn Store>,
        own: OwnAddresses,
        access_reviewer: Arc<dyn AccessReviewer>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hooks: RwLock::default(),
            store: Arc::clone(store),
            preparer: WebhookPreparer { client, own },
            access_reviewer,
            metrics: WebhookMetrics::new(),
        })
    }

    /// Returns the metrics of webhook calls.
    #[must_use]
    pub fn metrics(&self) -> &Arc<WebhookMetrics> {
        &self.metrics
    }

    /// Starts to watch the webhook configurations, and waits until all existing configurations are in force.
    ///
    /// # Errors
    /// When the hub does not list the configurations of a kind within a minute.
    pub async fn follow(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>, HubError> {
        let mut tasks = Vec::new();
        let client = &self.preparer.client;
        for webhook_type in [WebhookType::Mutating, WebhookType::Validating] {
            let (report, mut complete) = watch::channel(false);
            let reflector = follow::follow(client.clone(), webhook_type, Arc::clone(self), report);
            tasks.push(tokio::spawn(reflector));
            let listed = tokio::time::timeout(LIST_TIMEOUT, complete.wait_for(|complete| *complete)).await;
            if !matches!(listed, Ok(Ok(_))) {
                tasks.iter().for_each(JoinHandle::abort);
                return Err(HubError::NotListed {
                    resource: follow::resource(webhook_type).plural,
                    limit: LIST_TIMEOUT,
                });
            }
        }
        Ok(tasks)
    }

    /// Replaces the webhooks of `webhook_type` by the webhooks of `configurations`, which are keyed by name.
    /// Unchanged webhooks keep their connections.
    fn replace(&self, webhook_type: WebhookType, configurations: &BTreeMap<String, Arc<Value>>) {
        let before = Arc::clone(self.hooks.read().of(webhook_type));
        let now: Arc<[_]> = self.preparer.prepare_all(configurations, &before).into();
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

    /// Returns the number of match conditions that do not compile, by kind and name of the configuration.
    #[must_use]
    pub fn uncompiled(&self) -> BTreeMap<(&'static str, String), usize> {
        let mut found = BTreeMap::new();
        for webhook_type in [WebhookType::Mutating, WebhookType::Validating] {
            for prepared in self.hooks(webhook_type).iter() {
                let problems = prepared.conditions.problems().count();
                if problems > 0 {
                    let configuration = (
                        follow::kind(webhook_type),
                        prepared.hook.configuration.to_string(),
                    );
                    *found.entry(configuration).or_default() += problems;
                }
            }
        }
        found
    }

    fn hooks(&self, webhook_type: WebhookType) -> Arc<[Arc<PreparedWebhook>]> {
        Arc::clone(self.hooks.read().of(webhook_type))
    }

    /// Returns the labels of the Namespace `name` of the hub, if it exists.
    fn labels(&self, name: &str) -> Option<Labels> {
        let copies = self.store.cached(NAMESPACES);
        let copy = copies.get("", name)?;
        Some(copy.meta().labels().clone())
    }
}
