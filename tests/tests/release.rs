//! The parts of `make release` that need no release build: notes, the list of what is linked, checksums.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("tests is in the workspace")
}

fn release(arguments: &[&str]) -> Output {
    let mut script = Command::new(root().join("deploy/release"));
    // The commit's time where there is no git, too.
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
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_notes_of_a_version_are_its_section_of_the_changelog_and_must_be_there() {
    let notes = ok(&["notes", "Unreleased"]);
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
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
fn the_sbom_names_every_linked_crate_with_its_checksum_and_nothing_that_only_tests_need() {
    let text = ok(&["sbom", "0.1.0"]);
    assert_eq!(
        text,
        ok(&["sbom", "0.1.0"]),
        "the same commit gives the same bytes"
    );
    let sbom: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sbom["spdxVersion"], "SPDX-2.3");
    assert_eq!(sbom["creationInfo"]["created"], "2026-01-01T00:00:00Z");
    let packages = sbom["packages"].as_array().unwrap();
    let ids: BTreeSet<&str> = packages
        .iter()
        .map(|one| one["SPDXID"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), packages.len(), "every package has an id of its own");
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        assert_ne!(package["licenseDeclared"], "NOASSERTION", "{name}");
        let sum = package["checksums"][0]["checksumValue"].as_str();
        match package["downloadLocation"].as_str().unwrap() {
            "NOASSERTION" => assert!(sum.is_none(), "{name} is ours"),
            _ => assert!(lock.contains(sum.unwrap()), "{name}"),
        }
    }
    let named = |name: &str| packages.iter().any(|one| one["name"] == name);
    assert!(named("redb") && named("berth") && named("etcd-client"));
    assert!(!named("berth-tests") && !named("berth-fuzz") && !named("windows-sys"));
    for relationship in sbom["relationships"].as_array().unwrap() {
        assert!(ids.contains(relationship["relatedSpdxElement"].as_str().unwrap()));
    }
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

#[test]
fn krew_installs_the_archive_that_the_sums_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("program"), "#!/bin/sh\necho hello\n").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let archive = at(&format!("berth-{version}-linux-x86_64.tar.gz"));
    ok(&["archive", &at("program"), &archive]);
    let bytes = std::fs::read(&archive).unwrap();
    ok(&["archive", &at("program"), &archive]);
    assert_eq!(
        bytes,
        std::fs::read(&archive).unwrap(),
        "the same files give the same bytes"
    );
    let mut tar = Command::new("tar");
    let listed = tar.args(["-tvzf", &archive]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].ends_with(" LICENSE") || lines[0].ends_with(" berth"),
        "{listed}"
    );
    assert!(lines.len() == 2 && listed.contains("-rwxr-xr-x"), "{listed}");
    ok(&["checksums", &folder.path().display().to_string()]);
    let mut manifests = Command::new(berth_tests::berth());
    let sums = at("SHA256SUMS");
    let url = "https://example.com/v1";
    let printed = manifests
        .args(["manifests", "krew", "--release-url", url, "--checksums", &sums])
        .output()
        .unwrap();
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let text = String::from_utf8(printed.stdout).unwrap();
    let plugin: Value = serde_saphyr::from_str(&text).unwrap();
    let platforms = plugin["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 1, "only x86-64 was built: {text}");
    assert_eq!(
        platforms[0]["uri"],
        format!("{url}/berth-{version}-linux-x86_64.tar.gz")
    );
    let sums = std::fs::read_to_string(sums).unwrap();
    assert!(sums.contains(platforms[0]["sha256"].as_str().unwrap()));
}
