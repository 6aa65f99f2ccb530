//! Flags about the hub. Flags have the names of k8s.io/apiserver where it has one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use berth_aggregation::delegation::Lookup;
use berth_aggregation::{CacheTimes, Kubeconfigs};
use berth_apimachinery::duration::parse_unsigned;
use berth_dialect_contract::Dialect;
use clap::Args;

use super::RegistrationArgs;
use crate::source::{Place, Source, place, source};

/// Arguments of `berth serve` behind a kube-apiserver.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Behind a kube-apiserver")]
pub struct HubArgs {
    /// Serve behind a kube-apiserver, as the Pod's service account where no kubeconfig is given.
    #[arg(long)]
    pub aggregated: bool,
    /// The kubeconfig for the hub; implies --aggregated.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Another kubeconfig, for TokenReviews and for reading extension-apiserver-authentication.
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Another kubeconfig, for asking who may do what.
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Do not read the ConfigMap kube-system/extension-apiserver-authentication; use only what flags say.
    #[arg(long)]
    pub authentication_skip_lookup: bool,
    /// Start although that ConfigMap cannot be read; requests through the aggregator get 401 until it can.
    #[arg(long)]
    pub authentication_tolerate_lookup_failure: bool,
    /// Places of the objects of systems: `gardener=hub` on the hub, `gardener=owned` in Berth's own store;
    /// `gardener=off`: nothing of that system is served. Standalone every system is `owned`; behind a
    /// kube-apiserver one that is not named is off. The namespaces that kcp places, and what it syncs in
    /// them, are the hub's even where `kcp=owned`. Repeatable.
    #[arg(long, value_parser = source, value_name = "SYSTEM=owned|hub|off")]
    pub source: Vec<Source>,
    /// Time for which results of TokenReviews are cached (such as 10s).
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authentication_token_webhook_cache_ttl: Duration,
    /// Time for which permissions are remembered.
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// Time for which refusals are remembered.
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that need no authorization; a trailing * matches any suffix.
    #[arg(
        long,
        value_delimiter = ',',
        default_values = berth_apiserver::authz::ALWAYS_ALLOWED,
        value_name = "PATHS"
    )]
    pub authorization_always_allow_paths: Vec<String>,
    /// Registration of Berth on the hub.
    #[command(flatten)]
    pub registration: RegistrationArgs,
}

impl HubArgs {
    /// Whether the objects of `dialect` are on the hub; the last flag about it counts.
    #[must_use]
    pub fn is_on_hub(&self, dialect: &str) -> bool {
        place(&self.source, dialect) == Place::Hub
    }

    /// Those of `dialects` that are not turned off.
    #[must_use]
    pub fn served(&self, mut dialects: Vec<Arc<dyn Dialect>>) -> Vec<Arc<dyn Dialect>> {
        dialects.retain(|dialect| place(&self.source, dialect.name()) != Place::Off);
        dialects
    }

    /// The namespace of Berth's own lock records on the hub.
    #[must_use]
    pub fn own_namespace(&self) -> &str {
        &self.registration.service_namespace
    }

    /// The kubeconfig files.
    #[must_use]
    pub fn kubeconfigs(&self) -> Kubeconfigs {
        Kubeconfigs {
            objects: self.kubeconfig.clone(),
            authentication: self.authentication_kubeconfig.clone(),
            authorization: self.authorization_kubeconfig.clone(),
        }
    }

    /// Whether the ConfigMap extension-apiserver-authentication is read.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        if self.authentication_skip_lookup {
            Lookup::Skipped
        } else if self.authentication_tolerate_lookup_failure {
            Lookup::Tolerated
        } else {
            Lookup::Required
        }
    }

    /// Times for which the hub's answers about users are cached.
    #[must_use]
    pub fn cache_times(&self) -> CacheTimes {
        CacheTimes {
            token: self.authentication_token_webhook_cache_ttl,
            authorized: self.authorization_webhook_cache_authorized_ttl,
            unauthorized: self.authorization_webhook_cache_unauthorized_ttl,
        }
    }

    /// Whether there is a hub at all.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        self.aggregated
            || [
                &self.kubeconfig,
                &self.authentication_kubeconfig,
                &self.authorization_kubeconfig,
            ]
            .into_iter()
            .any(Option::is_some)
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
        let said = |texts: &[&str]| only_named(texts.iter().map(|text| source(text).unwrap()).collect());
        for system in ["kcp", "ocm"] {
            assert_eq!(place(&said(&[]), system), Place::Off);
        }
        assert_eq!(place(&said(&["kcp=hub"]), "kcp"), Place::Hub);
        assert_eq!(place(&said(&["ocm=owned"]), "ocm"), Place::Owned);
        assert_eq!(place(&said(&["ocm=owned"]), "gardener"), Place::Off);
    }
}
