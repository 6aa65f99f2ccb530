//! A new system is a new dialect: no other code names a system. Comments and tests may name them.

use std::collections::BTreeSet;

use berth_house::{read, shown, sources};

use super::circles::{code, is_for_tests};

/// Parts of names that only systems have.
const NAMES: [&str; 8] = [
    "gardener",
    "openmcp",
    "kubefleet",
    "kubernetes-fleet",
    "open-cluster-management",
    "karmada",
    "kcp",
    "ocm",
];

/// Folders that may name systems: dialects, kcp's execution plane, tests and the demo.
const PLACES: [&str; 6] = [
    "dialects/",
    "consumers/syncer/",
    "tests/",
    "berth/src/demo/",
    "berth/src/demo.rs",
    "berth/console/web/",
];

/// Files that name a system all the same, with the reason. The list may only get shorter.
const LEFT: [(&str, &str); 1] = [(
    "berth/src/manifests/krew.rs",
    "the sentence that Krew's index shows: systems as people write them",
)];

/// The first word of `code`, of letters, digits and dashes, that is a part of a system's name.
fn names_a_system(code: &str) -> Option<String> {
    let lower = code.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let named = |word: &&str| NAMES.contains(word) || word.split('-').any(|part| NAMES.contains(&part));
    words.find(named).map(str::to_owned)
}

/// The files outside of [`PLACES`] that name a system, with the word.
fn findings() -> Vec<(String, String)> {
    let files = sources().into_iter().filter_map(|path| {
        let shown = shown(&path);
        let tried = shown.split(['/', '.']).any(is_for_tests) || !shown.contains("/src/");
        if tried || PLACES.iter().any(|place| shown.starts_with(place)) {
            return None;
        }
        let named = names_a_system(&code(&read(&path)))?;
        Some((shown, named))
    });
    files.collect()
}

#[test]
fn no_system_is_named_outside_of_its_place() {
    let findings = findings();
    let problems: Vec<String> = findings
        .iter()
        .filter(|(file, _)| LEFT.iter().all(|(left, _)| left != file))
        .map(|(file, word)| format!("{file} names {word:?}: that belongs in a dialect"))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let findings: BTreeSet<&str> = findings.iter().map(|(file, _)| file.as_str()).collect();
    for (left, _) in LEFT {
        assert!(
            findings.contains(left),
            "{left} names no system: take it off the list"
        );
    }
}

#[test]
fn a_name_would_be_seen() {
    for named in [
        "if dialect == \"ocm\"",
        "\"core.gardener.cloud\"",
        "Dialect::Kcp",
        "--kcp-synced",
        "is_openmcp",
    ] {
        assert!(names_a_system(named).is_some(), "{named}");
    }
    for other in ["let document = 1;", "struct Fleet;", "\"ocmx\""] {
        assert_eq!(names_a_system(other), None, "{other}");
    }
}
