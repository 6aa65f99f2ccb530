//! What we take from others, as `deny.toml` allows it: licences, crates in several versions, and where they
//! come from. And no crate of ours asks for one that it does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

/// What is asked for and named nowhere: it is there for what it does to others.
const NAMELESS: [(&str, &str, &str); 5] = [
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
        "berth-apply",
        "used by the tests of that crate, which are played here too",
    ),
    ("berth-tests", "schemars", "used by the examples of other crates"),
];

#[derive(Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Bans {
    multiple_versions: String,
    skip: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Skipped {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests/ lies in the workspace").to_owned()
}

fn deny() -> Deny {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml can be read");
    toml::from_str(&text).expect("deny.toml is one")
}

/// The crates that are built for any of `targets`, ours among them.
fn packages(targets: &[String]) -> Vec<Value> {
    let mut metadata = Command::new(env!("CARGO"));
    metadata
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root());
    for target in targets {
        metadata.args(["--filter-platform", target]);
    }
    let output = metadata.output().expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a graph");
    let built: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    let all = metadata["packages"].as_array().expect("packages").iter();
    let packages = all.filter(|package| package["id"].as_str().is_some_and(|id| built.contains(id)));
    packages.cloned().collect()
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or_default()
}

/// What is wrong with the licence that a crate says it has.
fn refused(licence: &str, allowed: &[Licensee]) -> Option<String> {
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(offered) => {
            let is_allowed = offered.evaluate(|one| allowed.iter().any(|licensee| licensee.satisfies(one)));
            (!is_allowed).then(|| format!("deny.toml allows none of {licence:?}"))
        }
        Err(problem) => Some(format!("the licence {licence:?} cannot be read: {problem}")),
    }
}

fn licensees(names: &[String]) -> Vec<Licensee> {
    let read = |name: &String| Licensee::parse(name).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    names.iter().map(read).collect()
}

#[test]
fn licences_are_those_that_deny_toml_allows() {
    let deny = deny();
    let allowed = licensees(&deny.licenses.allow);
    let mut problems = Vec::new();
    for package in packages(&deny.graph.targets) {
        let problem = refused(text(&package, "license"), &allowed);
        problems.extend(problem.map(|problem| format!("{}: {problem}", text(&package, "name"))));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_licence_that_is_not_allowed_would_be_seen() {
    let allowed = licensees(&["MIT".to_owned(), "Apache-2.0".to_owned()]);
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
    assert_eq!(deny.bans.multiple_versions, "deny");
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages(&deny.graph.targets) {
        let version = text(&package, "version").to_owned();
        versions
            .entry(text(&package, "name").to_owned())
            .or_default()
            .insert(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let twice: BTreeSet<&str> = versions.keys().map(String::as_str).collect();
    let named: BTreeSet<&str> = deny.bans.skip.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(twice, named, "{versions:?}");
}

#[test]
fn everything_comes_from_the_registry() {
    let deny = deny();
    assert_eq!(
        (&*deny.sources.unknown_registry, &*deny.sources.unknown_git),
        ("deny", "deny")
    );
    let foreign = |package: &Value| match &package["source"] {
        // A crate of ours.
        Value::Null => !text(package, "manifest_path").starts_with(&*root().to_string_lossy()),
        source => !source
            .as_str()
            .is_some_and(|source| source.starts_with("registry+")),
    };
    let packages = packages(&deny.graph.targets).into_iter();
    let foreign: Vec<String> = packages
        .filter(foreign)
        .map(|package| text(&package, "id").to_owned())
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}

/// Every Rust file below `folder`, but not those of a crate inside it.
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

/// The name of a package, and what code calls it.
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
    let packages = packages(&deny().graph.targets);
    let called: BTreeMap<&str, &str> = packages.iter().filter_map(library).collect();
    let mut unused = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let folder = manifest.parent().expect("a manifest lies in a folder");
        let code: String = sources(folder)
            .into_iter()
            .map(|path| std::fs::read_to_string(path).expect("sources are text"))
            .collect();
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

/// Features that the workspace does not turn on for every crate, and what code says that needs one. A crate
/// that leaves it out builds in the workspace, where another one asks for it, and not by itself (`make
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
    let packages = packages(&deny().graph.targets);
    let mut missing = Vec::new();
    let mut needed = BTreeSet::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let code: String = sources(manifest.parent().expect("a manifest lies in a folder"))
            .into_iter()
            .filter(|path| !path.ends_with("tests/tests/dependencies.rs"))
            .map(|path| std::fs::read_to_string(path).expect("sources are text"))
            .collect();
        for (dependency, feature, words) in FEATURES {
            if !words.iter().any(|word| code.contains(word)) {
                continue;
            }
            needed.insert(feature);
            let asked = package["dependencies"].as_array().into_iter().flatten();
            let asked = asked.filter(|asked| asked["name"] == dependency);
            let has = |asked: &Value| {
                let features = asked["features"].as_array();
                features.is_some_and(|features| features.iter().any(|known| known == feature))
            };
            if !asked.into_iter().any(has) {
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
