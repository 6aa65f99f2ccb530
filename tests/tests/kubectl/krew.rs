//! `berth manifests krew`: the plugin's manifest for Krew, with the archives and checksums of a
//! release.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs a part of `deploy/release`, which must succeed.
fn release(arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut script = Command::new(root.join("deploy/release"));
    // The commit's time, also without git.
    let output = script
        .args(arguments)
        .env("SOURCE_DATE_EPOCH", "1767225600")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn krew_installs_the_archive_that_the_sums_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("program"), "#!/bin/sh\necho hello\n").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let archive = at(&format!("berth-{version}-linux-x86_64.tar.gz"));
    release(&["archive", &at("program"), &archive]);
    let bytes = std::fs::read(&archive).unwrap();
    release(&["archive", &at("program"), &archive]);
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
    release(&["checksums", &folder.path().display().to_string()]);
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
