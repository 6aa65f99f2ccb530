//! Kubeconfigs for users of a standalone server: the server's address and CA, and a client certificate that
//! is issued for the user.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_admission::GARBAGE_COLLECTORS;
use berth_apimachinery::Timestamp;
use berth_certs::files::{self, Access};
use berth_certs::{CertsError, Folder, IssuedCertificate, LEAF_LIFE};
use jiff::SignedDuration;
use kube::config::Cluster;
use serde::Serialize;

/// Prefix of the names of Berth's own actors (docs/concepts.md, "Actors").
const RESERVED_PREFIX: &str = "berth:";
/// Longest validity of a client certificate, which is the validity of a new CA.
const MAX_VALIDITY: SignedDuration = berth_certs::CA_LIFE;
/// Shortest validity of a client certificate, since the clocks of other machines differ.
const MIN_VALIDITY: SignedDuration = SignedDuration::from_mins(1);
/// A kubeconfig that expires within this time is replaced.
const RENEW_WITHIN: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Name of the context and of the cluster.
const NAME: &str = "berth";

/// Reason why no kubeconfig is issued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// The name of the user is empty.
    #[error("the user has no name: set --user")]
    MissingName,
    /// The name is reserved for Berth's own actors.
    #[error(
        "the user name \"{0}\" is reserved for Berth's own controllers (everything beginning with \"berth:\"): choose \
         another, or use --force to act as that controller"
    )]
    Reserved(String),
    /// The name is that of a Kubernetes controller whose deletions bypass the guards.
    #[error(
        "the user name \"{0}\" is reserved for a controller of Kubernetes (garbage collector or namespace controller), whose \
         deletions bypass the guards: choose another, or use --force to act as that controller"
    )]
    Collector(String),
    /// The requested validity is too short or too long.
    #[error("--ttl: {0:#} is out of range: use {least:#} to {most:#}", least = MIN_VALIDITY, most = MAX_VALIDITY)]
    Validity(SignedDuration),
    /// The certificate could not be created.
    #[error(transparent)]
    Certificate(#[from] CertsError),
    /// The kubeconfig could not be written as YAML.
    #[error("writing the kubeconfig: {0}")]
    Yaml(String),
}

/// A server in a kubeconfig.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// URL of the server (`https://host:port`).
    pub url: &'a str,
    /// CA of the serving certificate (PEM); `None` if clients trust the CAs of their system.
    pub ca: Option<&'a str>,
}

/// A kubeconfig with embedded certificates and key.
#[derive(Clone)]
pub struct Kubeconfig {
    yaml: String,
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The fields are left out, since they contain a private key.
        f.debug_struct("Kubeconfig").finish_non_exhaustive()
    }
}

impl Kubeconfig {
    /// Issues a client certificate of the folder's CA for `user` in `groups`, valid for a year from `now`,
    /// for `server`.
    ///
    /// # Errors
    /// When the name is empty, when it is reserved for Berth's own actors or for a Kubernetes controller and
    /// `force` is not set, or when the certificate cannot be created.
    pub fn issue(
        folder: &Folder,
        server: Endpoint<'_>,
        user: &str,
        groups: &[String],
        force: bool,
        now: Timestamp,
    ) -> Result<Self, KubeconfigError> {
        Self::issue_for(folder, server, user, groups, force, now, LEAF_LIFE)
    }

