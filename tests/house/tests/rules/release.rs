//! Parts of `make release` that need no build: notes and checksums.

use std::process::{Command, Output};

use berth_house::{read, root};

fn release(arguments: &[&str]) -> Output {
    let mut script = Command::new(root().join("deploy/release"));
    // The commit's time, so that the test does not need git.
    script.args(arguments).env("SOURCE_DATE_EPOCH", "1767225600");
    script.output().expect("bash runs")
}

fn ok(arguments: &[&str]) -> String {
    let output = release(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("notes are UTF-8")
}

#[test]
fn the_notes_of_a_version_are_its_section_of_the_changelog_and_must_be_there() {
    let notes = ok(&["notes", "Unreleased"]);
    let changelog = read(&root().join("CHANGELOG.md"));
    assert!(
        notes.starts_with("- ") && changelog.contains(notes.trim()),
        "{notes}"
    );
    assert!(!notes.contains("\n## "));
    let missing = release(&["notes", "9.9.9"]);
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no section \"## 9.9.9\""));
    assert_eq!(release(&["notes"]).status.code(), Some(2));
}

#[test]
fn the_checksums_of_a_release_notice_a_changed_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for name in ["berth-0.1.0-linux-x86_64", "NOTES.md"] {
        std::fs::write(folder.path().join(name), name).unwrap();
    }
    ok(&["checksums", out]);
    let check = || {
        let mut check = Command::new("sha256sum");
        check
            .args(["--check", "--strict", "SHA256SUMS"])
            .current_dir(folder.path());
        check.output().unwrap()
    };
    let checked = check();
    assert!(checked.status.success());
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout).matches(": OK").count(),
        2
    );
    std::fs::write(folder.path().join("NOTES.md"), "other").unwrap();
    assert!(!check().status.success());
}
