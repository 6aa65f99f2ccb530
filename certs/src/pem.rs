//! Parsing and encoding of certificates and keys in PEM.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use berth_apimachinery::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::der;
use crate::error::CertsError;
use crate::files;

/// Returns every certificate in `content`, in order; `path` names the source in error messages.
///
/// # Errors
/// When the PEM is damaged or has no certificate.
pub fn certificates(content: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, CertsError> {
    let list: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    match list {
        Ok(list) if list.is_empty() => Err(CertsError::malformed(path, "has no PEM block CERTIFICATE")),
        Ok(list) => Ok(list),
        Err(problem) => Err(CertsError::malformed(path, format!("is not PEM: {problem}"))),
    }
}

/// Returns the first private key in `content` (PKCS #8, PKCS #1 or SEC 1); `path` names the source in error
/// messages.
///
/// # Errors
/// When the PEM is damaged or has no private key.
pub fn private_key(content: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, CertsError> {
    PrivateKeyDer::from_pem_slice(content).map_err(|problem| match problem {
        rustls_pki_types::pem::Error::NoItemsFound => CertsError::malformed(
            path,
            "has no PEM block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY",
        ),
        problem => CertsError::malformed(path, format!("is not PEM: {problem}")),
    })
}

/// Reads the CA certificates of a bundle file, each usable as a trust anchor.
///
/// # Errors
/// When the file cannot be read, has no certificate, or a certificate cannot be a trust anchor.
pub fn ca_bundle(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertsError> {
    let list = certificates(&files::read(path)?, path)?;
    for (index, certificate) in list.iter().enumerate() {
        webpki::anchor_from_trusted_cert(certificate).map_err(|problem| {
            CertsError::malformed(
                path,
                format!("certificate {} cannot be a CA: {problem}", index + 1),
            )
        })?;
    }
    Ok(list)
}

/// Parses a certificate chain and the private key of its first certificate, and checks that the two match.
/// The paths name the sources in error messages.
///
/// # Errors
/// When the chain or the key is damaged, or the two do not match.
pub fn certified_key(
    certificate: (&[u8], &Path),
    key: (&[u8], &Path),
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, CertsError> {
    let chain = certificates(certificate.0, certificate.1)?;
    let private = private_key(key.0, key.1)?;
    CertifiedKey::from_der(chain, private, provider)
        .map(Arc::new)
        .map_err(|problem| match problem {
            rustls::Error::InconsistentKeys(_) => CertsError::Mismatch {
                certificate: certificate.1.to_owned(),
                key: key.1.to_owned(),
            },
            problem @ rustls::Error::InvalidCertificate(_) => {
                CertsError::malformed(certificate.1, problem.to_string())
            }
            problem => CertsError::malformed(key.1, problem.to_string()),
        })
}

/// Error of reading the validity of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidityError {
    /// The bytes are not a certificate.
    #[error("is not a certificate: {0}")]
    NotACertificate(String),
    /// A date is out of range.
    #[error(
        "has a notBefore or notAfter date that is out of range: {0}; issue the certificate again with an earlier date"
    )]
    Time(String),
}

impl From<ValidityError> for String {
    fn from(error: ValidityError) -> Self {
        error.to_string()
    }
}

/// Returns the beginning and end of a certificate's validity.
///
/// # Errors
/// When the bytes are not an X.509 certificate, or a date is out of range.
pub fn validity(certificate: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), ValidityError> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|problem| ValidityError::NotACertificate(problem.to_string()))?;
    let instant = |time: x509_parser::time::ASN1Time| {
        Timestamp::from_second(time.timestamp()).map_err(|problem| ValidityError::Time(problem.to_string()))
    };
    Ok((
        instant(parsed.validity().not_before)?,
        instant(parsed.validity().not_after)?,
    ))
}

/// Encodes a certificate as PEM.
pub(crate) fn encode_certificate(der: &[u8]) -> String {
    encode("CERTIFICATE", der)
}

/// Encodes a PKCS #8 key as PEM: a key of an elliptic curve as SEC 1, since some clients support no other
/// form.
pub(crate) fn encode_key(pkcs8: &[u8]) -> Result<String, String> {
    Ok(match der::sec1_of(pkcs8)? {
        Some(sec1) => encode("EC PRIVATE KEY", &sec1),
        None => encode("PRIVATE KEY", pkcs8),
    })
}

fn encode(label: &str, der: &[u8]) -> String {
    const LINE: usize = 64;
    let mut text = format!("-----BEGIN {label}-----\n");
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, others) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = others;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
