//! Flags about the registration on the hub: the server's Service, and its APIServices.

use clap::Args;

use crate::registration::Service;

/// Path of the file with the namespace of the Pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Arguments about the registration on the hub.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Registration on the hub")]
pub struct RegistrationArgs {
    /// Namespace of the Service through which the hub reaches the server [default: the namespace of the Pod,
    /// or `default`].
    #[arg(long)]
    pub service_namespace: Option<String>,
    /// Name of the Service through which the hub reaches the server [default: the name of the program].
    #[arg(long)]
    pub service_name: Option<String>,
    /// Port of the Service through which the hub reaches the server.
    #[arg(long, default_value_t = 443)]
    pub service_port: u16,
    /// Create missing APIServices. The caBundles of APIServices are kept up to date in any case, except with
    /// --tls-cert-file: the issuer of that certificate must set them.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub self_register: bool,
}

impl RegistrationArgs {
    /// Returns the Service of the program `name`.
    #[must_use]
    pub fn service(&self, name: &str) -> Service {
        let pod_namespace = || std::fs::read_to_string(NAMESPACE_FILE).map(|text| text.trim().to_owned());
        let namespace = self.service_namespace.clone();
        Service {
            name: self.service_name.clone().unwrap_or_else(|| name.to_owned()),
            namespace: namespace.unwrap_or_else(|| pod_namespace().unwrap_or_else(|_| "default".to_owned())),
            port: self.service_port,
        }
    }
}
