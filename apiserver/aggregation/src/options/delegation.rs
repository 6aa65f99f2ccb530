//! Flags about authentication and authorization by the hub, with the names of k8s.io/apiserver's flags.

use std::path::PathBuf;
use std::time::Duration;

use berth_apimachinery::duration::parse_unsigned;
use berth_apiserver::authz::ALWAYS_ALLOWED;
use clap::Args;

use crate::delegation::Lookup;
use crate::{CacheTimes, Kubeconfigs};

/// Arguments about the hub that authenticates and authorizes users.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Behind a kube-apiserver")]
pub struct DelegationArgs {
    /// Kubeconfig for requests to the hub.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Kubeconfig for TokenReviews and for reading extension-apiserver-authentication [default:
    /// --kubeconfig].
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Kubeconfig for SubjectAccessReviews [default: --kubeconfig].
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Do not read the ConfigMap kube-system/extension-apiserver-authentication; trust only the CAs of flags.
    #[arg(long)]
    pub authentication_skip_lookup: bool,
    /// Start even if the ConfigMap kube-system/extension-apiserver-authentication cannot be read. Until it
    /// can be read, requests through the aggregator get 401, unless --requestheader-client-ca-file is set.
    #[arg(long)]
    pub authentication_tolerate_lookup_failure: bool,
    /// Time for which results of TokenReviews are cached (such as 10s).
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authentication_token_webhook_cache_ttl: Duration,
    /// Time for which SubjectAccessReviews that allow a request are cached (such as 10s).
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// Time for which SubjectAccessReviews that do not allow a request are cached (such as 10s).
    #[arg(long, default_value = "10s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that need no authorization; a trailing * matches any suffix.
    #[arg(
        long,
        value_delimiter = ',',
        default_values = ALWAYS_ALLOWED,
        value_name = "PATHS"
    )]
    pub authorization_always_allow_paths: Vec<String>,
}

impl Default for DelegationArgs {
    fn default() -> Self {
        let times = CacheTimes::default();
        Self {
            kubeconfig: None,
            authentication_kubeconfig: None,
            authorization_kubeconfig: None,
            authentication_skip_lookup: false,
            authentication_tolerate_lookup_failure: false,
            authentication_token_webhook_cache_ttl: times.token,
            authorization_webhook_cache_authorized_ttl: times.authorized,
            authorization_webhook_cache_unauthorized_ttl: times.unauthorized,
            authorization_always_allow_paths: ALWAYS_ALLOWED.map(str::to_owned).into(),
        }
    }
}

impl DelegationArgs {
    /// Returns the kubeconfig files of the flags.
    #[must_use]
    pub fn kubeconfigs(&self) -> Kubeconfigs {
        Kubeconfigs {
            objects: self.kubeconfig.clone(),
            authentication: self.authentication_kubeconfig.clone(),
            authorization: self.authorization_kubeconfig.clone(),
        }
    }

    /// Whether a flag names a kubeconfig file.
    #[must_use]
    pub fn has_kubeconfig(&self) -> bool {
        let files = [
            &self.kubeconfig,
            &self.authentication_kubeconfig,
            &self.authorization_kubeconfig,
        ];
        files.into_iter().any(Option::is_some)
    }

    /// Returns whether the ConfigMap extension-apiserver-authentication is read, and must exist.
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

    /// Returns the times for which answers of the hub are cached.
    #[must_use]
    pub fn cache_times(&self) -> CacheTimes {
        CacheTimes {
            token: self.authentication_token_webhook_cache_ttl,
            authorized: self.authorization_webhook_cache_authorized_ttl,
            unauthorized: self.authorization_webhook_cache_unauthorized_ttl,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        delegation: DelegationArgs,
    }

    #[test]
    fn the_default_is_what_no_flags_mean() {
        let parsed = Flags::parse_from(["wardle"]).delegation;
        let default = DelegationArgs::default();
        assert_eq!(format!("{parsed:?}"), format!("{default:?}"));
    }
}
