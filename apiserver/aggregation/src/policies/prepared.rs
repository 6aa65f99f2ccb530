//! A webhook ready to be called: with compiled conditions, and a client for its address and CAs.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_admission::client::{Endpoint, Hook};
use kube::Client;
use serde_json::Value;

use super::call::Caller;
use super::conditions::Conditions;
use super::own::OwnAddresses;

/// A webhook with the data for calling it.
pub(super) struct PreparedWebhook {
    pub(super) hook: Hook,
    pub(super) conditions: Conditions,
    /// Caller, or the reason why the webhook cannot be called.
    pub(super) caller: Result<Arc<Caller>, String>,
}

/// Prepares webhooks.
pub(super) struct Maker {
    /// Client that finds the Services of webhooks.
    pub(super) client: Client,
    pub(super) own: OwnAddresses,
}

impl Maker {
    /// Prepares the webhooks of `configurations` in the order of their calls: by the name of the
    /// configuration, then by the index in it. Unchanged webhooks are reused from `before`; this server's own
    /// webhooks are left out.
    pub(super) fn all(
        &self,
        configurations: &BTreeMap<String, Arc<Value>>,
        before: &[Arc<PreparedWebhook>],
    ) -> Vec<Arc<PreparedWebhook>> {
        let hooks = configurations
            .values()
            .flat_map(|configuration| Hook::all(configuration));
        let others = hooks.filter(|hook| !self.own.is_at(&hook.endpoint));
        others.map(|hook| self.one(hook, before)).collect()
    }

    fn one(&self, hook: Hook, before: &[Arc<PreparedWebhook>]) -> Arc<PreparedWebhook> {
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
        let caller = match &hook.problem {
            Some(problem) => Err(problem.clone()),
            None => self.caller(&hook, before),
        };
        if let Err(problem) = &caller {
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
            caller,
        })
    }

    /// Returns the caller of `hook`. A known webhook with the same address, CAs and timeout keeps its caller
    /// and thus its connections.
    fn caller(&self, hook: &Hook, before: &[Arc<PreparedWebhook>]) -> Result<Arc<Caller>, String> {
        let is_same = |known: &&Arc<PreparedWebhook>| {
            let target = |hook: &Hook| -> (Endpoint, Vec<u8>, u64) {
                (
                    hook.endpoint.clone(),
                    hook.ca_bundle.clone(),
                    hook.timeout.as_secs(),
                )
            };
            target(&known.hook) == target(hook)
        };
        match before.iter().find(is_same).map(|known| &known.caller) {
            Some(Ok(caller)) => Ok(Arc::clone(caller)),
            _ => Caller::new(hook, &self.client).map(Arc::new),
        }
    }
}
