//! The certificate for new connections. While the server runs, it is renewed before it expires, or reloaded
//! when the files with it change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use berth_apimachinery::{Clock, Timestamp};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::authority::Authority;
use crate::error::CertsError;
use crate::files::{self, Access};
use crate::folder::Folder;
use crate::pem;

/// Interval of checks in [`ServingCertificate::keep_fresh`]. It is short because a check is cheap, and a
/// change of the system clock is noticed within the interval.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// A serving certificate that is kept current. Open connections keep the certificate of their handshake.
pub struct ServingCertificate {
    current: ArcSwap<ParsedCertificate>,
    origin: Origin,
    clock: Arc<dyn Clock>,
}

/// A certificate chain with the private key, parsed and in PEM.
struct ParsedCertificate {
    key: Arc<CertifiedKey>,
    /// The certificate (chain) in PEM.
    certificate: Vec<u8>,
    /// The private key in PEM.
    private: Vec<u8>,
    not_before: Timestamp,
    not_after: Timestamp,
}

/// Origin of a serving certificate.
enum Origin {
    /// Issued by the CA of `folder` for `names`, and stored in `serving.{crt,key}`.
    Issued { folder: Arc<Folder>, names: Vec<String> },
    /// Issued for `names` by a CA that several servers share; not stored.
    Shared {
        authority: ArcSwap<Authority>,
        names: Vec<String>,
    },
    /// Read from files that another program writes.
    Files { certificate: PathBuf, key: PathBuf },
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingCertificate")
            .field("not_after", &self.not_after())
            .finish_non_exhaustive()
    }
}

impl ServingCertificate {
    /// Returns a certificate of the folder's CA for localhost, 127.0.0.1, ::1 and `names` (host names and IP
    /// addresses). The stored certificate is reused if it is undamaged, of this CA and for all these names,
    /// and less than two thirds of its validity are over; otherwise it is replaced. A new certificate that
    /// cannot be stored, such as on a full disk, is used until the server stops.
    ///
    /// # Errors
    /// When one of `names` is invalid, or the files cannot be read.
    pub fn issued(
        folder: Arc<Folder>,
        names: &[String],
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, CertsError> {
        let all = with_loopback(names);
        let now = clock.now();
        let current = match reusable(&folder, &all, now)? {
            Some(current) => current,
            None => issue(&folder, &all, now)?,
        };
        let origin = Origin::Issued { folder, names: all };
        Ok(Arc::new(Self {
            current: ArcSwap::from_pointee(current),
            origin,
            clock,
        }))
    }

    /// Issues a certificate of a CA that several servers share, for localhost, 127.0.0.1, ::1 and `names`.
    /// The certificate is not stored, so that each start issues one.
    ///
    /// # Errors
    /// When one of `names` is invalid.
    pub fn shared(
        authority: Arc<Authority>,
        names: &[String],
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, CertsError> {
        let names = with_loopback(names);
        let current = sign(&authority, &names, clock.now())?;
        let authority = ArcSwap::new(authority);
        Ok(Arc::new(Self {
            current: ArcSwap::from_pointee(current),
            origin: Origin::Shared { authority, names },
            clock,
        }))
    }

    /// Issues a certificate of `next`, unless the certificate in use is already of that CA. Returns whether a
    /// certificate was issued. Only certificates from [`ServingCertificate::shared`] can change their CA.
    ///
    /// # Errors
    /// When the certificate cannot be issued; the old one stays in use.
    pub fn adopt(&self, next: Arc<Authority>) -> Result<bool, CertsError> {
        let Origin::Shared { authority, names } = &self.origin else {
            return Ok(false);
        };
        if authority.load().certificate_der() == next.certificate_der() {
            return Ok(false);
        }
        let current = sign(&next, names, self.clock.now())?;
        authority.store(next);
        self.current.store(Arc::new(current));
        Ok(true)
    }

    /// Reads the certificate (chain) and key of two PEM files.
    ///
    /// # Errors
    /// When the files cannot be read or do not match.
    pub fn from_files(
        certificate: PathBuf,
        key: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, CertsError> {
        let current = load(&certificate, &key)?;
        let origin = Origin::Files { certificate, key };
        Ok(Arc::new(Self {
            current: ArcSwap::from_pointee(current),
            origin,
            clock,
        }))
    }

    /// Expiry of the certificate in use.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.current.load().not_after
    }

    /// The certificate in use.
    #[must_use]
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.current.load().key.cert[0].clone()
    }

    /// Checks the certificate once: issues a new one if two thirds of the validity are over, or loads changed
    /// files. Returns whether there is a new certificate. The function reads and writes files, so it blocks.
    ///
    /// # Errors
    /// Reason why the new certificate cannot be used; the old one stays in use.
    pub fn refresh(&self) -> Result<bool, CertsError> {
        let next = match &self.origin {
            Origin::Issued { folder, names } => {
                let now = self.clock.now();
                if !self.current.load().is_due(now) {
                    return Ok(false);
                }
                issue(folder, names, now)?
            }
            Origin::Shared { authority, names } => {
                let now = self.clock.now();
                if !self.current.load().is_due(now) {
                    return Ok(false);
                }
                sign(&authority.load(), names, now)?
            }
            Origin::Files { certificate, key } => {
                let current = self.current.load();
                let content = (files::read(certificate)?, files::read(key)?);
                if content.0 == current.certificate && content.1 == current.private {
                    return Ok(false);
                }
                ParsedCertificate::new((content.0, certificate), (content.1, key))?
            }
        };
        self.current.store(Arc::new(next));
        Ok(true)
    }

    /// Calls [`ServingCertificate::refresh`] every minute until the future is dropped. After an error, such
    /// as files that do not match while they are being replaced, the old certificate stays in use. A lasting
    /// error is logged once.
    pub async fn keep_fresh(self: Arc<Self>) {
        let mut last_problem = None;
        loop {
            tokio::time::sleep(REFRESH_INTERVAL).await;
            let this = Arc::clone(&self);
            let outcome = tokio::task::spawn_blocking(move || this.refresh()).await;
            let problem = match outcome {
                Ok(Ok(false)) => None,
                Ok(Ok(true)) => {
                    tracing::info!(not_after = %self.not_after(), "serving certificate replaced");
                    None
                }
                Ok(Err(problem)) => Some(problem.to_string()),
                Err(problem) => Some(problem.to_string()),
            };
            if let Some(problem) = &problem
                && last_problem.as_ref() != Some(problem)
            {
                tracing::error!(%problem, "cannot renew the serving certificate; keeping the current one");
            }
            last_problem = problem;
        }
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.load().key))
    }
}

