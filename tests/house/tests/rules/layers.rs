//! Test of the layers of ARCHITECTURE.md ("The map"): every dependency between crates of the workspace
//! points downwards, and every source file keeps the rules of the house.

use std::collections::{BTreeMap, BTreeSet};

use berth_house::{PREFIX, packages, read, shown, sources, text};
use serde_json::Value;

/// The layers, lowest first, by the crates' names without the prefix that all of them have ([`PREFIX`]).
/// `dialect-*` means every dialect, but not the crates on which dialects depend.
const LAYERS: [&[&str]; 12] = [
    &["apimachinery", "cel", "house"],
    &[
        "apply",
        "scheduling",
        "storage",
        "openapi",
        "certs",
        "yaml",
        "admission",
        "client",
    ],
    &["dialect-contract", "policies", "console"],
    &["dialect-columns", "scheduling-api"],
    &["dialect-*", "engine", "multicluster"],
    &["dialect-registry", "dialect-testing", "apiserver"],
    &["kubernetes", "aggregation", "scheduling-rest"],
    &["hub", "configuration", "history"],
    &[
        "syncer",
        "dispatch",
        "placement-admission",
        "publications",
        "commands",
    ],
    &["deploy"],
    &["berth"],
    &["sbom", "tests", "fuzz"],
];

/// Dependencies that are forbidden although they point downwards: from, to, and why.
const FORBIDDEN: [(&str, &str, &str); 29] = [
    (
        "dialect-*",
        "storage",
        "a dialect is pure: it never sees where objects come from",
    ),
    (
        "dialect-contract",
        "storage",
        "a dialect is pure: it never sees where objects come from",
    ),
    (
        "dialect-columns",
        "storage",
        "a dialect is pure: it never sees where objects come from",
    ),
    (
        "multicluster",
        "storage",
        "what is published is a pure function of targets and decisions",
    ),
    (
        "scheduling-api",
        "storage",
        "types on the wire are what any client may use",
    ),
    (
        "scheduling-api",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "engine",
        "dialect-columns",
        "how a dialect keeps its clusters is its own affair",
    ),
    ("apiserver", "dialect-*", "the server library knows no dialect"),
    (
        "apiserver",
        "dialect-columns",
        "the server library knows no dialect",
    ),
    (
        "apiserver",
        "dialect-contract",
        "the server library knows no dialect",
    ),
    (
        "apiserver",
        "scheduling",
        "the server library knows nothing of scheduling",
    ),
    (
        "apiserver",
        "engine",
        "the server library knows nothing of scheduling",
    ),
    (
        "kubernetes",
        "dialect-*",
        "Kubernetes' own kinds know nothing of scheduling",
    ),
    (
        "kubernetes",
        "engine",
        "Kubernetes' own kinds know nothing of scheduling",
    ),
    (
        "aggregation",
        "dialect-*",
        "any server made with apiserver can be aggregated",
    ),
    (
        "aggregation",
        "dialect-registry",
        "any server made with apiserver can be aggregated",
    ),
    (
        "hub",
        "dialect-*",
        "what is copied from a hub and written there are the dialects' words",
    ),
    (
        "hub",
        "dialect-registry",
        "what is copied from a hub and written there are the dialects' words",
    ),
    (
        "dispatch",
        "dialect-*",
        "a dispatcher reads decisions, of whatever system they are",
    ),
    (
        "dispatch",
        "storage",
        "a dispatcher reads decisions from a server",
    ),
    (
        "commands",
        "dialect-*",
        "the commands know dialects by the registry alone",
    ),
    (
        "commands",
        "storage",
        "the commands decide files, or ask a server",
    ),
    (
        "berth",
        "dialect-*",
        "the program knows dialects by the registry alone",
    ),
    (
        "scheduling-rest",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "configuration",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "history",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "placement-admission",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "publications",
        "dialect-*",
        "what a dialect says comes through the contract",
    ),
    (
        "aggregation",
        "engine",
        "any server made with apiserver can be aggregated",
    ),
];

/// The crates that a dialect may use (docs/adding-a-system.md, "The folder").
const OF_DIALECTS: [&str; 7] = [
    "apimachinery",
    "cel",
    "yaml",
    "scheduling",
    "admission",
    "dialect-contract",
    "dialect-columns",
];

/// Crates of HTTP, which only apiserver and the layers above it may use.
const HTTP: [&str; 6] = ["http", "http-body", "hyper", "hyper-util", "axum", "tower"];
/// The crates that must not use HTTP.
const WITHOUT_HTTP: [&str; 11] = [
    "engine",
    "scheduling",
    "apimachinery",
    "dialect-contract",
    "dialect-columns",
    "dialect-*",
    "scheduling-api",
    "scheduling-rest",
    "configuration",
    "history",
    "publications",
];

/// Most lines of a file.
const LONGEST_FILE: usize = 600;

/// The only package that is mainly a program.
const PROGRAM: &str = "berth";

/// Crates that only tests use, and that may therefore be in a layer above their users: a dev-dependency on
/// one is no edge.
pub(super) const FOR_TESTS: [&str; 3] = [TESTING, "dialect-toy", "house"];

/// The crate that the dialects' tests share.
const TESTING: &str = "dialect-testing";

