//! Berth's own certificate authority, and the certificates that it issues.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use berth_apimachinery::Timestamp;
use jiff::SignedDuration;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls_pki_types::{CertificateDer, DnsName, PrivateKeyDer, UnixTime};

use crate::der;
use crate::error::CertsError;
use crate::files::{self, Access};
use crate::pem;

/// Validity of a CA.
pub const CA_LIFE: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
/// Validity of an issued certificate, unless another is requested.
pub const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Duration by which certificates are backdated, for clients whose clock is slow.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// An issued certificate with its key.
#[derive(Clone)]
pub struct IssuedCertificate {
    /// The certificate, in PEM.
    pub certificate: String,
    /// The key, in PEM: of a CA as PKCS #8, of other certificates as SEC 1.
    pub key: String,
}

impl std::fmt::Debug for IssuedCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedCertificate")
            .field("certificate", &self.certificate)
            .field("key", &"[withheld]")
            .finish()
    }
}

/// A CA that issues certificates: certificate and key.
pub struct Authority {
    pem: String,
    der: CertificateDer<'static>,
    not_after: Timestamp,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// Opens the CA in `<folder>/<stem>.crt` and `<folder>/<stem>.key`. If both files are missing, a CA
    /// (ECDSA P-256) is created.
    ///
    /// The key is written before the certificate, so a key without a certificate is from an interrupted
    /// start, and gets a certificate now. This is safe even if the certificate was lost for another reason:
    /// the new certificate has the same name and key, so that it also verifies certificates issued under the
    /// lost one.
    ///
    /// # Errors
    /// When files cannot be read or written, the key of the certificate is missing, the two do not match, or
    /// the CA has expired. No file is overwritten in these cases.
    pub fn open(folder: &Path, stem: &str, common_name: &str, now: Timestamp) -> Result<Self, CertsError> {
        let certificate_path = folder.join(format!("{stem}.crt"));
        let key_path = folder.join(format!("{stem}.key"));
        let certificate = files::read_if_exists(&certificate_path)?;
        let key = match (files::read_if_exists(&key_path)?, &certificate) {
            (Some(key), _) => {
                files::tighten(&key_path, Access::Owner)?;
                read_key(&key, &key_path)?
            }
            (None, Some(_)) => {
                return Err(CertsError::KeyMissing {
                    certificate: certificate_path,
                    key: key_path,
                });
            }
            (None, None) => {
                let key = generate(common_name)?;
                files::write(&key_path, key.serialize_pem().as_bytes(), Access::Owner)?;
                key
            }
        };
        let certificate = if let Some(certificate) = certificate {
            certificate
        } else {
            let text = self_signed(common_name, &key, now)?;
            files::write(&certificate_path, text.as_bytes(), Access::Everyone)?;
            text.into_bytes()
        };
        Self::load((&certificate, &certificate_path), (key, &key_path), now)
    }

    /// Opens the CA of the certificate and key in `pair`; `place` names their source in error messages.
    ///
    /// # Errors
    /// When the certificate or the key is damaged, the two do not match, or the CA has expired.
    pub fn from_pem(pair: &IssuedCertificate, place: &Path, now: Timestamp) -> Result<Self, CertsError> {
        let key = read_key(pair.key.as_bytes(), place)?;
        Self::load((pair.certificate.as_bytes(), place), (key, place), now)
    }

    fn load(certificate: (&[u8], &Path), key: (KeyPair, &Path), now: Timestamp) -> Result<Self, CertsError> {
        let (content, path) = certificate;
        let der = pem::certificates(content, path)?.swap_remove(0);
        let (_, parsed) = x509_parser::parse_x509_certificate(&der)
            .map_err(|problem| CertsError::malformed(path, format!("is not a certificate: {problem}")))?;
        if !parsed.is_ca() {
            return Err(CertsError::malformed(path, "is not the certificate of a CA"));
        }
        if parsed.public_key().raw != rcgen::PublicKeyData::subject_public_key_info(&key.0) {
            return Err(CertsError::Mismatch {
                certificate: path.to_owned(),
                key: key.1.to_owned(),
            });
        }
        let (_, not_after) = pem::validity(&der).map_err(|problem| CertsError::malformed(path, problem))?;
        if not_after <= now {
            return Err(CertsError::Expired {
                path: path.to_owned(),
                not_after,
            });
        }
        let issuer = Issuer::from_ca_cert_der(&der, key.0)
            .map_err(|problem| CertsError::malformed(path, problem.to_string()))?;
        let text = String::from_utf8(content.to_vec())
            .map_err(|_| CertsError::malformed(path, "is not PEM text"))?;
        Ok(Self {
            pem: text,
            der,
            not_after,
            issuer,
        })
    }

