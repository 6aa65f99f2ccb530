//! Change of a CA, step by step.

use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::*;

const STEP: SignedDuration = SignedDuration::from_mins(10);

fn at(minutes: i64) -> Timestamp {
    let start: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
    start.checked_add(SignedDuration::from_mins(minutes)).unwrap()
}

fn place() -> &'static Path {
    Path::new("the Secret s")
}

fn conditions(minutes: i64) -> StepConditions {
    StepConditions {
        now: at(minutes),
        min_duration: STEP,
        is_bundle_trusted: true,
        is_requested: false,
    }
}

/// Whether a holder of `bundle` trusts a certificate that `shared` signed.
fn trusts(bundle: &str, shared: &SharedAuthorities, now: Timestamp) -> bool {
    let authority = shared.authority(place(), now).unwrap();
    let issued = authority.issue_server(&["berth.ns.svc".to_owned()], now).unwrap();
    let anchors = pem::certificates(bundle.as_bytes(), place()).unwrap();
    let anchors: Vec<_> = anchors
        .iter()
        .map(|anchor| webpki::anchor_from_trusted_cert(anchor).unwrap())
        .collect();
    let leaf: Vec<CertificateDer<'static>> =
        pem::certificates(issued.certificate.as_bytes(), place()).unwrap();
    let leaf = webpki::EndEntityCert::try_from(&leaf[0]).unwrap();
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(
        u64::try_from(now.as_second()).unwrap(),
    ));
    let name = ServerName::try_from("berth.ns.svc").unwrap();
    leaf.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        &anchors,
        &[],
        time,
        webpki::KeyUsage::server_auth(),
        None,
        None,
    )
    .is_ok()
        && leaf.verify_is_valid_for_subject_name(&name).is_ok()
}

#[test]
fn a_rotation_goes_step_by_step_and_nobody_loses_trust() {
    let first = SharedAuthorities::generate(at(0)).unwrap();
    assert!(first.next_step(&conditions(60), place()).unwrap().is_none());
    let requested = StepConditions {
        is_requested: true,
        ..conditions(60)
    };
    let (step, announced) = first.next_step(&requested, place()).unwrap().unwrap();
    assert_eq!(step, Step::Announced);
    assert!(announced.is_rotating());

    // The step is neither early nor before all clients trust the bundle.
    assert!(announced.next_step(&conditions(69), place()).unwrap().is_none());
    let untrusted = StepConditions {
        is_bundle_trusted: false,
        ..conditions(600)
    };
    assert!(announced.next_step(&untrusted, place()).unwrap().is_none());
    let (step, taken) = announced.next_step(&conditions(70), place()).unwrap().unwrap();
    assert_eq!(step, Step::TookOver);

    assert!(taken.next_step(&conditions(79), place()).unwrap().is_none());
    let (step, last) = taken.next_step(&conditions(80), place()).unwrap().unwrap();
    assert_eq!(step, Step::Dropped);
    assert!(!last.is_rotating());
    assert!(last.next_step(&conditions(90), place()).unwrap().is_none());

    // A holder that is one step behind still trusts and is still trusted.
    let steps = [&first, &announced, &taken, &last];
    for pair in steps.windows(2) {
        assert!(
            trusts(&pair[0].bundle(), pair[1], at(90)),
            "clients a step behind"
        );
        assert!(
            trusts(&pair[1].bundle(), pair[0], at(90)),
            "servers a step behind"
        );
    }
    assert!(!trusts(&last.bundle(), &first, at(90)), "the old one is gone");
    assert!(!trusts(&first.bundle(), &last, at(90)));
}

#[test]
fn a_ca_is_replaced_after_two_thirds_of_its_life() {
    let shared = SharedAuthorities::generate(at(0)).unwrap();
    let days = |days: i64| conditions(days * 24 * 60);
    assert!(shared.next_step(&days(365 * 6), place()).unwrap().is_none());
    let (step, _) = shared.next_step(&days(365 * 7), place()).unwrap().unwrap();
    assert_eq!(step, Step::Announced);
}

#[test]
fn what_is_written_is_read_back_at_every_step() {
    let first = SharedAuthorities::generate(at(0)).unwrap();
    let requested = StepConditions {
        is_requested: true,
        ..conditions(0)
    };
    let (_, announced) = first.next_step(&requested, place()).unwrap().unwrap();
    let (_, taken) = announced.next_step(&conditions(10), place()).unwrap().unwrap();
    for shared in [first, announced, taken] {
        let data = shared.write();
        let read = SharedAuthorities::read(&data, place()).unwrap().unwrap();
        assert_eq!(read.write(), data);
        assert_eq!(data[BUNDLE], shared.bundle().into_bytes());
    }
}

#[test]
fn what_is_damaged_is_never_replaced_by_itself() {
    assert!(
        SharedAuthorities::read(&BTreeMap::new(), place())
            .unwrap()
            .is_none()
    );
    let whole = SharedAuthorities::generate(at(0)).unwrap().write();
    for name in ["current.crt", "current.key", "since"] {
        let mut data = whole.clone();
        data.remove(name);
        let problem = SharedAuthorities::read(&data, place()).unwrap_err().to_string();
        assert!(
            problem.starts_with("the Secret s: ") && problem.contains(name),
            "{problem}"
        );
    }
    let mut data = whole.clone();
    data.insert("current.key".to_owned(), vec![0xff]);
    assert!(SharedAuthorities::read(&data, place()).is_err());
    data.insert("current.key".to_owned(), b"no key".to_vec());
    let read = SharedAuthorities::read(&data, place()).unwrap().unwrap();
    assert!(read.authority(place(), at(0)).is_err());
}
