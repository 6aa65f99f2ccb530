//! What a standalone server is started with, checked.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use berth_aggregation::policies::Own;
use berth_configuration::Mode;
use berth_dialect_contract::names::TARGETS;
use berth_dialect_registry::ActorArgs;
use berth_engine::agreement::GRACE;
use berth_engine::controller::LeaseDurations;
use berth_placement_admission::PATHS;
use berth_scheduling_rest::kinds::VERSION;
use berth_scheduling_rest::records::Bounds;
use http::uri::Authority;

use crate::audit::AuditArgs;
use crate::cli::ServeArgs;
use crate::etcd::EtcdArgs;
use crate::hub::HubArgs;
use crate::source::{self, Place, on_a_hub, only_named};
use crate::stores::Storage;

/// Everything a standalone server can be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of certificates, kubeconfig and database.
    pub data_dir: PathBuf,
    /// Where to listen.
    pub address: SocketAddr,
    /// Further names of the serving certificate.
    pub names: Vec<String>,
    /// Where clients reach it, or the kube-apiserver it is behind.
    pub external: Option<Authority>,
    /// A serving certificate and key of somebody else's.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// A further CA of client certificates.
    pub client_ca_file: Option<PathBuf>,
    /// Whom to believe user names in headers.
    pub request_header: RequestHeader,
    /// Whether requests without credentials go on.
    pub anonymous_auth: bool,
    /// Where objects are kept.
    pub storage: Storage,
    /// etcd's servers.
    pub etcd_servers: Vec<String>,
    /// How to talk to etcd.
    pub etcd: EtcdArgs,
    /// What is encrypted at rest, and with which keys.
    pub encryption_provider_config: Option<PathBuf>,
    /// The systems' own configuration files.
    pub config: Vec<PathBuf>,
    /// Whether systems are decided, as `--mode` says it.
    pub mode: Option<Mode>,
    /// How long other schedulers may take before observed decisions say that they differ.
    pub agreement_grace: Duration,
    /// The dialects whose controllers run, as `--controllers` says it.
    pub controllers: Vec<String>,
    /// The times of leader election, where servers share a store or a hub.
    pub terms: LeaseDurations,
    /// How long events are kept; zero is for ever.
    pub event_ttl: Duration,
    /// How many changes of each decision are remembered; 0 is none.
    pub history_per_decision: usize,
    /// How long they are; zero is for ever.
    pub history_max_age: Duration,
    /// The audit log.
    pub audit: AuditArgs,
    /// Whether admission reviews are answered.
    pub admission_webhooks: bool,
    /// The port of the admission webhooks, if not the API's.
    pub admission_bind_port: Option<u16>,
    /// The CA whose client certificates callers of the webhooks must show.
    pub admission_client_ca_file: Option<PathBuf>,
    /// The token of the tools that ask for decisions.
    pub integrations_token_file: Option<PathBuf>,
    /// The CA of their client certificates.
    pub integrations_client_ca_file: Option<PathBuf>,
    /// Groups whose members pass guards.
    pub break_glass_groups: Vec<String>,
    /// Who acts in the systems' roles.
    pub actors: ActorArgs,
    /// Reads at once; 0 is unlimited.
    pub max_requests_inflight: usize,
    /// Writes at once; 0 is unlimited.
    pub max_mutating_requests_inflight: usize,
    /// Bytes held by requests at once; 0 is unlimited.
    pub max_bytes_inflight: usize,
    /// How long to go on serving, unready.
    pub shutdown_delay: Duration,
    /// The hub, if there is one.
    pub hub: HubArgs,
}

/// Whom to believe user names in headers, and which headers.
#[derive(Clone, Debug)]
pub struct RequestHeader {
    /// Another CA of front proxies, beside the data folder's own.
    pub ca_file: Option<PathBuf>,
    /// Common names front proxies may have; empty is any.
    pub allowed_names: Vec<String>,
    /// Headers with the user name.
    pub username_headers: Vec<String>,
    /// Headers with groups.
    pub group_headers: Vec<String>,
    /// Prefixes of headers with extra attributes.
    pub extra_prefixes: Vec<String>,
}