    /// Expiry of the CA.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Certificate of the CA, in PEM.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// Certificate of the CA, in DER.
    #[must_use]
    pub fn certificate_der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Issues a serving certificate for host names and IP addresses, valid for [`LEAF_LIFE`].
    ///
    /// # Errors
    /// When one of `names` is neither a host name nor an IP address, or the certificate cannot be issued.
    pub fn issue_server(&self, names: &[String], now: Timestamp) -> Result<IssuedCertificate, CertsError> {
        let mut params = leaf("berth", now, LEAF_LIFE)?;
        params.subject_alt_names = names
            .iter()
            .map(|name| alternative_name(name))
            .collect::<Result<_, _>>()?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = generate("berth")?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(issue_error("berth"))?;
        Ok(IssuedCertificate {
            certificate: certificate.pem(),
            key: key_pem(&key, "berth")?,
        })
    }

    /// Issues a client certificate for `user` (common name) in `groups` (organizations), valid for
    /// [`LEAF_LIFE`].
    ///
    /// # Errors
    /// When the certificate cannot be issued.
    pub fn issue_client(
        &self,
        user: &str,
        groups: &[String],
        now: Timestamp,
    ) -> Result<IssuedCertificate, CertsError> {
        self.issue_client_for(user, groups, now, LEAF_LIFE)
    }

    /// Issues a client certificate that is valid for `life`.
    ///
    /// # Errors
    /// When the certificate cannot be issued.
    pub fn issue_client_for(
        &self,
        user: &str,
        groups: &[String],
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<IssuedCertificate, CertsError> {
        let mut params = leaf(user, now, life)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = generate(user)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(issue_error(user))?;
        let final_certificate =
            der::with_subject(certificate.der(), &der::subject(user, groups), self.issuer.key())
                .map_err(|problem| issue_problem(user, problem))?;
        Ok(IssuedCertificate {
            certificate: pem::encode_certificate(&final_certificate),
            key: key_pem(&key, user)?,
        })
    }

    /// Whether `pair` is a client certificate of this CA for exactly `user` and `groups`, valid at `at`, with
    /// the matching key.
    #[must_use]
    pub fn verifies_client(
        &self,
        pair: &IssuedCertificate,
        user: &str,
        groups: &[String],
        at: Timestamp,
    ) -> bool {
        let place = Path::new("");
        let Ok(certificates) = pem::certificates(pair.certificate.as_bytes(), place) else {
            return false;
        };
        let Ok(key) = read_key(pair.key.as_bytes(), place) else {
            return false;
        };
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(&certificates[0]) else {
            return false;
        };
        let subject = parsed.subject();
        let names: Vec<_> = subject.iter_common_name().map(|name| name.as_str()).collect();
        let organizations: Vec<_> = subject.iter_organization().map(|name| name.as_str()).collect();
        let expected: Vec<_> = groups.iter().map(|group| Ok(group.as_str())).collect();
        names == [Ok(user)]
            && organizations == expected
            && parsed.public_key().raw == rcgen::PublicKeyData::subject_public_key_info(&key)
            && self.is_issued_and_valid(&certificates[0], at)
    }

    /// Whether a client certificate was issued by this CA and is valid at `at`.
    fn is_issued_and_valid(&self, certificate: &CertificateDer<'_>, at: Timestamp) -> bool {
        let (Ok(anchor), Ok(leaf), Ok(seconds)) = (
            webpki::anchor_from_trusted_cert(&self.der),
            webpki::EndEntityCert::try_from(certificate),
            u64::try_from(at.as_second()),
        ) else {
            return false;
        };
        leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            std::slice::from_ref(&anchor),
            &[],
            UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
            webpki::KeyUsage::client_auth(),
            None,
            None,
        )
        .is_ok()
    }
}

