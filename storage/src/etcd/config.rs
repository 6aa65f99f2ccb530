//! Configuration of the connection to etcd.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};

use crate::encryption::Encryption;
use crate::error::StoreError;

/// Default prefix of keys.
pub const DEFAULT_PREFIX: &str = "/berth";
/// Default interval between compactions of history, as in kube-apiserver.
pub const DEFAULT_COMPACTION: Duration = Duration::from_mins(5);
/// Number of revisions before the newest one that are read at the start, so that watches from before a
/// restart, and from another replica, can continue.
const REPLAY: u64 = 10_000;
/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Pings on an idle connection: their interval (etcd refuses more than one in five seconds), and the timeout
/// of the answer.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5));

/// Configuration of the connection to etcd.
#[derive(Clone)]
pub struct EtcdConfig {
    /// Client URLs of the members; one is used, and the others replace it when it fails.
    pub endpoints: Vec<String>,
    /// Prefix of keys, such as `/berth`. Stores with different prefixes can share an etcd independently.
    pub prefix: String,
    /// Path of the CA (PEM) that verifies the members' certificates; `None` means the system's roots.
    pub ca_file: Option<PathBuf>,
    /// Path of the client certificate (PEM).
    pub cert_file: Option<PathBuf>,
    /// Path of the private key (PEM) of the client certificate.
    pub key_file: Option<PathBuf>,
    /// User and password for etcd.
    pub credentials: Option<(String, String)>,
    /// Interval at which history is compacted; zero leaves the compaction to another program.
    pub compaction_interval: Duration,
    /// Number of revisions before the newest one that are read at the start.
    pub replay: u64,
    /// Encryption of values.
    pub encryption: Arc<Encryption>,
}

impl EtcdConfig {
    /// Creates the configuration for `endpoints`, with defaults for everything else.
    #[must_use]
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: DEFAULT_PREFIX.to_owned(),
            ca_file: None,
            cert_file: None,
            key_file: None,
            credentials: None,
            compaction_interval: DEFAULT_COMPACTION,
            replay: REPLAY,
            encryption: Arc::default(),
        }
    }

    /// Name of the etcd for messages.
    pub(crate) fn place(&self) -> String {
        format!("etcd at {}", self.endpoints.join(","))
    }

    /// Returns the options of etcd calls, with the content of the certificate files.
    ///
    /// # Errors
    /// `Unavailable`, with the invalid setting or file.
    pub(crate) fn options(&self) -> Result<ConnectOptions, StoreError> {
        self.check()?;
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_keep_alive(PING.0, PING.1)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if self
            .endpoints
            .iter()
            .any(|endpoint| endpoint.starts_with("https://"))
        {
            options = options.with_tls(self.tls()?);
        }
        if let Some((user, password)) = &self.credentials {
            options = options.with_user(user, password);
        }
        Ok(options)
    }

    fn check(&self) -> Result<(), StoreError> {
        let wrong = |problem: String| Err(StoreError::Unavailable(problem));
        if self.endpoints.is_empty() {
            return wrong("no etcd server is named".to_owned());
        }
        for endpoint in &self.endpoints {
            if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
                return wrong(format!(
                    "etcd server {endpoint:?}: a URL with http:// or https:// is expected"
                ));
            }
        }
        let secure = |endpoint: &&String| endpoint.starts_with("https://");
        let secured = self.endpoints.iter().filter(secure).count();
        if secured != 0 && secured != self.endpoints.len() {
            return wrong("etcd servers: either all with https:// or none".to_owned());
        }
        let files = [&self.ca_file, &self.cert_file, &self.key_file];
        if secured == 0 && files.into_iter().any(Option::is_some) {
            return wrong("certificates for etcd need servers with https://".to_owned());
        }
        let path = &self.prefix;
        if !path.starts_with('/') || path.ends_with('/') || path.contains("//") || path.contains('\0') {
            return wrong(format!(
                "etcd prefix {path:?}: a path such as {DEFAULT_PREFIX:?} is expected, without a slash at its end"
            ));
        }
        Ok(())
    }

    fn tls(&self) -> Result<TlsOptions, StoreError> {
        let mut tls = TlsOptions::new();
        tls = match &self.ca_file {
            Some(file) => tls.ca_certificate(Certificate::from_pem(read(file)?)),
            None => tls.with_enabled_roots(),
        };
        match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => Ok(tls.identity(Identity::from_pem(read(cert)?, read(key)?))),
            (None, None) => Ok(tls),
            _ => Err(StoreError::Unavailable(
                "a client certificate for etcd needs both its certificate file and its key file".to_owned(),
            )),
        }
    }
}

/// Omits the password.
impl fmt::Debug for EtcdConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdConfig")
            .field("endpoints", &self.endpoints)
            .field("prefix", &self.prefix)
            .field("user", &self.credentials.as_ref().map(|(user, _)| user))
            .finish_non_exhaustive()
    }
}

fn read(file: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(file).map_err(|error| StoreError::Unavailable(format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut EtcdConfig)) -> String {
        let mut config = EtcdConfig::new(["http://127.0.0.1:2379"]);
        change(&mut config);
        match config.options() {
            Ok(_) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(problem(|_| {}), "none");
        assert!(problem(|config| config.endpoints.clear()).contains("no etcd server"));
        assert!(problem(|config| config.endpoints.push("ftp://x".into())).contains("\"ftp://x\""));
        assert!(problem(|config| config.endpoints.push("https://x".into())).contains("either all"));
        assert!(problem(|config| config.ca_file = Some("ca.pem".into())).contains("https://"));
        assert!(problem(|config| config.key_file = Some("key.pem".into())).contains("https://"));
        assert!(problem(|config| config.prefix = "berth".into()).contains("\"berth\""));
        assert!(problem(|config| config.prefix = "/berth/".into()).contains("slash"));
        let missing = problem(|config| {
            config.endpoints = vec!["https://x".into()];
            config.ca_file = Some("/nowhere/ca.pem".into());
        });
        assert!(missing.contains("/nowhere/ca.pem"), "{missing}");
        let half = problem(|config| {
            config.endpoints = vec!["https://x".into()];
            config.cert_file = Some("/nowhere/cert.pem".into());
        });
        assert!(half.contains("both"), "{half}");
    }

    #[test]
    fn the_password_is_not_shown() {
        let mut config = EtcdConfig::new(["http://127.0.0.1:2379"]);
        config.credentials = Some(("berth".into(), "hush".into()));
        let text = format!("{config:?}");
        assert!(text.contains("berth") && !text.contains("hush"), "{text}");
    }
}