impl ParsedCertificate {
    fn new(certificate: (Vec<u8>, &Path), private: (Vec<u8>, &Path)) -> Result<Self, CertsError> {
        let key = pem::certified_key(
            (&certificate.0, certificate.1),
            (&private.0, private.1),
            &Folder::provider(),
        )?;
        let (not_before, not_after) =
            pem::validity(&key.cert[0]).map_err(|problem| CertsError::malformed(certificate.1, problem))?;
        Ok(Self {
            key,
            certificate: certificate.0,
            private: private.0,
            not_before,
            not_after,
        })
    }

    /// Whether two thirds of the certificate's validity are over.
    fn is_due(&self, now: Timestamp) -> bool {
        let life = self.not_after.duration_since(self.not_before);
        now.duration_since(self.not_before) >= life * 2 / 3
    }
}

fn load(certificate: &Path, key: &Path) -> Result<ParsedCertificate, CertsError> {
    ParsedCertificate::new((files::read(certificate)?, certificate), (files::read(key)?, key))
}

fn paths(folder: &Folder) -> (PathBuf, PathBuf) {
    (
        folder.path().join("serving.crt"),
        folder.path().join("serving.key"),
    )
}

/// The stored serving certificate of `folder`; `None` if it is missing or has to be replaced.
fn reusable(
    folder: &Folder,
    names: &[String],
    now: Timestamp,
) -> Result<Option<ParsedCertificate>, CertsError> {
    let (certificate, key) = paths(folder);
    let (Some(content), Some(private)) = (files::read_if_exists(&certificate)?, files::read_if_exists(&key)?)
    else {
        return Ok(None);
    };
    match ParsedCertificate::new((content, &certificate), (private, &key)) {
        Ok(current) if current.is_due(now) || !serves(&current, folder, names, now) => Ok(None),
        Ok(current) => Ok(Some(current)),
        // The pair was written incompletely, or edited. Only this server depends on the pair, so it is issued
        // again.
        Err(problem) => {
            tracing::warn!(%problem, "the stored serving certificate cannot be used; issuing a new one");
            Ok(None)
        }
    }
}

/// Whether `current` is issued by the CA of `folder`, valid at `now`, and valid for all of `names`.
fn serves(current: &ParsedCertificate, folder: &Folder, names: &[String], now: Timestamp) -> bool {
    let Ok(anchor) = webpki::anchor_from_trusted_cert(folder.ca().certificate_der()) else {
        return false;
    };
    let Ok(end_entity) = webpki::EndEntityCert::try_from(&current.key.cert[0]) else {
        return false;
    };
    let Ok(seconds) = u64::try_from(now.as_second()) else {
        return false;
    };
    let issued_here = end_entity.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        std::slice::from_ref(&anchor),
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        webpki::KeyUsage::server_auth(),
        None,
        None,
    );
    if issued_here.is_err() {
        return false;
    }
    names.iter().all(
        |name| match rustls_pki_types::ServerName::try_from(name.as_str()) {
            Ok(name) => end_entity.verify_is_valid_for_subject_name(&name).is_ok(),
            // A wildcard is not a valid server name, so it is compared with the names of the certificate as
            // text.
            Err(_) => end_entity.valid_dns_names().any(|dns_name| dns_name == name),
        },
    )
}

fn with_loopback(names: &[String]) -> Vec<String> {
    let mut all: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    for name in names {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

fn sign(authority: &Authority, names: &[String], now: Timestamp) -> Result<ParsedCertificate, CertsError> {
    let issued = authority.issue_server(names, now)?;
    let place = Path::new("the serving certificate of the shared CA");
    ParsedCertificate::new(
        (issued.certificate.into_bytes(), place),
        (issued.key.into_bytes(), place),
    )
}

/// Issues a certificate and stores it for the next start. A certificate that cannot be stored is returned,
/// too: a full disk must neither let the certificate in use expire nor prevent a start.
fn issue(folder: &Folder, names: &[String], now: Timestamp) -> Result<ParsedCertificate, CertsError> {
    let issued = folder.ca().issue_server(names, now)?;
    let (certificate, key) = paths(folder);
    let stored = files::write(&key, issued.key.as_bytes(), Access::Owner)
        .and_then(|()| files::write(&certificate, issued.certificate.as_bytes(), Access::Everyone));
    if let Err(problem) = stored {
        tracing::warn!(%problem, "cannot store the new serving certificate: it is used until the server stops, and the next start issues another");
    }
    ParsedCertificate::new(
        (issued.certificate.into_bytes(), &certificate),
        (issued.key.into_bytes(), &key),
    )
}

#[cfg(test)]
mod tests;
