//! Trusted CAs that a hub publishes. kube-apiserver writes a ConfigMap for extension servers with the CAs of
//! client certificates, and with the CA and the headers of the front proxy, which forwards the identity of
//! users (docs/reference.md, "Identity").

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

/// Trusted CAs and headers that a hub publishes.
#[derive(Clone, Debug)]
pub struct HubTrust {
    /// The CAs of client certificates; empty if the hub publishes none.
    pub client: CaPool,
    /// Front proxies that may name users in headers; `None` if the hub publishes no CA for them.
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
    /// Reads the data of the ConfigMap. The UID of users is read only if the hub names a header for it.
    ///
    /// # Errors
    /// Every key with an invalid value.
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

/// Reader of the ConfigMap's data, which collects the errors.
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
            self.add_error(
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
        self.ok_or_add_error(key, result)
    }

    /// Returns the header names of a key.
    fn headers(&mut self, key: &'static str) -> Vec<http::HeaderName> {
        let names = self.list(key);
        let result = RequestHeaderTrust::header_names(&names);
        self.ok_or_add_error(key, result).unwrap_or_default()
    }

    /// Returns the JSON array of a key; empty when it is absent or invalid.
    fn list(&mut self, key: &'static str) -> Vec<String> {
        let Some(text) = self.data.get(key).filter(|text| !text.is_empty()) else {
            return Vec::new();
        };
        match serde_json::from_str(text) {
            Ok(list) => list,
            Err(problem) => {
                self.add_error(key, format!("a JSON array of strings is expected: {problem}"));
                Vec::new()
            }
        }
    }

    fn ok_or_add_error<T>(&mut self, key: &'static str, result: Result<T, TrustError>) -> Option<T> {
        result
            .map_err(|problem| self.add_error(key, problem.to_string()))
            .ok()
    }

    fn add_error(&mut self, key: &'static str, problem: String) {
        self.errors.push(KeyError { key, problem });
    }
}

#[cfg(test)]
mod tests;
