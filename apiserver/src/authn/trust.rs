//! Trusted CAs of client certificates and of front proxies. The CAs can be replaced at any time; connections
//! detect this by the generation.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderName;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};

use super::certificate;

/// CA certificates trusted for one purpose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaPool {
    anchors: Vec<TrustAnchor<'static>>,
    /// Validity of each CA, in seconds since 1970; trust anchors have no validity.
    validity: Vec<RangeInclusive<i64>>,
}

/// Reason why CA certificates or header names could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The text is not in PEM form.
    #[error("the text is not PEM: {0}")]
    Pem(String),
    /// There is no certificate.
    #[error("no certificate found; expected one or more PEM blocks labelled CERTIFICATE")]
    Empty,
    /// A certificate cannot be a trust anchor.
    #[error("certificate {position} cannot be used as a CA: {problem}")]
    Certificate {
        /// Position of the certificate, from 1.
        position: usize,
        /// Description of the problem.
        problem: webpki::Error,
    },
    /// A header name is invalid in HTTP.
    #[error("{0:?} is not a valid name of an HTTP header")]
    HeaderName(String),
    /// A CA is trusted both for users and for front proxies of any name: every user with a certificate could
    /// then act as any other user.
    #[error(
        "a CA of client certificates is a CA of front proxies too, so that every client certificate could name any user \
         in request headers: name the front proxies with --requestheader-allowed-names, or give them a CA of their own"
    )]
    Overlap,
}

impl CaPool {
    /// Reads one or more PEM certificates.
    ///
    /// # Errors
    /// When the text is not PEM, has no certificate, or has one that cannot be a CA.
    pub fn from_pem(pem: &[u8]) -> Result<Self, TrustError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|problem| TrustError::Pem(problem.to_string()))?;
        Self::from_certificates(&certificates)
    }

    /// Creates a pool of DER certificates.
    ///
    /// # Errors
    /// When there is no certificate, or one that cannot be a CA.
    pub fn from_certificates(certificates: &[CertificateDer<'_>]) -> Result<Self, TrustError> {
        if certificates.is_empty() {
            return Err(TrustError::Empty);
        }
        let anchors = certificates
            .iter()
            .enumerate()
            .map(|(index, certificate)| {
                webpki::anchor_from_trusted_cert(certificate)
                    .map(|anchor| anchor.to_owned())
                    .map_err(|problem| TrustError::Certificate {
                        position: index + 1,
                        problem,
                    })
            })
            .collect::<Result<_, _>>()?;
        let validity = certificates.iter().enumerate().map(|(index, certificate)| {
            certificate::validity(certificate).ok_or(TrustError::Certificate {
                position: index + 1,
                problem: webpki::Error::BadDer,
            })
        });
        Ok(Self {
            anchors,
            validity: validity.collect::<Result<_, _>>()?,
        })
    }

    /// Whether a CA of this pool is also in `other`.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let same = |a: &TrustAnchor<'_>, b: &TrustAnchor<'_>| {
            a.subject == b.subject && a.subject_public_key_info == b.subject_public_key_info
        };
        let mut anchors = self.anchors.iter();
        anchors.any(|anchor| other.anchors.iter().any(|theirs| same(anchor, theirs)))
    }

    /// Whether the pool has no CA.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Returns the trust anchors that are valid at `now` (seconds since 1970).
    pub(crate) fn anchors(&self, now: i64) -> Cow<'_, [TrustAnchor<'static>]> {
        if self.validity.iter().all(|valid| valid.contains(&now)) {
            return Cow::Borrowed(&self.anchors);
        }
        let all = self.anchors.iter().zip(&self.validity);
        all.filter(|(_, valid)| valid.contains(&now))
            .map(|(anchor, _)| anchor.clone())
            .collect()
    }

    /// Returns the validity of each CA, in seconds since 1970.
    pub(crate) fn validity(&self) -> &[RangeInclusive<i64>] {
        &self.validity
    }
}

/// Front proxies that may name users in headers, and the names of these headers.
#[derive(Clone, Debug)]
pub struct RequestHeaderTrust {
    /// The CAs of front proxies.
    pub ca: CaPool,
    /// The common names that front-proxy certificates may have; empty allows every one.
    pub allowed_names: Vec<String>,
    /// Headers with the user name; the first header with a value is used.
    pub username_headers: Vec<HeaderName>,
    /// Headers with the groups.
    pub group_headers: Vec<HeaderName>,
    /// Headers with the UID; none by default, as in kube-apiserver.
    pub uid_headers: Vec<HeaderName>,
    /// Prefixes of headers with extra attributes, in lower case (`x-remote-extra-`).
    pub extra_prefixes: Vec<String>,
}

impl RequestHeaderTrust {
    /// Creates a configuration that trusts `ca`, with the header names that kube-apiserver uses by default.
    #[must_use]
    pub fn new(ca: CaPool, allowed_names: Vec<String>) -> Self {
        Self {
            ca,
            allowed_names,
            username_headers: vec![HeaderName::from_static("x-remote-user")],
            group_headers: vec![HeaderName::from_static("x-remote-group")],
            uid_headers: Vec::new(),
            extra_prefixes: vec!["x-remote-extra-".to_owned()],
        }
    }

    /// Checks that users with certificates of the CAs `client` cannot act as front proxies: if the CAs
    /// overlap, the names of front proxies must be listed.
    ///
    /// # Errors
    /// When the CAs overlap and every name is allowed.
    pub fn check_separate_from(&self, client: &CaPool) -> Result<(), TrustError> {
        if self.allowed_names.is_empty() && self.ca.overlaps(client) {
            return Err(TrustError::Overlap);
        }
        Ok(())
    }

    /// Parses header names from flags or the hub's ConfigMap.
    ///
    /// # Errors
    /// The first name that is invalid in HTTP.
    pub fn header_names<S: AsRef<str>>(names: &[S]) -> Result<Vec<HeaderName>, TrustError> {
        names
            .iter()
            .map(|name| {
                let name = name.as_ref().trim();
                name.parse().map_err(|_| TrustError::HeaderName(name.to_owned()))
            })
            .collect()
    }
}

/// The trusted CAs at one time.
#[derive(Clone, Debug, Default)]
pub struct TrustState {
    /// Generation, which increases with every change.
    pub generation: u64,
    /// CAs of client certificates.
    pub client: CaPool,
    /// Front proxies that may name any user in headers.
    pub request_header: Option<RequestHeaderTrust>,
}

/// The trusted CAs of a server, which can be replaced while it runs.
#[derive(Debug, Default)]
pub struct Trust {
    state: ArcSwap<TrustState>,
}

impl Trust {
    /// Creates a configuration that trusts these CAs.
    #[must_use]
    pub fn new(client: CaPool, request_header: Option<RequestHeaderTrust>) -> Self {
        Self {
            state: ArcSwap::from_pointee(TrustState {
                generation: 1,
                client,
                request_header,
            }),
        }
    }

    /// Returns the CAs that are trusted now.
    #[must_use]
    pub fn current(&self) -> Arc<TrustState> {
        self.state.load_full()
    }

    /// Replaces the CAs of client certificates and of front proxies. The certificates of an open connection
    /// are verified again at the next request.
    pub fn replace(&self, client: &CaPool, request_header: Option<&RequestHeaderTrust>) {
        self.state.rcu(|old| TrustState {
            generation: old.generation + 1,
            client: client.clone(),
            request_header: request_header.cloned(),
        });
    }
}