impl Options {
    /// A server for the demo: everything at its default, on loopback.
    #[must_use]
    pub fn demo(data_dir: &Path, port: u16) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            names: Vec::new(),
            external: None,
            certificate: None,
            client_ca_file: None,
            request_header: RequestHeader {
                ca_file: None,
                allowed_names: Vec::new(),
                username_headers: vec!["X-Remote-User".to_owned()],
                group_headers: vec!["X-Remote-Group".to_owned()],
                extra_prefixes: vec!["X-Remote-Extra-".to_owned()],
            },
            anonymous_auth: true,
            storage: Storage::Embedded,
            etcd_servers: Vec::new(),
            etcd: EtcdArgs::default(),
            encryption_provider_config: None,
            config: Vec::new(),
            mode: None,
            agreement_grace: GRACE,
            controllers: vec!["*".to_owned()],
            terms: LeaseDurations::default(),
            event_ttl: Duration::from_hours(1),
            history_per_decision: Bounds::default().per_decision,
            history_max_age: Bounds::default().max_age,
            audit: AuditArgs::default(),
            admission_webhooks: false,
            admission_bind_port: None,
            admission_client_ca_file: None,
            integrations_token_file: None,
            integrations_client_ca_file: None,
            break_glass_groups: Vec::new(),
            actors: ActorArgs::default(),
            max_requests_inflight: 400,
            max_mutating_requests_inflight: 200,
            max_bytes_inflight: berth_apiserver::memory::DEFAULT_BYTES,
            shutdown_delay: Duration::ZERO,
            hub: HubArgs::default(),
        }
    }
}

impl Options {
    /// The URL of all Targets, below which is what syncers see, as clients reach it.
    pub(super) fn targets_url(&self) -> Option<String> {
        let external = self.external.as_ref()?;
        let (group, plural) = (TARGETS.group, TARGETS.resource);
        Some(format!("https://{external}/apis/{group}/{VERSION}/{plural}"))
    }

    /// Whether this server only looks at a hub, and has no more rights there than that takes.
    pub(super) fn is_observer(&self) -> bool {
        self.hub.is_aggregated() && self.mode == Some(Mode::Observe)
    }

    /// Where the webhooks that are Berth's own may be said to be.
    pub(super) fn own_addresses(&self) -> Own {
        Own {
            names: self.names.clone(),
            ports: [Some(self.address.port()), self.admission_bind_port]
                .into_iter()
                .flatten()
                .collect(),
            paths: &PATHS,
        }
    }
}

impl TryFrom<ServeArgs> for Options {
    type Error = anyhow::Error;