/// Every crate of the workspace with its dependencies of all sorts, normal, build and dev, by names without
/// [`PREFIX`].
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let name = |value: &Value| {
        let name = text(value, "name");
        name.strip_prefix(PREFIX).unwrap_or(name).to_owned()
    };
    let dependencies = |package: &Value| {
        // A crate may depend on itself for features that its tests need.
        let itself = &package["name"];
        package["dependencies"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|dependency| {
                dependency["kind"] != "dev"
                    || (dependency["name"] != *itself && !FOR_TESTS.contains(&name(dependency).as_str()))
            })
            .map(name)
            .collect()
    };
    packages()
        .iter()
        .map(|package| (name(package), dependencies(package)))
        .collect()
}

/// The name of `krate` in the tables above.
fn role(krate: &str) -> &str {
    match krate {
        "dialect-contract" | "dialect-columns" | "dialect-registry" | TESTING => krate,
        other if other.starts_with("dialect-") => "dialect-*",
        other => other,
    }
}

fn layer(krate: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&role(krate)))
}

/// Why `from` may not depend on `to`, if it may not.
fn problem(from: &str, to: &str) -> Option<String> {
    let (low, high) = (layer(to)?, layer(from)?);
    if low >= high {
        return Some(format!("{from} -> {to}: {to} is not in a lower layer"));
    }
    if role(from) == "scheduling" && to != "apimachinery" {
        return Some(format!("{from} -> {to}: scheduling uses apimachinery only"));
    }
    let forbidden = FORBIDDEN
        .iter()
        .find(|(who, what, _)| *who == role(from) && *what == role(to));
    if let Some((_, _, why)) = forbidden {
        return Some(format!("{from} -> {to}: {why}"));
    }
    (role(from) == "dialect-*" && !OF_DIALECTS.contains(&role(to)))
        .then(|| format!("{from} -> {to}: a dialect uses only {OF_DIALECTS:?}"))
}

#[test]
fn every_dependency_points_to_a_lower_layer() {
    let crates = crates();
    let edges = crates
        .iter()
        .flat_map(|(from, all)| all.iter().map(move |to| (from.as_str(), to.as_str())));
    let inside = edges.filter(|(_, to)| crates.contains_key(*to));
    let problems: Vec<String> = inside.filter_map(|(from, to)| problem(from, to)).collect();
    assert!(
        problems.is_empty(),
        "illegal dependencies (ARCHITECTURE.md, The map):\n{}",
        problems.join("\n")
    );
}

#[test]
fn every_crate_has_a_layer() {
    let without: Vec<String> = crates()
        .into_keys()
        .filter(|name| layer(name).is_none())
        .collect();
    assert!(without.is_empty(), "give these crates a layer: {without:?}");
}

#[test]
fn every_library_has_the_prefix_and_is_imported_by_its_own_name() {
    let mut problems = Vec::new();
    for package in packages() {
        let name = text(&package, "name");
        if !name.starts_with(PREFIX) && name != PROGRAM {
            problems.push(format!("{name}: rename to {PREFIX}{name}"));
        }
        let targets = package["targets"].as_array().expect("a package has targets");
        for library in targets.iter().filter(|target| target["kind"][0] == "lib") {
            if library["name"] != name.replace('-', "_") {
                problems.push(format!("{name}: its library is called {}", library["name"]));
            }
        }
        let dependencies = package["dependencies"].as_array().expect("a list");
        for renamed in dependencies
            .iter()
            .filter(|dependency| dependency["path"].is_string() && !dependency["rename"].is_null())
        {
            problems.push(format!(
                "{name}: imports {} as {}",
                renamed["name"], renamed["rename"]
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn only_the_server_and_what_is_above_it_knows_http() {
    for (name, dependencies) in crates() {
        if WITHOUT_HTTP.contains(&role(&name)) {
            let http: Vec<&String> = dependencies
                .iter()
                .filter(|other| HTTP.contains(&other.as_str()))
                .collect();
            assert!(http.is_empty(), "{name} uses {http:?}");
        }
    }
}

#[test]
fn illegal_edges_would_be_seen() {
    for (from, to) in [
        ("apimachinery", "storage"),
        ("storage", "admission"),
        ("dialect-ocm", "dialect-gardener"),
        ("dialect-ocm", "storage"),
        ("dialect-ocm", "client"),
        ("dialect-toy", "apply"),
        ("engine", "dialect-ocm"),
        ("apiserver", "engine"),
        ("apiserver", "dialect-contract"),
        ("apiserver", "dialect-registry"),
        ("dialect-contract", "engine"),
        ("deploy", "berth"),
    ] {
        assert!(problem(from, to).is_some(), "{from} -> {to}");
    }
    for (from, to) in [
        ("berth", "engine"),
        ("engine", "storage"),
        ("dialect-registry", "dialect-ocm"),
        ("dialect-ocm", "cel"),
        ("dialect-gardener", "yaml"),
        ("tests", "apimachinery"),
    ] {
        assert_eq!(problem(from, to), None, "{from} -> {to}");
    }
}

#[test]
fn files_are_short_start_with_their_purpose_and_are_never_called_mod() {
    let mut problems = Vec::new();
    for path in sources() {
        let (text, shown) = (read(&path), shown(&path));
        if path.ends_with("mod.rs") {
            problems.push(format!("{shown}: use <name>.rs beside <name>/ instead of mod.rs"));
        }
        if text.lines().count() > LONGEST_FILE {
            problems.push(format!(
                "{shown}: {} lines, more than {LONGEST_FILE}",
                text.lines().count()
            ));
        }
        if !text.starts_with("//!") {
            problems.push(format!("{shown}: does not start with //! and what it is for"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