/// Creates the certificate and the key of a CA (ECDSA P-256).
///
/// # Errors
/// When the CA cannot be created.
pub fn generate_authority(common_name: &str, now: Timestamp) -> Result<IssuedCertificate, CertsError> {
    let key = generate(common_name)?;
    Ok(IssuedCertificate {
        certificate: self_signed(common_name, &key, now)?,
        key: key.serialize_pem(),
    })
}

fn issue_error(subject: &str) -> impl FnOnce(rcgen::Error) -> CertsError + '_ {
    move |problem| CertsError::Issue {
        subject: subject.to_owned(),
        problem: problem.to_string(),
    }
}

fn generate(subject: &str) -> Result<KeyPair, CertsError> {
    KeyPair::generate().map_err(issue_error(subject))
}

fn key_pem(key: &KeyPair, subject: &str) -> Result<String, CertsError> {
    pem::encode_key(&key.serialize_der()).map_err(|problem| issue_problem(subject, problem))
}

fn read_key(content: &[u8], path: &Path) -> Result<KeyPair, CertsError> {
    let malformed = |problem: String| {
        CertsError::malformed(path, format!("is not a private key that can sign: {problem}"))
    };
    let key = match pem::private_key(content, path)? {
        PrivateKeyDer::Sec1(key) => der::pkcs8_of(key.secret_sec1_der()).map_err(malformed)?,
        key => key.secret_der().to_vec(),
    };
    KeyPair::try_from(key).map_err(|problem| malformed(problem.to_string()))
}

fn self_signed(common_name: &str, key: &KeyPair, now: Timestamp) -> Result<String, CertsError> {
    let mut params = params_for(common_name);
    set_life(&mut params, now, CA_LIFE).map_err(|problem| issue_problem(common_name, problem))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    // By default the serial number depends only on the key, but a key may get a second certificate, whose
    // serial number has to differ.
    params.serial_number = Some(SerialNumber::from_slice(
        &now.as_microsecond().unsigned_abs().to_be_bytes(),
    ));
    params
        .self_signed(key)
        .map(|certificate| certificate.pem())
        .map_err(issue_error(common_name))
}

fn issue_problem(subject: &str, problem: String) -> CertsError {
    CertsError::Issue {
        subject: subject.to_owned(),
        problem,
    }
}

fn params_for(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    params.distinguished_name = subject;
    params
}

fn leaf(common_name: &str, now: Timestamp, life: SignedDuration) -> Result<CertificateParams, CertsError> {
    let mut params = params_for(common_name);
    set_life(&mut params, now, life).map_err(|problem| issue_problem(common_name, problem))?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn set_life(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) -> Result<(), String> {
    let out_of_range = |problem: jiff::Error| problem.to_string();
    let from = now.checked_sub(BACKDATE).map_err(out_of_range)?;
    let until = now.checked_add(life).map_err(out_of_range)?;
    let since_1970 = |instant: Timestamp| {
        u64::try_from(instant.as_second()).map_err(|_| "the clock is before 1970".to_owned())
    };
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(since_1970(from)?);
    params.not_after = epoch + Duration::from_secs(since_1970(until)?);
    Ok(())
}

fn alternative_name(name: &str) -> Result<SanType, CertsError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let bad_name = |problem: String| CertsError::BadName {
        name: name.to_owned(),
        problem,
    };
    let host = name.strip_prefix("*.").unwrap_or(name);
    DnsName::try_from(host).map_err(|problem| bad_name(problem.to_string()))?;
    let name = name
        .to_owned()
        .try_into()
        .map_err(|problem: rcgen::Error| bad_name(problem.to_string()))?;
    Ok(SanType::DnsName(name))
}

#[cfg(test)]
mod tests;