    /// Issues a client certificate as [`Kubeconfig::issue`] does, valid for `life` from `now`.
    ///
    /// # Errors
    /// As [`Kubeconfig::issue`], and when `life` is too short or too long.
    pub fn issue_for(
        folder: &Folder,
        server: Endpoint<'_>,
        user: &str,
        groups: &[String],
        force: bool,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Self, KubeconfigError> {
        if user.is_empty() {
            return Err(KubeconfigError::MissingName);
        }
        if !force {
            check_name(user)?;
        }
        if !(MIN_VALIDITY..=MAX_VALIDITY).contains(&life) {
            return Err(KubeconfigError::Validity(life));
        }
        let issued = folder.ca().issue_client_for(user, groups, now, life)?;
        Self::new(server, user, &issued)
    }

    /// Whether the file at `path` equals the result of [`Kubeconfig::issue`] except for key and dates, and is
    /// still valid in 30 days. Such a file need not be written again. If `server` has no CA, the file may
    /// have one that an administrator has added, but not the folder's, which did not issue the serving
    /// certificate.
    #[must_use]
    pub fn is_current(
        path: &Path,
        folder: &Folder,
        server: Endpoint<'_>,
        user: &str,
        groups: &[String],
        now: Timestamp,
    ) -> bool {
        let Ok(file) = kube::config::Kubeconfig::read_from(path) else {
            return false;
        };
        let cluster = file.clusters.into_iter().next().and_then(|item| item.cluster);
        let is_same_server = cluster.is_some_and(|cluster| {
            let ca = ca_of(&cluster);
            let is_same_ca = match server.ca {
                Some(wanted) => ca.as_deref() == Some(wanted),
                None => ca.as_deref() != Some(folder.ca().certificate_pem()),
            };
            cluster.server.as_deref() == Some(server.url) && is_same_ca
        });
        let pair = file.auth_infos.into_iter().next().and_then(|item| {
            let user = item.auth_info?;
            let user = serde_json::to_value(user).ok()?;
            Some(IssuedCertificate {
                certificate: decode(user["client-certificate-data"].as_str()?)?,
                key: decode(user["client-key-data"].as_str()?)?,
            })
        });
        let until = now.checked_add(RENEW_WITHIN);
        let (Some(pair), Ok(until)) = (pair, until) else {
            return false;
        };
        let ca = folder.ca();
        is_same_server
            && [now, until]
                .into_iter()
                .all(|at| ca.verifies_client(&pair, user, groups, at))
    }

    fn new(server: Endpoint<'_>, user: &str, issued: &IssuedCertificate) -> Result<Self, KubeconfigError> {
        let encode = |pem: &str| STANDARD.encode(pem);
        let config = Config {
            api_version: "v1",
            kind: "Config",
            clusters: [NamedEntry {
                name: NAME,
                item: Item::Cluster {
                    server: server.url,
                    certificate_authority_data: server.ca.map(encode),
                },
            }],
            users: [NamedEntry {
                name: user,
                item: Item::User {
                    client_certificate_data: encode(&issued.certificate),
                    client_key_data: encode(&issued.key),
                },
            }],
            contexts: [NamedEntry {
                name: NAME,
                item: Item::Context { cluster: NAME, user },
            }],
            current_context: NAME,
        };
        // Certificates are plain scalars, as other tools write them, since simple parsers of YAML accept no
        // others.
        let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
        let mut yaml = String::new();
        serde_saphyr::to_fmt_writer_with_options(&mut yaml, &config, options)
            .map_err(|problem| KubeconfigError::Yaml(problem.to_string()))?;
        Ok(Self { yaml })
    }

    /// The kubeconfig as YAML.
    #[must_use]
    pub fn as_yaml(&self) -> &str {
        &self.yaml
    }

    /// Writes the kubeconfig to `path`, readable by its owner only, completely or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KubeconfigError> {
        Ok(files::write(path, self.yaml.as_bytes(), Access::Owner)?)
    }
}

/// The CA (PEM) that `cluster` has, if any.
#[must_use]
pub fn ca_of(cluster: &Cluster) -> Option<String> {
    cluster.certificate_authority_data.as_deref().and_then(decode)
}

fn decode(text: &str) -> Option<String> {
    let bytes = STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok()
}

