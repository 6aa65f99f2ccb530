//! Whom the hub believes, followed: the ConfigMap kube-system/extension-apiserver-authentication, watched, and read again
//! every minute in case the watch is deaf. A rotation needs no restart and leaves open watches alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use apiserver::authn::Trust;
use apiserver::authn::delegated::{Delegated, NAME, NAMESPACE};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use parking_lot::Mutex;

use super::Given;
use super::reviewer::chain;

/// How often the ConfigMap is read whatever the watch says.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// What a hub publishes, under what the command line says.
pub(super) struct Published {
    maps: Api<ConfigMap>,
    given: Given,
    /// The data in force.
    last: Mutex<Option<BTreeMap<String, String>>>,
}

impl Published {
    pub(super) fn new(client: Client, given: Given) -> Self {
        Self {
            maps: Api::namespaced(client, NAMESPACE),
            given,
            last: Mutex::new(None),
        }
    }

    /// Reads it once and takes it up.
    pub(super) async fn load(&self, trust: &Trust) -> Result<()> {
        let map = self
            .maps
            .get(NAME)
            .await
            .map_err(|problem| anyhow!("{}", chain(&problem)))?;
        self.take(trust, map)
    }

    /// Follows it until the task is dropped.
    pub(super) async fn follow(self: Arc<Self>, trust: Arc<Trust>) {
        let config = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        let mut changes = watcher(self.maps.clone(), config)
            .default_backoff()
            .applied_objects()
            .boxed();
        let mut clock = tokio::time::interval(LOOK_EVERY);
        loop {
            let taken = tokio::select! {
                Some(change) = changes.next() => match change {
                    Ok(map) => self.take(&trust, map),
                    Err(problem) => {
                        tracing::debug!(problem = chain(&problem), "watching whom the hub believes");
                        Ok(())
                    }
                },
                _ = clock.tick() => self.load(&trust).await,
            };
            if let Err(problem) = taken {
                tracing::error!(%problem, "cannot read extension-apiserver-authentication; keeping the previous client CAs");
            }
        }
    }

    /// Puts the ConfigMap in force, unless it is already.
    fn take(&self, trust: &Trust, map: ConfigMap) -> Result<()> {
        let data = map.data.unwrap_or_default();
        let mut last = self.last.lock();
        if last.as_ref() == Some(&data) {
            return Ok(());
        }
        let read = Delegated::read(&data).map_err(|problems| {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow!("{}", texts.join("; "))
        })?;
        let client = self.given.client.as_ref().unwrap_or(&read.client);
        let request_header = self
            .given
            .request_header
            .as_ref()
            .or(read.request_header.as_ref());
        trust.replace(client, request_header);
        if last.replace(data).is_some() {
            tracing::info!(
                "extension-apiserver-authentication has changed; using its client CAs from now on"
            );
        }
        Ok(())
    }
}
