//! Checked arguments of a server.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Result, bail};
use berth_aggregation::policies::OwnAddresses;
use berth_configuration::Mode;
use berth_deploy::Storage;
use berth_dialect_contract::names::TARGETS;
use berth_engine::controller::LeaseDurations;
use berth_placement_admission::PATHS;
use berth_scheduling_api::VERSION;
use clap::Parser;
use http::uri::Authority;

use crate::cli::ServeArgs;
use crate::source::{self, Place, only_named};

/// Checked arguments of a server, with derived settings.
#[derive(Clone, Debug)]
pub struct Options {
    /// Arguments of the command line. Behind a hub, `hub.source` has the place of every system.
    pub args: ServeArgs,
    /// Address to listen on.
    pub address: SocketAddr,
    /// Host names and addresses of the serving certificate, in addition to the loopback names.
    pub names: Vec<String>,
    /// Address for clients, from `--external-hostname`; behind a hub, the address of its kube-apiserver.
    pub external: Option<Authority>,
    /// Mode of all systems from `--mode`; `None` without the flag.
    pub mode: Option<Mode>,
    /// The times of leader election among servers that share a store or a hub.
    pub terms: LeaseDurations,
}

/// Parser of the arguments of `berth serve` alone.
#[derive(Parser)]
struct ServeParser {
    #[command(flatten)]
    args: ServeArgs,
}

impl Options {
    /// The options of the demo server: the defaults, with the data folder `data_dir` and with `port` on the
    /// loopback address.
    ///
    /// # Errors
    /// When the environment sets an invalid value.
    pub fn demo(data_dir: &Path, port: u16) -> Result<Self> {
        let port = format!("--secure-port={port}");
        let words = [
            OsStr::new("serve"),
            OsStr::new(&port),
            OsStr::new("--data-dir"),
            data_dir.as_os_str(),
        ];
        Self::try_from(ServeParser::try_parse_from(words)?.args)
    }

    /// The URL of the resource `targets` for clients, if the server has an external address. The views of
    /// syncers are below this URL.
    pub(super) fn targets_url(&self) -> Option<String> {
        let external = self.external.as_ref()?;
        let (group, plural) = (TARGETS.group, TARGETS.resource);
        Some(format!("https://{external}/apis/{group}/{VERSION}/{plural}"))
    }

    /// Whether this server only observes a hub, and has only the rights to observe.
    pub(super) fn is_observer(&self) -> bool {
        self.args.hub.is_aggregated() && self.mode == Some(Mode::Observe)
    }

    /// The configured serving certificate and key, if any.
    pub(super) fn certificate(&self) -> Option<(&Path, &Path)> {
        let (certificate, key) = (&self.args.tls_cert_file, &self.args.tls_private_key_file);
        certificate.as_deref().zip(key.as_deref())
    }

    /// Whether admission reviews are answered.
    pub(super) fn answers_reviews(&self) -> bool {
        let args = &self.args;
        let has_webhook_flags = args.admission_bind_port != 0 || args.admission_client_ca_file.is_some();
        args.admission_webhooks
            .unwrap_or(args.hub.is_aggregated() || has_webhook_flags)
    }

    /// The port for admission reviews, if it is not the port of the API.
    pub(super) fn admission_port(&self) -> Option<u16> {
        Some(self.args.admission_bind_port).filter(|port| *port != 0)
    }

