//! Properties of a connection: the peer's address and certificates, and the results of verifying them.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use berth_apimachinery::Timestamp;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;

use super::trust::{CaPool, TrustState};
use super::x509::{self, Identity};

/// One client connection. Certificates are verified once, and again only when the trusted CAs change, or one
/// of the certificates or CAs starts or stops being valid.
#[derive(Debug)]
pub struct Connection {
    peer: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
    verdict: ArcSwapOption<Verdict>,
    /// Last result of [`Connection::certified_by`].
    last_ca_check: ArcSwapOption<CaCheck>,
    /// Place among the connections of unidentified peers; dropped when the peer is identified.
    unidentified_place: Mutex<Option<Box<dyn Debug + Send>>>,
}

/// Result of verifying the peer's certificate for one CA.
#[derive(Debug)]
struct CaCheck {
    ca: CaPool,
    /// Time of the next change of the validity of the certificates or of the CA, in seconds since 1970.
    next_change: i64,
    result: Result<(), PeerCertificateError>,
}

/// Reason why a CA does not certify a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerCertificateError {
    /// The peer has no certificate.
    #[error("a client certificate is required")]
    NoCertificate,
    /// The peer's certificate does not chain to the CA, or is not valid now.
    #[error("{0}")]
    Refused(String),
}

/// Result of verifying the peer's certificates under one generation of trust.
#[derive(Debug)]
pub(crate) struct Verdict {
    generation: u64,
    /// Time of the next change of the validity of the certificates or CAs, in seconds since 1970.
    next_change: i64,
    /// Client that the certificate names, or the reason why the certificate is not one of a client.
    pub(crate) client: Result<Arc<Identity>, String>,
    /// Whether the certificate is one of a front proxy, which may name users in headers, or the reason why
    /// not.
    pub(crate) front_proxy: Result<(), String>,
}

impl Connection {
    /// Creates a connection from `peer`, which presented `certificates` (leaf first) in the handshake.
    #[must_use]
    pub fn new(peer: SocketAddr, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            peer,
            certificates,
            verdict: ArcSwapOption::empty(),
            last_ca_check: ArcSwapOption::empty(),
            unidentified_place: Mutex::default(),
        }
    }

    /// Adds the place among the connections of unidentified peers, which is kept until the peer is
    /// identified.
    pub(crate) fn with_unidentified_place(self, unidentified_place: impl Debug + Send + 'static) -> Self {
        Self {
            unidentified_place: Mutex::new(Some(Box::new(unidentified_place))),
            ..self
        }
    }

    /// Records that the peer is identified: its certificate was verified, or a request of it was
    /// authenticated.
    pub(crate) fn mark_identified(&self) {
        self.unidentified_place.lock().take();
    }

    /// The peer's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Checks that the peer presented a client certificate of `ca`, for the program's own routes without
    /// authentication. The result for the last checked CA is cached.
    ///
    /// # Errors
    /// Reason why the CA does not certify the peer.
    pub fn certified_by(&self, ca: &CaPool, now: Timestamp) -> Result<(), PeerCertificateError> {
        let Some((leaf, intermediates)) = self.certificates.split_first() else {
            return Err(PeerCertificateError::NoCertificate);
        };
        let seconds = now.as_second();
        if let Some(known) = self.last_ca_check.load_full()
            && seconds < known.next_change
            && known.ca == *ca
        {
            return known.result.clone();
        }
        let result =
            x509::verify_chain(leaf, intermediates, ca, seconds).map_err(PeerCertificateError::Refused);
        if result.is_ok() {
            self.mark_identified();
        }
        self.last_ca_check.store(Some(Arc::new(CaCheck {
            ca: ca.clone(),
            next_change: x509::next_validity_change(&self.certificates, &[ca], seconds),
            result: result.clone(),
        })));
        result
    }

    /// Returns the result of verifying the peer's certificates under `trust`; `None` when the peer presented
    /// none.
    #[must_use]
    pub(crate) fn verdict(&self, trust: &TrustState, now: Timestamp) -> Option<Arc<Verdict>> {
        let (leaf, intermediates) = self.certificates.split_first()?;
        let seconds = now.as_second();
        if let Some(known) = self.verdict.load_full()
            && known.generation == trust.generation
            && seconds < known.next_change
        {
            return Some(known);
        }
        let front_proxies = trust.request_header.as_ref().map(|trust| &trust.ca);
        let pools: Vec<&CaPool> = front_proxies.into_iter().chain([&trust.client]).collect();
        let verdict = Arc::new(Verdict {
            generation: trust.generation,
            next_change: x509::next_validity_change(&self.certificates, &pools, seconds),
            client: x509::verify_client(leaf, intermediates, &trust.client, seconds),
            front_proxy: x509::verify_front_proxy(
                leaf,
                intermediates,
                trust.request_header.as_ref(),
                seconds,
            ),
        });
        self.verdict.store(Some(verdict.clone()));
        Some(verdict)
    }
}
