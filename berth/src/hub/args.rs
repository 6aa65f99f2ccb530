//! Flags about the hub. If k8s.io/apiserver has a flag for the purpose, Berth's flag has the name of that
//! flag.

use std::sync::Arc;

use berth_aggregation::options::DelegationArgs;
use berth_dialect_contract::Dialect;
use clap::Args;

use super::RegistrationArgs;
use crate::source::{Place, Source, place, source};

/// Arguments of `berth serve` behind a kube-apiserver.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Behind a kube-apiserver")]
pub struct HubArgs {
    /// Serve behind a kube-apiserver, with the Pod's service account if no kubeconfig is given.
    #[arg(long)]
    pub aggregated: bool,
    /// Clients, users and rights of the hub; a kubeconfig implies --aggregated.
    #[command(flatten)]
    pub delegation: DelegationArgs,
    /// Store of a system's objects: `gardener=hub` on the hub, `gardener=owned` in Berth's own store;
    /// `gardener=off`: the system is not served. A system that is not named is `owned` standalone, and `off`
    /// behind a kube-apiserver; `hub` needs a kube-apiserver. The namespaces that kcp places, and the
    /// objects that it syncs in them, are on the hub even with `kcp=owned`. Repeatable.
    #[arg(long, value_parser = source, value_name = "SYSTEM=owned|hub|off")]
    pub source: Vec<Source>,
    /// Registration of Berth on the hub.
    #[command(flatten)]
    pub registration: RegistrationArgs,
}

impl HubArgs {
    /// Whether the objects of `dialect` are on the hub. The last `--source` of the dialect counts.
    #[must_use]
    pub fn is_on_hub(&self, dialect: &str) -> bool {
        place(&self.source, dialect) == Place::Hub
    }

    /// The `dialects` that are not turned off.
    #[must_use]
    pub fn served(&self, mut dialects: Vec<Arc<dyn Dialect>>) -> Vec<Arc<dyn Dialect>> {
        dialects.retain(|dialect| place(&self.source, dialect.name()) != Place::Off);
        dialects
    }

    /// The namespace of Berth's Leases on the hub.
    #[must_use]
    pub fn own_namespace(&self) -> &str {
        &self.registration.service_namespace
    }

    /// Whether the server is behind a hub.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        self.aggregated || self.delegation.has_kubeconfig()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::only_named;

    #[test]
    fn sources_name_a_system_and_a_place() {
        let gardener = source("gardener=hub").unwrap();
        assert_eq!(
            (gardener.dialect.as_str(), gardener.place),
            ("gardener", Place::Hub)
        );
        assert_eq!(source("ocm=owned").unwrap().place, Place::Owned);
        assert_eq!(source("ocm=off").unwrap().place, Place::Off);
        assert!(source("nomad=hub").unwrap_err().contains("known: "));
        assert!(source("ocm=etcd").unwrap_err().contains("owned, hub or off"));
        assert!(source("ocm").is_err());
    }

    #[test]
    fn the_last_source_counts() {
        let args = HubArgs {
            source: ["ocm=hub", "ocm=owned", "kcp=off"]
                .map(|text| source(text).unwrap())
                .to_vec(),
            ..HubArgs::default()
        };
        assert!(!args.is_on_hub("ocm") && !args.is_on_hub("gardener"));
        let served = args.served(berth_dialect_registry::all());
        let names: Vec<&str> = served.iter().map(|dialect| dialect.name()).collect();
        assert!(
            names.contains(&"ocm") && names.contains(&"gardener") && !names.contains(&"kcp"),
            "{names:?}"
        );
    }

    #[test]
    fn on_a_hub_a_system_that_is_not_named_is_off() {
        let sources = |texts: &[&str]| only_named(texts.iter().map(|text| source(text).unwrap()).collect());
        for system in ["kcp", "ocm"] {
            assert_eq!(place(&sources(&[]), system), Place::Off);
        }
        assert_eq!(place(&sources(&["kcp=hub"]), "kcp"), Place::Hub);
        assert_eq!(place(&sources(&["ocm=owned"]), "ocm"), Place::Owned);
        assert_eq!(place(&sources(&["ocm=owned"]), "gardener"), Place::Off);
    }
}
