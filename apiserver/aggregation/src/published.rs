//! Client CAs and front proxies that the hub publishes in the ConfigMap
//! kube-system/extension-apiserver-authentication. The ConfigMap is watched, and also read every minute in
//! case the watch loses events, so that a rotation needs no restart.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use berth_apiserver::authn::delegated::{HubTrust, NAME, NAMESPACE};
use berth_apiserver::authn::{CaPool, RequestHeaderTrust, Trust};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client};
use parking_lot::Mutex;

use crate::error::HubError;

/// Interval of the reads that do not depend on the watch.
const READ_INTERVAL: Duration = Duration::from_mins(1);
/// Delay before the next watch; twice as long after a failed watch.
const PAUSE: Duration = Duration::from_secs(2);
/// Resource version of a watch that begins with the existing objects, in any version.
const ANY: &str = "0";

/// Client CAs and front proxies from flags, which override those of the hub's ConfigMap.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StaticTrust {
    /// CAs of client certificates.
    pub client: Option<CaPool>,
    /// Trusted front proxies, which name users in headers.
    pub request_header: Option<RequestHeaderTrust>,
    /// Allowed names of front proxies, if the hub publishes no names.
    pub allowed_names: Vec<String>,
}

/// Client CAs and front proxies that a hub publishes. Those from flags take precedence.
pub(super) struct PublishedTrust {
    maps: Api<ConfigMap>,
    static_trust: StaticTrust,
    /// Data of the ConfigMap that is in force; `None` before the first read.
    data: Mutex<Option<BTreeMap<String, String>>>,
}

impl PublishedTrust {
    pub(super) fn new(client: Client, static_trust: StaticTrust) -> Self {
        Self {
            maps: Api::namespaced(client, NAMESPACE),
            static_trust,
            data: Mutex::new(None),
        }
    }

    /// Reads the ConfigMap once and applies it.
    pub(super) async fn load(&self, trust: &Trust) -> Result<(), HubError> {
        let map = self
            .maps
            .get(NAME)
            .await
            .map_err(|problem| HubError::Unread(berth_client::root_cause(&problem)))?;
        self.apply(trust, map)
    }

    /// Watches the ConfigMap until the task is dropped.
    pub(super) async fn follow(self: Arc<Self>, trust: Arc<Trust>) {
        tokio::join!(self.watch_forever(&trust), self.read_periodically(&trust));
    }

    async fn watch_forever(&self, trust: &Trust) {
        loop {
            if let Err(problem) = self.watch(trust).await {
                tracing::debug!(
                    problem = berth_client::root_cause(&problem),
                    "watching extension-apiserver-authentication"
                );
                tokio::time::sleep(PAUSE).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn read_periodically(&self, trust: &Trust) {
        let mut clock = tokio::time::interval(READ_INTERVAL);
        loop {
            clock.tick().await;
            log(self.load(trust).await);
        }
    }

    /// Applies every change of the ConfigMap until the watch ends, as every watch does after some minutes.
    async fn watch(&self, trust: &Trust) -> kube::Result<()> {
        let only = WatchParams::default().fields(&format!("metadata.name={NAME}"));
        let changes = self.maps.watch(&only, ANY).await?;
        let mut changes = pin!(changes);
        while let Some(change) = changes.next().await {
            match change? {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => log(self.apply(trust, map)),
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                // The last trust stays in force: users must not be refused while the ConfigMap is recreated.
                WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            }
        }
        Ok(())
    }

    /// Replaces `trust` by the content of the ConfigMap, if it changed.
    fn apply(&self, trust: &Trust, map: ConfigMap) -> Result<(), HubError> {
        let data = map.data.unwrap_or_default();
        let mut current = self.data.lock();
        if current.as_ref() == Some(&data) {
            return Ok(());
        }
        let (client, request_header) = merge_trust(&self.static_trust, &data)?;
        trust.replace(&client, request_header.as_ref());
        if current.replace(data).is_some() {
            tracing::info!(
                "extension-apiserver-authentication has changed; using its client CAs from now on"
            );
        }
        Ok(())
    }
}

/// Logs the problem of a failed read.
fn log(result: Result<(), HubError>) {
    if let Err(problem) = result {
        tracing::error!(%problem, "cannot use extension-apiserver-authentication; keeping the previous client CAs and front proxies");
    }
}

/// Merges the client CAs and front proxies of flags (`static_trust`) with those of the ConfigMap (`data`).
/// Those of flags take precedence.
fn merge_trust(
    static_trust: &StaticTrust,
    data: &BTreeMap<String, String>,
) -> Result<(CaPool, Option<RequestHeaderTrust>), HubError> {
    let hub_trust = HubTrust::read(data).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        HubError::Malformed(texts.join("; "))
    })?;
    let client = static_trust.client.clone().unwrap_or(hub_trust.client);
    let published = hub_trust.request_header.map(|mut published| {
        if published.allowed_names.is_empty() {
            published.allowed_names.clone_from(&static_trust.allowed_names);
        }
        published
    });
    let request_header = static_trust.request_header.clone().or(published);
    if let Some(request_header) = &request_header {
        request_header.check_separate_from(&client)?;
    }
    Ok((client, request_header))
}

#[cfg(test)]
mod tests {
    use berth_certs::Folder;

    use super::*;

    #[test]
    fn a_hub_with_one_ca_for_users_and_front_proxies_must_name_the_front_proxies() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::open(folder.path(), "2026-11-21T12:00:00Z".parse().unwrap()).unwrap();
        let one = folder.ca().certificate_pem().to_owned();
        let other = folder.front_proxy().certificate_pem().to_owned();
        let published = |proxies: &str, names: &str| {
            let pairs = [
                ("client-ca-file", one.clone()),
                ("requestheader-client-ca-file", proxies.to_owned()),
                (
                    "requestheader-username-headers",
                    r#"["X-Remote-User"]"#.to_owned(),
                ),
                ("requestheader-allowed-names", names.to_owned()),
            ];
            pairs.map(|(key, value)| (key.to_owned(), value)).into()
        };
        let nothing = StaticTrust::default();
        let named = StaticTrust {
            allowed_names: vec!["front-proxy-client".to_owned()],
            ..StaticTrust::default()
        };
        assert!(merge_trust(&nothing, &published(&other, "[]")).is_ok());
        assert!(merge_trust(&nothing, &published(&one, r#"["aggregator"]"#)).is_ok());
        let error = merge_trust(&nothing, &published(&format!("{other}{one}"), "[]")).unwrap_err();
        assert!(
            error.to_string().contains("--requestheader-allowed-names"),
            "{error}"
        );
        let (_, trust) = merge_trust(&named, &published(&one, "[]")).unwrap();
        assert_eq!(trust.unwrap().allowed_names, ["front-proxy-client"]);
    }
}
