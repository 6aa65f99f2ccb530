//! The serving certificate: reuse, renewal, reload.

use std::fs;

use berth_apimachinery::time::testing::SteppedClock;
use jiff::SignedDuration;

use super::*;
use crate::authority::LEAF_LIFE;

fn clock() -> Arc<SteppedClock> {
    Arc::new(SteppedClock::at("2026-11-21T12:00:00Z".parse().unwrap()))
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

fn issued(folder: &Path, clock: &Arc<SteppedClock>, list: &[&str]) -> Arc<ServingCertificate> {
    let folder = Arc::new(Folder::open(folder, clock.now()).unwrap());
    ServingCertificate::issued(folder, &names(list), Arc::clone(clock) as Arc<dyn Clock>).unwrap()
}

#[test]
fn a_restart_uses_the_same_certificate() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let first = issued(folder.path(), &clock, &["berth.example.com"]).certificate();
    clock.advance(SignedDuration::from_hours(24));
    assert_eq!(
        issued(folder.path(), &clock, &["berth.example.com"]).certificate(),
        first
    );
    assert_eq!(
        issued(folder.path(), &clock, &[]).certificate(),
        first,
        "it is for more names than asked for"
    );
}

#[test]
fn other_names_another_authority_and_damage_each_make_a_new_one() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let first = issued(folder.path(), &clock, &[]).certificate();
    let second = issued(folder.path(), &clock, &["10.1.2.3", "*.example.com"]).certificate();
    assert_ne!(first, second);
    assert_eq!(
        issued(folder.path(), &clock, &["10.1.2.3", "*.example.com"]).certificate(),
        second
    );

    fs::write(folder.path().join("serving.key"), "half a k").unwrap();
    let third = issued(folder.path(), &clock, &[]).certificate();
    assert_ne!(second, third);

    for file in ["ca.crt", "ca.key"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    assert_ne!(issued(folder.path(), &clock, &[]).certificate(), third);
}

#[test]
fn it_is_renewed_at_two_thirds_of_its_life_without_a_restart() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let serving = issued(folder.path(), &clock, &[]);
    let first = (serving.certificate(), serving.not_after());
    clock.advance(LEAF_LIFE * 2 / 3 - SignedDuration::from_hours(1));
    assert!(!serving.refresh().unwrap());
    assert_eq!(serving.certificate(), first.0);
    clock.advance(SignedDuration::from_hours(1));
    assert!(serving.refresh().unwrap());
    assert_ne!(serving.certificate(), first.0);
    assert!(serving.not_after() > first.1);
    assert!(!serving.refresh().unwrap());
    assert_eq!(
        issued(folder.path(), &clock, &[]).certificate(),
        serving.certificate(),
        "and kept for the next start"
    );
}

#[test]
fn one_that_cannot_be_stored_is_used_at_a_renewal_and_at_a_start() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let serving = issued(folder.path(), &clock, &[]);
    let first = serving.certificate();
    // A folder with the name of the temporary file makes the write fail, as a full disk does.
    let temporary = format!("serving.key.tmp{}", std::process::id());
    fs::create_dir(folder.path().join(temporary)).unwrap();
    clock.advance(LEAF_LIFE * 2 / 3);
    assert!(serving.refresh().unwrap());
    assert_ne!(serving.certificate(), first);
    let started = issued(folder.path(), &clock, &[]);
    assert_ne!(started.certificate(), first);
    assert!(started.not_after() > clock.now() + LEAF_LIFE * 2 / 3);
}

#[test]
fn an_expired_one_is_replaced_at_start() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let first = issued(folder.path(), &clock, &[]).certificate();
    clock.advance(LEAF_LIFE * 2);
    assert_ne!(issued(folder.path(), &clock, &[]).certificate(), first);
}

/// Two foreign pairs, and the files that contain one of them.
struct ForeignPairs {
    folder: tempfile::TempDir,
    clock: Arc<SteppedClock>,
    pairs: Vec<crate::IssuedCertificate>,
}

impl ForeignPairs {
    fn new() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
        let made = Folder::open(folder.path().join("ca"), clock.now()).unwrap();
        let pair = |_| {
            made.ca()
                .issue_server(&names(&["localhost"]), clock.now())
                .unwrap()
        };
        let pairs = (0..2).map(pair).collect();
        let given = Self { folder, clock, pairs };
        given.put_certificate(0);
        given.put_key(0);
        given
    }

    fn put_certificate(&self, pair: usize) {
        fs::write(self.folder.path().join("tls.crt"), &self.pairs[pair].certificate).unwrap();
    }

    fn put_key(&self, pair: usize) {
        fs::write(self.folder.path().join("tls.key"), &self.pairs[pair].key).unwrap();
    }

    fn open(&self) -> Result<Arc<ServingCertificate>, CertsError> {
        let path = |name| self.folder.path().join(name);
        ServingCertificate::from_files(
            path("tls.crt"),
            path("tls.key"),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        )
    }
}

#[test]
fn given_files_are_reloaded_only_as_a_pair_that_fits() {
    let given = ForeignPairs::new();
    let serving = given.open().unwrap();
    let first = serving.certificate();
    assert!(!serving.refresh().unwrap());

    given.put_certificate(1);
    let problem = serving.refresh().unwrap_err();
    assert!(matches!(problem, CertsError::Mismatch { .. }), "{problem}");
    assert_eq!(serving.certificate(), first);

    given.put_key(1);
    assert!(serving.refresh().unwrap());
    assert_ne!(serving.certificate(), first);

    fs::remove_file(given.folder.path().join("tls.key")).unwrap();
    let problem = serving.refresh().unwrap_err().to_string();
    assert!(problem.contains("tls.key"), "{problem}");
}

#[test]
fn given_files_that_do_not_fit_refuse_to_start() {
    let given = ForeignPairs::new();
    given.put_key(1);
    assert!(matches!(given.open().unwrap_err(), CertsError::Mismatch { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_background_task_takes_up_new_files() {
    let given = ForeignPairs::new();
    let serving = given.open().unwrap();
    let first = serving.certificate();
    let task = tokio::spawn(Arc::clone(&serving).keep_fresh());
    given.put_certificate(1);
    given.put_key(1);
    let deadline = tokio::time::Instant::now() + 3 * REFRESH_INTERVAL;
    while serving.certificate() == first {
        assert!(
            tokio::time::Instant::now() < deadline,
            "not taken up within three looks"
        );
        tokio::time::sleep(REFRESH_INTERVAL / 4).await;
    }
    task.abort();
}

#[test]
fn a_shared_ca_that_changes_gives_a_new_certificate_at_once() {
    let clock = clock();
    let authority = |name: &str| {
        let made = crate::authority::generate_authority(name, clock.now()).unwrap();
        Arc::new(crate::Authority::from_pem(&made, Path::new("here"), clock.now()).unwrap())
    };
    let (old, new) = (authority("old"), authority("new"));
    let names = ["berth.ns.svc".to_owned()];
    let serving = ServingCertificate::shared(Arc::clone(&old), &names, Arc::clone(&clock) as _).unwrap();
    let first = serving.certificate();
    clock.advance(SignedDuration::from_hours(1));
    assert!(!serving.adopt(old).unwrap(), "it is of that CA already");
    assert!(!serving.refresh().unwrap(), "it is young");
    assert_eq!(serving.certificate(), first);
    assert!(serving.adopt(new).unwrap());
    let second = serving.certificate();
    assert_ne!(second, first);
    clock.advance(LEAF_LIFE * 3 / 4);
    assert!(serving.refresh().unwrap(), "it is renewed in time");
    assert_ne!(serving.certificate(), second);
}
