//! What the command line says about the hub. Flags have the names of k8s.io/apiserver where it has one.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::duration;

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
    /// Another kubeconfig, for asking whose token something is and reading whom the hub believes.
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Another kubeconfig, for asking who may do what.
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Do not read the ConfigMap kube-system/extension-apiserver-authentication; believe only what flags say.
    #[arg(long)]
    pub authentication_skip_lookup: bool,
    /// Start although that ConfigMap cannot be read; requests through the aggregator get 401 until it can.
    #[arg(long)]
    pub authentication_tolerate_lookup_failure: bool,
    /// How long to remember whose token something is (such as 10s).
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub authentication_token_webhook_cache_ttl: Duration,
    /// How long to remember that something is allowed.
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// How long to remember that something is not allowed.
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that need no rights; a trailing * stands for whatever follows.
    #[arg(
        long,
        value_delimiter = ',',
        default_values = apiserver::authz::ALWAYS_ALLOWED,
        value_name = "PATHS"
    )]
    pub authorization_always_allow_paths: Vec<String>,
}

impl HubArgs {
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
