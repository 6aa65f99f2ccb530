//! Trust that a hub publishes. kube-apiserver publishes a ConfigMap for extension servers. The ConfigMap has
//! the CAs of clients, and the CA and the headers of the front proxy, which forwards the identity of users
//! (docs/reference.md, "Identity").

use std::collections::BTreeMap;

use super::trust::{CaPool, RequestHeaderTrust, TrustError};

/// Namespace of the ConfigMap.
pub const NAMESPACE: &str = "kube-system";
/// Name of the ConfigMap.
pub const NAME: &str = "extension-apiserver-authentication";

/// Key of the CA of users' client certificates.
const CLIENT_CA: &str = "client-ca-file";
/// Key of the CA of front proxies' certificates.
const PROXY_CA: &str = "requestheader-client-ca-file";
const ALLOWED_NAMES: &str = "requestheader-allowed-names";
const USERNAME_HEADERS: &str = "requestheader-username-headers";
const GROUP_HEADERS: &str = "requestheader-group-headers";
const UID_HEADERS: &str = "requestheader-uid-headers";
const EXTRA_PREFIXES: &str = "requestheader-extra-headers-prefix";

/// Trust that a hub publishes.
#[derive(Clone, Debug)]
pub struct HubTrust {
    /// The CAs of client certificates; empty where the hub publishes none, which is valid.
    pub client: CaPool,
    /// Front proxies that may name users in headers, where the hub has an aggregator.
    pub request_header: Option<RequestHeaderTrust>,
}

/// Problem with one key of the ConfigMap.
#[derive(Debug, thiserror::Error)]
#[error("key {key:?} of the ConfigMap {NAMESPACE}/{NAME}: {problem}")]
pub struct KeyError {
    /// The key.
    pub key: &'static str,
    /// The problem.
    pub problem: String,
}

impl HubTrust {
    /// Reads the ConfigMap's data. The header with the UID is used only where the hub names one.
    ///
    /// # Errors
    /// Every key that cannot be used.
    pub fn read(data: &BTreeMap<String, String>) -> Result<Self, Vec<KeyError>> {
        let mut reader = Reader {
            data,
            errors: Vec::new(),
        };
        let client = reader.pool(CLIENT_CA).unwrap_or_default();
        let request_header = reader.request_header();
        if reader.errors.is_empty() {
            Ok(Self {
                client,
                request_header,
            })
        } else {
            Err(reader.errors)
        }
    }
}

struct Reader<'a> {
    data: &'a BTreeMap<String, String>,
    errors: Vec<KeyError>,
}

impl Reader<'_> {
    fn request_header(&mut self) -> Option<RequestHeaderTrust> {
        let ca = self.pool(PROXY_CA)?;
        let allowed_names = self.list(ALLOWED_NAMES);
        let username_headers = self.headers(USERNAME_HEADERS);
        if username_headers.is_empty() {
            self.fail(
                USERNAME_HEADERS,
                "names no header, so no user could be authenticated".to_owned(),
            );
        }
        Some(RequestHeaderTrust {
            username_headers,
            group_headers: self.headers(GROUP_HEADERS),
            uid_headers: self.headers(UID_HEADERS),
            extra_prefixes: self
                .list(EXTRA_PREFIXES)
                .iter()
                .map(|prefix| prefix.to_lowercase())
                .collect(),
            ..RequestHeaderTrust::new(ca, allowed_names)
        })
    }

    /// Returns the certificates of a key; `None` when the key is absent, empty or invalid.
    fn pool(&mut self, key: &'static str) -> Option<CaPool> {
        let pem = self.data.get(key).filter(|pem| !pem.trim().is_empty())?;
        let result = CaPool::from_pem(pem.as_bytes());
        self.keep(key, result)
    }

    /// Returns the header names of a key.
    fn headers(&mut self, key: &'static str) -> Vec<http::HeaderName> {
        let names = self.list(key);
        let result = RequestHeaderTrust::header_names(&names);
        self.keep(key, result).unwrap_or_default()
    }

    /// Returns the JSON array of a key; empty when it is absent or invalid.
    fn list(&mut self, key: &'static str) -> Vec<String> {
        let Some(text) = self.data.get(key).filter(|text| !text.is_empty()) else {
            return Vec::new();
        };
        match serde_json::from_str(text) {
            Ok(list) => list,
            Err(problem) => {
                self.fail(key, format!("a JSON array of strings is expected: {problem}"));
                Vec::new()
            }
        }
    }

    fn keep<T>(&mut self, key: &'static str, result: Result<T, TrustError>) -> Option<T> {
        result.map_err(|problem| self.fail(key, problem.to_string())).ok()
    }

    fn fail(&mut self, key: &'static str, problem: String) {
        self.errors.push(KeyError { key, problem });
    }
}

#[cfg(test)]
mod tests;
