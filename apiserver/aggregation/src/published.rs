//! Client CAs and front proxies that the hub publishes in the ConfigMap
//! kube-system/extension-apiserver-authentication. The ConfigMap is watched, so that a rotation needs no
//! restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apiserver::authn::delegated::{HubTrust, NAME, NAMESPACE};
use berth_apiserver::authn::{CaPool, RequestHeaderTrust, Trust};
use berth_client::{ObjectWatches, Pauses};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ApiResource;
use kube::{Api, Client};
use parking_lot::Mutex;

use crate::error::HubError;

/// Pauses between two reads of the ConfigMap.
const PAUSES: Pauses = Pauses {
    least: Duration::from_secs(1),
    unwatched: Duration::from_secs(5),
    watched: Duration::from_mins(10),
};
/// Pauses after a failed read: the change that caused the read is not in force yet.
const RETRY_PAUSES: Pauses = Pauses {
    watched: Duration::from_secs(10),
    unwatched: Duration::from_secs(10),
    ..PAUSES
};
/// Time limit of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

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

    /// Applies every change of the ConfigMap until the task is dropped. While the ConfigMap does not exist,
    /// the last trust stays in force: users must not be refused while the ConfigMap is recreated.
    pub(super) async fn follow(self: Arc<Self>, trust: Arc<Trust>) {
        let client = self.maps.clone().into_client();
        let resource = ApiResource::erase::<ConfigMap>(&());
        let api = Api::namespaced_with(client, NAMESPACE, &resource);
        let mut watches = ObjectWatches::start([(api, NAME.to_owned())]);
        let mut pauses = PAUSES;
        loop {
            watches.wait(pauses).await;
            let read = tokio::time::timeout(READ_TIMEOUT, self.load(&trust)).await;
            let result = read.unwrap_or_else(|_| {
                let seconds = READ_TIMEOUT.as_secs();
                Err(HubError::Unread(format!("no answer within {seconds} seconds")))
            });
            pauses = if result.is_ok() { PAUSES } else { RETRY_PAUSES };
            log(result);
        }
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