    fn try_from(mut args: ServeArgs) -> Result<Self> {
        let mode = args.mode.map(Mode::from);
        if args.hub.is_aggregated() {
            args.hub.source = match mode {
                Some(Mode::Observe) => only_named(args.hub.source),
                _ => on_a_hub(args.hub.source),
            };
        }
        let mut names = args.tls_san;
        if !args.bind_address.is_unspecified() && !is_loopback(args.bind_address) {
            names.push(args.bind_address.to_string());
        }
        let registration = &args.hub.registration;
        if args.hub.is_aggregated() {
            args.actors.check_on_hub(berth_kubernetes::core::namespaced())?;
            names.push(registration.service().host());
        } else if registration.ca_secret.is_some() || registration.self_register {
            bail!(
                "--ca-secret and --self-register need a hub: say where it is with --kubeconfig, or in a Pod on it \
                 --aggregated"
            );
        }
        let external = match args.external_hostname {
            Some(named) if !args.hub.is_aggregated() => {
                names.push(named.host().trim_matches(['[', ']']).to_owned());
                Some(with_port(named, args.secure_port)?)
            }
            named => named,
        };
        if args.storage != Storage::Etcd && !args.etcd_servers.is_empty() {
            bail!("--etcd-servers needs --storage etcd");
        }
        if !args.hub.is_aggregated()
            && let Some(source) = args.hub.source.iter().find(|source| source.place == Place::Hub)
        {
            bail!(
                "--source={}=hub needs a hub: say where it is with --kubeconfig, or in a Pod on it --aggregated",
                source.dialect
            );
        }
        let served = args.hub.served(berth_dialect_registry::all());
        if served.is_empty() {
            bail!("every system is turned off: name one that is on the hub (--source=<system>=hub)");
        }
        let is_observer = args.hub.is_aggregated() && mode == Some(Mode::Observe);
        if let Some(owned) = served.iter().find(|dialect| !args.hub.is_on_hub(dialect.name()))
            && is_observer
        {
            bail!(source::nothing_to_observe(owned.name()));
        }
        let is_aggregated = args.hub.is_aggregated();
        let says_how = args.admission_bind_port != 0 || args.admission_client_ca_file.is_some();
        Ok(Self {
            data_dir: args.data_dir,
            address: SocketAddr::new(args.bind_address, args.secure_port),
            names,
            external,
            certificate: args.tls_cert_file.zip(args.tls_private_key_file),
            client_ca_file: args.client_ca_file,
            request_header: RequestHeader {
                ca_file: args.requestheader_client_ca_file,
                allowed_names: args.requestheader_allowed_names,
                username_headers: args.requestheader_username_headers,
                group_headers: args.requestheader_group_headers,
                extra_prefixes: args.requestheader_extra_headers_prefix,
            },
            anonymous_auth: args.anonymous_auth,
            storage: args.storage,
            etcd_servers: args.etcd_servers,
            etcd: args.etcd,
            encryption_provider_config: args.encryption_provider_config,
            config: args.config,
            mode,
            agreement_grace: args.agreement_grace_period,
            controllers: args.controllers,
            terms: args.leader_election.terms()?,
            event_ttl: args.event_ttl,
            history_per_decision: args.history_per_decision,
            history_max_age: args.history_max_age,
            audit: args.audit,
            admission_webhooks: args.admission_webhooks.unwrap_or(is_aggregated || says_how),
            admission_bind_port: Some(args.admission_bind_port).filter(|port| *port != 0),
            admission_client_ca_file: args.admission_client_ca_file,
            integrations_token_file: args.integrations_token_file,
            integrations_client_ca_file: args.integrations_client_ca_file,
            break_glass_groups: args.break_glass_group,
            actors: args.actors,
            max_requests_inflight: args.max_requests_inflight,
            max_mutating_requests_inflight: args.max_mutating_requests_inflight,
            max_bytes_inflight: args.max_bytes_inflight,
            shutdown_delay: args.shutdown_delay_duration,
            hub: args.hub,
        })
    }
}

/// Where a server on `port` is reached that is `named` so.
fn with_port(named: Authority, port: u16) -> Result<Authority> {
    match (named.port(), port) {
        (Some(_), _) | (None, 443) => Ok(named),
        (None, 0) => bail!("--external-hostname {named} needs a port, since --secure-port 0 takes any"),
        (None, port) => Ok(format!("{named}:{port}").parse()?),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(named: &str, port: u16) -> Result<String> {
        with_port(named.parse()?, port).map(|authority| authority.to_string())
    }

    #[test]
    fn the_port_is_the_servers_own_unless_another_is_said() {
        assert_eq!(at("berth.example.com", 7443).unwrap(), "berth.example.com:7443");
        assert_eq!(at("berth.example.com", 443).unwrap(), "berth.example.com");
        assert_eq!(
            at("berth.example.com:8443", 7443).unwrap(),
            "berth.example.com:8443"
        );
        assert_eq!(at("[::1]", 7443).unwrap(), "[::1]:7443");
        let missing = at("berth.example.com", 0).unwrap_err().to_string();
        assert!(missing.contains("needs a port"), "{missing}");
    }

    #[test]
    fn the_targets_are_below_the_external_name() {
        let mut options = Options::demo(Path::new("."), 0);
        assert_eq!(options.targets_url(), None);
        options.external = Some("hub.example.com".parse().unwrap());
        assert_eq!(
            options.targets_url().as_deref(),
            Some("https://hub.example.com/apis/scheduling.berth.dev/v1alpha1/targets")
        );
    }
}
