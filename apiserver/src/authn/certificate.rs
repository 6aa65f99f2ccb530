//! Parsed contents of a certificate.

use std::ops::RangeInclusive;

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Returns the validity of a certificate, in seconds since 1970; `None` when the certificate cannot be
/// parsed.
pub(crate) fn validity(certificate: &CertificateDer<'_>) -> Option<RangeInclusive<i64>> {
    let parsed = parse(certificate).ok()?;
    let validity = parsed.validity();
    Some(validity.not_before.timestamp()..=validity.not_after.timestamp())
}

/// Parses a certificate.
pub(super) fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, String> {
    match X509Certificate::from_der(certificate.as_ref()) {
        Ok((_, certificate)) => Ok(certificate),
        Err(problem) => Err(format!("the certificate cannot be read: {problem}")),
    }
}
