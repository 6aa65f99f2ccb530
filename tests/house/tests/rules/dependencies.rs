//! External crates, as `deny.toml` allows them: licences, duplicate versions, sources. No crate of the
//! workspace has an unused dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use berth_house::{metadata, read, root, text};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

/// Reason for the crates whose tests include `tests/src/etcd.rs`.
const ETCD: &str =
    "starts the program that builds etcd, in a file of berth-tests that tests of this crate include";

/// Dependencies that no code names, with the reason.
const NAMELESS: [(&str, &str, &str); 7] = [
    ("berth", "berth-house", ETCD),
    ("berth-storage", "berth-house", ETCD),
    (
        "berth-client",
        "k8s-openapi",
        "its features tell kube the version of the API",
    ),
    (
        "berth-console",
        "k8s-openapi",
        "its features tell kube the version of the API",
    ),
    (
        "berth-tests",
        "async-trait",
        "used by the examples of other crates",
    ),
    (
        "berth-tests",
        "berth-yaml",
        "used by the examples of other crates",
    ),
    ("berth-tests", "schemars", "used by the examples of other crates"),
];

/// `deny.toml`, as a tree.
fn deny() -> Value {
    toml::from_str(&read(&root().join("deny.toml"))).expect("deny.toml is one")
}

/// A list of texts in `deny.toml`.
fn list(value: &Value) -> Vec<&str> {
    let texts = value.as_array().expect("deny.toml has the list");
    texts.iter().map(|one| one.as_str().expect("a text")).collect()
}

/// The crates that are built for any of the targets of `deny.toml`, including those of the workspace.
fn packages() -> Vec<Value> {
    let deny = deny();
    let mut arguments = vec!["--locked", "--all-features"];
    for target in list(&deny["graph"]["targets"]) {
        arguments.extend(["--filter-platform", target]);
    }
    let metadata = metadata(&arguments);
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a graph");
    let built: BTreeSet<&str> = nodes.iter().map(|node| text(node, "id")).collect();
    let all = metadata["packages"].as_array().expect("packages").iter();
    let packages = all.filter(|package| built.contains(text(package, "id")));
    packages.cloned().collect()
}

/// The reason why the licence of a crate is refused, if it is.
fn refused(licence: &str, allowed: &[Licensee]) -> Option<String> {
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(offered) => {
            let is_allowed = offered.evaluate(|one| allowed.iter().any(|licensee| licensee.satisfies(one)));
            (!is_allowed).then(|| format!("deny.toml allows none of {licence:?}"))
        }
        Err(problem) => Some(format!("the licence {licence:?} cannot be read: {problem}")),
    }
}

fn licensees(names: &[&str]) -> Vec<Licensee> {
    let read = |name: &&str| Licensee::parse(name).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    names.iter().map(read).collect()
}

#[test]
fn licences_are_those_that_deny_toml_allows() {
    let deny = deny();
    let allowed = licensees(&list(&deny["licenses"]["allow"]));
    let mut problems = Vec::new();
    for package in packages() {
        let problem = refused(text(&package, "license"), &allowed);
        problems.extend(problem.map(|problem| format!("{}: {problem}", text(&package, "name"))));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_licence_that_is_not_allowed_would_be_seen() {
    let allowed = licensees(&["MIT", "Apache-2.0"]);
    for fine in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "Apache-2.0 AND MIT",
    ] {
        assert_eq!(refused(fine, &allowed), None, "{fine}");
    }
    for bad in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(refused(bad, &allowed).is_some(), "{bad}");
    }
}

