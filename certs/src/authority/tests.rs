//! Authorities: created once, stored, never overwritten.

use std::fs;

use rustls_pki_types::UnixTime;

use super::*;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn open(folder: &Path) -> Result<Authority, CertsError> {
    Authority::open(folder, "ca", "test-ca", now())
}

/// Parts of a certificate's subject, in order.
fn subject(issued: &IssuedCertificate) -> Vec<String> {
    let der = pem::certificates(issued.certificate.as_bytes(), Path::new("x"))
        .unwrap()
        .swap_remove(0);
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).unwrap();
    let attributes = parsed.subject().iter_attributes();
    attributes
        .map(|attribute| attribute.as_str().unwrap().to_owned())
        .collect()
}

fn verify(
    authority: &Authority,
    issued: &IssuedCertificate,
    usage: webpki::KeyUsage,
    at: Timestamp,
) -> Result<(), webpki::Error> {
    let der = pem::certificates(issued.certificate.as_bytes(), Path::new("x"))
        .unwrap()
        .swap_remove(0);
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at.as_second().unsigned_abs()));
    let anchor = webpki::anchor_from_trusted_cert(authority.certificate_der()).unwrap();
    let end_entity = webpki::EndEntityCert::try_from(&der).unwrap();
    let algorithms = webpki::ALL_VERIFICATION_ALGS;
    end_entity
        .verify_for_usage(algorithms, &[anchor], &[], at, usage, None, None)
        .map(|_| ())
}

#[test]
fn an_authority_is_made_once_and_then_reused() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).unwrap();
    let second = open(folder.path()).unwrap();
    assert_eq!(first.certificate_pem(), second.certificate_pem());
    let issued = second.issue_client("u", &[], now()).unwrap();
    verify(&first, &issued, webpki::KeyUsage::client_auth(), now()).unwrap();
}

#[cfg(unix)]
#[test]
fn the_key_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).unwrap();
    let mode = fs::metadata(folder.path().join("ca.key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_client_certificate_carries_the_user_and_every_group() {
    let folder = tempfile::tempdir().unwrap();
    let authority = open(folder.path()).unwrap();
    let groups = ["system:masters", "b", "c", "a \u{e4}"].map(str::to_owned);
    let issued = authority.issue_client("jane", &groups, now()).unwrap();
    assert_eq!(subject(&issued), ["system:masters", "b", "c", "a \u{e4}", "jane"]);
    verify(&authority, &issued, webpki::KeyUsage::client_auth(), now()).unwrap();
    assert!(verify(&authority, &issued, webpki::KeyUsage::server_auth(), now()).is_err());
    let key = issued.key.as_bytes();
    let provider = crate::Folder::provider();
    pem::certified_key(
        (issued.certificate.as_bytes(), Path::new("c")),
        (key, Path::new("k")),
        &provider,
    )
    .unwrap();
}

#[test]
fn many_and_long_groups_fit() {
    let folder = tempfile::tempdir().unwrap();
    let authority = open(folder.path()).unwrap();
    let groups: Vec<String> = (0..200)
        .map(|number| format!("group-{number}-{}", "x".repeat(100)))
        .collect();
    let issued = authority.issue_client("jane", &groups, now()).unwrap();
    assert_eq!(subject(&issued).len(), 201);
    verify(&authority, &issued, webpki::KeyUsage::client_auth(), now()).unwrap();
}

#[test]
fn a_certificate_ends_after_a_year_and_begins_a_little_early() {
    let folder = tempfile::tempdir().unwrap();
    let authority = open(folder.path()).unwrap();
    let issued = authority.issue_client("jane", &[], now()).unwrap();
    let usage = webpki::KeyUsage::client_auth;
    verify(&authority, &issued, usage(), now() - SignedDuration::from_mins(4)).unwrap();
    verify(&authority, &issued, usage(), now() + LEAF_LIFE).unwrap();
    let late = now() + LEAF_LIFE + SignedDuration::from_secs(1);
    assert!(verify(&authority, &issued, usage(), late).is_err());
}

#[test]
fn certificates_of_one_authority_are_not_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let ours = open(folder.path()).unwrap();
    let other = Authority::open(folder.path(), "front-proxy-ca", "other-ca", now()).unwrap();
    let issued = ours.issue_client("jane", &[], now()).unwrap();
    assert!(verify(&other, &issued, webpki::KeyUsage::client_auth(), now()).is_err());
}

