//! Webhooks that are prepared for calls: with compiled match conditions and an HTTPS client.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_admission::client::{Endpoint, Hook};
use kube::Client;
use serde_json::Value;

use super::call::WebhookClient;
use super::conditions::Conditions;
use super::own::OwnAddresses;

/// A webhook with compiled match conditions and an HTTPS client.
pub(super) struct PreparedWebhook {
    pub(super) hook: Hook,
    pub(super) conditions: Conditions,
    /// Client of the webhook, or the reason why the webhook cannot be called.
    pub(super) client: Result<Arc<WebhookClient>, String>,
}

/// Prepares webhooks for calls.
pub(super) struct WebhookPreparer {
    /// Client that reads the Services of webhooks.
    pub(super) client: Client,
    /// Addresses of this server's own webhooks.
    pub(super) own: OwnAddresses,
}

impl WebhookPreparer {
    /// Prepares the webhooks of `configurations` in the order of their calls: by the name of the
    /// configuration, then by the index in the configuration. Unchanged webhooks are reused from `before`;
    /// this server's own webhooks are omitted.
    pub(super) fn prepare_all(
        &self,
        configurations: &BTreeMap<String, Arc<Value>>,
        before: &[Arc<PreparedWebhook>],
    ) -> Vec<Arc<PreparedWebhook>> {
        let hooks = configurations
            .values()
            .flat_map(|configuration| Hook::all(configuration));
        let foreign = hooks.filter(|hook| !self.own.includes(&hook.endpoint));
        foreign.map(|hook| self.prepare(hook, before)).collect()
    }

    fn prepare(&self, hook: Hook, before: &[Arc<PreparedWebhook>]) -> Arc<PreparedWebhook> {
        if let Some(same) = before.iter().find(|known| known.hook == hook) {
            return Arc::clone(same);
        }
        let conditions = Conditions::compile(&hook.conditions);
        for problem in conditions.problems() {
            tracing::warn!(
                configuration = &*hook.configuration,
                webhook = &*hook.name,
                problem,
                "a match condition cannot be evaluated; the webhook's failurePolicy applies"
            );
        }
        let client = match &hook.problem {
            Some(problem) => Err(problem.clone()),
            None => self.webhook_client(&hook, before),
        };
        if let Err(problem) = &client {
            tracing::warn!(
                configuration = &*hook.configuration,
                webhook = &*hook.name,
                problem,
                "an admission webhook cannot be called; its failurePolicy applies"
            );
        }
        Arc::new(PreparedWebhook {
            hook,
            conditions,
            client,
        })
    }

    /// Returns the client of `hook`. The client of a webhook in `before` with the same address, CAs and
    /// timeout is reused with its connections.
    fn webhook_client(
        &self,
        hook: &Hook,
        before: &[Arc<PreparedWebhook>],
    ) -> Result<Arc<WebhookClient>, String> {
        let is_same = |known: &&Arc<PreparedWebhook>| {
            let connection = |hook: &Hook| -> (Endpoint, Vec<u8>, u64) {
                (
                    hook.endpoint.clone(),
                    hook.ca_bundle.clone(),
                    hook.timeout.as_secs(),
                )
            };
            connection(&known.hook) == connection(hook)
        };
        match before.iter().find(is_same).map(|known| &known.client) {
            Some(Ok(client)) => Ok(Arc::clone(client)),
            _ => WebhookClient::new(hook, &self.client).map(Arc::new),
        }
    }
}
