//! Doc comments are read where they stand, each by itself.

use std::collections::BTreeMap;

use berth_house::{files, packages, read, root, shown, text};

/// Beginnings that lean on a sentence which the reader of one item does not see, or that keep the noun back.
const BEGINNINGS: [&str; 8] = [
    "The same", "What", "Where", "Who", "Whose", "Whoever", "That", "How",
];

/// Crates with comments that begin so all the same, and how many. The numbers may only get smaller.
const LEFT: [(&str, usize); 42] = [
    ("berth", 286),
    ("berth-admission", 50),
    ("berth-aggregation", 68),
    ("berth-apimachinery", 30),
    ("berth-apiserver", 312),
    ("berth-apply", 6),
    ("berth-cel", 19),
    ("berth-certs", 5),
    ("berth-client", 9),
    ("berth-commands", 85),
    ("berth-configuration", 9),
    ("berth-console", 13),
    ("berth-deploy", 10),
    ("berth-dialect-columns", 5),
    ("berth-dialect-contract", 88),
    ("berth-dialect-fleet", 89),
    ("berth-dialect-gardener", 102),
    ("berth-dialect-karmada", 35),
    ("berth-dialect-kcp", 115),
    ("berth-dialect-ocm", 62),
    ("berth-dialect-openmcp", 85),
    ("berth-dialect-registry", 9),
    ("berth-dialect-testing", 39),
    ("berth-dialect-toy", 13),
    ("berth-dispatch", 39),
    ("berth-engine", 160),
    ("berth-fuzz", 2),
    ("berth-history", 60),
    ("berth-hub", 55),
    ("berth-kubernetes", 171),
    ("berth-multicluster", 27),
    ("berth-openapi", 4),
    ("berth-placement-admission", 56),
    ("berth-policies", 47),
    ("berth-publications", 42),
    ("berth-scheduling", 6),
    ("berth-scheduling-api", 83),
    ("berth-scheduling-rest", 67),
    ("berth-storage", 67),
    ("berth-syncer", 53),
    ("berth-tests", 317),
    ("berth-yaml", 7),
];

/// Numbers of the lines of `text` where a doc comment begins as none should.
fn leaning(text: &str) -> Vec<usize> {
    let mut before = None;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["///", "//!"]
            .into_iter()
            .find_map(|mark| Some((mark, line.strip_prefix(mark)?.trim_start())));
        if let Some((mark, said)) = comment
            && before != Some(mark)
            && BEGINNINGS.iter().any(|word| begins(said, word))
        {
            found.push(at + 1);
        }
        before = comment.map(|(mark, _)| mark);
    }
    found
}

fn begins(said: &str, word: &str) -> bool {
    said.strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
}

/// The folders of the crates, the deepest first, with their names.
fn crates() -> Vec<(String, String)> {
    let mut crates: Vec<(String, String)> = packages()
        .iter()
        .map(|package| {
            let folder = shown(std::path::Path::new(text(package, "manifest_path")));
            let folder = folder.trim_end_matches("Cargo.toml").to_owned();
            (folder, text(package, "name").to_owned())
        })
        .collect();
    crates.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
    crates
}

#[test]
fn doc_comments_stand_alone() {
    let crates = crates();
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in files(root(), &[".rs"]) {
        let file = shown(&path);
        let lines = leaning(&read(&path));
        let krate = crates.iter().find(|(folder, _)| file.starts_with(folder));
        let krate = krate.map_or("no crate", |(_, name)| name);
        let places = lines.iter().map(|line| format!("  {file}:{line}"));
        found.entry(krate).or_default().extend(places);
    }
    let left: BTreeMap<&str, usize> = LEFT.into_iter().collect();
    let problems: Vec<String> = found
        .iter()
        .filter(|(krate, places)| places.len() > left.get(*krate).copied().unwrap_or_default())
        .map(|(krate, places)| format!("{krate}, {} of them:\n{}", places.len(), places.join("\n")))
        .collect();
    assert!(
        problems.is_empty(),
        "begin these doc comments with a noun or a verb, none with {BEGINNINGS:?}:\n{}",
        problems.join("\n")
    );
}

#[test]
fn a_comment_that_leans_on_another_would_be_seen() {
    let text = "//! How it goes.\n\n/// The same, later.\n/// What follows is its second line.\nfn f() {}\n";
    assert_eq!(leaning(text), [1, 3]);
    for fine in [
        "/// Whether it goes.",
        "/// Whatever.",
        "/// Returns\n/// what it is.",
        "/// Those\n",
        "// What",
    ] {
        assert_eq!(leaning(fine), [0; 0], "{fine}");
    }
}
