//! A run on a machine that lacks a program ends at once, with one sentence about the missing program.

use std::path::Path;
use std::process::{Command, Output};

use berth_house::{program, root};

/// Variable that is set where this test runs itself with an empty PATH.
const INNER: &str = "BERTH_HOUSE_INNER";

/// Runs `tests/needs` with only `folder` in PATH, which has the shell and no program that tests need.
fn needs(folder: &Path, programs: &[&str]) -> Output {
    let mut needs = Command::new("/bin/sh");
    needs
        .arg(root().join("tests/needs"))
        .args(programs)
        .env("PATH", folder);
    needs.output().expect("sh runs")
}

#[test]
fn all_that_is_missing_is_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let missing = needs(folder.path(), &["kubectl", "go"]);
    assert_eq!(missing.status.code(), Some(1));
    let errors = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for part in [
        "kubectl (Debian: kubernetes-client",
        " and go (Go 1.26",
        "install it",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
    let there = needs(Path::new("/bin:/usr/bin"), &["sh", "ls"]);
    assert!(there.status.success() && there.stderr.is_empty(), "{there:?}");
}

#[test]
fn the_run_ends_with_the_sentence_and_without_a_panic() {
    if std::env::var_os(INNER).is_some() {
        drop(program("kubectl"));
        unreachable!("the run has ended");
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("sh")).unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "the_run_ends_with_the_sentence_and_without_a_panic"]);
    let ended = again.env(INNER, "1").env("PATH", folder.path()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(
        errors.starts_with("error: these tests need kubectl") && errors.lines().count() == 1,
        "{errors}"
    );
    assert!(!String::from_utf8_lossy(&ended.stdout).contains("panicked"));
}
