//! Flags about Berth's registration on the hub.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_aggregation::registration::{Issuer, Service, SharedCaOptions};
use berth_apimachinery::duration::parse_unsigned;
use clap::Args;
use jiff::SignedDuration;

/// The annotation that requests a new CA before the current one is due for renewal.
const ROTATE_ANNOTATION: &str = "scheduling.berth.dev/rotate-ca";

/// Arguments about Berth's Service on the hub, and the CA that the hub trusts.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Registration on the hub")]
pub struct RegistrationArgs {
    /// The namespace of the Service through which the hub reaches Berth.
    #[arg(long, env = "BERTH_SERVICE_NAMESPACE", default_value = "berth-system")]
    pub service_namespace: String,
    /// The name of the Service through which the hub reaches Berth; it is also in the serving certificate.
    #[arg(long, default_value = "berth")]
    pub service_name: String,
    /// The port of the Service through which the hub reaches Berth.
    #[arg(long, default_value_t = 443)]
    pub service_port: u16,
    /// The Secret, in the namespace of the Service, of a CA that all servers share. The first server creates
    /// the CA, which is renewed automatically. If omitted, each server has its own CA in its data folder. An
    /// annotation `scheduling.berth.dev/rotate-ca` on the Secret requests a new CA early.
    #[arg(long, value_name = "NAME", conflicts_with = "tls_cert_file")]
    pub ca_secret: Option<String>,
    /// Duration of each of the three steps in which a new shared CA replaces the old one: trusted, signing,
    /// alone. A step takes at least 4s.
    #[arg(long, default_value = "10m", value_parser = parse_unsigned, value_name = "DURATION")]
    pub ca_rotation_step: Duration,
    /// The CA (PEM) of --tls-cert-file, which Berth sets as caBundle; read again when it changes. If omitted,
    /// another program, such as cert-manager, must set the caBundle for such a certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub ca_bundle_file: Option<PathBuf>,
    /// Create missing APIServices and webhook configurations. Requires the ClusterRole
    /// berth:self-registration (`berth manifests --self-register`).
    #[arg(long)]
    pub self_register: bool,
}

impl RegistrationArgs {
    /// The Service through which the hub reaches Berth.
    #[must_use]
    pub fn service(&self) -> Service {
        Service {
            name: self.service_name.clone(),
            namespace: self.service_namespace.clone(),
            port: self.service_port,
        }
    }

    /// Issuer of the serving certificate. `has_certificate_files` is true if the certificate comes from
    /// files.
    ///
    /// # Errors
    /// When `--ca-rotation-step` is too long.
    pub(crate) fn issuer(&self, has_certificate_files: bool) -> Result<Issuer> {
        Ok(
            match (&self.ca_secret, has_certificate_files, &self.ca_bundle_file) {
                (Some(secret), ..) => Issuer::Shared(SharedCaOptions {
                    secret: secret.clone(),
                    step: SignedDuration::try_from(self.ca_rotation_step).context("--ca-rotation-step")?,
                    rotate_annotation: ROTATE_ANNOTATION.to_owned(),
                }),
                (None, true, Some(file)) => Issuer::File(file.clone()),
                (None, true, None) => Issuer::External,
                (None, false, _) => Issuer::Own,
            },
        )
    }
}
