//! The document of this workspace, and of a small one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_sbom::{Release, document};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn printed() -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_berth-sbom"));
    let output = program
        .args(["0.1.0", "2026-01-01T00:00:00Z"])
        .current_dir(root())
        .output()
        .expect("berth-sbom runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("JSON is UTF-8")
}

#[test]
fn the_sbom_names_every_linked_crate_with_its_checksum_and_nothing_that_only_tests_need() {
    let text = printed();
    assert_eq!(text, printed(), "the same commit gives the same bytes");
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
fn a_crate_that_is_built_and_not_linked_is_left_out() {
    let of = |name: &str| json!({"name": name, "version": "1.0.0", "id": name, "license": "MIT/Apache-2.0", "source": "registry+x"});
    let metadata = json!({
        "packages": [of("b_c"), of("a"), of("macros")],
        "resolve": {"nodes": [
            {"id": "a", "deps": [
                {"pkg": "b_c", "dep_kinds": [{"kind": null}, {"kind": "dev"}]},
                {"pkg": "macros", "dep_kinds": [{"kind": "build"}]},
            ]},
        ]},
    });
    let release = Release {
        version: "1.0.0",
        time: "2026-01-01T00:00:00Z",
        program: "a",
    };
    let linked = BTreeSet::from(["a@1.0.0".to_owned(), "b_c@1.0.0".to_owned()]);
    let lock =
        "[[package]]\nname = \"b_c\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\nchecksum = \"f00\"\n";
    let sbom = document(&release, &metadata, &linked, lock).unwrap();
    let names: Vec<&Value> = sbom["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["a", "b_c"]);
    assert_eq!(sbom["packages"][1]["SPDXID"], "SPDXRef-b-c-1.0.0");
    assert_eq!(sbom["packages"][1]["licenseDeclared"], "MIT OR Apache-2.0");
    assert_eq!(sbom["packages"][1]["checksums"][0]["checksumValue"], "f00");
    assert_eq!(sbom["packages"][0]["checksums"], json!([]));
    let relationships = sbom["relationships"].as_array().unwrap();
    assert_eq!(relationships.len(), 2, "{relationships:#?}");
    let other = Release {
        program: "z",
        ..release
    };
    let problem = document(&other, &metadata, &linked, lock).unwrap_err();
    assert!(problem.contains("z is not among"), "{problem}");
}

#[test]
fn only_crates_from_a_registry_have_an_address_there() {
    let place = |source: Value| {
        let metadata = json!({"packages": [
            {"name": "a", "version": "1.0.0", "id": "a", "license": "MIT", "source": source},
        ]});
        let release = Release {
            version: "1.0.0",
            time: "2026-01-01T00:00:00Z",
            program: "a",
        };
        let linked = BTreeSet::from(["a@1.0.0".to_owned()]);
        let sbom = document(&release, &metadata, &linked, "").unwrap();
        sbom["packages"][0]["downloadLocation"].clone()
    };
    let address = "https://crates.io/api/v1/crates/a/1.0.0/download";
    assert_eq!(
        place(json!("registry+https://github.com/rust-lang/crates.io-index")),
        address
    );
    assert_eq!(place(json!("sparse+https://index.crates.io/")), address);
    assert_eq!(place(json!("git+https://example.com/a?rev=1#1")), "NOASSERTION");
    assert_eq!(place(Value::Null), "NOASSERTION");
}