#[test]
fn a_lost_certificate_is_made_again_of_the_key_and_vouches_for_what_was_issued() {
    let folder = tempfile::tempdir().unwrap();
    let issued = open(folder.path())
        .unwrap()
        .issue_client("jane", &[], now())
        .unwrap();
    fs::remove_file(folder.path().join("ca.crt")).unwrap();
    let again = open(folder.path()).unwrap();
    verify(&again, &issued, webpki::KeyUsage::client_auth(), now()).unwrap();
}

#[test]
fn a_certificate_without_its_key_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("ca.key")).unwrap();
    let problem = open(folder.path()).unwrap_err();
    assert!(matches!(problem, CertsError::KeyMissing { .. }), "{problem}");
    assert!(problem.to_string().contains("ca.key"));
    assert_eq!(
        fs::read_to_string(folder.path().join("ca.crt")).unwrap(),
        first.certificate_pem()
    );
}

#[test]
fn a_pair_that_does_not_fit_and_an_expired_one_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).unwrap();
    Authority::open(folder.path(), "other", "x", now()).unwrap();
    let late = now() + CA_LIFE + SignedDuration::from_secs(1);
    let expired = Authority::open(folder.path(), "ca", "test-ca", late).unwrap_err();
    assert!(matches!(expired, CertsError::Expired { .. }), "{expired}");
    fs::copy(folder.path().join("other.key"), folder.path().join("ca.key")).unwrap();
    let mismatch = open(folder.path()).unwrap_err();
    assert!(matches!(mismatch, CertsError::Mismatch { .. }), "{mismatch}");
}

#[test]
fn damaged_files_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let authority = open(folder.path()).unwrap();
    let leaf = authority.issue_server(&["localhost".to_owned()], now()).unwrap();
    for (file, content, words) in [
        ("ca.crt", "", "has no PEM block CERTIFICATE"),
        (
            "ca.crt",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "is not a certificate",
        ),
        ("ca.crt", leaf.certificate.as_str(), "not the certificate of a CA"),
        ("ca.key", "rubbish", "has no PEM block PRIVATE KEY"),
    ] {
        let path = folder.path().join(file);
        let good = fs::read(&path).unwrap();
        fs::write(&path, content).unwrap();
        let problem = open(folder.path()).unwrap_err().to_string();
        assert!(problem.contains(file) && problem.contains(words), "{problem}");
        fs::write(&path, good).unwrap();
    }
}

#[test]
fn names_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let authority = open(folder.path()).unwrap();
    for bad in ["a b", "", "http://x", "*", "x/y"] {
        let problem = authority.issue_server(&[bad.to_owned()], now()).unwrap_err();
        assert!(matches!(problem, CertsError::BadName { .. }), "{bad}: {problem}");
    }
    let good = ["a.example.com", "*.example.com", "10.0.0.1", "fe80::1"].map(str::to_owned);
    authority.issue_server(&good, now()).unwrap();
}

#[test]
fn a_client_is_known_by_ca_subject_key_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::open(folder.path(), "ca", "ours", now()).unwrap();
    let theirs = Authority::open(folder.path(), "other", "ours", now()).unwrap();
    let groups = ["masters".to_owned()];
    let life = SignedDuration::from_hours(1);
    let pair = ours.issue_client_for("jane", &groups, now(), life).unwrap();
    assert!(ours.verifies_client(&pair, "jane", &groups, now() + life));
    assert!(!ours.verifies_client(
        &pair,
        "jane",
        &groups,
        now() + life + SignedDuration::from_secs(1)
    ));
    assert!(!ours.verifies_client(&pair, "joan", &groups, now()));
    assert!(!ours.verifies_client(&pair, "jane", &[], now()));
    assert!(!theirs.verifies_client(&pair, "jane", &groups, now()));
    let other = ours.issue_client("jane", &groups, now()).unwrap();
    let mixed = IssuedCertificate {
        key: other.key,
        ..pair
    };
    assert!(!ours.verifies_client(&mixed, "jane", &groups, now()));
}