/// Checks that `user` is not a reserved name.
fn check_name(user: &str) -> Result<(), KubeconfigError> {
    if user.starts_with(RESERVED_PREFIX) {
        return Err(KubeconfigError::Reserved(user.to_owned()));
    }
    if GARBAGE_COLLECTORS.contains(&user) {
        return Err(KubeconfigError::Collector(user.to_owned()));
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Config<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    kind: &'a str,
    clusters: [NamedEntry<'a>; 1],
    users: [NamedEntry<'a>; 1],
    contexts: [NamedEntry<'a>; 1],
    current_context: &'a str,
}

#[derive(Serialize)]
struct NamedEntry<'a> {
    name: &'a str,
    #[serde(flatten)]
    item: Item<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
enum Item<'a> {
    Cluster {
        server: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        certificate_authority_data: Option<String>,
    },
    User {
        client_certificate_data: String,
        client_key_data: String,
    },
    Context {
        cluster: &'a str,
        user: &'a str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://127.0.0.1:7443";

    /// The server at `url`, whose serving certificate the CA of `folder` issued.
    fn own<'a>(folder: &'a Folder, url: &'a str) -> Endpoint<'a> {
        let ca = Some(folder.ca().certificate_pem());
        Endpoint { url, ca }
    }

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().expect("an instant")
    }

    fn issue(folder: &Folder, user: &str, force: bool) -> Result<Kubeconfig, KubeconfigError> {
        let groups = ["system:masters".to_owned()];
        Kubeconfig::issue(folder, own(folder, SERVER), user, &groups, force, now())
    }

    #[test]
    fn a_kubeconfig_is_read_by_client_libraries() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path().join("pki"), now()).unwrap();
        let path = directory.path().join("admin.kubeconfig");
        issue(&folder, "admin: the first", false)
            .unwrap()
            .write(&path)
            .unwrap();
        let read = kube::config::Kubeconfig::read_from(&path).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("berth"));
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some(SERVER));
        let ca = STANDARD
            .decode(cluster.certificate_authority_data.as_ref().unwrap())
            .unwrap();
        assert_eq!(ca, folder.ca().certificate_pem().as_bytes());
        assert_eq!(read.auth_infos[0].name, "admin: the first");
        assert!(
            read.auth_infos[0]
                .auth_info
                .as_ref()
                .unwrap()
                .client_key_data
                .is_some()
        );
        assert_eq!(
            read.contexts[0].context.as_ref().unwrap().user.as_deref(),
            Some("admin: the first")
        );
    }

    #[test]
    fn berths_own_names_are_issued_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path(), now()).unwrap();
        let problem = issue(&folder, "berth:scheduler", false).unwrap_err();
        assert!(problem.to_string().contains("--force"), "{problem}");
        assert!(issue(&folder, "berth:scheduler", true).is_ok());
        assert!(matches!(
            issue(&folder, "", true).unwrap_err(),
            KubeconfigError::MissingName
        ));
    }

    #[test]
    fn the_names_of_collectors_are_issued_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path(), now()).unwrap();
        for name in GARBAGE_COLLECTORS {
            let problem = issue(&folder, name, false).unwrap_err();
            assert!(problem.to_string().contains("--force"), "{problem}");
            assert!(issue(&folder, name, true).is_ok());
        }
        assert!(issue(&folder, "system:serviceaccount:kube-system:other", false).is_ok());
    }

    #[test]
    fn a_certificate_lives_as_long_as_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path(), now()).unwrap();
        let life = |hours| {
            let life = SignedDuration::from_hours(hours);
            Kubeconfig::issue_for(&folder, own(&folder, SERVER), "jane", &[], false, now(), life)
        };
        let path = directory.path().join("jane.kubeconfig");
        let current = |at| Kubeconfig::is_current(&path, &folder, own(&folder, SERVER), "jane", &[], at);
        life(40 * 24).unwrap().write(&path).unwrap();
        assert!(current(now()));
        assert!(
            !current(now() + SignedDuration::from_hours(11 * 24)),
            "it is to be renewed"
        );
        for hours in [0, -1, 24 * 365 * 11] {
            let problem = life(hours).unwrap_err().to_string();
            assert!(problem.contains("--ttl"), "{problem}");
        }
    }

    #[test]
    fn a_kubeconfig_of_another_server_user_or_ca_is_not_current() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path().join("a"), now()).unwrap();
        let other = Folder::open(directory.path().join("b"), now()).unwrap();
        let path = directory.path().join("config");
        let masters = ["system:masters".to_owned()];
        let current = |folder: &Folder, server: &str, user: &str| {
            Kubeconfig::is_current(&path, folder, own(folder, server), user, &masters, now())
        };
        assert!(!current(&folder, SERVER, "jane"), "there is none");
        issue(&folder, "jane", false).unwrap().write(&path).unwrap();
        assert!(current(&folder, SERVER, "jane"));
        assert!(!current(&folder, "https://127.0.0.1:1", "jane"));
        assert!(!current(&folder, SERVER, "joan"));
        assert!(!current(&other, SERVER, "jane"));
    }

    #[test]
    fn a_kubeconfig_for_a_given_serving_certificate_may_have_any_ca_but_the_servers_own() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path().join("a"), now()).unwrap();
        let other = Folder::open(directory.path().join("b"), now()).unwrap();
        let path = directory.path().join("config");
        let server = |ca| Endpoint { url: SERVER, ca };
        let write = |ca| {
            let issued = Kubeconfig::issue(&folder, server(ca), "jane", &[], false, now());
            issued.unwrap().write(&path).unwrap();
        };
        let current = || Kubeconfig::is_current(&path, &folder, server(None), "jane", &[], now());
        write(None);
        let read = kube::config::Kubeconfig::read_from(&path).unwrap();
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some(SERVER));
        assert_eq!(cluster.certificate_authority_data, None);
        assert!(current());
        write(Some(folder.ca().certificate_pem()));
        assert!(!current(), "this CA did not issue the serving certificate");
        write(Some(other.ca().certificate_pem()));
        assert!(current(), "an administrator has added the CA");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path().join("pki"), now()).unwrap();
        let path = directory.path().join("config");
        issue(&folder, "jane", false).unwrap().write(&path).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