#[test]
fn no_crate_is_there_twice_that_deny_toml_does_not_name() {
    let deny = deny();
    assert_eq!(deny["bans"]["multiple-versions"], "deny");
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let version = text(&package, "version").to_owned();
        versions
            .entry(text(&package, "name").to_owned())
            .or_default()
            .insert(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let twice: BTreeSet<&str> = versions.keys().map(String::as_str).collect();
    let skipped = deny["bans"]["skip"].as_array().expect("deny.toml has the list");
    let named: BTreeSet<&str> = skipped.iter().map(|one| text(one, "name")).collect();
    assert_eq!(twice, named, "{versions:?}");
}

#[test]
fn everything_comes_from_the_registry() {
    let deny = deny();
    for unknown in ["unknown-registry", "unknown-git"] {
        assert_eq!(deny["sources"][unknown], "deny", "{unknown}");
    }
    let foreign = |package: &Value| match &package["source"] {
        // A crate of ours.
        Value::Null => !text(package, "manifest_path").starts_with(&*root().to_string_lossy()),
        source => !source
            .as_str()
            .is_some_and(|source| source.starts_with("registry+")),
    };
    let packages = packages().into_iter();
    let foreign: Vec<String> = packages
        .filter(foreign)
        .map(|package| text(&package, "id").to_owned())
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}

/// Every Rust file below `folder`, without those of a crate inside it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("folders can be read");
    let paths = entries.map(|entry| entry.expect("entries can be read").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true if path.join("Cargo.toml").exists() => Vec::new(),
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The name of a package, and its name in code.
fn library(package: &Value) -> Option<(&str, &str)> {
    let targets = package["targets"].as_array()?;
    let is_library = |target: &&Value| {
        let kinds = target["kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "proc-macro"))
    };
    let library = targets.iter().find(is_library)?;
    Some((text(package, "name"), text(library, "name")))
}

/// Whether `code` names the crate `name`: a word, or the path that an attribute gives as text.
fn names(code: &str, name: &str) -> bool {
    let is_word = |each: char| each == '_' || each.is_alphanumeric();
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[test]
fn every_crate_that_is_asked_for_is_used() {
    let packages = packages();
    let called: BTreeMap<&str, &str> = packages.iter().filter_map(library).collect();
    let mut unused = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let folder = manifest.parent().expect("a manifest lies in a folder");
        let code: String = sources(folder).into_iter().map(|path| read(&path)).collect();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let (ours, other) = (text(package, "name"), text(dependency, "name"));
            let name = match text(dependency, "rename") {
                "" => called.get(other).copied().unwrap_or(other),
                name => name,
            };
            let is_known = NAMELESS
                .iter()
                .any(|&(who, what, _)| (who, what) == (ours, other));
            if !is_known && !names(&code, &name.replace('-', "_")) {
                unused.push(format!("{ours} asks for {other} and does not use it"));
            }
        }
    }
    unused.dedup();
    assert!(unused.is_empty(), "{}", unused.join("\n"));
}

#[test]
fn a_crate_is_named_by_a_whole_word() {
    assert!(names("use bytes::Bytes;", "bytes") && names("#[serde(with = \"bytes\")]", "bytes"));
    assert!(!names("let my_bytes = bytesize();", "bytes"));
}

/// Features that the workspace does not enable for every crate, with the code that needs each. A crate that
/// does not request its feature builds in the workspace, where another crate does, but not by itself (`make
/// alone`).
const FEATURES: [(&str, &str, &[&str]); 3] = [
    (
        "tokio",
        "test-util",
        &["start_paused", "time::pause(", "time::advance(", "time::resume("],
    ),
    ("hyper", "client", &["hyper::client"]),
    ("hyper-util", "client-legacy", &["hyper_util::client::legacy"]),
];

#[test]
fn a_crate_asks_for_the_features_that_its_code_needs() {
    let packages = packages();
    let mut missing = Vec::new();
    let mut needed = BTreeSet::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let code: String = sources(manifest.parent().expect("a manifest lies in a folder"))
            .into_iter()
            .filter(|path| !path.ends_with("rules/dependencies.rs"))
            .map(|path| read(&path))
            .collect();
        for (dependency, feature, words) in FEATURES {
            if !words.iter().any(|word| code.contains(word)) {
                continue;
            }
            needed.insert(feature);
            let declared = package["dependencies"].as_array().into_iter().flatten();
            let declared = declared.filter(|entry| entry["name"] == dependency);
            let has = |entry: &Value| {
                let features = entry["features"].as_array();
                features.is_some_and(|features| features.iter().any(|known| known == feature))
            };
            if !declared.into_iter().any(has) {
                missing.push(format!(
                    "{}: {dependency} with the feature {feature}",
                    text(package, "name")
                ));
            }
        }
    }
    assert_eq!(
        needed.len(),
        FEATURES.len(),
        "one of them is needed nowhere any more"
    );
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
