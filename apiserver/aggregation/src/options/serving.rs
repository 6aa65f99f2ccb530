//! Flags about the port, the serving certificate, and limits on requests.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use berth_apimachinery::duration::parse_unsigned;
use berth_apiserver::Limits;
use berth_certs::{CertsError, Folder, ServingCertificate};
use clap::Args;

/// Arguments about serving.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Serving")]
pub struct ServingArgs {
    /// Address to listen on.
    #[arg(long, default_value = "0.0.0.0")]
    pub bind_address: IpAddr,
    /// Port to listen on; 0 chooses a free port.
    #[arg(long, default_value_t = 6443)]
    pub secure_port: u16,
    /// Folder of the server's own CA and certificates; created when missing.
    #[arg(long, value_name = "FOLDER", default_value = "certificates")]
    pub cert_dir: PathBuf,
    /// Serving certificate (PEM) to use instead of a certificate of the server's own CA; reloaded when the
    /// file changes.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key (PEM) of --tls-cert-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Time for which the server keeps serving, unready, after a termination signal.
    #[arg(long, default_value = "0s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub shutdown_delay_duration: Duration,
    /// Maximum number of reads in flight; 0 is unlimited.
    #[arg(long, default_value_t = Limits::default().reads, value_name = "REQUESTS")]
    pub max_requests_inflight: usize,
    /// Maximum number of writes in flight; 0 is unlimited.
    #[arg(long, default_value_t = Limits::default().writes, value_name = "REQUESTS")]
    pub max_mutating_requests_inflight: usize,
}

impl ServingArgs {
    /// Returns the address and port to listen on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind_address, self.secure_port)
    }

    /// Returns the paths of the certificate and of its key, if the flags are set.
    #[must_use]
    pub fn files(&self) -> Option<(&Path, &Path)> {
        let (certificate, key) = (&self.tls_cert_file, &self.tls_private_key_file);
        certificate.as_deref().zip(key.as_deref())
    }

    /// Returns the limits on requests in flight.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.reads = self.max_requests_inflight;
        limits.writes = self.max_mutating_requests_inflight;
        limits
    }

    /// Reads the serving certificate, or issues one from the CA in `folder` for `names`.
    ///
    /// # Errors
    /// When files cannot be read, the certificate does not match the key, or no certificate can be issued.
    pub fn certificate(
        &self,
        folder: &Arc<Folder>,
        names: &[String],
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<ServingCertificate>, CertsError> {
        match self.files() {
            Some((certificate, key)) => {
                ServingCertificate::from_files(certificate.into(), key.into(), Arc::clone(clock))
            }
            None => ServingCertificate::issued(Arc::clone(folder), names, Arc::clone(clock)),
        }
    }
}