    /// Addresses by which this server recognizes its own webhooks, which it does not call.
    pub(super) fn own_addresses(&self) -> OwnAddresses {
        OwnAddresses {
            names: self.names.clone(),
            ports: [Some(self.address.port()), self.admission_port()]
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
        let is_aggregated = args.hub.is_aggregated();
        if is_aggregated {
            args.hub.source = only_named(args.hub.source);
        }
        let mut names = args.tls_san.clone();
        if !args.bind_address.is_unspecified() && !args.bind_address.is_loopback() {
            names.push(args.bind_address.to_string());
        }
        if is_aggregated {
            args.actors.check_on_hub(berth_kubernetes::core::namespaced())?;
            names.push(args.hub.registration.service().host());
        }
        check(&args, mode)?;
        let external = match args.external_hostname.clone() {
            Some(authority) if !is_aggregated => {
                names.push(authority.host().trim_matches(['[', ']']).to_owned());
                Some(with_port(authority, args.secure_port)?)
            }
            other => other,
        };
        Ok(Self {
            address: SocketAddr::new(args.bind_address, args.secure_port),
            names,
            external,
            mode,
            terms: args.leader_election.durations()?,
            args,
        })
    }
}

/// Checks that `args` do not contradict each other.
fn check(args: &ServeArgs, mode: Option<Mode>) -> Result<()> {
    let (hub, is_aggregated) = (&args.hub, args.hub.is_aggregated());
    let registration = &hub.registration;
    if !is_aggregated && (registration.ca_secret.is_some() || registration.self_register) {
        bail!(
            "--ca-secret and --self-register need a hub: pass --kubeconfig, or in a Pod on the hub --aggregated"
        );
    }
    if args.storage != Storage::Etcd && !args.etcd_servers.is_empty() {
        bail!("--etcd-servers needs --storage etcd");
    }
    if !is_aggregated && let Some(source) = hub.source.iter().find(|source| source.place == Place::Hub) {
        bail!(
            "--source={}=hub needs a hub: pass --kubeconfig, or in a Pod on the hub --aggregated",
            source.dialect
        );
    }
    let served = hub.served(berth_dialect_registry::all());
    if served.is_empty() {
        bail!(source::NONE_NAMED);
    }
    if is_aggregated
        && mode == Some(Mode::Observe)
        && let Some(owned) = served.iter().find(|dialect| !hub.is_on_hub(dialect.name()))
    {
        bail!(source::nothing_to_observe(owned.name()));
    }
    Ok(())
}

/// Returns `authority` with `port`, unless it has a port already or `port` is the default port of HTTPS.
fn with_port(authority: Authority, port: u16) -> Result<Authority> {
    match (authority.port(), port) {
        (Some(_), _) | (None, 443) => Ok(authority),
        (None, 0) => {
            bail!("--external-hostname {authority} needs a port, since --secure-port 0 uses any free port")
        }
        (None, port) => Ok(format!("{authority}:{port}").parse()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(named: &str, port: u16) -> Result<String> {
        with_port(named.parse()?, port).map(|authority| authority.to_string())
    }

    #[test]
    fn the_external_port_is_the_servers_own_unless_another_is_given() {
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

    fn served(words: &str) -> Result<Vec<&'static str>> {
        let line = ServeParser::parse_from(std::iter::once("serve").chain(words.split_whitespace()));
        let options = Options::try_from(line.args)?;
        let dialects = options.args.hub.served(berth_dialect_registry::all());
        Ok(dialects.iter().map(|dialect| dialect.name()).collect())
    }

    #[test]
    fn a_server_behind_a_hub_serves_the_named_systems_and_a_standalone_server_serves_all() {
        for mode in ["--mode=decide", "--mode=observe", ""] {
            let named = served(&format!("--aggregated --source=ocm=hub {mode}"));
            assert_eq!(named.unwrap(), ["ocm"], "{mode}");
            let none = served(&format!("--aggregated {mode}")).unwrap_err().to_string();
            assert!(none.contains("for each system that Berth is for"), "{none}");
        }
        assert_eq!(
            served("").unwrap(),
            ["fleet", "gardener", "karmada", "kcp", "ocm", "openmcp"]
        );
    }

    #[test]
    fn the_url_of_targets_has_the_external_name() {
        let mut options = Options::demo(Path::new("."), 0).unwrap();
        assert_eq!(options.targets_url(), None);
        options.external = Some("hub.example.com".parse().unwrap());
        assert_eq!(
            options.targets_url().as_deref(),
            Some("https://hub.example.com/apis/scheduling.berth.dev/v1alpha1/targets")
        );
    }
}
