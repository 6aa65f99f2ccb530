//! Client certificates: verification of the chain for a purpose, and the user that a certificate names.

use std::sync::Arc;
use std::time::Duration;

use berth_admission::UserInfo;
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest, Sha256};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage};
use x509_parser::prelude::X509Certificate;

use super::certificate::{parse, validity};
use super::trust::{CaPool, RequestHeaderTrust};

/// Key of the extra attribute with the fingerprint of the certificate, as in kube-apiserver.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// User that a verified client certificate names.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The user: the name is the common name of the certificate, and the groups are the organizations.
    pub(crate) user: UserInfo,
    /// Expiry of the certificate, in seconds since 1970.
    pub(crate) not_after: i64,
}

/// Checks that the certificate chains to a client CA, and returns the user that the certificate names.
pub(crate) fn verify_client(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    ca: &CaPool,
    now: i64,
) -> Result<Arc<Identity>, String> {
    verify_chain(leaf, intermediates, ca, now)?;
    let certificate = parse(leaf)?;
    let common_name = common_name(&certificate)?;
    if common_name.is_empty() {
        return Err("the certificate's subject has no common name, so it names no user".to_owned());
    }
    let groups = certificate
        .subject()
        .iter_organization()
        .map(|value| value.as_str().map(str::to_owned))
        .collect::<Result<_, _>>()
        .map_err(|problem| format!("an organization of the certificate's subject is not text: {problem}"))?;
    let fingerprint: String = Sha256::digest(leaf.as_ref())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut user = UserInfo {
        name: common_name,
        groups,
        ..UserInfo::default()
    };
    user.extra.insert(
        CREDENTIAL_ID.to_owned(),
        vec![format!("X509SHA256={fingerprint}")],
    );
    Ok(Arc::new(Identity {
        user,
        not_after: certificate.validity().not_after.timestamp(),
    }))
}

/// Checks that the certificate chains to a front-proxy CA, and has one of the allowed names if any are
/// configured.
pub(crate) fn verify_front_proxy(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    trust: Option<&RequestHeaderTrust>,
    now: i64,
) -> Result<(), String> {
    let trust = trust.ok_or("no front proxy is trusted")?;
    verify_chain(leaf, intermediates, &trust.ca, now)?;
    if trust.allowed_names.is_empty() {
        return Ok(());
    }
    let name = common_name(&parse(leaf)?)?;
    if trust.allowed_names.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "common name {name:?} is not among the allowed front-proxy names"
    ))
}

/// Returns the next time (seconds since 1970) at which one of the certificates, or of the CAs of `pools`,
/// starts or stops being valid; [`i64::MAX`] when there is none.
pub(crate) fn next_validity_change(certificates: &[CertificateDer<'_>], pools: &[&CaPool], now: i64) -> i64 {
    let periods = certificates.iter().filter_map(validity);
    let trusted = pools.iter().flat_map(|pool| pool.validity()).cloned();
    periods
        .chain(trusted)
        // A certificate is valid through its last second, so its validity changes one second later.
        .flat_map(|valid| [*valid.start(), valid.end().saturating_add(1)])
        .filter(|&instant| instant > now)
        .min()
        .unwrap_or(i64::MAX)
}

/// Checks that the certificate chains to `ca` and is a client certificate.
pub(crate) fn verify_chain(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    ca: &CaPool,
    now: i64,
) -> Result<(), String> {
    let refusal = |problem: webpki::Error| format!("verifying the client certificate failed: {problem}");
    let seconds = u64::try_from(now).map_err(|_| "the clock is before 1970".to_owned())?;
    let certificate = EndEntityCert::try_from(leaf).map_err(refusal)?;
    certificate
        .verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &ca.anchors(now),
            intermediates,
            UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
            KeyUsage::client_auth(),
            None,
            None,
        )
        .map(drop)
        .map_err(refusal)
}

/// Returns the last common name of the subject, or the empty string.
fn common_name(certificate: &X509Certificate<'_>) -> Result<String, String> {
    match certificate.subject().iter_common_name().last() {
        None => Ok(String::new()),
        Some(value) => value.as_str().map(str::to_owned).map_err(|problem| {
            format!("the common name of the certificate's subject is not text: {problem}")
        }),
    }
}
